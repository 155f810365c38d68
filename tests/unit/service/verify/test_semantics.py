"""`verify --deep` judges times and decimals by the records' schemas with a list of its own, so it notices a wrong decoder."""

import base64
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal

import orjson
import pytest

from kafka2hive.config.keys import TableSettings
from kafka2hive.config.keys.columns import Column
from kafka2hive.config.keys.leeway import Leeway
from kafka2hive.config.keys.source import ChangeLogKeys, DebeziumKeys
from kafka2hive.decode import Changes, make_decoder
from kafka2hive.plugins import Reason
from kafka2hive.service.verify.semantics.judge import SchemaJudge, contradiction
from kafka2hive.task.rows import value_spec
from tests.contract.semantic_cases import CASES, COLUMNS, Case
from tests.harness.outcomes import row_outcomes
from tests.harness.task_files import table_settings

JUDGED = [one for one in COLUMNS if one[0].startswith(("timestamp", "date", "decimal"))]
ZONES = ["UTC", "America/New_York"]
STAMP = {"type": "int64", "name": "io.debezium.time.Timestamp"}
DECIMAL = {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal"}


def table(
    kind: str, unit: str | None, zone: str, source: Literal["events", "debezium"] = "events"
) -> TableSettings:
    path = ("payload", "v") if source == "events" else ("v",)
    columns = [Column("v", kind, path, unit)]
    if source != "events":
        columns.append(Column("__op", "string"))
    return replace(table_settings("db.t", "json", ()), columns=tuple(columns), zone=zone, source=source)


def record(of_value: dict[str, Any], value: Any, source: str = "events", op: str = "c") -> dict[str, Any]:
    row = {"type": "struct", "fields": [{**of_value, "field": "v"}]}
    if source == "events":
        return {"schema": row, "payload": {"v": value}}
    parts = [{**row, "field": "before"}, {**row, "field": "after"}, {"type": "string", "field": "op"}]
    images = {"before": {"v": value}, "after": None} if op == "d" else {"before": None, "after": {"v": value}}
    return {"schema": {"type": "struct", "fields": parts}, "payload": {"op": op, **images}}


def decoded(settings: TableSettings, message: bytes) -> Any:
    """Return the column's value, or the reason against the message."""
    (found,) = row_outcomes(make_decoder(value_spec(settings, None, Changes())), [message])
    return found if isinstance(found, Reason) else found[0]


@pytest.mark.parametrize("fields", [{"__op": "c"}, {"__deleted": "true"}])
def test_flat_rows_of_debezium_are_judged_where_they_are(fields: dict[str, Any]) -> None:
    flat = ChangeLogKeys(debezium=DebeziumKeys(form="flat"))
    settings = replace(table("timestamp", "ms", "UTC", "debezium"), source=flat)
    schema = {"type": "struct", "fields": [{**STAMP, "field": "v"}]}
    message = orjson.dumps({"schema": schema, "payload": {"v": 1_000, **fields}})
    value = decoded(settings, message)
    assert value == datetime(1970, 1, 1, 0, 0, 1)
    assert told_of(settings, message, {"v": value}) == ""
    assert "schema makes it" in told_of(settings, message, {"v": datetime(1970, 1, 2)})


def told_of(settings: TableSettings, message: bytes, row: dict[str, Any]) -> str:
    return contradiction(SchemaJudge(settings).expected(message) or {}, row)


@pytest.mark.parametrize("source", ["events", "debezium"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}{case.parameters.get('scale', '')}")
def test_no_row_of_the_decoder_contradicts_the_list_of_the_audit(
    case: Case, source: Literal["events", "debezium"]
) -> None:
    for kind, unit in JUDGED:
        for zone in ZONES:
            for op in ("c",) if source == "events" else ("c", "d"):
                settings = table(kind, unit, zone, source)
                message = orjson.dumps(record(case.schema(), case.value, source, op))
                value = decoded(settings, message)
                if not isinstance(value, Reason):
                    assert told_of(settings, message, {"v": value}) == "", (kind, unit)


WRONG: list[tuple[str, str | None, dict[str, Any], Any, str]] = [
    ("timestamp", "us", STAMP, 1_732_000_000_000, "1970-01-21 01:06:40"),
    (
        "timestamp",
        "us",
        {**STAMP, "name": "org.apache.kafka.connect.data.Timestamp"},
        1_732_000_000_000,
        "2024",
    ),
    (
        "timestamp",
        "ms",
        {**STAMP, "name": "io.debezium.time.MicroTime"},
        43_200_000_000,
        "io.debezium.time.MicroTime",
    ),
    (
        "timestamp",
        "ms",
        {**STAMP, "name": "io.debezium.time.NanoTimestamp"},
        1_001,
        "finer than a microsecond",
    ),
    ("date", "d", {"type": "int32", "name": "io.debezium.time.Year"}, 2024, "io.debezium.time.Year"),
    ("date", "ms", {"type": "int32", "name": "io.debezium.time.Date"}, 19_000, "2022-01-08"),
]


@pytest.mark.parametrize("source", ["events", "debezium"])
@pytest.mark.parametrize(("kind", "unit", "schema", "value", "told"), WRONG)
def test_a_decoder_that_follows_the_map_instead_of_the_record_is_noticed(
    kind: str,
    unit: str | None,
    schema: dict[str, Any],
    value: Any,
    told: str,
    source: Literal["events", "debezium"],
) -> None:
    """A decoder that is given the record without its schema is the decoder with this mistake."""
    settings = table(kind, unit, "UTC", source)
    whole = record(schema, value, source)
    wrong = decoded(settings, orjson.dumps({"payload": whole["payload"]}))
    assert not isinstance(wrong, Reason)
    assert told in told_of(settings, orjson.dumps(whole), {"v": wrong})


@pytest.mark.parametrize("kind", ["timestamp", "date"])
@pytest.mark.parametrize("value", [9_223_372_036_825_200_000, -9_223_372_036_832_400_000])
def test_a_time_beyond_all_years_is_the_first_or_the_last_one(kind: str, value: int) -> None:
    settings = table(kind, "us", "Europe/Berlin")
    clamped = replace(settings.columns[0], leeway=Leeway(beyond="clamp"))
    settings = replace(settings, columns=(clamped, *settings.columns[1:]))
    message = orjson.dumps(record({**STAMP, "name": "io.debezium.time.MicroTimestamp"}, value))
    row = decoded(settings, message)
    assert (row.year, told_of(settings, message, {"v": row})) == (9999 if value > 0 else 1, "")
    other = row.replace(day=2)
    assert str(other) in told_of(settings, message, {"v": other})


@pytest.mark.parametrize(
    ("scale", "unscaled", "wrong", "told"),
    [
        ("3", 12_345, Decimal("123.45"), "12.345"),
        ("0", 60, Decimal("0.60"), "makes it 60"),
        ("2", -2_929_356, Decimal("0.00"), "-29293.56"),
        ("-2", -7, Decimal("-0.07"), "makes it -7E+2"),
        ("x", 1, Decimal("0.01"), "other than base64 of a scale"),
        (None, 1, Decimal("0.01"), "bytes of no known scale"),
    ],
)
def test_a_decimal_at_the_scale_of_the_column_is_noticed(
    scale: str | None, unscaled: int, wrong: Decimal, told: str
) -> None:
    octets = unscaled.to_bytes((unscaled + (unscaled < 0)).bit_length() // 8 + 1, "big", signed=True)
    schema = {**DECIMAL, "parameters": {"scale": scale}}
    message = orjson.dumps(record(schema, base64.b64encode(octets).decode()))
    assert told in told_of(table("decimal(12,2)", None, "UTC"), message, {"v": wrong})


def test_what_the_list_does_not_know_is_not_judged() -> None:
    settings = table("timestamp", "us", "UTC")
    row = {"v": datetime(1970, 1, 1)}
    messages: Sequence[Any] = [
        b"no json",
        b"[1]",
        {"payload": {"v": 5}},
        {"schema": {"type": "struct", "fields": [5, {"field": 7}]}, "payload": {"v": 5}},
        record({"type": "int64"}, 5),
        record({"type": "int64", "name": "com.example.Unknown"}, 5),
        record(STAMP, None),
        record(STAMP, "5"),
        record(STAMP, -5_000_000_000_000),
    ]
    for message in messages:
        text = message if isinstance(message, bytes) else orjson.dumps(message)
        assert told_of(settings, text, row) == "", message
    assert told_of(settings, orjson.dumps(record(STAMP, 5)), {}) == ""
    assert told_of(settings, orjson.dumps(record(STAMP, 5)), {"v": None}) == ""
    assert SchemaJudge(replace(table("timestamp", "us", "UTC"), format="avro")).columns == ()
    assert SchemaJudge(table("bigint", None, "UTC")).columns == ()
    assert SchemaJudge(replace(table("timestamp", None, "UTC"), rows="array")).columns == ()


def test_the_date_is_that_of_the_tables_zone() -> None:
    settings = table("date", "ms", "America/New_York")
    message = orjson.dumps(record(STAMP, 1_732_000_000_000 - 7 * 3_600_000))
    assert told_of(settings, message, {"v": date(2024, 11, 18)}) == ""
    assert "2024-11-18" in told_of(settings, message, {"v": date(2024, 11, 19)})
