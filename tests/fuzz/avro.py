"""The Avro decoder against damaged messages of random schemas: accounting, all ways alike, and fastavro on what is a row."""

import json
import random
from collections import Counter

from kafka2hive.model.writer_schema import AVRO, WriterSchema
from kafka2hive.plugins import Reason
from tests.contract.avro_random import Maker
from tests.contract.avro_reference import Reference
from tests.contract.avro_ways import WAYS, Registry, framed
from tests.contract.test_avro_against_fastavro import ZONES, damaged, encoded
from tests.fuzz.finding import Finding
from tests.harness.outcomes import row_outcomes

MESSAGES = 40
"""Whole ones of each of two schemas; three damaged ones for each of them."""


def fuzz_avro(seed: int, count: Counter[str]) -> None:
    dice = random.Random(seed)
    zone = dice.choice(ZONES)
    maker = Maker(dice)
    schemas = [maker.schema() for _ in range(2)]
    columns = maker.columns(schemas[0])
    references = [Reference(schema, columns, zone) for schema in schemas]
    bodies = [encoded(schema, [maker.value(schema) for _ in range(MESSAGES)]) for schema in schemas]
    sent = [(i, body) for i in (0, 1) for body in bodies[i]]
    sent += [(i, damaged(dice, body, bodies[i])) for i, body in sent for _ in range(3)]
    dice.shuffle(sent)
    messages = [framed(i, body) for i, body in sent]
    messages += [damaged(dice, dice.choice(messages), messages) for _ in range(MESSAGES)]
    registry = Registry(
        **{f"id{i}": WriterSchema(AVRO, json.dumps(schema)) for i, schema in enumerate(schemas)}
    )
    first = None
    for way, make in WAYS.items():
        found = row_outcomes(make(columns, zone, writers=registry), messages)
        if first is not None and repr(found) != first:
            raise Finding(f"{way}: other rows or reasons than the first way")
        first = repr(found)
    for (i, body), outcome in zip(sent, found, strict=False):
        if not isinstance(outcome, Reason) and repr(outcome) != repr(references[i].row(body)):
            raise Finding(f"{body!r}: decoded {outcome!r}, fastavro says {references[i].row(body)!r}")
    count["avro messages"] += len(messages)
    count["avro messages that are rows"] += sum(not isinstance(outcome, Reason) for outcome in found)
