"""Turn a table's SELECT into Spark's plan that also returns each row's coordinates, or refuse the SELECT with the reason.

Spark parses and analyses the text. Its plan is then checked against a list of nodes that keep at most one row per record.
This relies on two facts (pyspark 4.3.0): the parsed plan is a tree that can be changed before it is analysed, and
attributes keep their id through every node that passes them on unchanged.
An error names the place in the SELECT's text, whether Spark found it or a check of this module.
"""

import re
from collections.abc import Iterator
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it ships no types
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType, DecimalType, StructType

from kafka2hive.config.keys.columns import COORDINATES
from kafka2hive.model.errors import TableError
from kafka2hive.spark.errors import error_text
from kafka2hive.spark.internals import execution_of, frame_of_plan, java, java_session, of_unknown_size

RECORDS = "records"
_KEPT = frozenset({"Project", "Filter", "SubqueryAlias", "View", "ResolvedHint"})
_PASSED = frozenset({"Project", "Filter", "SubqueryAlias", "UnresolvedHint"})
_JOINS = {0: {"Inner", "Cross", "LeftOuter", "LeftSemi", "LeftAnti"}, 1: {"Inner", "Cross", "RightOuter"}}
"""The allowed joins by the records' side: joins that keep the records' order and make no row without a record."""
_WIDER = {
    ("tinyint", "smallint"),
    ("tinyint", "int"),
    ("tinyint", "bigint"),
    ("smallint", "int"),
    ("smallint", "bigint"),
    ("int", "bigint"),
    ("int", "double"),
    ("float", "double"),
    ("timestamp", "timestamp_ntz"),
    ("date", "timestamp_ntz"),
}
"""Types that are widened implicitly. A timestamp becomes the wall clock of the session's zone, which is the table's."""
_REASONS = {
    "Aggregate": "it aggregates many records into one row",
    "Distinct": "DISTINCT drops records that equal others",
    "Deduplicate": "it drops records that equal others",
    "Generate": "it makes several rows of one record (explode, LATERAL VIEW)",
    "Expand": "it makes several rows of one record",
    "Window": "a window function looks at other records, and which ones are in an epoch is arbitrary",
    "Sort": "ORDER BY has no effect, because a table keeps no order",
    "GlobalLimit": "LIMIT drops arbitrary records",
    "LocalLimit": "LIMIT drops arbitrary records",
    "Offset": "OFFSET drops arbitrary records",
    "Sample": "TABLESAMPLE drops arbitrary records",
    "Union": "UNION makes several rows of one record",
    "Intersect": "INTERSECT looks at other records",
    "Except": "EXCEPT looks at other records",
    "Join": "only lookups can be joined, and the join must keep the side of the records",
    "Exchange": "it moves records between tasks: lookups must be small enough to be sent to every task",
    "UnresolvedWith": "WITH is not supported: write a subquery after FROM",
    "WithCTE": "WITH is not supported: write a subquery after FROM",
}
_WITHOUT_GROUP = ("MISSING_GROUP_BY", "MISSING_AGGREGATION")
"""Spark's error conditions for an aggregate to which the coordinates were added."""
_TAIL = re.compile(r"\s*(SQLSTATE: \w+|\(line \d+, pos \d+\)|; line \d+ pos \d+)\s*")


def one_row_per_task(session: SparkSession, tasks: int) -> DataFrame:
    """Return the rows 0 to `tasks` - 1, each in a separate Spark partition, with a size that Spark cannot estimate.

    Spark therefore assumes the largest size and never broadcasts the records to join them to a lookup.
    """
    return of_unknown_size(session.range(0, tasks, 1, tasks))


def parse_select(session: SparkSession, table: str, sql: str) -> Any:
    """Return the parsed plan with the coordinates added to every column list between `records` and the result.

    Names are not resolved yet. Raises TableError (`sql.syntax`, `sql.refused`).
    """
    try:
        plan = java_session(session).sessionState().sqlParser().parsePlan(sql)
    except PySparkException as error:
        raise syntax_error(table, error) from error
    return _with_coordinates(session, table, plan)


