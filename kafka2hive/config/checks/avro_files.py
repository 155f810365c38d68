"""Tables of Avro files: options and columns with which Hive reads what was written."""

from kafka2hive.config.avro_columns import not_in_avro, type_words
from kafka2hive.config.checks.table_options import CheckedTable, columns_of, metadata_names
from kafka2hive.config.values.columns import METADATA_TYPES

_CODECS = ("gzip", "zstd", "snappy", "none")


def check_avro_files(checked: CheckedTable) -> None:
    writer = checked.table.writer
    if writer.format != "avro":
        return
    if writer.compression not in _CODECS:
        checked.add(
            checked.path("writer", "compression"), "files of format avro have gzip, zstd, snappy or none"
        )
    types = columns_of(checked.table)
    if not types:
        checked.add(checked.path("writer", "format"), "is avro: the table must declare its columns then")
    types |= {name: METADATA_TYPES[kind] for kind, name in metadata_names(checked.table.metadata)}
    for name, kind in types.items():
        for fault in not_in_avro(name, kind):
            checked.add(checked.path("writer", "format"), f"is avro, and {fault}")
    has_times = any("timestamp" in type_words(kind) for kind in types.values())
    if writer.timestamps == "int96" or (has_times and writer.timestamps != "millis"):
        message = "Hive reads Avro's timestamps as milliseconds: write millis; finer ones become dead letters"
        checked.add(checked.path("writer", "timestamps"), message)
