"""Fast decoder and slow reference agree on random schemas and records, whole, damaged and mixed."""

import json
import random
import string
from functools import cache, lru_cache
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.plugins import Decoded
from tests.contract.decode_cases import CASES_OF_TYPE, MESSAGE_CASES
from tests.contract.decode_reference import reference
from tests.contract.decode_ways import WAYS

ZONES = ["UTC", "Europe/Berlin", "America/St_Johns"]
INTERESTING = sorted({text for cases in CASES_OF_TYPE.values() for text, _ in cases if len(text) < 200})


known = lru_cache(2_000)(reference)
"""The slow decoder, which most batches here ask for the same good messages."""


def assert_agrees(messages: list[bytes], schema: pa.Schema, zone: str) -> None:
    expected = [known(message, schema, zone) for message in messages]
    for make in WAYS.values():
        decoded = make(schema, zone).decode(pa.array(messages, pa.binary()))
        decoded.rows.validate(full=True)
        assert decoded.rows.schema.equals(schema)
        assert_is(decoded, expected, messages)


def assert_is(decoded: Decoded, expected: list[dict[str, Any] | None], messages: list[bytes]) -> None:
    accepted, rejected = decoded.accepted.to_pylist(), decoded.rejected.to_pylist()
    assert accepted == [i for i, row in enumerate(expected) if row is not None]
    assert rejected == [i for i, row in enumerate(expected) if row is None]
    assert len(decoded.reasons) == len(rejected)
    for found, position in zip(decoded.rows.to_pylist(), accepted, strict=True):
        assert repr(found) == repr(expected[position]), messages[position]  # repr: -0.0 is not 0.0


_LEAVES = [pa.int64(), pa.int32(), pa.int16(), pa.int8(), pa.float64(), pa.float32(), pa.bool_(), pa.string()]
_LEAVES += [pa.binary(), pa.date32(), pa.timestamp("us"), pa.decimal128(5, 2), pa.decimal128(38, 10)]
_TYPES = st.recursive(
    st.sampled_from(_LEAVES),
    lambda inner: st.one_of(
        inner.map(pa.list_),
        inner.map(lambda v: pa.map_(pa.string(), v)),
        st.lists(inner, min_size=1, max_size=3).map(lambda ts: pa.struct(list(zip("xyz", ts, strict=False)))),
    ),
    max_leaves=4,
)
_DIGITS = st.text("0123456789", min_size=1, max_size=45)


@st.composite
def _number(draw: st.DrawFn) -> str:
    whole = draw(_DIGITS).lstrip("0") or "0"
    fraction = draw(st.sampled_from(["", "." + draw(_DIGITS)]))
    exponent = draw(st.sampled_from(["", "", f"e{draw(st.integers(-60, 60))}"]))
    return draw(st.sampled_from(["", "-"])) + whole + fraction + exponent


@cache
def _two(low: int, high: int) -> st.SearchStrategy[str]:
    return st.integers(low, high).map(lambda n: f"{n:02d}")


@st.composite
def _moment(draw: st.DrawFn) -> str:
    text = f"{draw(st.integers(1900, 2100)):04d}-{draw(_two(1, 12))}-{draw(_two(1, 29))}{draw(st.sampled_from('T '))}"
    text += f"{draw(_two(0, 24))}:{draw(_two(0, 59))}:{draw(_two(0, 60))}"
    text += draw(st.sampled_from(["", "." + draw(_DIGITS)[:9], ".123000000"]))
    return text + draw(st.sampled_from(["", "Z", "+02:00", "-0330", "+09", "+99:00"]))


