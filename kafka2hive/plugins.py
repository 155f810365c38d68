"""The only module of kafka2hive that a plug-in package may import; everything else is private (docs/plugins.md).

An entry point of `kafka2hive.decoders`, `.bucketers`, `.writers` or `.completion_policies` names a callable that takes a
context and returns the plug-in; it is called at most once per task and table. An exception of a
decoder, bucketer or writer sets the table aside (`plugin.failed`); one of a completion policy is only a warning.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, BinaryIO, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "BucketerContext",
    "CompletionContext",
    "CompletionPolicy",
    "Decoded",
    "Decoder",
    "DecoderContext",
    "FieldBucketer",
    "FileWriter",
    "HiveStorage",
    "OpenBucket",
    "Reason",
    "RowFile",
    "WriterContext",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderContext:
    """What a decoder is made from: `schema` holds the columns filled from the value, `zone` is the table's time zone."""

    table: str
    schema: "pa.Schema"
    zone: str
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a message is a dead letter.

    `code` is stable and dotted (`csv.fields`); `text` is for people and repeats what the other fields contain. `column` is
    the table's column that the value does not fit, `path` the place within it (`[3].price`); both are empty if the message
    as a whole is wrong. `got` describes what was read if the column expects another kind of value.
    """

    code: str
    text: str
    column: str = ""
    path: str = ""
    got: str = ""

    def __str__(self) -> str:
        return f"{self.code}: {self.text}"


@dataclass(frozen=True, slots=True)
class Decoded:
    """The outcome of one batch. Indices count the input's messages from 0 and are ascending.

    `rows` holds the rows of the accepted messages only, in message order, with exactly the table's schema. `accepted` holds
    the index of each row's message, repeated if a message has several rows. `rejected` holds the indices of messages that
    become dead letters, and `reasons` one reason for each. `without_rows` holds the indices of valid messages without a row;
    None if every valid message has one. Every input index is in exactly one of accepted, rejected and without_rows.
    `new_keys` are keys of messages that no column takes and that were first seen in this batch, if the decoder knows them.
    """

    rows: "pa.RecordBatch"
    accepted: "pa.Int32Array"
    rejected: "pa.Int32Array"
    reasons: Sequence[Reason]
    without_rows: "pa.Int32Array | None" = None
    new_keys: tuple[str, ...] = ()


class Decoder(Protocol):
    """Decodes batches on the calling thread only, and keeps no state between batches."""

    schema: "pa.Schema"

    def decode(self, values: "pa.BinaryArray") -> Decoded:
        """Decode one batch of at most ~50,000 messages and ~64 MB, without nulls.

        The decoder must reject a message that it cannot decode, and must not raise.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketerContext:
    """What a bucketer is made from: `fields` are named by the bucket's path; `schema` includes key, headers and metadata."""

    table: str
    fields: tuple[str, ...]
    schema: "pa.Schema"
    zone: str
    options: Mapping[str, str]


class FieldBucketer(Protocol):
    """Computes the fields of a bucket's path from the row alone, so that the same row always has the same bucket."""

    def fields(self, rows: "pa.RecordBatch") -> "pa.RecordBatch":
        """Return one string column for each of the context's fields, in their order, and one row for each input row.

        NULL stands for Hive's default partition.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HiveStorage:
    """How Hive reads a writer's files: full class names. If `by_place`, columns are matched by position and not by name."""

    serde: str
    input_format: str
    output_format: str
    serde_properties: Mapping[str, str] = field(default_factory=dict)
    by_place: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterContext:
    """What a writer is made from: `options` are the map's, and empty if a file is only read back."""

    options: Mapping[str, str]


class RowFile(Protocol):
    """One file that is being written."""

    def write(self, rows: "pa.RecordBatch") -> None:
        """Append rows with the schema that the file was opened with."""
        ...

    def close(self) -> None:
        """Write the remaining rows. Afterwards the output must hold every byte of the file."""
        ...


class FileWriter(Protocol):
    """Writes and reads the files of a table. One writer serves many files, several of which may be open at a time."""

    hive: HiveStorage

    def open(self, output: BinaryIO, schema: "pa.Schema") -> RowFile:
        """Open a new file. `output` cannot seek, and the writer must not close it."""
        ...

    def count(self, source: BinaryIO) -> int:
        """Return the number of rows of a whole file; `source` can seek. Raises an Exception if the file is damaged."""
        ...

    def read(self, source: BinaryIO, schema: "pa.Schema") -> "Iterator[pa.RecordBatch]":
        """Return the rows of a whole file with the columns that it holds. Raises an Exception if the file is damaged.

        `schema` is the table's schema of today, for formats whose files do not name their columns.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionContext:
    """What a completion policy is made from: `path` and `zone` of the table's bucket, `delay` and `options` of the map."""

    table: str
    path: str
    zone: str
    delay: timedelta
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBucket:
    """A Hive partition with files that no certificate counts yet.

    `values` maps partition columns to values, None for Hive's default partition. `end` is the first moment after the period
    of the path, None if the path has no time. `opened_at` is when the first of these files was committed; `files` and
    `rows` count what was committed since then. Times are aware and in UTC.
    """

    values: Mapping[str, str | None]
    end: datetime | None
    opened_at: datetime
    files: int
    rows: int


class CompletionPolicy(Protocol):
    """Decides which partitions are complete. It is called at most every 10 s and sees no rows."""

    def complete(self, buckets: Sequence[OpenBucket], through: datetime) -> Sequence[bool]:
        """Return for each bucket whether it is complete. The files hold everything that Kafka held for the table at `through`."""
        ...
