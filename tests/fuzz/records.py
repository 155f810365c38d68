"""The decoder against damaged records: accounting, alignment, and the slow exact reference on a sample.

A batch holds damaged messages among good ones. Whatever they hold: rows + rejected = messages, each position once and
in order; the good ones come out as they do alone among good ones; a sample of the damaged ones as the reference says.
"""

import random
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import islice
from typing import Any

import orjson
import pyarrow as pa

from kafka2hive.decode import DecoderSpec, Source, make_decoder
from kafka2hive.decode.json import JsonDecoder
from kafka2hive.plugins import Decoded, Decoder
from tests.contract.decode_reference import Sources, reference
from tests.contract.decode_ways import WAYS
from tests.contract.test_decode_paths import (
    SHARED,
    SHARED_SOURCES,
    SMALL,
    other_case,
    shared,
    spelled,
)
from tests.fuzz.finding import Finding
from tests.fuzz.mutate import damaged, restructured
from tests.harness.reasons import texts_of
from tests.services.flights import flights

MESSAGES = 500
SAMPLE = 40
"""Damaged messages of a batch that the reference looks at, too."""
ZONES = ("UTC", "Europe/Berlin", "America/St_Johns")

_TEXT = ("carrier", "tailnum", "origin", "dest")
FLIGHTS = pa.schema(
    [
        (name, pa.string() if name in _TEXT else pa.timestamp("us") if name == "time_hour" else pa.int32())
        for name in orjson.loads(
            '["year","month","day","dep_time","sched_dep_time","dep_delay","arr_time","sched_arr_time","arr_delay",'
            '"carrier","flight","tailnum","origin","dest","air_time","distance","hour","minute","time_hour"]'
        )
    ]
)
_LEG = pa.struct(
    [("from", pa.string()), ("to", pa.string()), ("km", pa.float64()), ("at", pa.timestamp("us"))]
)
WIDE = pa.schema(
    [(f"n{i}", pa.int64()) for i in range(12)]
    + [(f"s{i}", pa.string()) for i in range(12)]
    + [(f"x{i}", pa.float64()) for i in range(4)]
    + [("f", pa.float32()), ("small", pa.int8()), ("ok", pa.bool_()), ("day", pa.date32())]
    + [("price", pa.decimal128(12, 2)), ("big", pa.decimal128(38, 10)), ("blob", pa.binary())]
    + [("legs", pa.list_(_LEG)), ("tags", pa.map_(pa.string(), pa.list_(pa.int32()))), ("leg", _LEG)]
)


def wide(i: int) -> dict[str, object]:
    """A nested record of about 1.5 kB."""
    leg = {"from": "JFK", "to": f"ÄÖ{i}", "km": i * 1.609, "at": f"2013-01-01T05:{i % 60:02d}:00+01:00"}
    record: dict[str, object] = {f"n{j}": i * 10**j for j in range(12)}
    record |= {f"s{j}": f'text {i}, a comma and a "quote" {"é" * j}' for j in range(12)}
    record |= {f"x{j}": i / (j + 3) for j in range(4)}
    record |= {"f": i / 2, "small": i % 128, "ok": i % 2 == 0, "day": "2013-02-28" if i % 3 else None}
    record |= {"price": f"{i}.25", "big": i, "blob": "aGFsbG8="}
    record |= {"legs": [leg] * (i % 4), "tags": {"a": [i, None], "b": []}, "leg": leg if i % 5 else None}
    return record


@cache
def good_flights() -> tuple[bytes, ...]:
    return tuple(islice(flights(), 0, None, 700))


@cache
def good_wide() -> tuple[bytes, ...]:
    return tuple(orjson.dumps(wide(i)) for i in range(300))


def fuzz_flights(seed: int, count: Counter[str]) -> None:
    _batch(seed, good_flights(), FLIGHTS, count)


