"""Avro: files with a schema of their own, of which Hive widens few types and reads timestamps as milliseconds."""

import re
from collections.abc import Iterator, Mapping

from kafka2hive.config.file_formats.specification import (
    Fault,
    FileFormatSpec,
    OlderHive,
    ReaderFault,
    columnar,
)
from kafka2hive.config.keys.table import TableReader
from kafka2hive.config.keys.writer import WriterOptions
from kafka2hive.model.hive_types import struct_fields, type_words

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAP = re.compile(r"\bmap\s*<\s*([a-z]+)", re.IGNORECASE)
_TYPE_FAULTS = {
    "tinyint": "an Avro table of Hive turns it into int; declare it as int",
    "smallint": "an Avro table of Hive turns it into int; declare it as int",
    "char": "Hive reads it only from files that state its length; declare it as string",
    "varchar": "Hive reads it only from files that state its length; declare it as string",
}


def avro_faults(name: str, hive_type: str) -> Iterator[str]:
    """Yield each reason why an Avro file cannot have a column with this name and type."""
    fields = struct_fields(hive_type)
    for avro_name in [name, *fields]:
        if not _NAME.fullmatch(avro_name):
            yield f"{avro_name} is not a valid name in Avro: letters, digits and _, and no digit first"
    for field in fields:
        if field != field.lower():
            yield f"{field} in {name} has capital letters: Hive reads such fields of structs as NULL"
    for word in dict.fromkeys(type_words(hive_type)):
        if word in _TYPE_FAULTS:
            yield f"{name} is of type {hive_type}: {_TYPE_FAULTS[word]}"
    if any(key.lower() != "string" for key in _MAP.findall(hive_type)):
        yield f"{name} is of type {hive_type}: Avro's maps have keys of type string"


def _faults(writer: WriterOptions, types: Mapping[str, str]) -> Iterator[Fault]:
    for name, kind in types.items():
        for fault in avro_faults(name, kind):
            yield ("format",), f"is avro, and {fault}"
    has_times = any("timestamp" in type_words(kind) for kind in types.values())
    if writer.timestamps == "int96" or (has_times and writer.timestamps != "millis"):
        message = "Hive reads timestamps of Avro files as milliseconds: write millis; finer timestamps become dead letters"
        yield ("timestamps",), message


AVRO = FileFormatSpec(
    name="avro",
    stored_as=columnar(
        "Avro",
        "org.apache.hadoop.hive.ql.io.avro.AvroContainer",
        "org.apache.hadoop.hive.serde2.avro.AvroSerDe",
        hides_case_of_fields=True,
    ),
    codecs=("gzip", "zstd", "snappy", "none"),
    codec="gzip",
    options=frozenset({"timestamps"}),
    is_widened=False,
    needs_columns=True,
    needs_library=True,
    faults=_faults,
    column_faults=avro_faults,
    older_hive=OlderHive(codecs={"zstd": "it cannot read zstd"}),
    reader_faults=(
        ReaderFault(
            TableReader.SPARK,
            "Spark as PyPI has it lacks classes for Avro tables of Hive (org.codehaus.jackson)",
            "add the jars jackson-core-asl and jackson-mapper-asl to Spark, or choose Parquet or ORC",
        ),
    ),
)
