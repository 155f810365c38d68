"""Debezium's decimals in JSON with `decimal.handling.mode: precise`: bytes in base64, their scale in the record's schema."""

import base64
import random
from decimal import Context, Decimal
from typing import Any

import orjson
import pyarrow as pa
import pytest

from kafka2hive.config.keys import ChangeLog
from kafka2hive.config.keys.leeway import Leeway
from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode import DecoderSpec
from kafka2hive.decode.change_logs.decimal_images import DecimalForm
from kafka2hive.decode.change_logs.decoder import ChangeLogDecoder
from kafka2hive.decode.columns import with_leeway
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.contract.spec import Changes, OpenDecoder
from kafka2hive.decode.json import of_records
from kafka2hive.decode.values.connect_decimals import NAME, decimals_of
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.plugins import Reason
from tests.contract.decode_ways import EACH_WAY, WAYS
from tests.harness.outcomes import row_outcomes
from tests.harness.reasons import texts_of

TYPES = {"id": "bigint", "total": "decimal(10,2)", "big": "decimal(38,0)", "__op": "string"}
EXACT = Context(prec=100)
BEFORE = {"__before": "struct<id:bigint,total:decimal(10,2),big:decimal(38,0)>"}


def unscaled(number: int) -> bytes:
    """As Java's BigInteger.toByteArray: as few bytes as hold it with its sign."""
    return number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)


def encoded(text: str, scale: int) -> str:
    return base64.b64encode(unscaled(int(Decimal(f"{text}e{scale}")))).decode()


def record(after: Any, before: Any = None, op: str = "c") -> dict[str, Any]:
    return {"op": op, "before": before, "after": after, "ts_ms": 1, "source": {}}


def with_schema(payload: Any, name: str = NAME, scale: str = "2", kind: str = "bytes") -> dict[str, Any]:
    """As the JSON converter writes it for the column total."""
    total: dict[str, Any] = {"type": kind, "optional": True, "field": "total"}
    if name:
        total |= {"name": name, "version": 1}
        total["parameters"] = {"scale": scale, "connect.decimal.precision": "10"}
    fields = [{"type": "int64", "optional": False, "field": "id"}, total]
    row = {"type": "struct", "fields": fields, "optional": True, "name": "Value"}
    source = {"type": "struct", "fields": [dict(total, parameters=None)], "field": "source"}
    parts = [dict(row, field="before"), dict(row, field="after"), {"type": "string", "field": "op"}, source]
    return {"schema": {"type": "struct", "fields": parts, "name": "Envelope"}, "payload": payload}


def by_schemas(way: str) -> OpenDecoder:
    """As decode/json.py opens the decoder of records that may carry their schema."""
    library = None if way == "exact" else LIBRARY
    return lambda columns, sources: of_records(DecoderSpec("json", columns, "UTC", sources), library)


def outcomes(
    way: str, *records: Any, more: dict[str, str] | None = None, form: DecimalForm | None = "base64"
) -> list[Any]:
    schema = pa.schema([(name, parse_hive_type(kind)) for name, kind in {**TYPES, **(more or {})}.items()])
    sources = [Source((name,)) for name in schema.names]
    decoder = ChangeLogDecoder(
        ChangeLog.DEBEZIUM,
        schema,
        sources,
        by_schemas(way),
        decimals=form,
    )
    found = row_outcomes(decoder, [r if isinstance(r, bytes) else orjson.dumps(r) for r in records])
    return [
        str(one) if isinstance(one, Reason) else dict(zip(schema.names, one, strict=True)) for one in found
    ]


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


@pytest.mark.parametrize("way", EACH_WAY)
def test_a_decimal_is_read_with_and_without_the_schema_of_the_record(way: str) -> None:
    after = {"id": 1, "total": encoded("-12.50", 2), "big": encoded("9" * 38, 0)}
    row = {"id": 1, "total": Decimal("-12.50"), "big": Decimal("9" * 38), "__op": "c"}
    nulls = {"id": 2, "total": None}
    none = {"id": 2, "total": None, "big": None, "__op": "c"}
    records = [record(after), with_schema(record(after)), record(nulls), with_schema(record(nulls))]
    assert outcomes(way, *records) == [row, row, none, none]