@cache  # a strategy that is made anew for each value costs more than what it draws
def _member(key: str, values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return values.map(lambda value: f'"{key}":{value}')


def _fitting(dtype: pa.DataType) -> st.SearchStrategy[str]:
    """JSON texts that a column of this type is likely to take, near its edges too."""
    if pa.types.is_list(dtype):
        return st.lists(_texts(dtype.value_type), max_size=3).map(lambda vs: f"[{','.join(vs)}]")
    if pa.types.is_map(dtype) or pa.types.is_struct(dtype):
        keys = ["k", "l"] if pa.types.is_map(dtype) else [f.name for f in dtype]
        types = [dtype.item_type] * 2 if pa.types.is_map(dtype) else [f.type for f in dtype]
        members = [_member(key, _texts(kind)) for key, kind in zip(keys, types, strict=True)]
        return st.tuples(*members, st.sampled_from([0, 0, 0, 1])).map(
            lambda ms: "{" + ",".join([*ms[:-1], *([ms[0]] if ms[-1] else [])]) + "}"
        )
    if pa.types.is_integer(dtype):
        edge = 2 ** (dtype.bit_width - 1)
        return st.integers(-edge, edge).map(str)
    if pa.types.is_floating(dtype):
        return st.one_of(
            _number(), st.floats(allow_nan=False, width=32).map(json.dumps), st.integers(0, 2**54).map(str)
        )
    if pa.types.is_decimal(dtype):
        return st.one_of(_number(), _number().map(json.dumps), st.decimals(-1000, 1000, places=2).map(str))
    if pa.types.is_boolean(dtype):
        return st.sampled_from(["true", "false"])
    if pa.types.is_binary(dtype):
        return st.sampled_from(['"aGFsbG8="', '""', '"AA=="', '"AB=="', '"aGFs"'])
    if pa.types.is_date(dtype):
        return _moment().map(lambda t: f'"{t[:10]}"')
    if pa.types.is_timestamp(dtype):
        return _moment().map(json.dumps)
    return st.text(max_size=8).map(json.dumps)


@cache
def _texts(dtype: pa.DataType) -> st.SearchStrategy[str]:
    fitting = _fitting(dtype)
    return st.one_of(fitting, fitting, fitting, fitting, st.just("null"), st.sampled_from(INTERESTING))


@st.composite
def _batches(draw: st.DrawFn) -> tuple[pa.Schema, list[bytes]]:
    types = draw(st.lists(_TYPES, min_size=1, max_size=4))
    names = [f"c{i}" for i in range(len(types))]
    gap = draw(st.sampled_from(["", " ", "\n"]))
    messages = []
    for _ in range(draw(st.integers(1, 12))):
        members = [
            f'"{n}":{gap}{draw(_texts(t))}'
            for n, t in zip(names, types, strict=True)
            if draw(st.integers(0, 9))
        ]
        if not draw(st.integers(0, 5)):
            members.append(f'"other":{draw(st.sampled_from(INTERESTING))}')
        messages.append(("{" + f",{gap}".join(members) + "}").encode("utf-8", "surrogatepass"))
        if not draw(st.integers(0, 15)):
            messages.append(draw(st.sampled_from(MESSAGE_CASES))[0])
    return pa.schema(list(zip(names, types, strict=True))), messages


@settings(
    max_examples=2 * settings().max_examples,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(_batches(), st.sampled_from(ZONES))
def test_decoder_and_reference_agree(batch: tuple[pa.Schema, list[bytes]], zone: str) -> None:
    assert_agrees(batch[1], batch[0], zone)


SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "n": pa.int32(),
        "x": pa.float64(),
        "f": pa.float32(),
        "ok": pa.bool_(),
        "s": pa.string(),
        "t": pa.timestamp("us"),
        "d": pa.date32(),
        "m": pa.decimal128(9, 3),
        "l": pa.list_(pa.int32()),
        "o": pa.struct([("p", pa.int16()), ("q", pa.string())]),
    }
)
FLAT = pa.schema([field for field in SCHEMA if not pa.types.is_nested(field.type)])


def record(i: int) -> dict[str, Any]:
    return {
        "id": i,
        "n": -i,
        "x": i / 7,
        "f": i / 2,
        "ok": i % 2 == 0,
        "s": f"text {i}, with a comma" if i % 5 == 0 else f"text {i}",
        "t": f"2013-01-01T05:{i % 60:02d}:00Z",
        "d": "2013-01-01" if i % 3 else None,
        "m": i / 8 if i % 2 else i,
        "l": [i, None],
        "o": {"p": i % 100, "q": "é"},
    }


def good(i: int, schema: pa.Schema = SCHEMA, compact: bool = False) -> bytes:
    members = {name: value for name, value in record(i).items() if name in schema.names}
    return json.dumps(members, separators=(",", ":") if compact else None).encode()


def mutated(dice: random.Random, message: bytes) -> bytes:
    """The message with a few bytes changed, as cables, bugs and people do."""
    raw = bytearray(message)
    for _ in range(dice.randint(1, 3)):
        at = dice.randrange(len(raw) + 1) if raw else 0
        match dice.randrange(6):
            case 0:
                del raw[at : at + dice.randint(1, 6)]
            case 1:
                raw[at:at] = dice.choice(list(b'{}[]",:\\ntu0129.-+eE \t\n\x00\xff\xc3NI')).to_bytes(1, "big")
            case 2 if raw:
                raw[min(at, len(raw) - 1)] = dice.randrange(256)
            case 3:
                raw[at:at] = dice.choice(INTERESTING).encode("utf-8", "surrogatepass")
            case 4:
                raw = raw[:at]
            case _:
                other = dice.randrange(len(raw) + 1)
                raw[at:at] = raw[min(at, other) : max(at, other)]
    return bytes(raw)


