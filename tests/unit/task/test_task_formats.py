"""The table's format and change log in the map reach the decoder of a task."""

import json
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from kafka2hive.config.keys import Column, CsvOptions, TableSettings
from kafka2hive.config.keys.source import ChangeLogKeys, DebeziumKeys
from kafka2hive.model.files import FileKind
from tests.contract.test_canal import ROW, flat
from tests.contract.test_debezium_decimals import encoded, record, with_schema
from tests.harness.fake_consumer import FakeLog
from tests.harness.one_task import run_task_of
from tests.harness.task_files import offsets, read_rows, table_settings

CHANGE = {"id": "bigint", "total": "decimal(10,2)", "__op": "string"}


def outcome(settings: TableSettings, values: Sequence[bytes]) -> tuple[list[list[Any]], list[str]]:
    """Return rows without their path, and the codes of dead letters."""
    log = FakeLog(dict(enumerate(values)), len(values))
    manifest, files = run_task_of({("t", 0): log}, settings, [offsets("t", 0, 0, len(values))])
    assert manifest.failure is None, manifest.failure
    letters = read_rows(files, manifest, FileKind.DEAD_LETTER)
    rows = [[value for name, value in row.items() if name != "_path"] for row in read_rows(files, manifest)]
    return rows, [letter["reason"] for letter in letters]


def settings(columns: dict[str, str], **more: Any) -> TableSettings:
    declared = tuple(Column(name, kind) for name, kind in columns.items())
    return replace(table_settings("db.t", "json", ()), columns=declared, **more)


def as_json(*records: Any) -> list[bytes]:
    return [json.dumps(record).encode() for record in records]


def test_fields_are_taken_apart_by_the_characters_of_the_map() -> None:
    table = settings({"a": "string", "n": "int"}, format="csv", csv=CsvOptions(";", "'", null_text="-"))
    assert outcome(table, [b"'x;y';1\n", b"-;-", b"x,1"]) == ([["x;y", 1], [None, None]], ["csv.fields"])


def test_a_flat_message_of_canal_is_unpacked() -> None:
    messages = as_json(flat("INSERT", [ROW]), flat("DELETE", [ROW, ROW]), flat("DELETE", [ROW, None]))
    rows = [[1004, Decimal("12.50"), "c"], *[[1004, Decimal("12.50"), "d"]] * 2]
    assert outcome(settings(CHANGE, source="canal"), messages) == (rows, ["change_log.row"])


def test_decimals_of_debezium_are_bytes_where_the_map_says_so() -> None:
    good = record({"id": 1, "total": encoded("3.25", 2)})
    other = record({"id": 1, "total": encoded("3.125", 3)})
    messages = as_json(good, with_schema(good), with_schema(other, scale="3"))
    source = ChangeLogKeys(debezium=DebeziumKeys(decimals="base64"))
    rows = [[1, Decimal("3.25"), "c"]] * 2
    assert outcome(settings(CHANGE, source=source), messages) == (rows, ["json.inexact"])


def test_decimals_of_debezium_are_what_the_schema_of_the_record_says_by_default() -> None:
    both = record({"id": 1, "total": "1990"})
    by_schema, refused = [[1, Decimal("-26297.72"), "c"]], ["change_log.decimal"]
    assert outcome(settings(CHANGE, source="debezium"), as_json(both, with_schema(both))) == (
        by_schema,
        refused,
    )
    source = ChangeLogKeys(debezium=DebeziumKeys(decimals="text"))
    found = outcome(settings(CHANGE, source=source), as_json(both, with_schema(both)))
    assert found == ([[1, Decimal("1990.00"), "c"], *by_schema], [])