@pytest.mark.parametrize("way", EACH_WAY)
def test_both_images_have_decimals(way: str) -> None:
    old, new = ({"id": 1, "total": encoded(text, 2)} for text in ("1.00", "2.00"))
    rows = outcomes(way, record(new, old, "u"), with_schema(record(None, old, "d")), record(new), more=BEFORE)
    was = {"id": 1, "total": Decimal("1.00"), "big": None}
    assert [row["total"] for row in rows] == [Decimal("2.00"), Decimal("1.00"), Decimal("2.00")]
    assert [row["__before"] for row in rows] == [was, was, None]


@pytest.mark.parametrize("way", EACH_WAY)
def test_a_schema_that_says_otherwise_makes_a_dead_letter(way: str) -> None:
    good = record({"id": 1, "total": encoded("12.50", 2)})
    found = outcomes(
        way,
        with_schema(good, scale="1"),
        with_schema(good, scale="3"),
        with_schema(good),
        with_schema(good, name="io.debezium.data.VariableScaleDecimal"),
        with_schema(good, scale="02"),
        with_schema(record({"id": 1, "total": encoded("0.125", 3)}), scale="3"),
    )
    codes = [one if isinstance(one, dict) else one.partition(": ")[0] for one in found]
    assert [row["total"] for row in found[:3]] == [Decimal("125.00"), Decimal("1.25"), Decimal("12.50")]
    assert codes[3:] == ["json.semantic", "json.semantic", "json.inexact"]
    assert "decimal(10,2)" in found[5] and f"{NAME} of scale 3" in found[5]


@pytest.mark.parametrize("way", EACH_WAY)
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


@pytest.mark.parametrize("way", EACH_WAY)
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


def auto(way: str, *records: Any, types: dict[str, str] | None = None) -> list[Any]:
    """Rows, or the codes of dead letters, where the map does not say how decimals are written."""
    found = outcomes(way, *records, more=types, form=None)
    return [one if isinstance(one, dict) else one.partition(": ")[0] for one in found]


@pytest.mark.parametrize("way", EACH_WAY)
def test_without_a_word_of_the_map_the_schema_of_each_record_decides(way: str) -> None:
    """1990 is a text's number, a number, or the base64 of -26297.72, and each is told by the record's own schema."""
    as_bytes = with_schema(record({"id": 1, "total": "1990"}))
    as_text = with_schema(record({"id": 2, "total": "1990"}), name="", kind="string")
    as_number = with_schema(record({"id": 3, "total": 1990}), name="", kind="double")
    other_scale = with_schema(record({"id": 4, "total": encoded("1.5000", 4)}), scale="4")
    found = auto(way, as_bytes, as_text, as_number, other_scale, as_text, as_bytes)
    expected = [Decimal("-26297.72"), Decimal(1990), Decimal(1990), Decimal("1.50"), Decimal(1990)]
    assert [row["total"] for row in found] == [*expected, Decimal("-26297.72")]
    assert [row["id"] for row in found] == [1, 2, 3, 4, 2, 1]


@pytest.mark.parametrize("way", EACH_WAY)
def test_bytes_of_another_scale_are_exact_or_refused(way: str) -> None:
    texts = [
        ("1.5000", "4"),
        ("1.5001", "4"),
        ("12345678.1", "1"),
        ("123456789.1", "1"),
        ("0", "38"),
        ("0", "39"),
    ]
    records = [
        with_schema(record({"id": 1, "total": encoded(text, int(scale))}), scale=scale)
        for text, scale in texts
    ]
    found = [one["total"] if isinstance(one, dict) else one for one in auto(way, *records)]
    unfit = ["json.inexact", "json.range"]
    assert found == [Decimal("1.50"), unfit[0], Decimal("12345678.10"), unfit[1], Decimal(0), Decimal(0)]


