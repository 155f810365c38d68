"""`time_pattern` and `time_of_day` for strings in Avro and Protobuf, by both decoders of each."""

import io
from datetime import date, datetime
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from kafka2hive.config.keys.columns import Column
from kafka2hive.config.keys.leeway import Leeway
from kafka2hive.decode.contract.sources import SchemaUnresolvable, Source
from kafka2hive.decode.contract.spec import Changes
from kafka2hive.model.wall_clock import NAIVE
from kafka2hive.schema_evolution.map_schemas import declared_schema_faults
from tests.contract.avro_ways import WAYS as AVRO_WAYS
from tests.contract.avro_ways import outcomes, record, written
from tests.contract.decode_cases import Dead
from tests.contract.decode_ways import EACH_WAY
from tests.contract.protobuf_cases import varint
from tests.contract.protobuf_ways import WAYS as PROTOBUF_WAYS
from tests.contract.protobuf_ways import written as protobuf_schema

SCHEMA = pa.schema([("at", NAIVE), ("on", pa.date32()), ("fine", NAIVE), ("n", pa.int64())])
SOURCES = [
    Source(("at",), None, Leeway(time_pattern=("dd/MM/yyyy HH:mm", "iso"), time_of_day="midnight")),
    Source(("on",), None, Leeway(time_of_day="drop")),
    Source(("fine",), None, Leeway("truncate", time_pattern=("yyyy-MM-dd HH:mm:ss.SSSSSSSSS",))),
    Source(("n",)),
]
ROWS: list[tuple[Any, Any, Any, Any]] = [
    ("31/01/2024 12:30", "2024-01-31T23:30:00Z", "2024-01-31 12:30:00.000001999", 1),
    ("2024-01-31", "2024-01-31", "2024-01-31 12:30:00.000001000", 2),
    (None, None, None, 3),
    ("31/02/2024 12:30", None, None, 4),
    (None, "31.01.2024", None, 5),
]
FINE = datetime(2024, 1, 31, 12, 30, 0, 1)
EXPECTED = [
    [datetime(2024, 1, 31, 12, 30), date(2024, 2, 1), FINE, 1],
    [datetime(2024, 1, 31), date(2024, 1, 31), FINE, 2],
    [None, None, None, 3],
]
COUNTS = (("fraction", 1), ("time_of_day", 2))


def avro(values: tuple[Any, ...], schema: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(
        out, fastavro.parse_schema(schema), dict(zip(SCHEMA.names, values, strict=True))
    )
    return out.getvalue()


@pytest.mark.parametrize("way", EACH_WAY)
def test_strings_of_avro_are_times_by_their_pattern(way: str) -> None:
    text = ["null", "string"]
    schema, changes = record(at=text, on=text, fine=text, n="long"), Changes()
    decoder = AVRO_WAYS[way](SCHEMA, "Europe/Berlin", SOURCES, writers=written(schema), changes=changes)
    found = outcomes(decoder, [avro(values, schema) for values in ROWS])
    assert found == [*EXPECTED, Dead("avro.timestamp"), Dead("avro.date")]
    assert changes.take() == COUNTS


@pytest.mark.parametrize("way", EACH_WAY)
def test_other_types_of_avro_are_read_as_without_the_keys(way: str) -> None:
    micros = {"type": "long", "logicalType": "timestamp-micros"}
    nanos = {"type": "long", "logicalType": "timestamp-nanos"}
    schema = record(at=micros, on=["null", {"type": "int", "logicalType": "date"}], fine=nanos, n="long")
    decoder = AVRO_WAYS[way](SCHEMA, "UTC", SOURCES, writers=written(schema))
    moment = 1_706_704_200_000_000
    out = io.BytesIO()
    plain = record(at="long", on=["null", "int"], fine="long", n="long")
    fastavro.schemaless_writer(out, plain, {"at": moment, "on": 19_753, "fine": moment * 1000 + 1999, "n": 1})
    assert outcomes(decoder, [out.getvalue()]) == [
        [datetime(2024, 1, 31, 12, 30), date(2024, 1, 31), FINE, 1]
    ]
    with pytest.raises(SchemaUnresolvable, match="column at"):
        AVRO_WAYS[way](SCHEMA, "UTC", SOURCES, writers=written(record(at="long", n="long")))


@pytest.mark.parametrize("way", EACH_WAY)
def test_strings_of_protobuf_are_times_by_their_pattern(way: str) -> None:
    fields = "optional string at = 1; optional string on = 2; optional string fine = 3; int64 n = 4;"
    changes = Changes()
    writers = protobuf_schema(f'syntax = "proto3"; message M {{ {fields} }}')
    decoder = PROTOBUF_WAYS[way](SCHEMA, "Europe/Berlin", SOURCES, writers=writers, changes=changes)
    messages = [
        b"".join(
            varint(number << 3 | 2) + varint(len(text)) + text.encode()
            for number, text in enumerate(values[:3], 1)
            if text is not None
        )
        + varint(4 << 3)
        + varint(values[3])
        for values in ROWS
    ]
    found = outcomes(decoder, messages)
    assert found == [*EXPECTED, Dead("protobuf.timestamp"), Dead("protobuf.date")]
    assert changes.take() == COUNTS


def test_a_schema_in_the_map_may_have_strings_for_columns_with_a_pattern() -> None:
    schema = written(record(at="string", on="string", n="long"))
    plain = [Column("at", "timestamp"), Column("on", "date")]
    own = [
        Column("at", "timestamp", leeway=SOURCES[0].leeway),
        Column("on", "date", leeway=SOURCES[1].leeway),
    ]
    assert list(declared_schema_faults(schema, plain)) == ["at", "on"]
    assert declared_schema_faults(schema, own) == {}
    number = Column("at", "timestamp", ("n",), leeway=SOURCES[0].leeway)
    assert list(declared_schema_faults(schema, [number])) == ["at"]
