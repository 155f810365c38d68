"""What a plug-in is given and gives back: `kafka2hive.decoders`, `.bucketers` and `.writers` (docs/plugins.md).

An entry point names a callable that takes a context and makes the plug-in; it is called once per task and table, or less.
"""

from collections.abc import Mapping
from dataclasses import dataclass
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
