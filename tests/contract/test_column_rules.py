"""The rules of columns: which values break which rule, by type, and what becomes of their messages."""

import json
import struct
from dataclasses import replace
from typing import Any

import pytest

from kafka2hive.config.keys import Bucketing, Column, MetadataColumn, RecordPart, TableSettings, Tombstones
from kafka2hive.config.keys.column_rules import ColumnRules
from kafka2hive.config.keys.masks import Mask
from kafka2hive.config.keys.source import CHANGE_COLUMNS
from kafka2hive.model.errors import TableError
from kafka2hive.model.files import FileKind
from kafka2hive.model.offsets import OffsetAccounting
from kafka2hive.plan.contract import BrokenRule, TableManifest
from tests.harness.fake_consumer import FakeLog
from tests.harness.one_task import outcome_of, run_task_of, total
from tests.harness.task_files import MemoryFiles, offsets, read_rows, table_settings

PLACE = ((MetadataColumn.OFFSET, "o"),)

CASES: list[tuple[str, ColumnRules, list[Any], list[Any]]] = [
    # type, rule, values that obey it, values that break it
    ("bigint", ColumnRules(required=True), [0, -1], [None]),
    ("string", ColumnRules(required=True), ["", "x"], [None]),
    ("boolean", ColumnRules(required=True), [False], [None]),
    ("binary", ColumnRules(required=True), ["", "AA=="], [None]),
    ("array<int>", ColumnRules(required=True), [[], [None]], [None]),
    ("map<string,int>", ColumnRules(required=True), [{}], [None]),
    ("struct<a:int>", ColumnRules(required=True), [{}, {"a": None}], [None]),
    ("tinyint", ColumnRules(least="-2"), [-2, 127, None], [-3, -128]),
    ("smallint", ColumnRules(least="300"), [300], [299, -32768]),
    ("int", ColumnRules(least="0"), [0, 1, None], [-1]),
    ("bigint", ColumnRules(least="9007199254740993"), [9007199254740993], [9007199254740992]),
    ("float", ColumnRules(least="0.1"), [0.1, 1e30], [0.0999999, -1]),
    ("double", ColumnRules(least="0"), [0, -0.0, 1e-320], [-1e-320]),
    ("decimal(9,2)", ColumnRules(least="0.10"), ["0.1", "1"], ["0.09", "-1"]),
    (
        "decimal(38,18)",
        ColumnRules(least="12345678901234567890.000000000000000001"),
        ["12345678901234567890.000000000000000001"],
        ["12345678901234567890"],
    ),
    ("date", ColumnRules(least="2013-01-01"), ["2013-01-01"], ["2012-12-31", "0001-01-01"]),
    (
        "timestamp",
        ColumnRules(least="2013-01-01T00:00:00.000001"),
        ["2013-01-01T00:00:00.000001"],
        ["2013-01-01T00:00"],
    ),
    ("tinyint", ColumnRules(most="5"), [5, -128, None], [6]),
    ("bigint", ColumnRules(most="9007199254740992"), [9007199254740992], [9007199254740993]),
    ("float", ColumnRules(most="16777216"), [16777216], [16777218]),
    ("double", ColumnRules(most="0.1"), [0.1], [0.10000000000000002]),
    ("decimal(9,2)", ColumnRules(most="100"), ["100.00"], ["100.01"]),
    ("date", ColumnRules(most="9999-12-30"), ["9999-12-30"], ["9999-12-31"]),
    ("timestamp", ColumnRules(most="2013-01-01"), ["2013-01-01T00:00"], ["2013-01-01T00:00:01"]),
    ("string", ColumnRules(pattern="[a-z]+|"), ["abc", "", None], ["aBc", "abc\n", "1", "a b"]),
    ("varchar(9)", ColumnRules(pattern="(?i)a.c"), ["ABC", "a\u00e9c"], ["a\nc", "abcd"]),
    ("char(3)", ColumnRules(pattern="a|b"), ["a", "b"], ["ab", "c"]),
    ("string", ColumnRules(values=("new", "paid")), ["new", "paid", None], ["New", "", "new "]),
    ("boolean", ColumnRules(values=("true",)), [True, None], [False]),
    ("int", ColumnRules(values=("1", "-3")), [1, -3], [3, 0]),
    ("bigint", ColumnRules(values=("9007199254740993",)), [9007199254740993], [9007199254740992]),
    ("double", ColumnRules(values=("0.1", "0")), [0.1, -0.0, 0], [0.2]),
    ("float", ColumnRules(values=("0.1",)), [0.1], [0.2]),
    ("decimal(5,2)", ColumnRules(values=("1.5",)), ["1.50"], ["1.51"]),
    ("date", ColumnRules(values=("2013-01-01",)), ["2013-01-01"], ["2013-01-02"]),
    ("timestamp", ColumnRules(values=("2013-01-01T05:00",)), ["2013-01-01T05:00:00"], ["2013-01-01T05:01"]),
]


