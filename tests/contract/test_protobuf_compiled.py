"""The compiled way accepts nearly all that the exact one does, and whatever it accepts comes out as there."""

import random
from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode.compiled import NativeReader, plan_words, type_words
from kafka2hive.decode.contract.sources import exact_spelling, same_name_sources
from kafka2hive.decode.protobuf.resolve import resolve
from kafka2hive.decode.schemas.protobuf import parse
from kafka2hive.model.hive_types import parse_hive_type
from tests.contract.decode_cases import Dead
from tests.contract.protobuf_reference import columns, encoded, schema
from tests.contract.protobuf_ways import ALL_CASES, message_of, table_schema
from tests.harness.compiled_library import needs_compiled

ZONE = "Europe/Berlin"
IN_DOUBT = 20
"""Cases that go the exact way though they are right: fields that stand twice, moments near the end of time."""


def native(writer: Any, name: str, wanted: pa.Schema, zone: str) -> NativeReader:
    plan = resolve(parse(writer), name, wanted, same_name_sources(wanted.names), exact_spelling)
    types = [type_words(field.type, exact_spelling) for field in wanted]
    return NativeReader(wanted, zone, LIBRARY.ProtobufDecoder(types, plan_words(plan), 0, zone == "UTC"))


@needs_compiled
def test_what_the_table_accepts_is_not_in_doubt_and_what_it_refuses_is() -> None:
    doubtful = []
    for syntax, text, dtype, data, expected in ALL_CASES:
        wanted = pa.schema([("a", parse_hive_type(dtype))])
        if expected == Dead("protobuf.resolve"):
            continue
        reader = native(table_schema(syntax), message_of(syntax, text), wanted, ZONE)
        rows, certain = reader.read(pa.array([data], pa.binary()))
        rows.validate(full=True)
        if isinstance(expected, Dead):
            assert not certain.any(), (text, data)
        elif certain.all():
            assert repr(rows.column(0).to_pylist()) == repr([expected])
        else:
            doubtful.append((text, dtype, data))
    assert len(doubtful) <= IN_DOUBT, doubtful


@needs_compiled
@pytest.mark.parametrize("syntax", ["proto2", "proto3"])
def test_whole_messages_of_a_writer_are_not_in_doubt(syntax: str) -> None:
    dice = random.Random(f"compiled protobuf {syntax}")
    bodies = encoded(syntax, dice, 100)
    reader = native(schema(syntax), "t.All", columns(syntax, dice), ZONE)
    assert reader.read(pa.array(bodies, pa.binary()))[1].all()


@needs_compiled
def test_a_plan_that_is_none_is_refused_when_the_decoder_is_made() -> None:
    slot = ("Slot", 1, "a", "optional", 0, b"\0", -1, 0, ((0, ("Whole", "int32")),), None)
    shapes = (("int32", ()),)
    LIBRARY.ProtobufDecoder(["int"], ("Plan", ("Level", (slot,), ()), shapes, (), ()), 0, True)
    for plan in [
        (),
        ("Plan", ("Level",), ()),
        ("Plan", ("Level", (slot,), ()), (), (), ()),
        ("Plan", ("Level", (slot, slot), ()), shapes, (), ()),
        ("Plan", ("Level", ((*slot[:-2], ((1, ("Whole", "int32")),), None),), ()), shapes, (), ()),
        ("Plan", ("Level", ((*slot[:-2], ((0, ("Whole", "string")),), None),), ()), shapes, (), ()),
    ]:
        with pytest.raises((ValueError, TypeError, IndexError)):
            LIBRARY.ProtobufDecoder(["int"], plan, 0, True)
