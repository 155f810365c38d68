"""The writer of a table's files, and when files are written."""

from dataclasses import dataclass
from typing import Annotated, Literal

from kafka2hive.config.keys.declaration import Duration, Key, Size
from kafka2hive.config.keys.source import PluginOptions
from kafka2hive.config.keys.units import MIB

FileFormat = Literal["parquet", "orc", "json", "text", "avro", "plugin"]
Compression = Literal["zstd", "snappy", "gzip", "lz4", "none"]
Timestamps = Literal["micros", "millis", "int96"]
LetterTimestamps = Literal["micros", "int96"]


@dataclass(frozen=True, slots=True)
class TextOptions:
    """How fields are written in a line of format `text`; the SerDe properties of Hive's table must say the same."""

    delimiter: Annotated[
        str,
        Key(
            "Character between two fields: a tab, another control character, or one of `,` `;` `~` `^` and the "
            "vertical bar.",
            written="character",
            pattern=r"[\x01-\x08\x09\x0b\x0c\x0e-\x1f,;|~^]",
            expected="expected a tab, another control character (not a line end), or one of , ; | ~ ^",
        ),
    ] = ","
    escape: Annotated[
        str,
        Key(
            'Character that escapes delimiters, line ends (as `n` and `r`) and itself: a backslash, or one of `!` `"` '
            "`'` `^` `~`.",
            written="character",
            pattern=r"[\\!\"'^~]",
            expected="expected one of \\ ! \" ' ^ ~",
        ),
    ] = "\\"
    null_text: Annotated[
        str,
        Key(
            "Text that stands for NULL. A value with the same text is a dead letter, `text.null`; the default rules this out.",
            pattern=r"[ -~]{0,100}",
            expected="expected at most 100 characters of ASCII",
        ),
    ] = "\\N"


@dataclass(frozen=True, slots=True)
class WriterOptions:
    """The table's files."""

    format: Annotated[
        FileFormat,
        Key("File format; Hive's table must have the [same format](file-formats.md)."),
    ] = "parquet"
    compression: Annotated[
        Compression,
        Key(
            "Codec; `gzip` is ZLIB in ORC, deflate in Avro. `json` and `text` take `gzip`, `zstd`, "
            "`none`; Avro also `snappy`.",
            otherwise="`zstd`; `json`, `text`, `avro`: `gzip`",
            derived=True,
        ),
    ] = "zstd"
    level: Annotated[
        int | None, Key("1 to 22 with zstd, 1 to 9 with gzip; not with ORC.", otherwise="the codec's")
    ] = None
    row_group_rows: Annotated[
        int, Key("Maximum number of rows in a row group (in ORC, a stripe).", above=0)
    ] = 1_000_000
    row_group_bytes: Annotated[
        Size, Key("Size in memory at which a row group (in ORC, a stripe) is closed.")
    ] = 64 * MIB
    sorted_by: Annotated[
        tuple[str, ...],
        Key(
            "Columns by which rows are sorted within each row group, NULL last.",
            written="list of columns",
            example="[id]",
        ),
    ] = ()
    dictionary: Annotated[
        tuple[tuple[str, bool], ...],
        Key(
            "Parquet: whether a column has a dictionary. Other columns have one if it makes the file smaller.",
            written="columns with true or false",
            example="{country: true}",
        ),
    ] = ()
    page_index: Annotated[
        bool, Key("Parquet: write the minimum and maximum of every page, so that readers can skip pages.")
    ] = False
    bloom_filter: Annotated[
        tuple[str, ...],
        Key(
            "Parquet: columns with a Bloom filter, so that readers can skip row groups.",
            written="list of columns",
            example="[id]",
        ),
    ] = ()
    timestamps: Annotated[
        Timestamps,
        Key(
            "Parquet: how timestamps [are stored](file-formats.md#timestamps-in-parquet). With `avro`: `millis`."
        ),
    ] = "micros"

    plugin: Annotated[
        PluginOptions | None,
        Key(
            "With `plugin`: the writer of an installed package, [more](#plugin); its name is in the files' "
            "names, in the place of `parquet`.",
            example="{name: my_format}",
        ),
    ] = None
    text: Annotated[
        TextOptions,
        Key("With `text`: how fields are written in a line, [more](#text).", example='{delimiter: ","}'),
    ] = TextOptions()

    def of_dead_letters(self, timestamps: LetterTimestamps | None) -> "WriterOptions":
        """Return the options for this table's dead letters, always Parquet.

        `timestamps` is the map's `dead_letters.timestamps`. If it is None, `int96` is kept for readers that need it.
        """
        return WriterOptions(
            compression=self.compression,
            level=self.level,
            row_group_rows=self.row_group_rows,
            row_group_bytes=self.row_group_bytes,
            timestamps=timestamps or ("int96" if self.timestamps == "int96" else "micros"),
        )


@dataclass(frozen=True, slots=True)
class Flush:
    """When a table is due for an epoch: the first condition that holds.

    `min_bytes` has no effect without `max_interval_seconds`. `config.build` makes it no more than `bytes`.
    """

    interval_seconds: Annotated[
        Duration,
        Key(
            "Time since the table's last epoch; with `max_interval` only if at least `min_bytes` wait.",
            name="interval",
        ),
    ] = 60.0
    bytes: Annotated[Size, Key("Bytes in Kafka that the table has not read yet.")] = 128 * MIB
    max_interval_seconds: Annotated[
        Duration | None,
        Key(
            "Time since the table's last epoch, however little waits.",
            name="max_interval",
            written="duration",
            otherwise="`interval`",
        ),
    ] = None
    min_bytes: Annotated[
        Size,
        Key(
            "With `max_interval`: bytes in Kafka that are worth a file once `interval` has passed.",
            written="size",
            otherwise="`16MiB`, at most `bytes`",
            derived=True,
        ),
    ] = 16 * MIB
    backfill_bytes: Annotated[
        Size | None,
        Key(
            "Bytes a second by which a backlog may shrink; what arrives is never held back. [More](#the-ceiling-of-a-backfill).",
            name="backfill",
            written="size",
            otherwise="no ceiling",
        ),
    ] = None

    @property
    def longest_seconds(self) -> float:
        """The interval after which the table is due if any record waits."""
        return self.interval_seconds if self.max_interval_seconds is None else self.max_interval_seconds


AUTO = Flush(max_interval_seconds=600.0)
"""The value of `flush: auto`."""
