"""`rows` in the map: what it allows, and the example."""

from pathlib import Path

import pytest

from kafka2hive.config.keys import MetadataColumn, RecordPart
from kafka2hive.config.keys.source import array_path, rows_form
from kafka2hive.config.load import load_map, load_text
from tests.harness.map_text import FILMS, HEAD, films, problems_of

COLUMNS = "    columns: {a: string}\n"


@pytest.mark.parametrize("format", ["avro", "protobuf"])
def test_rows_in_an_array_of_avro_and_protobuf(format: str) -> None:
    head = HEAD + "registry: {url: 'http://registry:8081'}\n" + FILMS + f"    format: {format}\n"
    (table,) = load_text(f"{head}    rows: {{array: $.a.b}}\n{COLUMNS}", "map.yaml", {}).tables
    assert table.may_hold_several and array_path(table.rows) == ("a", "b")
    (problem,) = problems_of(f"{head}    rows: {{array: $.a}}\n    schema_evolution: add\n{COLUMNS}")
    assert "cannot be used with rows in an array of avro and protobuf: write ignore" in problem
    (problem,) = problems_of(f"{head}    rows: array\n{COLUMNS}")
    assert "array is used only with format json or json_schema" in problem


def test_a_message_is_one_row_by_default() -> None:
    table = films(COLUMNS)
    assert (table.rows, table.may_hold_several) == ("one", False)


@pytest.mark.parametrize(
    "lines",
    [
        "rows: lines",
        "rows: array",
        "source: canal",
        "rows: lines\n    format: csv",
        "rows: array\n    format: json_schema",
        "rows: {array: $.Records}",
    ],
)
def test_some_messages_may_hold_several(lines: str) -> None:
    assert films(f"    {lines}\n{COLUMNS}").may_hold_several


def test_the_example_loads() -> None:
    example = Path(__file__).parents[4] / "configs" / "rows.yaml"
    lines, array, enclosed, csv = load_map(str(example), {}).tables
    assert (lines.rows, array.rows, csv.rows, csv.format) == ("lines", "array", "lines", "csv")
    assert (rows_form(enclosed.rows), array_path(enclosed.rows)) == ("array", ("Records",))
    assert [column.part for column in enclosed.columns] == [RecordPart.VALUE, RecordPart.MESSAGE]
    assert (MetadataColumn.ORDINAL, "kafka_ordinal") in lines.metadata


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("rows: many", "expected one, lines or array"),
        (
            "rows: array\n    format: csv",
            "array is used only with format json or json_schema; the table's format is csv",
        ),
        (
            "rows: lines\n    format: json_schema",
            "lines is used only with format json or csv; the table's format is json_schema",
        ),
        (
            "rows: array\n    format: raw",
            "array is used only with format json or json_schema; the table's format is raw",
        ),
        ("rows: array\n    source: debezium", "a message of a change log has one envelope"),
        ("rows: lines\n    sql: SELECT * FROM records", "requires messages of one row"),
        ("source: canal\n    sql: SELECT * FROM records", "requires messages of one row"),
        ("rows: lines\n    source: canal", "a message of a change log has one envelope"),
        ("rows: {array: $.Records}\n    source: debezium", "a message of a change log has one envelope"),
        ("rows: {array: $.a}\n    format: csv", "array is used only with format json or json_schema"),
        ("rows: {array: $.Records}\n    sql: SELECT * FROM records", "requires messages of one row"),
        ("rows: {array: Records}", "it begins with $, as in $.Records"),
        ('rows: {array: "$.Records[*]"}', "wildcards and filters cannot be used"),
    ],
)
def test_contradictions_are_reported(lines: str, message: str) -> None:
    (problem,) = problems_of(HEAD + FILMS + f"    {lines}\n" + COLUMNS)
    assert message in problem


def test_defaults_may_set_rows_for_the_tables_in_json() -> None:
    second = "  - {table: air.lines, topics: [lines], format: raw}\n"
    json, raw = load_text(HEAD + "defaults: {rows: lines}\n" + FILMS + COLUMNS + second, "m", {}).tables
    assert json.may_hold_several
    assert raw.format == "raw"


@pytest.mark.parametrize(
    ("rows", "column", "message"),
    [
        ("array", "message: $.account", "is used only with rows: {array: ..}"),
        ("one", "message: $.account", "is used only with rows: {array: ..}"),
        ("{array: $.a.b}", "message: $.a.b", "leads to the array $.a.b"),
        ("{array: $.a.b}", "message: $.a.b.c", "leads to the array $.a.b"),
        ("{array: $.a}", "message: account", "it begins with $, as in $.account"),
        ("{array: $.a}", "message: $.b, from: $.c", "has from and message: keep one"),
        ("{array: $.a}", "message: $.b, unknown_enum: name", "applies only to Protobuf"),
        ("{array: $.a}", "message: $.b, unit: ms", "is used only with a timestamp or a date"),
    ],
)
def test_a_column_around_the_array_needs_one_and_is_not_within_it(
    rows: str, column: str, message: str
) -> None:
    columns = f"    columns: {{n: bigint, t: {{type: string, {column}}}}}\n"
    (problem,) = problems_of(HEAD + FILMS + f"    rows: {rows}\n" + columns)
    assert message in problem


@pytest.mark.parametrize("more", ["json: text", "default: x"])
def test_a_column_around_the_array_has_the_leeway_of_others(more: str) -> None:
    columns = f"    columns: {{n: bigint, t: {{type: string, message: $.a, {more}}}}}\n"
    assert films("    rows: {array: $.b}\n" + columns).columns[1].part is RecordPart.MESSAGE


def test_a_tombstone_has_no_value_around_an_array() -> None:
    lines = "    rows: {array: $.b}\n    tombstones: write\n    bucket: {time: record, path: 'day={t}'}\n"
    columns = "    columns: {n: bigint, t: {type: string, message: $.a}}\n"
    (problem,) = problems_of(HEAD + FILMS + lines + columns)
    assert "bucket.path takes {t} from the value" in problem


def test_a_row_needs_a_column_of_its_own() -> None:
    columns = "    columns: {t: {type: string, message: $.a}}\n"
    (problem,) = problems_of(HEAD + FILMS + "    rows: {array: $.b}\n" + columns)
    assert "at least one column must come from the record's value" in problem


def test_defaults_may_not_have_a_malformed_path_to_an_array() -> None:
    (problem,) = problems_of(HEAD + "defaults: {rows: {array: Records}}\n" + FILMS + COLUMNS)
    assert "it begins with $, as in $.Records" in problem