def fuzz_wide(seed: int, count: Counter[str]) -> None:
    _batch(seed, good_wide(), WIDE, count)


@cache
def good_paths() -> tuple[bytes, ...]:
    return tuple(orjson.dumps(shared(i)) for i in range(300))


@cache
def good_cases() -> tuple[bytes, ...]:
    dice = random.Random(0)
    return tuple(orjson.dumps(other_case(dice, spelled(i))) for i in range(300))


def fuzz_paths(seed: int, count: Counter[str]) -> None:
    """Columns that take their values by paths, some of them the same ones, and numbers as times."""
    _batch(seed, good_paths(), SHARED, count, SHARED_SOURCES)


def fuzz_cases(seed: int, count: Counter[str]) -> None:
    """Keys that match columns and fields of structs whatever their case."""
    _batch(seed, good_cases(), SMALL, count, any_case=True)


def fuzz_raw(seed: int, count: Counter[str]) -> None:
    """Format raw, as binary and as text."""
    dice = random.Random(seed)
    sources = (*good_flights()[:50], *good_wide()[:50])
    messages = [_one(dice, dice.choice(sources), sources) for _ in range(MESSAGES)]
    count["raw messages"] += len(messages)
    for dtype in (pa.binary(), pa.string()):
        decoded = _checked(make_decoder(DecoderSpec("raw", pa.schema([("v", dtype)]))), messages)
        for message, position in zip(messages, range(len(messages)), strict=True):
            if dtype == pa.string() and not _is_text(message):
                continue
            if decoded.rows.column(0)[decoded.accepted.to_pylist().index(position)].as_py() is None:
                raise Finding(f"raw: message {position} became null")
        expected = [i for i, m in enumerate(messages) if dtype == pa.binary() or _is_text(m)]
        if decoded.accepted.to_pylist() != expected:
            raise Finding(f"raw {dtype}: accepted other messages than those that are {dtype}")


def _is_text(message: bytes) -> bool:
    try:
        message.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _one(dice: random.Random, message: bytes, sources: Sequence[bytes]) -> bytes:
    if dice.random() < 0.5:
        return damaged(dice, message, sources)
    return restructured(dice, message)


def _batch(
    seed: int,
    sources: Sequence[bytes],
    schema: pa.Schema,
    count: Counter[str],
    paths: Sources | None = None,
    any_case: bool = False,
) -> None:
    dice = random.Random(seed)
    share = dice.choice((0.01, 0.1, 0.5, 0.9, 1.0))
    picked = [dice.randrange(len(sources)) for _ in range(MESSAGES)]
    messages = [sources[i] for i in picked]
    hurt = [i for i in range(MESSAGES) if dice.random() < share]
    for i in hurt:
        messages[i] = _one(dice, messages[i], sources)
    zone = dice.choice(ZONES)
    looked_at = dice.sample(hurt, min(SAMPLE, len(hurt)))
    sample = {i: reference(messages[i], schema, zone, paths, any_case) for i in looked_at}
    clean = _clean(sources, schema, zone, paths, any_case)
    given = [Source(*paths[name]) for name in schema.names] if paths else []
    first: Decoded | None = None
    for way, make in WAYS.items():
        decoded = _checked(make(schema, zone, sources=given, any_case=any_case), messages)
        _same_as_alone(decoded, picked, hurt, clean)
        _as_reference(decoded, sample, messages)
        first = decoded if first is None else first
        _same(first, decoded, way, messages)
    count["damaged messages"] += len(hurt)
    count["good messages"] += MESSAGES - len(hurt)
    count["rejected"] += len(decoded.rejected)
    count["checked by the reference"] += len(sample)


def _same(one: Decoded, other: Decoded, way: str, messages: Sequence[bytes]) -> None:
    """Two ways decode all messages alike, with the same reasons."""
    for at in set(one.accepted.to_pylist()) ^ set(other.accepted.to_pylist()):
        raise Finding(f"{way}: {messages[at]!r} is accepted one way and refused the other")
    if not (_alike(one.rows, other.rows) and one.reasons == other.reasons):
        raise Finding(f"{way}: other rows or reasons than the first way")


