"""The Protobuf decoder against damaged messages: accounting, all ways alike, and Google's library on what is a row."""

import random
from collections import Counter

from kafka2hive.plugins import Reason
from tests.contract.protobuf_reference import columns, encoded, in_order, row, schema
from tests.contract.protobuf_ways import WAYS, Registry, head
from tests.contract.test_avro_against_fastavro import ZONES, damaged
from tests.fuzz.finding import Finding
from tests.harness.outcomes import row_outcomes

MESSAGES = 20
"""Whole ones; four damaged ones for each of them."""


def fuzz_protobuf(seed: int, count: Counter[str]) -> None:
    dice = random.Random(seed)
    zone, syntax = dice.choice(ZONES), dice.choice(("proto2", "proto3"))
    wanted = columns(syntax, dice)
    whole = encoded(syntax, dice, MESSAGES)
    bodies = whole + [damaged(dice, body, whole) for body in whole for _ in range(4)]
    messages = [head(7, 0) + body for body in bodies]
    messages += [damaged(dice, dice.choice(messages), messages) for _ in range(MESSAGES)]
    first = None
    for way, make in WAYS.items():
        decoder = make(wanted, zone, writers=Registry(id7=schema(syntax)))
        found = row_outcomes(decoder, messages)
        if first is not None and repr(found) != first:
            raise Finding(f"{way}: other rows or reasons than the first way")
        first = repr(found)
    for body, outcome in zip(bodies, found, strict=False):
        if not isinstance(outcome, Reason):
            expected = row(syntax, wanted, zone, body)
            if repr(in_order(outcome)) != repr(in_order(expected)):
                raise Finding(f"{body!r}: decoded {outcome!r}, Google's library says {expected!r}")
    count["protobuf messages"] += len(messages)
    count["protobuf messages that are rows"] += sum(not isinstance(outcome, Reason) for outcome in found)