@pytest.mark.parametrize("way", EACH_WAY)
def test_without_a_schema_what_may_be_a_number_and_bytes_is_refused(way: str) -> None:
    texts = ["1990", "+123", "1e07", "12345678", "0000", "\\u0031990"]
    both = [record({"id": 1, "total": text}) for text in texts[:-1]]
    raw = [orjson.dumps(one) for one in both] + [
        b'{"op":"c","after":{"id":1,"total":"%s"}}' % texts[-1].encode()
    ]
    found = outcomes(way, *raw, form=None)
    assert all(one.startswith("change_log.decimal: column total: ") for one in found)
    assert "source: {debezium: {decimals: text}}" in found[0]
    told = [row["total"] for row in outcomes(way, *raw, form="text")]
    assert told == [Decimal(number) for number in (1990, 123, 10**7, 12345678, 0, 1990)]
    beside = [{"schema": None, "payload": one} for one in both]
    assert set(auto(way, *beside)) == {"change_log.decimal"}


@pytest.mark.parametrize("way", EACH_WAY)
def test_without_a_schema_what_can_only_be_a_number_is_one(way: str) -> None:
    numbers = ["1990.00", "-199", "-1990", "199", "19900", "1990.", 1990, 1990.5, None, "12.50", 0]
    found = auto(way, *(record({"id": 1, "total": number, "name": "1990"}) for number in numbers))
    expected = [None if number is None else Decimal(str(number).rstrip(".")) for number in numbers]
    assert [row["total"] for row in found] == expected


@pytest.mark.parametrize("way", EACH_WAY)
def test_without_a_schema_bytes_are_never_guessed(way: str) -> None:
    texts = ["AMfm", "AA==", encoded("-12.50", 2), "None"]
    assert set(auto(way, *(record({"id": 1, "total": text}) for text in texts))) == {"json.type"}


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize("form", ["text", "base64", None])
def test_the_schema_of_a_record_counts_whatever_the_map_says(form: DecimalForm | None, way: str) -> None:
    as_bytes = with_schema(record({"id": 1, "total": "1990"}))
    as_text = with_schema(record({"id": 2, "total": "1990"}), name="", kind="string")
    no_decimal = with_schema(record({"id": 1, "total": "1990"}), name="", kind="bytes")
    found = outcomes(way, as_bytes, as_text, no_decimal, form=form)
    assert [row["total"] for row in found[:2]] == [Decimal("-26297.72"), Decimal(1990)]
    assert found[2] == (
        "json.semantic: column total (from $.payload.after.total) is a decimal(10,2),"
        " but the record's schema says bytes of no known scale"
    )


@pytest.mark.parametrize("way", EACH_WAY)
def test_a_number_is_one_where_the_schema_says_bytes(way: str) -> None:
    """As converters with decimal.format NUMERIC write them; texts beside them are bytes."""
    numbers = [with_schema(record({"id": int(n), "total": n})) for n in (1990, 12.5, -3)]
    as_bytes = with_schema(record({"id": 4, "total": "1990"}))
    wide = with_schema(record({"id": 5, "total": encoded("12345678.25", 2)}))
    bad = [with_schema(record({"id": 6, "total": value})) for value in (1.005, "!", True)]
    schema = pa.schema([(name, parse_hive_type(kind)) for name, kind in TYPES.items()])
    sources = [Source((name,)) for name in schema.names]
    decoder = ChangeLogDecoder(ChangeLog.DEBEZIUM, schema, sources, by_schemas(way), None)
    for records in ([*numbers, as_bytes, wide, *bad], [as_bytes, wide, numbers[0], *bad]) * 2:
        decoded = decoder.decode(pa.array([orjson.dumps(one) for one in records], pa.binary()))
        of = {1990: Decimal(1990), 12: Decimal("12.50"), -3: Decimal(-3)}
        of |= {4: Decimal("-26297.72"), 5: Decimal("12345678.25")}
        assert {row["id"]: row["total"] for row in decoded.rows.to_pylist()}.items() <= of.items()
        assert len(decoded.rows) == len(records) - 3
        codes = [reason.partition(":")[0] for reason in texts_of(decoded.reasons)]
        assert codes == ["json.inexact", "json.base64", "json.type"]
    assert outcomes(way, numbers[0], form="text")[0]["total"] == Decimal(1990)


