"""Decoder and Google's library agree on random messages, whole and damaged; what is damaged never breaks anything."""

import random

import pyarrow as pa
import pytest

from tests.contract.avro_ways import checked
from tests.contract.decode_cases import Dead
from tests.contract.protobuf_reference import columns, encoded, in_order, row, schema
from tests.contract.protobuf_ways import WAYS, Registry, head
from tests.contract.test_avro_against_fastavro import ZONES, damaged
from tests.harness.reasons import texts_of

BATCHES, MESSAGES = 30, 12


@pytest.mark.parametrize("seed", range(BATCHES))
def test_random_messages_whole_and_damaged_come_out_as_googles_library_reads_them(seed: int) -> None:
    dice = random.Random(f"protobuf {seed}")
    zone = dice.choice(ZONES)
    syntax = dice.choice(("proto2", "proto3"))
    wanted = columns(syntax, dice)
    whole = encoded(syntax, dice, MESSAGES)
    bodies = whole + [damaged(dice, body, whole) for body in whole for _ in range(10)]
    registry = Registry(id7=schema(syntax))
    messages = [head(7, 0) + body for body in bodies]
    first = None
    for make in WAYS.values():
        decoded = make(wanted, zone, writers=registry).decode(pa.array(messages, pa.binary()))
        found = checked(decoded, wanted, len(messages))
        said = repr(found), texts_of(decoded.reasons)
        assert first is None or said == first
        first = said
        for body, outcome in zip(bodies, found, strict=True):
            if isinstance(outcome, Dead):
                assert body not in whole, outcome
            else:
                assert repr(in_order(outcome)) == repr(in_order(row(syntax, wanted, zone, body)))
