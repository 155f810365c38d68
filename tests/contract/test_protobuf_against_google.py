"""Decoder and Google's library agree on random messages, whole and damaged; what is damaged never breaks anything."""

import random

import pytest

from kafka2hive.plugins import Reason
from tests.contract.protobuf_reference import columns, encoded, in_order, row, schema
from tests.contract.protobuf_ways import WAYS, Registry, head
from tests.contract.test_avro_against_fastavro import ZONES, damaged
from tests.harness.outcomes import row_outcomes

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
        found = row_outcomes(make(wanted, zone, writers=registry), messages)
        assert first is None or repr(found) == first
        first = repr(found)
        for body, outcome in zip(bodies, found, strict=True):
            if isinstance(outcome, Reason):
                assert body not in whole, outcome
            else:
                assert repr(in_order(outcome)) == repr(in_order(row(syntax, wanted, zone, body)))
