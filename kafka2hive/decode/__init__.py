"""Decode message bytes to rows of the table's schema, by the acceptance table of docs/decoding.md."""

from importlib import import_module

from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.contract.spec import Changes, DecoderSpec, MakeDecoder
from kafka2hive.decode.schemas.writers import SchemaCheck, WriterSchemas
from kafka2hive.model.writer_schema import WriterSchema
from kafka2hive.plugins import Decoder

__all__ = [
    "FORMATS",
    "Changes",
    "DecoderSpec",
    "SchemaCheck",
    "Source",
    "WriterSchema",
    "WriterSchemas",
    "make_decoder",
]

FORMATS = {
    "json": "kafka2hive.decode.json",
    "json_schema": "kafka2hive.decode.json",
    "avro": "kafka2hive.decode.avro.decoder",
    "protobuf": "kafka2hive.decode.protobuf.decoder",
    "csv": "kafka2hive.decode.csv",
    "raw": "kafka2hive.decode.raw",
    "plugin": "kafka2hive.decode.plugin",
}
"""For each format the module whose `make` returns a decoder. A module is loaded when the first table needs it."""
_CHANGE_LOGS = "kafka2hive.decode.change_logs.decoder"


def make_decoder(spec: DecoderSpec) -> Decoder:
    """Return the decoder of one table, for one thread of one process.

    Raises ValueError for an unknown format or zone, or for a schema that the format cannot fill.
    """
    if spec.format not in FORMATS:
        raise ValueError(f"unknown format {spec.format!r}: formats are {', '.join(sorted(FORMATS))}")
    make: MakeDecoder = import_module(_CHANGE_LOGS if spec.change_log else FORMATS[spec.format]).make
    return make(spec)
