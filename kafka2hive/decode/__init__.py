"""Decode message bytes to rows of the table's schema, by the acceptance table of docs/decoding.md."""

from kafka2hive.decode.contract.changes import Changes
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.contract.spec import DecoderSpec
from kafka2hive.decode.formats import make_decoder
from kafka2hive.decode.schemas.writers import SchemaCheck, WriterSchema, WriterSchemas

__all__ = [
    "Changes",
    "DecoderSpec",
    "SchemaCheck",
    "Source",
    "WriterSchema",
    "WriterSchemas",
    "make_decoder",
]
