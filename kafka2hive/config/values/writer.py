"""How a table's files are written."""

from dataclasses import dataclass
from typing import Annotated, Literal

from kafka2hive.config.values.key import Key, Size
from kafka2hive.config.values.units import MIB

FileFormat = Literal["parquet", "orc"]
Timestamps = Literal["micros", "millis", "int96"]


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
    sorted_by: Annotated[tuple[str, ...], Key("Columns by which the rows of a row group are sorted.")] = ()
    dictionary: Annotated[
        tuple[tuple[str, bool], ...],
        Key("With parquet: whether a column has a dictionary; the others where it makes the file smaller."),
    ] = ()
    page_index: Annotated[bool, Key("With parquet: write smallest and largest values of every page.")] = False
    bloom_filter: Annotated[tuple[str, ...], Key("With parquet: columns with a Bloom filter.")] = ()
    timestamps: Annotated[
        Timestamps, Key("With parquet: how timestamps are stored; Hive before 4 reads only int96.")
    ] = "micros"

    def of_dead_letters(self) -> "WriterOptions":
        """Dead letters are of one table for all, which is Parquet; whoever reads this table's timestamps reads theirs."""
        return WriterOptions(
            compression=self.compression,
            level=self.level,
            row_group_rows=self.row_group_rows,
            row_group_bytes=self.row_group_bytes,
            timestamps="int96" if self.timestamps == "int96" else "micros",
        )
