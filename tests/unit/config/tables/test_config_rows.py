"""`rows` in the map: what it allows, and the example."""

from pathlib import Path

import pytest

from kafka2hive.config.keys import MetadataColumn
from kafka2hive.config.load import load_map, load_text
from tests.harness.map_text import FILMS, HEAD, films, problems_of

COLUMNS = "    columns: {a: string}\n"


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
    ],
)
def test_some_messages_may_hold_several(lines: str) -> None:
    assert films(f"    {lines}\n{COLUMNS}").may_hold_several


def test_the_example_loads() -> None:
    example = Path(__file__).parents[4] / "configs" / "rows.yaml"
    lines, array, csv = load_map(str(example), {}).tables
    assert (lines.rows, array.rows, csv.rows, csv.format) == ("lines", "array", "lines", "csv")
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
