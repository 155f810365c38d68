"""The keys and values of one table. Units stand in the names of fields: seconds, bytes, milliseconds.

`Table` is one as the map has it, `TableRule` what it comes to; what both say in the same words is in `SharedOptions`.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Literal

from kafka2hive.config.values.bucketing import Bucketing
from kafka2hive.config.values.change_log import ChangeLog, SourceKind, change_log_of
from kafka2hive.config.values.columns import Column, ColumnKeys, MetadataColumn, NamedColumnKeys
from kafka2hive.config.values.completion import Completion
from kafka2hive.config.values.csv import CsvOptions
from kafka2hive.config.values.flush import Flush
from kafka2hive.config.values.key import Bounds, Key, Properties
from kafka2hive.config.values.plugin import PluginOptions
from kafka2hive.config.values.registry import Framing, ProtobufIndexes, WireFormat
from kafka2hive.config.values.start import Start, StartPolicy
from kafka2hive.config.values.writer import WriterOptions

SchemaEvolution = Literal["ignore", "add", "stop"]
Shuffle = Literal["none", "bucket"]


class Tombstones(Enum):
    """What becomes of records with a null value; both are counted."""

    SKIP = "skip"
    WRITE = "write"  # as a row of nulls with its metadata columns; needs a bucket that does not come from the value


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedOptions:
    """What `defaults`, a table and its rule say in the same words."""

    format: Annotated[
        Literal["json", "json_schema", "avro", "protobuf", "csv", "raw", "plugin"],
        Key(
            "json: one object per record; json_schema: the same behind the head of a registry's serializer; "
            "avro: one Avro record, its schema by id from the registry or by avro_schema; "
            "protobuf: one Protobuf message, its schema by id from the registry or by protobuf_schema; "
            "csv: fields in the order of the columns; "
            "raw: the record's value as one column; "
            "plugin: by a decoder of a package (plugin)."
        ),
    ] = "json"
    key_format: Annotated[
        Literal["raw", "json", "json_schema", "avro", "protobuf"],
        Key("How the record's key is encoded, for columns with key; raw: text (binary: bytes)."),
    ] = "raw"
    avro_schema: Annotated[
        str | None,
        Key(
            "With format avro: the schema that plain Avro records are written with, as JSON text or file:/path. "
            "Default: each record names its schema in the registry (Confluent's wire format)."
        ),
    ] = None
    protobuf_schema: Annotated[
        str | None,
        Key(
            "With format protobuf: the .proto text, or file:/path of it, of plain Protobuf messages. "
            "Default: each record names its schema and message in the registry (Confluent's wire format)."
        ),
    ] = None
    protobuf_message: Annotated[
        str | None,
        Key(
            "With protobuf_schema: the full name of the records' message, with its package. "
            "Default: the only one that is declared at the top of the schema."
        ),
    ] = None
    framing: Annotated[
        Framing,
        Key(
            "Where records that name their schema in the registry have its id, keys too. id4: byte 0 and 4 bytes before the "
            "data (Confluent's wire format); id8: byte 0 and 8 bytes (Apicurio's earlier default); header: in "
            "__value_schema_id and __key_schema_id (Confluent's newer one), and as id4 in a record without that header."
        ),
    ] = "id4"
    protobuf_indexes: Annotated[
        ProtobufIndexes,
        Key(
            "With protobuf records that name their schema in the registry: how the indexes of the message type are written; "
            "unsigned: by earlier serializers, without zigzag."
        ),
    ] = "zigzag"
    rows: Annotated[
        Literal["one", "lines", "array"],
        Key(
            "How the rows stand in a message. one: it is one row; lines: one row a line (json, csv); array: one array of "
            "objects (json, json_schema). A message of which one row is bad is one dead letter."
        ),
    ] = "one"
    plugin: Annotated[
        PluginOptions | None, Key("With format plugin: the decoder, an entry point of kafka2hive.decoders.")
    ] = None
    csv: Annotated[CsvOptions, Key("With format csv: how fields are written.")] = CsvOptions()  # noqa: RUF009  it is frozen
    source: Annotated[
        SourceKind,
        Key(
            "What the topics hold. binlog: change records that become rows as they are; debezium, maxwell, canal: their "
            "envelope is unpacked to the row and columns __op, __ts_ms, __source_position. Change logs start at the "
            "earliest offset."
        ),
    ] = "events"
    ignored_fields: Annotated[
        tuple[Annotated[str, Bounds(shortest=1)], ...],
        Key(
            "With schema_evolution add or stop: fields at the top of the records' schema that are no columns on purpose."
        ),
    ] = ()
    zone: Annotated[str, Key("IANA time zone of the table's timestamps.")] = "UTC"
    tombstones: Annotated[
        Tombstones, Key("Records with a null value: skip them, or write a row of nulls with the metadata.")
    ] = Tombstones.SKIP
    writer: Annotated[WriterOptions, Key()] = WriterOptions()  # noqa: RUF009  a frozen value of another module
    flush: Annotated[Flush, Key("When the table is due.")] = Flush()  # noqa: RUF009  the same
    completion: Annotated[Completion | None, Key("Complete partitions get a certificate (default: no).")] = (
        None
    )
    dead_letter_share: Annotated[
        float,
        Key(
            "Share of an epoch's records that may be dead letters; above it the table is set aside. Not judged "
            "for an epoch of fewer than 100 records, unless it is 0. 1: never.",
            at_least=0,
            at_most=1,
        ),
    ] = 0.1

    @property
    def wire_format(self) -> WireFormat:
        """Of records and keys whose schema the registry has."""
        return WireFormat(self.framing, self.protobuf_indexes)

    @property
    def may_hold_several(self) -> bool:
        """Whether a message can become more rows than one."""
        return self.rows != "one" or self.format == "plugin" or change_log_of(self.source) is ChangeLog.CANAL


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions(SharedOptions):
    """What a table and `defaults` may both say.

    `given`: the fields whose keys stand in the map.
    """

    start: Annotated[
        Literal["earliest", "latest"] | Start | None,
        Key("Where a table begins in a topic it never read. Default: latest; earliest with a change log."),
    ] = None
    metadata: Annotated[
        tuple[MetadataColumn, ...] | dict[MetadataColumn, str],
        Key(
            "Columns taken from the record: [topic, offset] makes kafka_topic and kafka_offset, "
            "{offset: pos} names them."
        ),
    ] = ()
    bucket: Annotated[Bucketing, Key()] = Bucketing()  # noqa: RUF009  a frozen value of another module
    create: Annotated[
        bool | None,
        Key("Create the table in Hive when it is missing. Default: true when the columns are known."),
    ] = None
    schema_evolution: Annotated[
        SchemaEvolution,
        Key(
            "add: columns of the map that Hive's table lacks are added, and narrower ones widened, before the first file "
            "that has them; so are fields of the records' schema that the map does not name (avro and protobuf with the "
            "registry). ignore: a table that lacks columns is set aside until somebody has altered it. stop: the same, and "
            "so is one whose records' schema has fields that no column takes."
        ),
    ] = "ignore"
    subject: Annotated[
        str,
        Key(
            "With schema_evolution add or stop: the registry's subject whose newest schema is looked at, with {topic}.",
            shortest=1,
        ),
    ] = "{topic}-value"
    location: Annotated[
        str | None,
        Key(
            "Full path of the table's directory, with {db} and {table}. Default: <warehouse>/{db}.db/{table}."
        ),
    ] = None
    given: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(TableOptions):
    """One table, or with `pattern` a family of tables."""

    table: Annotated[str, Key("db.table; with a pattern its groups may stand in it as {1} or {name}.")]
    topics: Annotated[
        tuple[Annotated[str, Bounds(shortest=1)], ...] | None,
        Key("Topics that flow into the table.", shortest=1),
    ] = None
    pattern: Annotated[str | None, Key("Regular expression over whole topic names, instead of topics.")] = (
        None
    )
    columns: Annotated[
        dict[str, str | ColumnKeys] | tuple[NamedColumnKeys, ...],
        Key(
            "Column name: Hive type, or {type, from, header, key, unit}; or a list of the same with a name. "
            "Left out: read from the existing Hive table."
        ),
    ] = ()
    sql: Annotated[
        str | None,
        Key(
            "SELECT .. FROM records: Spark's SQL, which makes the table's columns of the decoded records, one row or none "
            "of each."
        ),
    ] = None
    records: Annotated[
        dict[str, str | ColumnKeys] | tuple[NamedColumnKeys, ...],
        Key("With sql: the columns of records, as the value holds them. Default: the table's columns."),
    ] = ()
    lookups: Annotated[
        Properties,
        Key(
            "With sql: name: directory of Parquet files, which the SELECT may join; sent to every task as a whole."
        ),
    ] = ()
    udfs: Annotated[
        str | None,
        Key(
            "With sql: a Python module, or the full path of its file, whose functions made by pyspark's udf or pandas_udf "
            "the SELECT may call."
        ),
    ] = None
    shuffle: Annotated[
        Shuffle,
        Key(
            "With sql: bucket sends the rows of a bucket to one task of the epoch, or to few where there are many of them: "
            "fewer files where each task has rows of many buckets."
        ),
    ] = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRule(SharedOptions):
    """One entry of the map's `tables`: a list of topics into one table, or a pattern into a family of tables.

    Exactly one of `topics` and `pattern` is set. With a pattern, `table` may hold the pattern's groups as `{1}` or
    `{name}`. `table` is `db.table`. `location` may hold `{db}` and `{table}`; it is a full path (scheme and authority).
    Empty `columns`: the schema is read from Hive (the table must exist). `sql` makes them of `records` (empty: the same
    columns).
    """

    table: str
    topics: tuple[str, ...]
    pattern: str | None
    start: StartPolicy
    columns: tuple[Column, ...]
    records: tuple[Column, ...] = ()
    sql: str | None = None
    lookups: Properties = ()
    udfs: str | None = None
    shuffle: Shuffle = "none"
    metadata: tuple[tuple[MetadataColumn, str], ...]
    bucketing: Bucketing
    create: bool
    schema_evolution: SchemaEvolution
    subject: str
    location: str
    line: int = 0
