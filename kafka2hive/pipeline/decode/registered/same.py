"""Whether two texts are the same schema to a decoder. Registries reformat texts when they are moved or upgraded."""

import json
from typing import Any

from kafka2hive.pipeline.decode.writers import AVRO, PROTOBUF, WriterSchema


def same_schema(one: WriterSchema, other: WriterSchema) -> bool:
    """By what a decoder makes of them; by their texts where one cannot be read."""
    if one.kind != other.kind:
        return False
    if one == other:
        return True
    if one.kind == AVRO:
        from kafka2hive.pipeline.decode.avro.parse import SchemaInvalid as AvroInvalid
        from kafka2hive.pipeline.decode.avro.parse import parse as parse_avro

        try:
            return parse_avro(one) == parse_avro(other)
        except AvroInvalid:
            return _same_texts(one, other)
    if one.kind == PROTOBUF:
        from kafka2hive.pipeline.decode.protobuf.parse import parse as parse_protobuf
        from kafka2hive.pipeline.decode.protobuf.protoc import SchemaInvalid as ProtobufInvalid

        try:
            return parse_protobuf(one) == parse_protobuf(other)
        except ProtobufInvalid:
            return _same_texts(one, other)
    return _same_texts(one, other)


def _same_texts(one: WriterSchema, other: WriterSchema) -> bool:
    return one.references == other.references and _json(one.text) == _json(other.text)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
