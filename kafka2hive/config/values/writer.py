"""How a table's files are written."""

from dataclasses import dataclass
from typing import Annotated, Literal

from kafka2hive.config.values.key import Key, Size
from kafka2hive.config.values.units import MIB

FileFormat = Literal["parquet", "orc"]


@dataclass(frozen=True, slots=True)
class WriterOptions:
    """The table's files."""

    format: Annotated[FileFormat, Key("Format of the files; Hive's table must be STORED AS it.")] = "parquet"
    compression: Annotated[
        Literal["zstd", "snappy", "gzip", "lz4", "none"], Key("Codec (with orc, gzip is ZLIB).")
    ] = "zstd"
    level: Annotated[int | None, Key("With parquet: level of zstd (1 to 22) or gzip (1 to 9).")] = None
    row_group_rows: Annotated[
        int, Key("A row group (ORC: a stripe) is closed at this many rows,", above=0)
    ] = 1_000_000
    row_group_bytes: Annotated[Size, Key("or at this size in memory.")] = 64 * MIB
