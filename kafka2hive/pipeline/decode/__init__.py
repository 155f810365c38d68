"""From message bytes to rows of the table's schema, by the acceptance table of docs/decoding.md."""

from kafka2hive.pipeline.decode.changes import Changes
from kafka2hive.pipeline.decode.formats import make_decoder
from kafka2hive.pipeline.decode.sources import Source
from kafka2hive.pipeline.decode.spec import DecoderSpec
from kafka2hive.pipeline.decode.writers import SchemaCheck, WriterSchema, WriterSchemas

__all__ = [
    "Changes",
    "DecoderSpec",
    "SchemaCheck",
    "Source",
    "WriterSchema",
    "WriterSchemas",
    "make_decoder",
]