def name_of(rules: ColumnRules) -> str:
    (name,) = rules.names()
    return name


def table(*columns: Column, **more: Any) -> TableSettings:
    return replace(table_settings("db.t", "json", (), PLACE, Bucketing("")), columns=columns, **more)


def run_of(
    settings: TableSettings, *messages: bytes | None, **log_options: Any
) -> tuple[TableManifest, MemoryFiles]:
    log = FakeLog(dict(enumerate(messages)), len(messages), **log_options)
    manifest, files = run_task_of({("t", 0): log}, settings, [offsets("t", 0, 0, len(messages))])
    assert manifest.failure is None, manifest.failure
    return manifest, files


def offsets_in(manifest: TableManifest, files: MemoryFiles) -> list[int]:
    return sorted(row["o"] for row in read_rows(files, manifest))


def letters_in(manifest: TableManifest, files: MemoryFiles) -> list[dict[str, Any]]:
    return sorted(read_rows(files, manifest, FileKind.DEAD_LETTER), key=lambda letter: int(letter["offset"]))


def message(**values: Any) -> bytes:
    return json.dumps(values).encode()


@pytest.mark.parametrize(
    ("kind", "rules", "good", "bad"), CASES, ids=[f"{kind}, {name_of(rules)}" for kind, rules, _, _ in CASES]
)
def test_a_value_obeys_or_breaks_a_rule(
    kind: str, rules: ColumnRules, good: list[Any], bad: list[Any]
) -> None:
    messages = [message(a=value) for value in [*good, *bad]]
    settings = table(Column("a", kind, rules=rules))
    manifest, files = run_of(settings, *messages)
    assert offsets_in(manifest, files) == list(range(len(good)))
    letters = letters_in(manifest, files)
    assert [letter["offset"] for letter in letters] == list(range(len(good), len(messages)))
    assert {letter["reason"] for letter in letters} == {f"rule.{name_of(rules)}"}
    assert [letter["value"] for letter in letters] == messages[len(good) :]
    size = sum(map(len, messages))
    assert total(manifest) == OffsetAccounting(
        read=len(messages), written=len(good), dead_lettered=len(bad), bytes=size
    )
    counts = [BrokenRule(column="a", rule=name_of(rules), on_break="dead_letter", rows=len(bad))]
    assert list(manifest.broken) == counts

    counted = table(Column("a", kind, rules=replace(rules, on_break="count")))
    manifest, files = run_of(counted, *messages)
    assert offsets_in(manifest, files) == list(range(len(messages)))
    assert list(manifest.broken) == [replace(counts[0], on_break="count")]
    assert total(manifest).dead_lettered == 0

    assert run_of(settings, *messages[: len(good)])[0].broken == ()


@pytest.mark.parametrize(
    ("kind", "rules", "value", "text"),
    [
        ("int", ColumnRules(required=True), None, "column a has no value, and is required: true"),
        ("int", ColumnRules(least="0"), -5, "column a: -5 is less than min: 0"),
        ("decimal(9,2)", ColumnRules(most="0.10"), "0.2", "column a: 0.20 is more than max: 0.10"),
        ("boolean", ColumnRules(values=("true",)), False, "column a: false is not one of values: true"),
        ("string", ColumnRules(pattern="[0-9]+"), "x", "column a: 'x' does not match pattern: [0-9]+"),
        (
            "string",
            ColumnRules(values=tuple("bcdefgh")),
            "x" * 70,
            f"column a: '{'x' * 59}.. is not one of values: b, c, d, e, f and 2 more",
        ),
    ],
)
def test_a_reason_has_the_column_the_value_and_the_rule(
    kind: str, rules: ColumnRules, value: Any, text: str
) -> None:
    manifest, files = run_of(table(Column("a", kind, rules=rules)), message(a=value))
    (letter,) = letters_in(manifest, files)
    assert (letter["reason"], letter["detail"]) == (f"rule.{name_of(rules)}", text)
    (refusal,) = manifest.refusals
    assert (refusal.code, refusal.column, refusal.count) == (letter["reason"], "a", 1)


