"""Debezium's decimals in JSON with `decimal.handling.mode: precise`: bytes in base64, their scale in the record's schema."""

import base64
import random
from decimal import Decimal
from typing import Any

import orjson
import pyarrow as pa
import pytest

from kafka2hive.config.values import ChangeLog
from kafka2hive.model.hive.types import parse_hive_type
from kafka2hive.pipeline.decode.change_logs.decimals import NAME, decimals_of
from kafka2hive.pipeline.decode.change_logs.decoder import ChangeLogDecoder
from kafka2hive.pipeline.decode.sources import Source
from tests.contract.decode_ways import WAYS

TYPES = {"id": "bigint", "total": "decimal(10,2)", "big": "decimal(38,0)", "__op": "string"}
BEFORE = {"__before": "struct<id:bigint,total:decimal(10,2),big:decimal(38,0)>"}


def unscaled(number: int) -> bytes:
    """As Java's BigInteger.toByteArray: as few bytes as hold it with its sign."""
    return number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)


def encoded(text: str, scale: int) -> str:
    return base64.b64encode(unscaled(int(Decimal(f"{text}e{scale}")))).decode()


def record(after: Any, before: Any = None, op: str = "c") -> dict[str, Any]:
    return {"op": op, "before": before, "after": after, "ts_ms": 1, "source": {}}


def with_schema(payload: Any, name: str = NAME, scale: str = "2") -> dict[str, Any]:
    """As the JSON converter writes it for the column total."""
    total = {"type": "bytes", "optional": True, "name": name, "version": 1, "field": "total"}
    total["parameters"] = {"scale": scale, "connect.decimal.precision": "10"}
    fields = [{"type": "int64", "optional": False, "field": "id"}, total]
    row = {"type": "struct", "fields": fields, "optional": True, "name": "Value"}
    source = {"type": "struct", "fields": [dict(total, parameters=None)], "field": "source"}
    parts = [dict(row, field="before"), dict(row, field="after"), {"type": "string", "field": "op"}, source]
    return {"schema": {"type": "struct", "fields": parts, "name": "Envelope"}, "payload": payload}


def outcomes(way: str, *records: Any, more: dict[str, str] | None = None) -> list[Any]:
    schema = pa.schema([(name, parse_hive_type(kind)) for name, kind in {**TYPES, **(more or {})}.items()])
    sources = [Source((name,)) for name in schema.names]
    decoder = ChangeLogDecoder(
        ChangeLog.DEBEZIUM,
        schema,
        sources,
        lambda columns, of: WAYS[way](columns, "UTC", of),
        base64_decimals=True,
    )
    decoded = decoder.decode(pa.array([orjson.dumps(r) for r in records], pa.binary()))
    decoded.rows.validate(full=True)
    found = dict(zip(decoded.accepted.to_pylist(), decoded.rows.to_pylist(), strict=True))
    found |= dict(zip(decoded.rejected.to_pylist(), decoded.reasons.to_pylist(), strict=True))
    return [found[place] for place in range(len(records))]


@pytest.mark.parametrize(
    ("precision", "scale"), [(1, 0), (10, 2), (18, 0), (19, 19), (38, 0), (38, 38), (37, 5)]
)
def test_every_number_is_the_decimal_it_was_or_is_refused(precision: int, scale: int) -> None:
    dtype = pa.decimal128(precision, scale)
    draw = random.Random(precision)
    limit = 10**precision
    numbers = [0, 1, -1, 127, 128, -128, -129, limit - 1, limit, 1 - limit, -limit, limit + 1, -limit - 1]
    numbers += [2**63, -(2**63), 2**64, -(2**64) - 1, 2**127 - 1, -(2**127), 2**127, -(2**127) - 1, 2**200]
    numbers += [draw.randrange(-limit, limit) >> draw.randrange(120) for _ in range(300)]
    values: list[bytes | None] = [None if draw.random() < 0.1 else unscaled(number) for number in numbers]
    found, bad = decimals_of(pa.array([b"xyz", *values, b""], pa.binary())[1:], dtype)
    found.validate(full=True)
    expected = [
        None if value is None or not -limit < number < limit else Decimal(f"{number}e-{scale}")
        for number, value in zip(numbers, values, strict=True)
    ]
    with_context = [value if value is None else pa.scalar(value, dtype).as_py() for value in expected]
    assert found.to_pylist() == [*with_context, None]
    assert bad.tolist() == [
        value is not None and not -limit < n < limit for n, value in zip(numbers, values, strict=True)
    ] + [True]


