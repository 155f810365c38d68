"""Texts of reasons."""

import json
from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.values.json_values import syntax_fault
from kafka2hive.model.wall_clock import NAIVE
from kafka2hive.model.writer_schema import AVRO, PROTOBUF, WriterSchema

AVRO_LONG = '{"type": "record", "name": "M", "fields": [{"name": "at", "type": "long"}]}'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a', "Unterminated string starting at character 1"),
        ('{"a\n', "Invalid control character at character 3"),
        ('{"\\x', "Invalid \\escape at character 2"),
        ("{", "Expecting property name enclosed in double quotes at character 1"),
    ],
)
def test_a_fault_of_syntax_is_told_in_plain_words(text: str, told: str) -> None:
    with pytest.raises(json.JSONDecodeError) as raised:
        json.loads(text)
    assert syntax_fault(raised.value) == told


@pytest.mark.parametrize(
    ("format", "message", "writer"),
    [
        ("avro", b"\x02", WriterSchema(AVRO, AVRO_LONG)),
        ("protobuf", b"\x08\x07", WriterSchema(PROTOBUF, 'syntax = "proto3"; message M { int64 at = 1; }')),
        ("csv", b"1732000000000", None),
        ("json", b'{"at": 1732000000000}', None),
    ],
)
@pytest.mark.parametrize("dtype", [pa.date32(), NAIVE])
def test_a_number_in_a_column_of_times_is_told_the_key_that_reads_it(
    format: Any, message: bytes, writer: WriterSchema | None, dtype: pa.DataType
) -> None:
    spec = DecoderSpec(format, pa.schema([("at", dtype)]), writers=writer)
    try:
        (reason,) = make_decoder(spec).decode(pa.array([message], pa.binary())).reasons
        text = reason.text
    except ValueError as error:  # the map's schema belongs to all records, so its error comes first
        text = str(error)
    assert "needs its unit (d, s, ms, us or ns)" in text
