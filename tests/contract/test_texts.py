"""Plain texts into columns: the rules of JSON's values, and whole columns as the exact way takes each text alone."""

import random
from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.values.json_values import ValueRefusal
from kafka2hive.decode.values.texts import TextColumn, text_taker
from kafka2hive.model.hive_types import parse_hive_type
from tests.harness.reasons import texts_of

TYPES = (
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "boolean",
    "string",
    "binary",
    "date",
    "timestamp",
    "decimal(5,2)",
    "decimal(38,0)",
    "decimal(38,38)",
)
WITH_UNITS = [("timestamp", unit) for unit in ("s", "ms", "us", "ns")] + [("date", "d"), ("date", "ms")]
KINDS = [*((kind, None) for kind in TYPES), *WITH_UNITS]

TEXTS = [
    *(
        "",
        " ",
        "0",
        "-0",
        "00",
        "007",
        "1",
        "-1",
        "+1",
        " 1",
        "1 ",
        "1\n",
        "\t1",
        "0x1F",
        "1_000",
        "1,5",
        "٣",
    ),
    *("127", "128", "-128", "-129", "32767", "32768", "2147483647", "2147483648", "9223372036854775807"),
    *(
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "1" * 40,
        "16777216",
        "16777217",
    ),
    *(
        "9007199254740992",
        "9007199254740993",
        "9007199254740993.0",
        "1.5",
        "1.",
        ".5",
        "-.5",
        "1e2",
        "1E+2",
        "1e-2",
    ),
    *(
        "1e400",
        "1e39",
        "1e-400",
        "0.1",
        "3.4028235677973366e38",
        "NaN",
        "nan",
        "Infinity",
        "inf",
        "-inf",
        "null",
    ),
    *(
        "123.45",
        "123.456",
        "123.450",
        "999.99",
        "1000",
        "1000.00",
        "0.00000000000000000000000000000000000001",
    ),
    *("99999999999999999999999999999999999999", "100000000000000000000000000000000000000", "1e37", "1e38"),
    *(
        "true",
        "false",
        "True",
        "TRUE",
        "t",
        "yes",
        "a",
        "äöü",
        "\x00",
        "a\x00b",
        "🙂",
        "TQ==",
        "TQ",
        "TR==",
        "T Q==",
    ),
    *(
        "2013-01-01",
        "2013-1-1",
        "2013-02-30",
        "0000-01-01",
        "0001-01-01",
        "9999-12-31",
        "10000-01-01",
        "20130101",
    ),
    *("2013-01-01T05:00", "2013-01-01 05:00:00", "2013-01-01T05:00:00.123456", "2013-01-01T05:00:00.1234567"),
    *(
        "2013-01-01T05:00:00.123456000Z",
        "2013-01-01T05:00:00Z",
        "2013-01-01T05:00:00+02:00",
        "2013-01-01T24:00",
    ),
    *(
        "2013-01-01T05",
        "2013-01-01T05:00:60",
        "2013-03-31T02:30:00",
        "0001-01-01T00:00:00Z",
        "1356998400",
        "2e9",
    ),
    *(
        "1356998400000",
        "1356998400000000",
        "-62135596800",
        "253402300799",
        "253402300800",
        "15706",
        "-719163",
    ),
]


def _alone(kind: str, unit: str | None, text: str | None) -> Any:
    """By the exact way: a value of the table, or a reason's code."""
    if text is None:
        return None
    dtype = parse_hive_type(kind)
    try:
        return pa.array([text_taker(dtype, "Europe/Berlin", unit)(text, "c")], dtype)[0].as_py()
    except ValueRefusal as refusal:
        return refusal.code.replace("json.", "csv.")


def _together(kind: str, unit: str | None, texts: list[str | None]) -> list[Any]:
    column = TextColumn("c", parse_hive_type(kind), "Europe/Berlin", unit, "csv")
    found, refused = column.read(pa.array(texts, pa.string()))
    found.validate(full=True)
    assert found.type == column.dtype and len(found) == len(texts)
    values = found.to_pylist()
    assert all(values[place] is None for place in refused)
    return [refused[n].code if n in refused else value for n, value in enumerate(values)]


@pytest.mark.parametrize(("kind", "unit"), KINDS)
def test_texts_together_are_what_each_is_alone(kind: str, unit: str | None) -> None:
    alone = {text: _alone(kind, unit, text) for text in [*TEXTS, None]}
    draw = random.Random(7)
    for text in TEXTS:
        assert repr(_together(kind, unit, [text])) == repr([alone[text]]), text
    for _ in range(20):
        texts = [draw.choice([*TEXTS, None]) for _ in range(draw.randrange(60))]
        assert repr(_together(kind, unit, texts)) == repr([alone[text] for text in texts])


@pytest.mark.parametrize(("kind", "unit"), KINDS)
def test_random_numbers_together_are_what_each_is_alone(kind: str, unit: str | None) -> None:
    draw = random.Random(8)
    texts = [
        "".join(draw.choice("0123456789.-+eE :TZ") for _ in range(draw.randrange(1, 9))) for _ in range(400)
    ]
    assert repr(_together(kind, unit, list(texts))) == repr([_alone(kind, unit, text) for text in texts])


@pytest.mark.parametrize(("kind", "unit"), KINDS)
def test_what_is_a_number_in_json_is_the_same_value_as_a_text(kind: str, unit: str | None) -> None:
    """The table of JSON is the judge: numbers and booleans without quotes, everything else within them."""
    bare = unit is not None or kind in TYPES[:7]
    decoder = make_decoder(
        DecoderSpec(
            "json", pa.schema([("c", parse_hive_type(kind))]), "Europe/Berlin", [Source(("c",), unit)]
        )
    )
    for text in TEXTS:
        if bare and (text != text.strip() or not text):
            continue  # white space around a value is JSON's, not the value's
        shown = text if bare else pa.scalar(text).as_py().translate({0: "\\u0000", 10: "\\n", 9: "\\t"})
        value = ('{"c":%s}' if bare else '{"c":"%s"}') % shown
        decoded = decoder.decode(pa.array([value.encode()], pa.binary()))
        (found,) = _together(kind, unit, [text])
        if texts_of(decoded.reasons) or (text == "null" and bare):
            assert isinstance(found, str) and found.startswith("csv."), (text, found)
        else:
            assert repr(found) == repr(decoded.rows.to_pylist()[0]["c"]), text


def test_bytes_are_utf8_but_for_binary() -> None:
    values = pa.array([b"1", b"\xff", None, b"x"], pa.binary())
    column, refused = TextColumn("n", pa.int32(), "UTC", None, "header").read_bytes(values)
    assert column.to_pylist() == [1, None, None, None]
    assert {place: reason.code for place, reason in refused.items()} == {
        1: "header.utf8",
        3: "header.type",
    }
    assert TextColumn("n", pa.binary(), "UTC").read_bytes(values) == (values, {})


def test_a_text_fills_nothing_with_parts() -> None:
    with pytest.raises(ValueError, match="fills no list"):
        TextColumn("n", pa.list_(pa.int32()), "UTC")