def _alike(one: pa.RecordBatch, other: pa.RecordBatch) -> bool:
    """Whether all values are equal; NaN equals NaN."""
    pairs = zip(one.columns, other.columns, strict=True)
    return one.schema.equals(other.schema) and all(
        a.view(pa.int64()).equals(b.view(pa.int64())) if a.type == pa.float64() else a.equals(b)
        for a, b in pairs
    )


_CLEAN: dict[tuple[int, str], pa.RecordBatch] = {}


def _clean(
    sources: Sequence[bytes], schema: pa.Schema, zone: str, paths: Sources | None, any_case: bool
) -> pa.RecordBatch:
    """The good records, decoded among themselves and as the reference says."""
    known = _CLEAN.get((id(sources), zone))
    if known is None:
        given = [Source(*paths[name]) for name in schema.names] if paths else []
        decoder = JsonDecoder(DecoderSpec("json", schema, zone, sources=given, any_case=any_case))
        known = decoder.decode(pa.array(sources, pa.binary())).rows
        wanted = [reference(m, schema, zone, paths, any_case) for m in sources]
        if [repr(row) for row in known.to_pylist()] != [repr(row) for row in wanted]:
            raise Finding("good records are not decoded as the reference says")
        _CLEAN[id(sources), zone] = known
    return known


def _checked(decoder: Decoder, messages: Sequence[bytes]) -> Decoded:
    """Decode; the identities that hold whatever the messages are."""
    decoded = decoder.decode(pa.array(messages, pa.binary()))
    decoded.rows.validate(full=True)
    accepted, rejected = decoded.accepted.to_pylist(), decoded.rejected.to_pylist()
    if not decoded.rows.schema.equals(decoder.schema):
        raise Finding(f"rows have schema {decoded.rows.schema}")
    if len(decoded.rows) != len(accepted) or len(decoded.reasons) != len(rejected):
        raise Finding(f"{len(decoded.rows)} rows, {len(accepted)} accepted, {len(decoded.reasons)} reasons")
    if sorted(accepted + rejected) != list(range(len(messages))) or accepted != sorted(accepted):
        raise Finding(f"{len(accepted)} accepted + {len(rejected)} rejected of {len(messages)} messages")
    for reason in texts_of(decoded.reasons):
        if not re.match(r"(json|raw)\.[a-z0-9_]+: ", reason):
            raise Finding(f"reason without a code: {reason!r}")
    return decoded


def _same_as_alone(
    decoded: Decoded, picked: Sequence[int], hurt: Sequence[int], clean: pa.RecordBatch
) -> None:
    """What was not damaged is accepted and came out as it does among good records."""
    damaged_ones = set(hurt)
    rows = [
        (row, picked[at]) for row, at in enumerate(decoded.accepted.to_pylist()) if at not in damaged_ones
    ]
    if len(rows) != len(picked) - len(damaged_ones):
        raise Finding("a good record was refused")
    found = decoded.rows.take(pa.array([row for row, _ in rows], pa.int64()))
    wanted = clean.take(pa.array([source for _, source in rows], pa.int64()))
    if not _alike(found, wanted):
        raise Finding("a good record came out otherwise among damaged ones")


def _as_reference(
    decoded: Decoded, sample: dict[int, dict[str, Any] | None], messages: Sequence[bytes]
) -> None:
    where = {at: row for row, at in enumerate(decoded.accepted.to_pylist())}
    for at, expected in sample.items():
        found = decoded.rows.slice(where[at], 1).to_pylist()[0] if at in where else None
        if repr(found) != repr(expected):
            raise Finding(f"{messages[at]!r}: decoded {found!r}, the reference says {expected!r}")