def test_tasks_add_up_their_counts_and_letters_by_rules_count_towards_the_share() -> None:
    settings = table(Column("a", "int", rules=ColumnRules(least="0")))
    manifests = []
    for number in (0, 1):
        log = FakeLog({n: message(a=-1 if n < 10 else n) for n in range(100)}, 100)
        ranges = [offsets("t", number, 0, 100)]
        manifests.append(run_task_of({("t", number): log}, settings, ranges)[0])
    assert [broken.rows for broken in outcome_of(*manifests, share=0.1).broken] == [20]
    with pytest.raises(TableError, match=r"20 of 20 rule\.min in column a"):
        outcome_of(*manifests, share=0.09)


def test_a_missing_field_a_null_and_an_empty_string_that_means_null_are_no_value() -> None:
    column = Column("a", "int", rules=ColumnRules(required=True))
    loose = replace(column, leeway=replace(column.leeway, empty="null"))
    manifest, files = run_of(table(loose), b"{}", b'{"a":null}', b'{"a":""}', b'{"a":0}')
    assert offsets_in(manifest, files) == [3]
    assert total(manifest).dead_lettered == 3


def test_nan_is_neither_at_least_nor_at_most_a_bound() -> None:
    schema = '{"type":"record","name":"R","fields":[{"name":"a","type":"double"}]}'
    for rules in (ColumnRules(least="0"), ColumnRules(most="0"), ColumnRules(values=("0",))):
        settings = table(Column("a", "double", rules=rules), format="avro", avro_schema=schema)
        manifest, files = run_of(settings, *(struct.pack("<d", value) for value in (float("nan"), 0.0)))
        assert offsets_in(manifest, files) == [1]


def test_the_first_broken_rule_is_the_reason_and_each_is_counted() -> None:
    columns = (
        Column("a", "int", rules=ColumnRules(least="0", values=("1", "2"), on_break="count")),
        Column("b", "string", rules=ColumnRules(required=True)),
        Column("c", "string", rules=ColumnRules(pattern="x", values=("x",))),
    )
    manifest, files = run_of(table(*columns), message(a=-1, c="y"), message(a=1, b="", c="y"))
    assert [letter["reason"] for letter in letters_in(manifest, files)] == ["rule.required", "rule.pattern"]
    assert [(b.column, b.rule, b.on_break, b.rows) for b in manifest.broken] == [
        ("a", "min", "count", 1),
        ("a", "values", "count", 1),
        ("b", "required", "dead_letter", 1),
        ("c", "pattern", "dead_letter", 2),
        ("c", "values", "dead_letter", 2),
    ]


def test_the_table_says_what_a_broken_rule_means_unless_the_column_does() -> None:
    columns = (
        Column("a", "int", rules=ColumnRules(required=True)),
        Column("b", "int", rules=ColumnRules(required=True, on_break="dead_letter")),
    )
    manifest, files = run_of(table(*columns, on_break="count"), b'{"b":1}', b'{"a":1}')
    assert offsets_in(manifest, files) == [0]
    assert [(b.column, b.on_break) for b in manifest.broken] == [("a", "count"), ("b", "dead_letter")]


@pytest.mark.parametrize("rows", ["array", "lines"])
def test_a_message_with_one_row_that_breaks_a_rule_is_one_dead_letter(rows: Any) -> None:
    def of(*numbers: int) -> bytes:
        each = [json.dumps({"a": number}) for number in numbers]
        return ("[" + ",".join(each) + "]" if rows == "array" else "\n".join(each)).encode()

    settings = table(Column("a", "int", rules=ColumnRules(least="0")), rows=rows)
    manifest, files = run_of(settings, of(1, 2), of(3, -1, -2), of(4))
    assert offsets_in(manifest, files) == [0, 0, 2]
    (letter,) = letters_in(manifest, files)
    assert letter["detail"] == "column a: -1 is less than min: 0 (ordinal 1 of its message)"
    assert letter["value"] == of(3, -1, -2)
    assert [b.rows for b in manifest.broken] == [2]
    counted = total(manifest)
    assert (counted.written, counted.more_rows, counted.dead_lettered) == (2, 1, 1)


