"""What a plug-in is given and gives back: `kafka2hive.decoders`, `.bucketers`, `.writers` and `.completion_policies`
(docs/plugins.md).

An entry point names a callable that takes a context and makes the plug-in; it is called once per task and table, or less.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from kafka2hive.formats.plugin import FileWriter as FileWriter
from kafka2hive.formats.plugin import HiveStorage as HiveStorage
from kafka2hive.formats.plugin import RowFile as RowFile
from kafka2hive.formats.plugin import WriterContext as WriterContext
from kafka2hive.pipeline.decode.protocol import Decoded as Decoded
from kafka2hive.pipeline.decode.protocol import Decoder as Decoder

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderContext:
    """`schema` has the columns that the record's value fills, `zone` is the table's, `options` are the map's."""

    table: str
    schema: "pa.Schema"
    zone: str
    options: Mapping[str, str]


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