def plan_select(table: str, sql: str, records: DataFrame, columns: StructType) -> DataFrame:
    """Return the rows of the SELECT: the table's `columns` in their order, then the coordinates of `records`.

    The last column of `records` must be its coordinates. Raises TableError: `sql.syntax` (Spark rejects the text),
    `sql.refused` (a record may become several rows, or the result is not deterministic), `sql.columns` (the columns are
    not the table's).
    """
    session = records.sparkSession
    records.createOrReplaceTempView(RECORDS)
    plan = parse_select(session, table, sql)
    try:
        selected = frame_of_plan(session, plan)
        _check(table, selected, records)
        return _as_table(table, selected, columns)
    except PySparkException as error:
        raise syntax_error(table, error) from error


def _with_coordinates(session: SparkSession, table: str, plan: Any) -> Any:
    """Add the coordinates to each column list of a parsed plan that reads `records`, or refuse the plan."""
    name = plan.nodeName()
    if name == "UnresolvedRelation":
        return plan
    if name == "Join":
        sides = _children(plan)
        read_records = [_names_records(side) for side in sides]
        if all(read_records):
            raise refusal(table, name, at=plan)
        new_sides = [
            _with_coordinates(session, table, side) if reads else side
            for side, reads in zip(sides, read_records, strict=True)
        ]
        return plan.withNewChildren(_scala(session, *new_sides))
    if name not in _PASSED:
        raise refusal(table, name, at=plan)
    (child,) = _children(plan)
    below = _with_coordinates(session, table, child)
    if name != "Project":
        return plan.withNewChildren(_scala(session, below))
    catalyst = java(session).org.apache.spark.sql.catalyst
    attribute = catalyst.analysis.UnresolvedAttribute.quoted(COORDINATES)
    return catalyst.plans.logical.Project(plan.projectList().appended(attribute), below)


def _check(table: str, selected: DataFrame, records: DataFrame) -> None:
    """Refuse an analysed plan unless it only drops rows and computes columns, and ends with the coordinates of `records`."""
    execution = execution_of(selected)
    analysed = execution.analyzed()
    source = execution_of(records).analyzed()
    for node in _nodes_to_records(table, analysed):
        if node.nodeName() not in _KEPT:
            raise refusal(table, node.nodeName(), at=node)
        if node.subqueries().nonEmpty():
            raise refusal(table, "", "a subquery in an expression looks at other records", node)
    if not analysed.deterministic():
        why = "the value of one of its functions differs at each call (rand, uuid, ..)"
        raise refusal(table, "", why)
    if _id(analysed.output().last()) != _id(source.output().last()):
        raise refusal(table, "", f"it changes {COORDINATES}")
    if not _reads_records(execution.optimizedPlan()):
        raise refusal(table, "", "its condition is never true, so no record can pass")
    in_task = [node.nodeName() for node in _in_task(execution.executedPlan())]
    if "Exchange" in in_task or "MapInArrow" not in in_task:
        raise refusal(table, "Exchange")


def _as_table(table: str, selected: DataFrame, columns: StructType) -> DataFrame:
    """Return the columns by name, without regard to case as in Hive, cast to the table's types."""
    fields = selected.schema.fields[:-1]
    by_name: dict[str, list[int]] = {}
    for number, field in enumerate(fields):
        if field.name != COORDINATES:  # a star includes the coordinates
            by_name.setdefault(field.name.lower(), []).append(number)
    numbered = selected.toDF(*[f"c{number}" for number in range(len(fields))], COORDINATES)
    result: list[Column] = []
    faults: list[str] = []
    for column in columns.fields:
        numbers = by_name.pop(column.name.lower(), [])
        if len(numbers) != 1:
            faults.append(f"{column.name} {'occurs more than once' if numbers else 'is missing'}")
            continue
        present = fields[numbers[0]].dataType
        if not fits(present, column.dataType):
            faults.append(
                f"{column.name} is {present.simpleString()}, but the table's is {column.dataType.simpleString()}"
            )
        result.append(sf.col(f"c{numbers[0]}").cast(column.dataType).alias(column.name))
    faults += [f"{fields[numbers[0]].name} is not a column of the table" for numbers in by_name.values()]
    if faults:
        raise TableError(
            "sql.columns",
            f"{table}: the SELECT does not give the table's columns: {'; '.join(faults)}",
            "select every column of the table, including its metadata columns, and CAST each to the table's type",
        )
    return numbered.select(*result, COORDINATES)