@pytest.mark.parametrize("schema", [SCHEMA, FLAT], ids=["nested", "flat"])
@pytest.mark.parametrize("seed", range(5))
def test_ten_thousand_mutated_records_come_out_as_the_reference_says(seed: int, schema: pa.Schema) -> None:
    dice = random.Random(seed)
    messages = [mutated(dice, good(i, schema, seed % 2 == 0)) for i in range(1000)]
    assert_agrees(messages, schema, "Europe/Berlin")


@pytest.mark.parametrize("schema", [SCHEMA, FLAT], ids=["nested", "flat"])
@pytest.mark.parametrize("seed", range(5))
def test_a_few_mutated_records_among_many_good_ones(seed: int, schema: pa.Schema) -> None:
    dice = random.Random(seed)
    for compact in (False, True):
        messages = [good(i, schema, compact) for i in range(400)]
        for _ in range(dice.randint(1, 12)):
            at = dice.randrange(len(messages))
            messages[at] = mutated(dice, messages[at])
        assert_agrees(messages, schema, "UTC")


BAD = [
    b"",
    b"null",
    b"{",
    b"}",
    b'{"id":1}{"id":2}',
    b'{"id":1',
    b',"n":2}',
    b'{"s":"x}',
    b'{"id":1.5}',
    b'{"l":[1.5]}',
    b'{"id":"1"}',
    b"\xff",
    b'{"n":99999999999}',
    b'{"x":NaN}',
    b'{"t":"x"}',
]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize(
    "at", [[0], [199], [0, 1, 2], [50, 51, 150], list(range(0, 200, 2)), list(range(200))]
)
def test_bad_records_anywhere_leave_the_others_in_place(bad: bytes, at: list[int]) -> None:
    messages = [good(i) for i in range(200)]
    for position in at:
        messages[position] = bad
    assert_agrees(messages, SCHEMA, "UTC")


@pytest.mark.parametrize("pair", [(b'{"id":1}{"id":2}', b""), (b'{"id":1', b',"n":2}'), (b'{"s":"', b'"}')])
def test_bad_records_that_compensate_each_other_are_both_refused(pair: tuple[bytes, bytes]) -> None:
    assert_agrees([good(0), *pair, good(1), pair[1], pair[0], good(2)], SCHEMA, "UTC")
    assert_agrees(list(pair), SCHEMA, "UTC")


def test_an_empty_batch_is_an_empty_answer() -> None:
    assert_agrees([], SCHEMA, "UTC")


def test_a_sliced_input_is_read_from_where_it_begins() -> None:
    messages = [good(i) for i in range(50)] + [b"junk"]
    for make in WAYS.values():
        decoder = make(SCHEMA, "UTC")
        part = decoder.decode(pa.array(messages, pa.binary()).slice(7, 40))
        assert part.rows.column(0).to_pylist() == list(range(7, 47))
        assert decoder.decode(pa.array(messages, pa.binary()).slice(45)).rejected.to_pylist() == [5]


def test_a_record_of_twenty_megabytes_is_decoded() -> None:
    text = random.Random(0).choices(string.ascii_letters + "{}[],:\n", k=1000)
    long = "".join(text) * 20_000
    messages = [good(0), json.dumps({"id": 7, "s": long, "other": [long[:100]] * 50}).encode(), good(1), b"{"]
    for make in WAYS.values():
        decoded = make(SCHEMA, "UTC").decode(pa.array(messages, pa.binary()))
        assert decoded.accepted.to_pylist() == [0, 1, 2]
        assert decoded.rows.column("s")[1].as_py() == long


def test_raw_takes_everything_as_binary_and_only_utf8_as_string() -> None:
    values = pa.array([b"", b"a", b"\xff", "ü".encode()], pa.binary())
    binary = make_decoder(DecoderSpec("raw", pa.schema([("v", pa.binary())]))).decode(values)
    assert binary.rows.column(0).to_pylist() == values.to_pylist()
    assert len(binary.rejected) == 0
    text = make_decoder(DecoderSpec("raw", pa.schema([("v", pa.string())]))).decode(values)
    assert text.rows.column(0).to_pylist() == ["", "a", "ü"]
    assert (text.accepted.to_pylist(), text.rejected.to_pylist()) == ([0, 1, 3], [2])
    assert text.reasons[0].code == "raw.utf8"


@pytest.mark.parametrize(
    ("format", "schema", "zone"),
    [
        ("avro", SCHEMA, "UTC"),
        ("json", SCHEMA, "Europe/Nowhere"),
        ("raw", SCHEMA, "UTC"),
        ("raw", pa.schema([("a", pa.int64())]), "UTC"),
        ("json", pa.schema([]), "UTC"),
    ],
)
def test_what_cannot_be_decoded_is_refused_when_the_decoder_is_made(
    format: str, schema: pa.Schema, zone: str
) -> None:
    with pytest.raises(ValueError, match=r"format|zone"):
        make_decoder(DecoderSpec(format, schema, zone))
