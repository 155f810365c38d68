"""The audit finds rows of files that break a rule of the map, by a reading of the rules that tasks do not share."""

import io
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka2hive.config.keys import Column, TableSettings
from kafka2hive.config.keys.column_rules import ColumnRules
from kafka2hive.config.keys.masks import Mask
from kafka2hive.formats.files import open_reader
from kafka2hive.service.verify.rules import rule_findings
from kafka2hive.service.verify.semantics.rules import RuleJudge
from tests.harness.map_text import films


def settings(lines: str) -> TableSettings:
    rule = films(lines)
    return rule.settings(rule.columns)


def findings(rows: pa.Table, table: TableSettings) -> list[str]:
    out = io.BytesIO()
    pq.write_table(rows, out)
    found = rule_findings(open_reader(out.getvalue()), "/t/a.parquet", RuleJudge(table))
    assert {(one.code, one.where) for one in found} <= {("verify.rule", "/t/a.parquet")}
    return [one.message for one in found]


MOMENT = datetime(2013, 1, 1, 0, 0, 1)
CASES: list[tuple[str, pa.DataType, ColumnRules, list[Any], list[Any], str]] = [
    # type, type in the file, rules, good values, bad values, what is said of these
    (
        "int",
        pa.int32(),
        ColumnRules(required=True),
        [0],
        [None, None],
        "without a value in column a, which is required",
    ),
    ("int", pa.int32(), ColumnRules(least="0"), [0, 1, None], [-1, -1], "less than min, 0"),
    ("bigint", pa.int64(), ColumnRules(most="5"), [5, None], [6], "more than max, 5"),
    (
        "double",
        pa.float64(),
        ColumnRules(least="0"),
        [-0.0, 1.5],
        [-1e-300, float("nan")],
        "less than min, 0",
    ),
    ("float", pa.float32(), ColumnRules(most="0.1"), [0.1, None], [0.2], "more than max, 0.1"),
    (
        "decimal(9,2)",
        pa.decimal128(9, 2),
        ColumnRules(least="0.10"),
        [Decimal("0.1")],
        [Decimal("0.09")],
        "less than min, 0.10",
    ),
    (
        "date",
        pa.date32(),
        ColumnRules(most="2013-01-01"),
        [date(2013, 1, 1)],
        [date(2013, 1, 2)],
        "more than max, 2013-",
    ),
    (
        "timestamp",
        pa.timestamp("us"),
        ColumnRules(most="2013-01-01"),
        [datetime(2013, 1, 1)],
        [MOMENT],
        "more than max,",
    ),
    (
        "timestamp",
        pa.timestamp("us", "UTC"),
        ColumnRules(most="2013-01-01"),
        [datetime(2013, 1, 1, tzinfo=UTC)],
        [MOMENT.replace(tzinfo=UTC)],
        "more than max,",
    ),
    (
        "string",
        pa.string(),
        ColumnRules(values=("a", "b")),
        ["a", None],
        ["c", "c", ""],
        "none of its values",
    ),
    ("boolean", pa.bool_(), ColumnRules(values=("true",)), [True], [False], "none of its values"),
    ("int", pa.int64(), ColumnRules(values=("1", "2")), [1, 2], [3], "none of its values"),
]


@pytest.mark.parametrize(
    ("kind", "stored", "rules", "good", "bad", "text"),
    CASES,
    ids=[f"{c[1]}, {next(c[2].names())}" for c in CASES],
)
def test_a_row_that_breaks_a_rule_is_found(
    kind: str, stored: pa.DataType, rules: ColumnRules, good: list[Any], bad: list[Any], text: str
) -> None:
    table = replace(settings("    columns: {a: int}\n"), columns=(Column("a", kind, rules=rules),))
    rows = pa.table({"a": pa.array([*good, *bad], stored)})
    (message,) = findings(rows, table)
    assert message.startswith(f"{len(bad)} row") and text in message
    assert findings(rows.slice(0, len(good)), table) == []
    counted = replace(table, columns=(Column("a", kind, rules=replace(rules, on_break="count")),))
    assert findings(rows, counted) == [] == findings(rows, replace(table, on_break="count"))


def test_a_column_that_a_file_lacks_is_not_judged() -> None:
    table = settings("    columns: {a: {type: int, required: true}, b: int}\n")
    assert findings(pa.table({"b": pa.array([1])}), table) == []


def test_deletions_of_a_change_log_are_not_judged() -> None:
    table = settings("    source: debezium\n    columns: {a: {type: int, required: true, min: 0}}\n")
    rows = pa.table({"a": pa.array([None, -1, None, 1], pa.int32()), "__op": ["d", "d", "t", "c"]})
    assert findings(rows, table) == []
    assert len(findings(rows.slice(1).set_column(1, "__op", pa.array(["u", "c", "c"])), table)) == 2


def test_what_is_not_judged_is_said() -> None:
    table = settings(
        "    rows: lines\n    unique_within_message: [a]\n    tombstones: write\n"
        "    columns: {a: {type: int, required: true}, b: {type: string, pattern: x, values: [x]}, c: string}\n"
    )
    assert RuleJudge(table).not_judged(["a", "c"]) == [
        "pattern of b",
        "required of a: tombstones are rows of NULLs",
        "unique_within_message",
        "rules of column b: its values are in the paths",
    ]
    assert findings(pa.table({"a": pa.array([None], pa.int32())}), table) == []
    select = "    sql: SELECT a FROM records\n    columns: {a: int}\n    records: {a: {type: int, min: 1}}\n"
    assert RuleJudge(settings(select)).not_judged([]) == ["rules: they concern the records before the SELECT"]
    assert RuleJudge(settings("    columns: {a: int}\n")).not_judged([]) == []
    masked = replace(
        settings("    columns: {a: int}\n"),
        columns=(Column("a", "string", mask=Mask("drop"), rules=ColumnRules(values=("x",))),),
    )
    assert RuleJudge(masked).not_judged(["a"]) == ["rules of column a: its values are masked"]
    assert findings(pa.table({"a": ["y"]}), masked) == []