@pytest.mark.parametrize("way", WAYS)
def test_a_decimal_is_read_with_and_without_the_schema_of_the_record(way: str) -> None:
    after = {"id": 1, "total": encoded("-12.50", 2), "big": encoded("9" * 38, 0)}
    row = {"id": 1, "total": Decimal("-12.50"), "big": Decimal("9" * 38), "__op": "c"}
    nulls = {"id": 2, "total": None}
    none = {"id": 2, "total": None, "big": None, "__op": "c"}
    records = [record(after), with_schema(record(after)), record(nulls), with_schema(record(nulls))]
    assert outcomes(way, *records) == [row, row, none, none]


@pytest.mark.parametrize("way", WAYS)
def test_both_images_have_decimals(way: str) -> None:
    old, new = ({"id": 1, "total": encoded(text, 2)} for text in ("1.00", "2.00"))
    rows = outcomes(way, record(new, old, "u"), with_schema(record(None, old, "d")), record(new), more=BEFORE)
    was = {"id": 1, "total": Decimal("1.00"), "big": None}
    assert [row["total"] for row in rows] == [Decimal("2.00"), Decimal("1.00"), Decimal("2.00")]
    assert [row["__before"] for row in rows] == [was, was, None]


@pytest.mark.parametrize("way", WAYS)
def test_a_schema_that_says_otherwise_makes_a_dead_letter(way: str) -> None:
    good = record({"id": 1, "total": encoded("12.50", 2)})
    found = outcomes(
        way,
        with_schema(good, scale="4"),
        with_schema(good),
        with_schema(good, name="io.debezium.data.VariableScaleDecimal"),
        with_schema(good, scale="02"),
    )
    codes = [one if isinstance(one, dict) else one.partition(": ")[0] for one in found]
    assert codes[0] == codes[2] == codes[3] == "change_log.scale"
    assert found[0].endswith("total has scale 2, the record's schema says scale 4")
    assert found[1]["total"] == Decimal("12.50")


@pytest.mark.parametrize("way", WAYS)
def test_what_is_no_decimal_of_the_column_is_a_dead_letter(way: str) -> None:
    texts = [
        "12.50",
        "",
        encoded("123456789.00", 2),
        encoded("99999999.99", 2),
        {"scale": 2, "value": "AA=="},
    ]
    found = outcomes(way, *(record({"id": 1, "total": text}) for text in texts))
    codes = [one if isinstance(one, dict) else one.partition(": ")[0] for one in found]
    assert codes[:3] == ["json.base64", "change_log.decimal", "change_log.decimal"]
    assert found[3]["total"] == Decimal("99999999.99")
    assert codes[4] == "json.type"


@pytest.mark.parametrize("way", WAYS)
def test_a_decimal_of_variable_scale_is_taken_as_its_parts(way: str) -> None:
    found = outcomes(
        way,
        record({"id": 1, "any": {"scale": 2, "value": encoded("12.50", 2)}}),
        record({"id": 1, "any": None}),
        record({"id": 1, "any": encoded("12.50", 2)}),
        more={"any": "struct<scale:int,value:binary>"},
    )
    assert found[0]["any"] == {"scale": 2, "value": unscaled(1250)} and found[1]["any"] is None
    assert found[2].startswith("json.type: column any (from $.after.any)")
