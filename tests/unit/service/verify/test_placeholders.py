"""The audit finds placeholders in files by a list of its own, whatever the decoder wrote."""

import io
from base64 import b64encode

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka2hive.config.keys import TableSettings
from kafka2hive.config.keys.source import ChangeLogKeys, DebeziumKeys, SourceKind
from kafka2hive.formats.files import open_reader
from kafka2hive.service.verify.placeholders import placeholder_findings
from tests.harness.map_text import films

TEXT = "__debezium_unavailable_value"
ROWS: dict[str, list[object]] = {
    "id": [1, 2, 3],
    "doc": ["d", TEXT, None],
    "text": ["d", b64encode(TEXT.encode()).decode(), ""],
    "bin": [b"b", TEXT.encode(), None],
    "tags": [["a"], [TEXT], None],
    "nums": [[1], list(TEXT.encode()), None],
}


def settings(source: SourceKind) -> TableSettings:
    from dataclasses import replace

    rule = films("    source: debezium\n    columns: {id: bigint, name: string}\n")
    return replace(rule.settings(rule.columns), source=source)


def findings(rows: dict[str, list[object]], source: SourceKind = "debezium") -> list[str]:
    out = io.BytesIO()
    pq.write_table(pa.table(rows), out)
    found = placeholder_findings(open_reader(out.getvalue()), "/t/a.parquet", settings(source))
    assert {(one.code, one.where) for one in found} <= {("verify.unavailable", "/t/a.parquet")}
    return [one.message for one in found]


@pytest.mark.parametrize("column", [name for name in ROWS if name != "id"])
def test_a_placeholder_that_is_a_value_is_found(column: str) -> None:
    rows = {"id": ROWS["id"], column: ROWS[column]}
    assert findings(rows) == [f"1 row with the connector's placeholder in column {column}"]
    good = {name: values[::2] for name, values in rows.items()}
    assert findings(good) == []


def test_the_placeholder_of_the_map_is_found_too() -> None:
    source = ChangeLogKeys(debezium=DebeziumKeys(placeholder="hex:3fff"))
    rows: dict[str, list[object]] = {"bin": [b"?\xff", b"?"], "nums": [[63, -1], [63, 255]]}
    assert findings(rows, source) == [
        f"1 row with the connector's placeholder in column {name}" for name in rows
    ]


def test_a_column_that_the_row_names_must_be_null() -> None:
    rows: dict[str, list[object]] = {"doc": [None, "d"], "__unavailable": [["doc"], ["doc", "__before.doc"]]}
    assert findings(rows) == ["1 row with a value in column doc, which __unavailable names"]


def test_other_tables_are_not_searched() -> None:
    assert findings(ROWS, "events") == [] == findings(ROWS, "maxwell")
