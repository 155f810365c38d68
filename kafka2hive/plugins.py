"""All that a package with plug-ins imports of kafka2hive; everything else is private and may move (docs/plugins.md).

An entry point of `kafka2hive.decoders`, `.bucketers`, `.writers` or `.completion_policies` names a callable that takes a
context and makes the plug-in; it is called once per task and table, or less. A plug-in raises whatever it likes: that sets
its table aside (`plugin.failed`).
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
    """`schema` has the columns that the record's value fills, `zone` is the table's, `options` are the map's."""

    table: str
    schema: "pa.Schema"
    zone: str
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a message is a dead letter.

    `code` is stable and dotted (`csv.fields`), `text` is for people and says all that the other fields say. `column`: the
    table's column that a value does not fill, `path`: where within it (`[3].price`); both empty: the message is wrong.
    `got`: what stands there where the column expects another kind of value.
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
    """One batch, decoded. Positions count the input's messages from 0 and are ascending.

    `rows`: of the accepted messages only, in message order, exactly the table's schema. `accepted`: the position of each
    row's message, as often as the message has rows (most formats: once). `rejected`: positions that go to the dead letters.
    `reasons`: one per rejected. `without_rows`: sound messages that hold
    no row; None: there are none. Every input position is in exactly one of accepted, rejected and without_rows.
    `new_keys`: the messages' own keys that no column takes and that came up since the batch before, as far as they are known.
    """

    rows: "pa.RecordBatch"
    accepted: "pa.Int32Array"
    rejected: "pa.Int32Array"
    reasons: Sequence[Reason]
    without_rows: "pa.Int32Array | None" = None
    new_keys: tuple[str, ...] = ()


class Decoder(Protocol):
    """Decodes batches on the calling thread alone; holds no state between batches."""

    schema: "pa.Schema"

    def decode(self, values: "pa.BinaryArray") -> Decoded:
        """`values` holds no nulls, at most ~50,000 messages and ~64 MB. Never raises for what a message holds."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketerContext:
    """`fields` are those that the bucket's path names; `schema` is that of the rows, with key, headers and metadata."""

    table: str
    fields: tuple[str, ...]
    schema: "pa.Schema"
    zone: str
    options: Mapping[str, str]


class FieldBucketer(Protocol):
    """Gives the fields of a bucket's path, from the row alone: the same row has the same bucket for ever."""

    def fields(self, rows: "pa.RecordBatch") -> "pa.RecordBatch":
        """A string column for each of the context's fields, in their order, a row for each row. NULL: Hive's default
        partition.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HiveStorage:
    """How Hive reads the files of a writer: classes by their full names. `by_place`: columns are known by their places."""

    serde: str
    input_format: str
    output_format: str
    serde_properties: Mapping[str, str] = field(default_factory=dict)
    by_place: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterContext:
    """`options` are the map's; empty where a file is only read back."""

    options: Mapping[str, str]


class RowFile(Protocol):
    """One file that is being written."""

    def write(self, rows: "pa.RecordBatch") -> None:
        """More rows, of the schema that the file was opened with."""
        ...

    def close(self) -> None:
        """Write what is left. All bytes of the file are in its output afterwards."""
        ...


class FileWriter(Protocol):
    """How rows become files, and files rows. It is kept from file to file, and several files are open at a time."""

    hive: HiveStorage

    def open(self, output: BinaryIO, schema: "pa.Schema") -> RowFile:
        """`output` takes bytes one after the other; it cannot seek, and is not closed by the writer."""
        ...

    def count(self, source: BinaryIO) -> int:
        """The rows of a whole file; `source` can seek. Raises an Exception where it is damaged."""
        ...

    def read(self, source: BinaryIO, schema: "pa.Schema") -> "Iterator[pa.RecordBatch]":
        """The rows of a whole file, with the columns that it holds. Raises an Exception where it is damaged.

        `schema` is what the map says now: for files that do not say their columns themselves.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionContext:
    """`path` and `zone` are those of the table's bucket, `delay` is the map's."""

    table: str
    path: str
    zone: str
    delay: timedelta
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBucket:
    """A Hive partition with files that no certificate counts yet.

    `values` by partition column, None for Hive's default partition. `end`: the first moment after the period that the path
    stands for, None where it stands for none. `opened_at`: when the first of these files was committed; `files`, `rows`:
    how many since. Times are aware, in UTC.
    """

    values: Mapping[str, str | None]
    end: datetime | None
    opened_at: datetime
    files: int
    rows: int


class CompletionPolicy(Protocol):
    """Decides which partitions are complete. It is asked every 10 s or less often, and sees no rows."""

    def complete(self, buckets: Sequence[OpenBucket], through: datetime) -> Sequence[bool]:
        """True or False for each. All that Kafka held for the table at `through` is in its files."""
        ...
