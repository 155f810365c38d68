"""Format csv in the map: its characters and contradictions."""

from pathlib import Path

import pytest

from kafka2hive.config.keys import CsvOptions
from kafka2hive.config.load import load_map, load_text
from tests.harness.map_text import FILMS, HEAD, films, problems_of

COLUMNS = "    columns: {a: string, at: {type: timestamp, unit: s}}\n"


def test_fields_follow_rfc_4180_by_default() -> None:
    table = films(f"    format: csv\n{COLUMNS}")
    assert (table.format, table.csv) == (
        "csv",
        CsvOptions(delimiter=",", quote='"', escape=None, null_text=""),
    )
    assert [(column.name, column.unit) for column in table.columns] == [("a", None), ("at", "s")]


def test_delimiters_may_have_several_characters_and_null_several_texts() -> None:
    options = films(f'    format: csv\n    csv: {{delimiter: "||", nulls: ["", "\\\\N"]}}\n{COLUMNS}').csv
    assert (options.delimiter, options.null_texts) == ("||", ("", "\\N"))
    assert films(f'    format: csv\n    csv: {{delimiter: "\\u0001"}}\n{COLUMNS}').csv.delimiter == "\x01"
    assert CsvOptions().null_texts == ("",)


def test_the_example_loads() -> None:
    example = Path(__file__).parents[4] / "configs" / "csv.yaml"
    comma, tab = load_map(str(example), {}).tables
    assert comma.csv == CsvOptions()
    assert tab.csv == CsvOptions("\t", "", "\\", "\\N")


def test_defaults_may_set_csv_for_the_tables_in_csv() -> None:
    defaults = "defaults: {csv: {delimiter: ';'}, format: csv}\n"
    second = "  - {table: air.lines, topics: [lines], format: raw}\n"
    csv, raw = load_text(HEAD + defaults + FILMS + COLUMNS + second, "map.yaml", {}).tables
    assert (csv.csv.delimiter, raw.format) == (";", "raw")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("csv: {delimiter: ';'}", "only format csv has this key; the table's format is json"),
        ("format: csv\n    csv: {delimiter: ''}", "expected one ASCII character"),
        ("format: csv\n    csv: {delimiter: '||', escape: '|'}", "must be different characters"),
        ("format: csv\n    csv: {delimiter: ' | ', trim: true}", "must not have a blank or tab, which trim"),
        ('format: csv\n    csv: {delimiter: "|\\n"}', "expected one ASCII character or several"),
        ("format: csv\n    csv: {quote: '||'}", "expected one ASCII character other"),
        ("format: csv\n    csv: {nulls: ['', '-'], null_text: x}", "nulls: excludes null_text"),
        ("format: csv\n    csv: {nulls: ['-', '-']}", "nulls: has a text twice"),
        ("format: csv\n    csv: {nulls: ['-', 'a,b']}", "nulls: must not have a delimiter, quote"),
        (
            "format: csv\n    csv: {nulls: ['-', ' x'], trim: true}",
            "nulls: must not begin or end with a blank",
        ),
        (
            "format: csv\n    csv: {nulls: ['-', a], header: [a, at]}",
            "header: has 'a', which nulls makes NULL",
        ),
        ("format: csv\n    csv: {delimiter: '¦'}", "expected one ASCII character"),
        ('format: csv\n    csv: {quote: "\\n"}', "expected one ASCII character"),
        ("format: csv\n    csv: {escape: ''}", "expected one ASCII character"),
        ("format: csv\n    csv: {delimiter: ';', quote: ';'}", "must be different characters"),
        ("format: csv\n    csv: {escape: '\"'}", "must be different characters"),
        ("format: csv\n    csv: {null_text: 'a,b'}", "must not have a delimiter, quote or line break"),
        ("format: csv\n    csv: {null_text: ' -', trim: true}", "must not begin or end with a blank"),
        ("format: csv\n    csv: {nul_text: x}", "null_text"),
        ("format: csv\n    csv: {header: [a]}", "has 1 fields for 2 columns"),
        ("format: csv\n    csv: {header: [a, at]}\n    sql: select * from records", "is not used with sql"),
        ("format: csv\n    csv: {booleans: numbers}", "expected words or digits"),
        ("format: csv\n    source: debezium", "format csv has no fields to unpack"),
    ],
)
def test_contradictions_are_reported(lines: str, message: str) -> None:
    text = "\n".join(map(str, problems_of(f"{FILMS}    {lines}\n{COLUMNS}")))
    assert message in text


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("{a: {type: string, from: $.b}}", "columns take the fields in the order of the map"),
        ("{a: 'array<int>'}", "a field of csv is a single text, but a is array<int>"),
        ("{a: 'struct<b:int>'}", "a field of csv is a single text"),
    ],
)
def test_a_field_is_one_text_at_its_place(columns: str, message: str) -> None:
    text = "\n".join(map(str, problems_of(f"{FILMS}    format: csv\n    columns: {columns}\n")))
    assert message in text