def test_values_are_unique_within_a_message_only() -> None:
    columns = (Column("a", "decimal(9,2)"), Column("b", "string"))
    settings = table(*columns, rows="array", unique_within_message=("a", "b"))
    messages = [
        [{"a": 1, "b": "x"}, {"a": 1, "b": "y"}, {"a": 2, "b": "x"}],
        [{"a": 1, "b": "x"}, {"a": 2, "b": "x"}, {"a": "1.00", "b": "x"}],
        [{"a": 1}, {"a": 1}, {"b": "x"}, {"b": "x"}],
        [{"a": 1, "b": "x"}],
    ]
    sent = [json.dumps(each).encode() for each in messages]
    manifest, files = run_of(settings, *sent)
    assert offsets_in(manifest, files) == [0, 0, 0, 2, 2, 2, 2, 3]
    (letter,) = letters_in(manifest, files)
    assert letter["reason"] == "rule.unique_within_message"
    assert letter["detail"] == "column a (with b): 1.00 repeats in its message (ordinal 2 of its message)"
    manifest, files = run_of(replace(settings, on_break="count"), *sent)
    assert len(offsets_in(manifest, files)) == 11
    assert manifest.broken == (
        BrokenRule(column="a", rule="unique_within_message", on_break="count", rows=1),
    )


def test_a_tombstone_breaks_no_rule() -> None:
    settings = table(Column("a", "int", rules=ColumnRules(required=True)), tombstones=Tombstones.WRITE)
    manifest, files = run_of(settings, None, b'{"a":1}', b"{}")
    assert offsets_in(manifest, files) == [0, 1]
    assert manifest.broken[0].rows == 1


def test_rules_see_plain_values_and_no_reason_shows_what_a_mask_hides() -> None:
    columns = (
        Column("a", "string", mask=Mask("drop"), rules=ColumnRules(required=True, values=("secret",))),
        Column("b", "int", rules=ColumnRules(least="0")),
    )
    manifest, files = run_of(
        table(*columns), message(a="secret", b=1), message(a="hidden", b=1), message(b=-1)
    )
    assert [row["a"] for row in read_rows(files, manifest)] == [None]
    first, second = letters_in(manifest, files)
    assert (first["reason"], second["reason"]) == ("rule.values", "rule.required")
    assert "hidden" not in first["detail"] and "secret" not in first["detail"]


def test_columns_of_keys_and_headers_have_rules() -> None:
    columns = (
        Column("a", "int"),
        Column("k", "int", part=RecordPart.KEY, rules=ColumnRules(least="5")),
        Column("h", "string", ("x",), part=RecordPart.HEADER, rules=ColumnRules(required=True)),
    )
    named = [("x", b"1")]
    manifest, files = run_of(
        table(*columns), b"{}", b"{}", b"{}", keys={0: b"5", 1: b"4", 2: b"5"}, headers={0: named, 1: named}
    )
    assert offsets_in(manifest, files) == [0]
    assert [letter["reason"] for letter in letters_in(manifest, files)] == ["rule.min", "rule.required"]


def test_csv_and_plain_values_have_rules() -> None:
    columns = (Column("a", "int", rules=ColumnRules(most="5")), Column("b", "string"))
    manifest, files = run_of(table(*columns, format="csv"), b"5,x", b"6,x")
    assert offsets_in(manifest, files) == [0]
    raw = table(Column("value", "string", rules=ColumnRules(pattern="a+")), format="raw")
    manifest, files = run_of(raw, b"aa", b"ab")
    assert offsets_in(manifest, files) == [0]


def test_deletions_and_truncations_of_a_change_log_break_no_rule() -> None:
    columns = (
        Column("a", "int", rules=ColumnRules(required=True, least="0")),
        *(Column(name, kind) for name, kind in CHANGE_COLUMNS.items()),
    )
    settings = table(*columns, source="maxwell")

    def change(kind: str, **data: Any) -> bytes:
        return message(database="d", table="t", type=kind, ts=1, data=data)

    manifest, files = run_of(settings, change("insert", a=1), change("insert", a=-1), change("delete", a=-1))
    assert offsets_in(manifest, files) == [0, 2]
    assert [(b.rule, b.rows) for b in manifest.broken] == [("min", 1)]
