"""Decoder and fastavro agree on random schemas and values, whole and damaged; what is damaged never breaks anything."""

import io
import json
import random
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from kafka2hive.model.writer_schema import AVRO, WriterSchema
from tests.contract.avro_random import Maker
from tests.contract.avro_reference import Reference, without_logical
from tests.contract.avro_ways import WAYS, Registry, framed, outcomes
from tests.contract.decode_cases import Dead

ZONES = ["UTC", "Europe/Berlin", "America/St_Johns"]
BATCHES, MESSAGES = 60, 12


def encoded(schema: Any, values: list[Any]) -> list[bytes]:
    parsed = fastavro.parse_schema(without_logical(schema))
    messages = []
    for value in values:
        to = io.BytesIO()
        fastavro.schemaless_writer(to, parsed, value)
        messages.append(to.getvalue())
    return messages


def damaged(dice: random.Random, message: bytes, others: list[bytes]) -> bytes:
    raw = bytearray(message)
    for _ in range(dice.randint(1, 3)):
        at = dice.randrange(len(raw) + 1)
        match dice.randrange(6):
            case 0 if at < len(raw):
                raw[at] = dice.randrange(256)
            case 1 if at < len(raw):
                raw[at] ^= 1 << dice.randrange(8)
            case 2:
                raw[at:at] = dice.choice((b"\0", b"\1", b"\2", b"\xff", b"\x80", b"\xff" * 9 + b"\1"))
            case 3:
                del raw[at : at + dice.choice((1, 1, 4))]
            case 4:
                raw = raw[:at]
            case _:
                raw[at:] = dice.choice(others)[at:]
    return bytes(raw)


@pytest.mark.parametrize("seed", range(BATCHES))
def test_random_messages_of_two_schemas_come_out_as_fastavro_and_the_table_say(seed: int) -> None:
    dice = random.Random(f"avro {seed}")
    zone = dice.choice(ZONES)
    maker = Maker(dice)
    schemas = [maker.schema() for _ in range(2)]
    columns = maker.columns(schemas[0])
    registry = Registry(
        **{f"id{i}": WriterSchema(AVRO, json.dumps(schema)) for i, schema in enumerate(schemas)}
    )
    references = [Reference(schema, columns, zone) for schema in schemas]
    bodies = [encoded(schema, [maker.value(schema) for _ in range(MESSAGES)]) for schema in schemas]
    whole = [(i, body) for i in (0, 1) for body in bodies[i]]
    hurt = [(i, damaged(dice, body, bodies[i])) for i, body in whole for _ in range(8)]
    together = whole + hurt
    dice.shuffle(together)
    for way, make in WAYS.items():
        decoder = make(columns, zone, writers=registry)
        found = outcomes(decoder, [framed(i, body) for i, body in together])
        for (i, body), outcome in zip(together, found, strict=True):
            if not references[i].fits:
                assert outcome == Dead("avro.resolve"), way
            elif not isinstance(outcome, Dead):
                assert repr(outcome) == repr(references[i].row(body)), (way, body)
            elif (i, body) in whole:  # fastavro would try all the elements that a damaged message claims
                assert references[i].row(body) is None, (way, body, outcome)


def test_most_random_schemas_fit_and_most_messages_become_rows() -> None:
    fitting = rows = 0
    for seed in range(BATCHES):
        dice = random.Random(f"avro {seed}")
        zone = dice.choice(ZONES)
        maker = Maker(dice)
        schemas = [maker.schema() for _ in range(2)]
        reference = Reference(schemas[0], maker.columns(schemas[0]), zone)
        if not reference.fits:
            continue
        fitting += 1
        messages = encoded(schemas[0], [maker.value(schemas[0]) for _ in range(MESSAGES)])
        rows += sum(reference.row(message) is not None for message in messages)
    assert fitting > BATCHES * 2 / 3
    assert rows > BATCHES * MESSAGES / 4


FLAT = {
    "type": "record",
    "name": "F",
    "fields": [{"name": "i", "type": "int"}, {"name": "s", "type": "string"}],
}
DEEP = {
    "type": "record",
    "name": "D",
    "fields": [
        {"name": "u", "type": ["null", "long", "string"]},
        {"name": "a", "type": {"type": "array", "items": {"type": "map", "values": "boolean"}}},
        {"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}},
    ],
}
SEEDS = [
    (FLAT, pa.schema([("i", pa.int8()), ("s", pa.string())]), {"i": 77, "s": "aé"}),
    (FLAT, pa.schema([("i", pa.float32()), ("none", pa.int8())]), {"i": 2**24 + 2, "s": "aé"}),
    (
        DEEP,
        pa.schema(
            [
                ("u", pa.int64()),
                ("a", pa.list_(pa.map_(pa.string(), pa.bool_()))),
                ("d", pa.decimal128(6, 1)),
                ("e", pa.string()),
            ]
        ),
        {"u": 200, "a": [{"x": True, "y": False}, {}], "d": b"\0\x64", "e": "B"},
    ),
    (DEEP, pa.schema([("e", pa.string())]), {"u": "x", "a": [{"x": True}], "d": b"\0\x64", "e": "B"}),
]


def neighbours(message: bytes) -> list[bytes]:
    """All messages one byte away: replaced, inserted, taken away; and all beginnings."""
    found = [message[:at] + bytes([b]) + message[at + 1 :] for at in range(len(message)) for b in range(256)]
    found += [message[:at] + bytes([b]) + message[at:] for at in range(len(message) + 1) for b in range(256)]
    found += [message[:at] + message[at + 1 :] for at in range(len(message))]
    return found + [message[:at] for at in range(len(message) + 1)]


@pytest.mark.parametrize(("schema", "columns", "value"), SEEDS, ids=range(len(SEEDS)))
def test_every_neighbour_of_a_message_is_refused_or_comes_out_as_fastavro_reads_it(
    schema: Any, columns: pa.Schema, value: Any
) -> None:
    message = encoded(schema, [value])[0]
    near = neighbours(message)
    reference = Reference(schema, columns, "UTC")
    ways = []
    for make in WAYS.values():
        found = outcomes(make(columns, "UTC", writers=WriterSchema(AVRO, json.dumps(schema))), near)
        ways.append(found)
        accepted = [(one, row) for one, row in zip(near, found, strict=True) if not isinstance(row, Dead)]
        assert len(accepted) > 50
        for one, row in accepted:
            assert repr(row) == repr(reference.row(one)), one
    assert all(repr(found) == repr(ways[0]) for found in ways)
