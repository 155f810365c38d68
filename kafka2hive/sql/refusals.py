"""The errors of a refused SELECT, with the place in its text: Spark's own errors, and this project's checks."""

import re
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it ships no types
from pyspark.errors import AnalysisException, PySparkException

from kafka2hive.model.errors import TableError
from kafka2hive.spark.errors import error_text

_REFUSED = {
    "Aggregate": "it aggregates: one row of many records",
    "Distinct": "DISTINCT drops records by what others hold",
    "Deduplicate": "it drops records by what others hold",
    "Generate": "it makes several rows of one record (explode, LATERAL VIEW)",
    "Expand": "it makes several rows of one record",
    "Window": "a window function looks at other records, and which ones are in an epoch is chance",
    "Sort": "ORDER BY does not survive in a table",
    "GlobalLimit": "LIMIT drops records by chance",
    "LocalLimit": "LIMIT drops records by chance",
    "Offset": "OFFSET drops records by chance",
    "Sample": "TABLESAMPLE drops records by chance",
    "Union": "UNION makes several rows of one record",
    "Intersect": "INTERSECT looks at other records",
    "Except": "EXCEPT looks at other records",
    "Join": "a join goes with tables of lookups only, and must keep the records' side",
    "Exchange": "it moves records between tasks: tables of lookups must be small enough to be sent to every task",
    "UnresolvedWith": "WITH is not supported: write a subquery after FROM",
    "WithCTE": "WITH is not supported: write a subquery after FROM",
}
_WITHOUT_GROUP = ("MISSING_GROUP_BY", "MISSING_AGGREGATION")
"""Spark's error conditions for the coordinates next to an aggregate."""
_TAIL = re.compile(r"\s*(SQLSTATE: \w+|\(line \d+, pos \d+\)|; line \d+ pos \d+)\s*")


def refused(table: str, node: str, why: str = "", at: Any = None) -> TableError:
    """Return the error for a plan with this node; `node` is its name, `at` the node itself, which has its place in the text."""
    place = "" if at is None else _place(at.origin())
    return TableError(
        "sql.refused",
        f"{table}: {why or _REFUSED.get(node, f'Spark plans a {node} for it')}{place}; nothing is dumped",
        "each record becomes one row or none, by what it holds itself: SELECT columns and functions FROM records WHERE ..",
    )


def not_understood(table: str, error: PySparkException) -> TableError:
    """Return the error for a text that Spark cannot parse or analyse."""
    if (error.getCondition() or "").startswith(_WITHOUT_GROUP):
        return refused(table, "Aggregate")
    # after the reason, Spark's message has the text or the plan
    reason = error_text(error).partition("\n== SQL")[0].partition(";\n")[0]
    raised = getattr(error, "_origin", None)
    place = _place(raised) if isinstance(error, AnalysisException) and raised is not None else ""
    return TableError(
        "sql.syntax", f"{table}: {_TAIL.sub(' ', reason).strip()}{place}", "correct the table's sql"
    )


def failed_on_a_record(table: str, error: PySparkException | Py4JJavaError) -> TableError:
    """Return the error for a SELECT that Spark planned and could not run to the end."""
    return TableError(
        "sql.failed",
        f"{table}: its SELECT or its tasks failed: {error_text(error)}",
        "where a function fails on a record, use try_cast, try_divide, .. or leave the record out by WHERE",
    )


def _place(at: Any) -> str:
    """Return the place as a text, empty if unknown; `at` is Spark's origin, with a line from 1 and a position from 0."""
    line, position = at.line(), at.startPosition()
    if line.isEmpty() or position.isEmpty():
        return ""
    return f" (at line {line.get()}, column {position.get() + 1} of the SQL)"
