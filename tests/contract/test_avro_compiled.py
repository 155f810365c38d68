"""The compiled way accepts nearly all that the exact one does, and whatever it accepts comes out as there."""

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode import DecoderSpec
from kafka2hive.decode.avro.decoder import AvroDecoder
from kafka2hive.decode.avro.resolve import resolve
from kafka2hive.decode.compiled import NativeReader, PartReader, plan_words, type_words
from kafka2hive.decode.contract.sources import exact_spelling, same_name_sources
from kafka2hive.decode.schemas.avro import parse
from kafka2hive.model.hive_types import parse_hive_type
from tests.contract.avro_cases import IGNORED_CASES, KIND_CASES, VALUE_CASES, is_converted, number
from tests.contract.avro_random import Maker
from tests.contract.avro_ways import outcomes, record, written
from tests.contract.decode_cases import Dead
from tests.contract.test_avro_against_fastavro import damaged, encoded
from tests.harness.compiled_library import needs_compiled

ZONE = "Europe/Berlin"
IN_DOUBT = 4
"""Cases that go the exact way though they are right: moments near the year 1."""


def native(schema: Any, columns: pa.Schema, zone: str) -> NativeReader:
    sources = same_name_sources(columns.names)
    plan = resolve(parse(written(schema)), columns, sources, exact_spelling)
    types = [type_words(field.type, exact_spelling) for field in columns]
    return NativeReader(columns, zone, LIBRARY.AvroDecoder(types, plan_words(plan), 0, zone == "UTC"))


def agreed(schema: Any, columns: pa.Schema, zone: str, messages: list[bytes]) -> int:
    """How many the compiled way accepts; fails where the exact one does not agree."""
    rows, certain = native(schema, columns, zone).read(pa.array(messages, pa.binary()))
    rows.validate(full=True)
    assert rows.schema.equals(columns) and certain.sum() == len(rows)
    exact = outcomes(
        AvroDecoder(DecoderSpec("avro", columns, zone, writers=written(schema)), library=None), messages
    )
    expected = [outcome for outcome, is_row in zip(exact, certain.tolist(), strict=True) if is_row]
    assert repr([list(row.values()) for row in rows.to_pylist()]) == repr(expected)
    return int(certain.sum())


@needs_compiled
def test_what_the_table_accepts_is_not_in_doubt() -> None:
    doubtful = []
    for kind, dtype, data, expected in KIND_CASES + VALUE_CASES:
        columns = pa.schema([("a", parse_hive_type(dtype))])
        if is_converted(kind, dtype) or isinstance(expected, Dead):
            continue
        if not agreed(record(a=kind), columns, ZONE, [data]):
            doubtful.append((kind, dtype, data))
    for kind, data, expected in IGNORED_CASES:
        message = data + number(7)
        if not isinstance(expected, Dead):
            assert agreed(record(z=kind, a="long"), pa.schema([("a", pa.int64())]), ZONE, [message]) == 1
    assert len(doubtful) <= IN_DOUBT, doubtful


@needs_compiled
@pytest.mark.parametrize("seed", range(40))
def test_damaged_messages_of_random_schemas_are_in_doubt_or_come_out_exactly(seed: int) -> None:
    dice = random.Random(f"compiled avro {seed}")
    zone = dice.choice(("UTC", ZONE))
    accepted = 0
    while not accepted:
        maker = Maker(dice)
        schema = maker.schema()
        columns = maker.columns(schema)
        whole = encoded(schema, [maker.value(schema) for _ in range(10)])
        try:
            accepted = agreed(schema, columns, zone, whole)
        except ValueError:
            continue  # one of those that cannot fill a column
        agreed(schema, columns, zone, [damaged(dice, message, whole) for message in whole for _ in range(40)])


@needs_compiled
def test_a_plan_that_is_none_is_refused_when_the_decoder_is_made() -> None:
    for plan in [
        (),
        ("Plan", ("Level",), ()),
        ("Plan", ("Level", (("Target", "a", 1, (), None),)), (("int", ()),), (), ()),
        ("Plan", ("Null",), (), (("no", (), ()),), ()),
    ]:
        with pytest.raises((ValueError, TypeError, IndexError)):
            LIBRARY.AvroDecoder(["int"], plan, 0, True)


class Library:
    """Panics when it is asked to read."""

    def AvroDecoder(self, *_: object) -> "Library":  # noqa: N802 - the library's name
        return self

    def read(self, _: pa.BinaryArray) -> bytes:
        raise RuntimeError("the compiled decoder panicked")


class Accepts(Library):
    """Accepts the first and the last of three messages."""

    def read(self, values: pa.BinaryArray) -> bytes:
        return bytes([1, 0, 1])

    def instants(self) -> bytes:
        return b""

    def changed(self) -> list[tuple[str, int]]:
        return []

    def rows(self, _: bytes) -> object:
        array = pa.StructArray.from_arrays([pa.array([5, 7], pa.int64())], names=["a"])
        return array.__arrow_c_array__()[1]


def planned(library: object) -> PartReader:
    schema = written(record(a="int"))
    decoder = AvroDecoder(DecoderSpec("avro", pa.schema([("a", pa.int64())]), writers=schema), library)
    return decoder.reader(parse(schema), 0)


def test_after_a_panic_every_message_goes_the_exact_way() -> None:
    made = planned(Library())
    for _ in range(2):
        part = made.read(pa.array([number(5), b"", number(6)], pa.binary()), np.array([1, 4, 7]))
        assert [row for batch in part.batches for row in batch.to_pylist()] == [{"a": 5}, {"a": 6}]
        assert (part.accepted.tolist(), list(part.refusals)) == ([1, 7], [4])


def test_rows_of_messages_in_doubt_are_told_by_their_places() -> None:
    made = planned(Accepts())
    part = made.read(pa.array([number(5), number(6), number(7)], pa.binary()), np.array([1, 4, 7]))
    rows = [row["a"] for batch in part.batches for row in batch.to_pylist()]
    assert dict(zip(part.accepted.tolist(), rows, strict=True)) == {1: 5, 4: 6, 7: 7}
