"""How a table's files are written."""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

from kafka2hive.config.values.key import LEFT_OUT, Key, Size
from kafka2hive.config.values.plugin import PluginOptions
from kafka2hive.config.values.units import MIB

FileFormat = Literal["parquet", "orc", "json", "text", "avro", "plugin"]
Compression = Literal["zstd", "snappy", "gzip", "lz4", "none"]
Timestamps = Literal["micros", "millis", "int96"]


LINE_FORMATS = frozenset({"json", "text"})
"""Formats whose files are lines, compressed as a whole."""
_GZIP = LINE_FORMATS | {"avro"}


@dataclass(frozen=True, slots=True)
class TextOptions:
    """How fields stand in a line of format text, as the SerDe properties of Hive's table say it, too."""

    delimiter: Annotated[
        str,
        Key(
            doc="Character between two fields.",
            pattern=r"[\x01-\x08\x09\x0b\x0c\x0e-\x1f,;|~^]",
            expected="expected a tab, another control character (not a line end), or one of , ; | ~ ^",
        ),
    ] = ","
    escape: Annotated[
        str,
        Key(
            doc="Character before one that would end a field.",
            pattern=r"[\\!\"'^~]",
            expected="expected one of \\ ! \" ' ^ ~",
        ),
    ] = "\\"
    null_text: Annotated[
        str,
        Key(
            doc="Text of NULL.",
            pattern=r"[ -~]{0,100}",
            expected="expected at most 100 characters of ASCII",
        ),
    ] = "\\N"


@dataclass(frozen=True, slots=True)
class WriterOptions:
    """The table's files."""

    format: Annotated[FileFormat, Key("Format of the files; Hive's table must be stored as it.")] = "parquet"
    compression: Annotated[
        Compression,
        Key(
            "Codec (with orc, gzip is ZLIB, with avro deflate). Default: zstd, with json, text and avro gzip.",
            derived=True,
        ),
    ] = "zstd"
    level: Annotated[int | None, Key("Level of zstd (1 to 22) or gzip (1 to 9); not with orc.")] = None
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
        Timestamps,
        Key("With parquet: how timestamps are stored; Hive before 4 reads only int96. With avro: millis."),
    ] = "micros"

    plugin: Annotated[
        PluginOptions | None,
        Key(
            "With format plugin: the writer, an entry point of kafka2hive.writers; its name ends the files' names."
        ),
    ] = None
    text: Annotated[TextOptions, Key("With text: how fields stand in a line.")] = TextOptions()

    def settled(self) -> "WriterOptions":
        """With the codec of the format where the map names none: not every Hive reads zstd in lines and in Avro."""
        if self.compression is not LEFT_OUT:
            return self
        return replace(self, compression="gzip" if self.format in _GZIP else "zstd")

    def of_dead_letters(self) -> "WriterOptions":
        """Dead letters are of one table for all, which is Parquet; whoever reads this table's timestamps reads theirs."""
        return WriterOptions(
            compression=self.compression,
            level=self.level,
            row_group_rows=self.row_group_rows,
            row_group_bytes=self.row_group_bytes,
            timestamps="int96" if self.timestamps == "int96" else "micros",
        )
