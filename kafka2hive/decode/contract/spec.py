"""What the decoder of a table is made from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from kafka2hive.config.keys import ChangeLog, CsvOptions, WireFormat
from kafka2hive.config.keys.services import PluginOptions
from kafka2hive.decode.contract.changes import Changes
from kafka2hive.decode.contract.sources import Source, own_names
from kafka2hive.decode.schemas.writers import SchemaCheck, WriterSchema, WriterSchemas
from kafka2hive.plugins import Decoder

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class DecoderSpec:
    """Each format takes what concerns it, and ignores the rest.

    `zone`: the IANA name whose wall clock the table's timestamps hold. `sources`: where each column's value stands (none
    given: at the column's name). `any_case`: the case of keys and fields does not matter. `writers`: the schemas of
    `avro` and `protobuf` by the ids in messages, or the one schema of all messages. `check`: is told of the schemas that
    messages name. `wire`: where they name them. `rows`: how rows stand in a message (`one`; `lines` of `json` and `csv`;
    `array` of `json` and `json_schema`). `change_log`: whose envelope is unpacked, in any format with names; `decimals`:
    how Debezium's stand in JSON (None: as the records' schemas say). `table`, `plugin`: for a decoder that a package
    offers. `changes`: counts what the sources' leeway changes.
    """

    format: str
    schema: "pa.Schema"
    zone: str = "UTC"
    sources: Sequence[Source] = ()
    any_case: bool = False
    writers: WriterSchemas | WriterSchema | None = None
    wire: WireFormat = WireFormat()  # noqa: RUF009  a frozen value of another module
    check: SchemaCheck | None = None
    rows: str = "one"
    csv: CsvOptions = CsvOptions()  # noqa: RUF009  the same
    change_log: ChangeLog | None = None
    decimals: Literal["text", "base64"] | None = None
    table: str = ""
    plugin: PluginOptions | None = None
    changes: Changes = field(default_factory=Changes)

    def source_of_each(self) -> Sequence[Source]:
        """Of each column."""
        return self.sources or own_names(self.schema.names)

    def of_columns(self, schema: "pa.Schema", sources: Sequence[Source]) -> "DecoderSpec":
        """The same for other columns of the same messages."""
        return replace(self, schema=schema, sources=sources)


OpenDecoder = Callable[["pa.Schema", Sequence[Source]], Decoder]
"""Returns a table's decoder for other columns of the same messages."""

MakeDecoder = Callable[[DecoderSpec], Decoder]
"""Raises ValueError for an unknown zone, or a schema that the format cannot fill."""
