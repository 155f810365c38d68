"""`compression` and `encoding` in the map: what they allow, and their contradictions."""

import pytest

from kafka2hive.config.load import load_text
from tests.harness.map_text import FILMS, HEAD, films, problems_of

COLUMNS = "    columns: {a: string}\n"


def test_values_are_plain_utf_8_by_default() -> None:
    table = films(COLUMNS)
    assert (table.compression, table.encoding) == ("none", "utf-8")


@pytest.mark.parametrize(
    "lines",
    [
        "compression: zstd\n    encoding: utf-16",
        "encoding: gbk\n    format: csv",
        "encoding: gbk\n    format: raw",
        "compression: snappy\n    format: json_schema",
        "compression: lz4\n    source: maxwell",
    ],
)
def test_text_may_have_both_and_every_format_may_be_compressed(lines: str) -> None:
    table = films(f"    {lines}\n{COLUMNS}")
    assert table.compression != "none" or table.encoding != "utf-8"


@pytest.mark.parametrize(
    ("lines", "columns", "message"),
    [
        ("compression: brotli", COLUMNS, "compression: expected none, gzip"),
        ("encoding: latin1", COLUMNS, "encoding: expected utf-8, utf-8-bom"),
        ("encoding: gbk\n    format: json_schema", COLUMNS, "is used only with format json, csv or raw"),
        ("encoding: gbk\n    format: raw", "", "the column of the value must be a string, not binary"),
        ("encoding: gbk\n    format: raw", "    columns: {a: binary}\n", "must be a string, not binary"),
        (
            "encoding: gbk\n    format: raw\n    sql: SELECT b AS a FROM records\n    records: {b: binary}",
            COLUMNS,
            "must be a string, not binary",
        ),
    ],
)
def test_contradictions_are_reported(lines: str, columns: str, message: str) -> None:
    text = "\n".join(map(str, problems_of(f"{FILMS}    {lines}\n{columns}")))
    assert message in text, text


def test_a_table_may_turn_off_what_defaults_say() -> None:
    defaults = "defaults: {encoding: gbk, compression: gzip}\n"
    second = "  - {table: air.b, topics: [b], format: raw, encoding: utf-8, compression: none}\n"
    first, raw = load_text(HEAD + defaults + FILMS + COLUMNS + second, "map.yaml", {}).tables
    assert (first.encoding, first.compression) == ("gbk", "gzip")
    assert (raw.encoding, raw.compression) == ("utf-8", "none")
    bad = second.replace("encoding: utf-8, ", "")
    (problem,) = problems_of(HEAD + defaults + FILMS + COLUMNS + bad)
    assert "defaults.encoding" in str(problem), problem