def fits(present: DataType, target: DataType) -> bool:
    """Return whether every value of the type `present` is also a value of the type `target`."""
    if isinstance(present, DecimalType) and isinstance(target, DecimalType):
        whole = present.precision - present.scale <= target.precision - target.scale
        return bool(whole and present.scale <= target.scale)
    texts: tuple[str, str] = present.simpleString(), target.simpleString()
    return texts[0] in ("void", texts[1]) or texts in _WIDER


def _nodes_to_records(table: str, plan: Any) -> Iterator[Any]:
    """Yield the nodes from the result down to the view of `records`, without the other sides of joins."""
    if plan.nodeName() == "View":
        return
    below = _children(plan)
    if plan.nodeName() == "Join":
        reading = [side for side, child in enumerate(below) if _reads_records(child)]
        if len(reading) != 1 or plan.joinType().toString() not in _JOINS[reading[0]]:
            raise refusal(table, "Join", at=plan)
        below = [below[reading[0]]]
    else:
        yield plan
    for child in below:
        yield from _nodes_to_records(table, child)


def _reads_records(plan: Any) -> bool:
    return any(node.nodeName() == "MapInArrow" for node in _nodes(plan))


def _names_records(plan: Any) -> bool:
    return any(
        node.nodeName() == "UnresolvedRelation" and node.name().lower() == RECORDS for node in _nodes(plan)
    )


def _in_task(physical: Any) -> Iterator[Any]:
    """Yield the nodes that run in the records' tasks, without those whose result is broadcast to the tasks."""
    yield physical
    if physical.nodeName() != "BroadcastExchange":
        for child in _children(physical):
            yield from _in_task(child)


def _nodes(plan: Any) -> Iterator[Any]:
    yield plan
    for child in _children(plan):
        yield from _nodes(child)


def _children(plan: Any) -> list[Any]:
    children = plan.children()
    return [children.apply(number) for number in range(children.size())]


def _scala(session: SparkSession, *items: Any) -> Any:
    items_in_java = java(session).java.util.ArrayList()
    for item in items:
        items_in_java.add(item)
    return java(session).scala.jdk.javaapi.CollectionConverters.asScala(items_in_java).toSeq()


def _id(attribute: Any) -> int:
    return int(attribute.exprId().id())


def refusal(table: str, node: str, why: str = "", at: Any = None) -> TableError:
    """Return the error for a plan with a node of this name. `at`: the node, with its place in the text. `why`: the reason."""
    place = "" if at is None else _place(at.origin())
    return TableError(
        "sql.refused",
        f"{table}: {why or _REASONS.get(node, f'Spark plans a {node} for it')}{place}; nothing is dumped",
        "write a SELECT that makes at most one row of each record, from this record's values only: SELECT columns and"
        " functions FROM records WHERE ..",
    )


def syntax_error(table: str, error: PySparkException) -> TableError:
    """Return the error for a string that Spark cannot parse or analyse."""
    if (error.getCondition() or "").startswith(_WITHOUT_GROUP):
        return refusal(table, "Aggregate")
    # in Spark's message, the text or the plan follows the reason
    reason = error_text(error).partition("\n== SQL")[0].partition(";\n")[0]
    origin = getattr(error, "_origin", None)
    place = _place(origin) if isinstance(error, AnalysisException) and origin is not None else ""
    return TableError(
        "sql.syntax", f"{table}: {_TAIL.sub(' ', reason).strip()}{place}", "correct the table's sql"
    )


def failed_select(table: str, error: PySparkException | Py4JJavaError) -> TableError:
    """Return the error for a SELECT that Spark planned and could not run to the end."""
    return TableError(
        "sql.failed",
        f"{table}: its SELECT or its tasks failed: {error_text(error)}",
        "if a function fails on a record, use try_cast, try_divide, .. or exclude the record with WHERE",
    )


def _place(at: Any) -> str:
    """Return the place as a string, empty if unknown. `at`: Spark's origin, with lines from 1 and positions from 0."""
    line, position = at.line(), at.startPosition()
    if line.isEmpty() or position.isEmpty():
        return ""
    return f" (at line {line.get()}, column {position.get() + 1} of the SQL)"