@pytest.mark.parametrize("way", EACH_WAY)
def test_the_row_before_a_change_is_read_by_the_schema_and_refused_without_one(way: str) -> None:
    old, new = {"id": 1, "total": "1990"}, {"id": 1, "total": "12.5", "big": None}
    as_text = with_schema(record(new, old, "u"), name="", kind="string")
    as_bytes = with_schema(record(None, old, "d"))
    plain = record(new, old, "u")
    found = outcomes(way, as_text, as_bytes, plain, record(new), more=BEFORE, form=None)
    was = {"id": 1, "total": Decimal(1990), "big": None}
    assert (found[0]["total"], found[0]["__before"]) == (Decimal("12.50"), was)
    assert found[1]["__before"] == {**was, "total": Decimal("-26297.72")} and found[1]["total"] == Decimal(
        "-26297.72"
    )
    assert found[2].startswith("change_log.decimal: column __before.total: ")
    assert found[3]["__before"] is None


@pytest.mark.parametrize("way", EACH_WAY)
def test_schemas_are_found_wherever_they_stand_in_the_record(way: str) -> None:
    """Not only where the JSON converter writes them, whose records share the bytes before the payload."""
    beside = with_schema(record({"id": 1, "total": "1990"}))
    turned = {"payload": beside["payload"], "schema": beside["schema"]}
    spaced = orjson.dumps(beside, option=orjson.OPT_INDENT_2)
    nested = {"x": {"schema": 1}, "payload": beside["payload"], "schema": beside["schema"]}
    found = outcomes(way, beside, turned, spaced, nested, beside, form=None)
    found += outcomes(way, nested, form=None)
    assert {row["total"] for row in found} == {Decimal("-26297.72")}


@pytest.mark.parametrize("way", EACH_WAY)
def test_random_decimals_come_out_as_they_were_by_the_schema_of_their_record(way: str) -> None:
    draw = random.Random(23)
    records, expected = [], []
    for _ in range(300):
        scale, shown = draw.choice([0, 1, 2, 5, 10]), draw.choice(["bytes", "string", "double"])
        number = draw.randrange(-(10**9), 10**9) >> draw.randrange(30)
        text = f"{Decimal(number).scaleb(-scale):f}"
        value = {"bytes": encoded(text, scale), "string": text, "double": number}[shown]
        true = Decimal(number) if shown == "double" else Decimal(text)
        name = NAME if shown == "bytes" else ""
        records.append(
            with_schema(record({"id": 1, "total": value}), name=name, scale=str(scale), kind=shown)
        )
        fits = true == round(true, 2) and abs(true) < 10**8
        expected.append(true if fits else None)
    found = outcomes(way, *records, form=None)
    assert [row["total"] if isinstance(row, dict) else None for row in found] == expected


def test_a_column_with_parts_needs_a_word_of_the_map() -> None:
    with pytest.raises(ValueError, match="decimals: text"):
        outcomes("exact", more={"prices": "array<decimal(5,2)>"}, form=None)
    row = outcomes("exact", record({"prices": ["1.50"]}), more={"prices": "array<decimal(5,2)>"}, form="text")
    assert row[0]["prices"] == [Decimal("1.50")]


@pytest.mark.parametrize("way", WAYS)
def test_a_column_outside_of_change_logs_may_have_decimals_as_bytes(way: str) -> None:
    numbers = [0, 1, -1, 127, 128, -128, -129, 99_999, -99_999, 100_000, -100_000, 2**70]
    values: list[Any] = [base64.b64encode(unscaled(number)).decode() for number in numbers]
    values += [None, "", "12.50", 12.5, "1990"]
    schema = pa.schema([("n", pa.int64()), ("fee", pa.decimal128(5, 2))])
    sources = [Source(("n",)), Source(("payload", "fee"), None, Leeway(decimals="base64"))]
    decoder = with_leeway(schema, "UTC", sources, Changes(), lambda c, of: WAYS[way](c, "UTC", of))
    messages = [orjson.dumps({"n": n, "payload": {"fee": one}}) for n, one in enumerate(values)]
    decoded = decoder.decode(pa.array(messages, pa.binary()))
    decoded.rows.validate(full=True)
    found: dict[int, Any] = {row["n"]: row["fee"] for row in decoded.rows.to_pylist()}
    codes = [reason.partition(": ")[0] for reason in texts_of(decoded.reasons)]
    found |= dict(zip(decoded.rejected.to_pylist(), codes, strict=True))
    expected: list[Any] = [
        Decimal(number).scaleb(-2) if abs(number) < 10**5 else "json.decimal" for number in numbers
    ]
    expected += [None, "json.decimal", "json.base64", "json.type", "json.decimal"]
    assert [found[n] for n in range(len(values))] == expected


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize(
    ("precision", "scale"), [(1, 1), (5, 0), (10, 2), (18, 18), (38, 0), (38, 31), (38, 38)]
)
def test_bytes_of_another_scale_are_the_decimal_they_were_or_are_refused(
    precision: int, scale: int, way: str
) -> None:
    decoder = by_schemas(way)(pa.schema([("v", pa.decimal128(precision, scale))]), [Source(("payload", "v"))])
    draw = random.Random(precision * scale)
    for shown in [-45, -38, -7, *range(-2, 12), 18, 31, 37, 38, 39, 45, 999]:
        numbers = [0, 1, -1, 10**38 - 1, 1 - 10**38, 2**127, 2**200]
        for digits in (precision + shown - scale, 20, 38):
            limit = 10 ** min(max(digits, 0), 37)
            numbers += [limit, limit - 1, -limit, 1 - limit, draw.randrange(-limit, limit + 1)]
        of_value = {"type": "bytes", "name": NAME, "parameters": {"scale": str(shown)}, "field": "v"}
        messages = [
            orjson.dumps(
                {
                    "schema": {"type": "struct", "fields": [of_value]},
                    "payload": {"v": base64.b64encode(unscaled(number)).decode()},
                }
            )
            for number in numbers
        ]
        for number, one in zip(numbers, row_outcomes(decoder, messages), strict=True):
            least, rest = divmod(abs(number) * 10 ** max(scale - shown, 0), 10 ** max(shown - scale, 0))
            if rest or least >= 10**precision:
                assert isinstance(one, Reason) and one.code in ("json.range", "json.inexact"), (number, shown)
            else:
                assert not isinstance(one, Reason), (number, shown, one)
                assert int(one[0].scaleb(scale, EXACT)) == (-least if number < 0 else least), (number, shown)


@pytest.mark.parametrize("way", EACH_WAY)
def test_a_number_near_the_limit_of_its_column_is_no_trouble(way: str) -> None:
    """Arrow's own rounding fails for decimals without a digit before the point, and where the next whole number has one more."""
    more = {"share": "decimal(2,2)", "loss": "decimal(4,2)"}
    records = [record({"share": share, "loss": "-99.99"}) for share in ("0.50", "-0.99", "0", "1")]
    found = outcomes(way, *records, more=more, form=None)
    assert [(row["share"], row["loss"]) for row in found[:3]] == [
        (Decimal(share), Decimal("-99.99")) for share in ("0.50", "-0.99", "0.00")
    ]
    assert found[3].startswith("json.range: column share")


@pytest.mark.parametrize("way", EACH_WAY)
def test_a_negative_scale_is_a_scale(way: str) -> None:
    """As of Oracle's NUMBER(5,-2)."""
    of_bytes = with_schema(record({"id": 1, "total": base64.b64encode(unscaled(-7)).decode()}), scale="-2")
    for form in (None, "base64"):
        (row,) = outcomes(way, of_bytes, form=form)
        assert row["total"] == Decimal("-700.00")


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize(
    ("form", "value", "has_schema", "told"),
    [
        (
            "text",
            "B8Y",
            True,
            "json.base64: column total (from $.payload.after.total) expects standard base64",
        ),
        ("text", "", True, "json.decimal: column total (from $.payload.after.total): a decimal of no bytes"),
        (
            None,
            "B8Y=",
            False,
            "got string that is not a number: bytes in base64 need source: {debezium: {dec",
        ),
        ("base64", 5, False, "expects decimal(10,2) as bytes in base64, got number"),
    ],
)
def test_a_reason_says_how_the_decimal_should_be_written(
    form: DecimalForm | None, value: Any, has_schema: bool, told: str, way: str
) -> None:
    wrong = record({"id": 1, "total": value})
    (found,) = outcomes(way, with_schema(wrong) if has_schema else wrong, form=form)
    assert told in found
