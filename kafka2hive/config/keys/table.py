"""A table of the map: its keys and its values. Field names end with their unit: seconds, bytes, milliseconds."""

from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Annotated, Literal

from kafka2hive.config.keys.bucketing import Bucketing, CompactOptions, CompletionOptions, Retain
from kafka2hive.config.keys.column_rules import OnBreak
from kafka2hive.config.keys.columns import Column, ColumnKeys, MetadataColumn, NamedColumnKeys
from kafka2hive.config.keys.counts import CountOptions
from kafka2hive.config.keys.declaration import Bounds, Key, Properties
from kafka2hive.config.keys.objective import Objective
from kafka2hive.config.keys.source import (
    ChangeLog,
    Compression,
    CsvOptions,
    Encoding,
    Framing,
    LatestOptions,
    PluginOptions,
    ProtobufIndexes,
    Rows,
    SourceKind,
    Start,
    StartPolicy,
    Tombstones,
    WireFormat,
    change_log_of,
)
from kafka2hive.config.keys.writer import Flush, WriterOptions

SchemaEvolution = Literal["ignore", "add", "stop"]


class TableReader(Enum):
    """A program that reads a table besides Hive; the last two read its directories."""

    TRINO = "trino"
    SPARK = "spark"
    DUCKDB = "duckdb"
    POLARS = "polars"


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedOptions:
    """The options that `defaults`, a table's keys and its rule have in common."""

    kafka: Annotated[
        str | None,
        Key(
            "Cluster of the table's topics, one of [`kafka_clusters`](#several-clusters).",
            otherwise="the cluster of the section `kafka`",
        ),
    ] = None
    format: Annotated[
        Literal["json", "json_schema", "avro", "protobuf", "csv", "raw", "plugin"],
        Key(
            "How the record's value is encoded, [more](#format).",
            more="`json`: one object per record; `json_schema`: the same behind the head of a registry's "
            "serializer; `avro`: one Avro record, its schema by id from the registry or by "
            "`avro_schema`; `protobuf`: one Protobuf message, its schema by id from the registry or "
            "by `protobuf_schema`; `csv`: fields in the order of the columns; `raw`: the record's "
            "value as one column; `plugin`: by a decoder of a package.",
        ),
    ] = "json"
    key_format: Annotated[
        Literal["raw", "json", "json_schema", "avro", "protobuf"],
        Key("How the record's key is encoded, for [columns with `key`](#columns-of-headers-and-keys)."),
    ] = "raw"
    avro_schema: Annotated[
        str | None,
        Key(
            "With `format: avro`: the schema that all records are written with, [more](#avro).",
            more="JSON text or `file:/path`. Without it each record names its schema in the registry "
            "(Confluent's wire format).",
        ),
    ] = None
    protobuf_schema: Annotated[
        str | None,
        Key(
            "With `format: protobuf`: the schema of all records, [more](#protobuf).",
            more="The `.proto` text or `file:/path`. Without it each record names its schema and message "
            "in the registry (Confluent's wire format).",
        ),
    ] = None
    protobuf_message: Annotated[
        str | None,
        Key(
            "With `protobuf_schema`: the full name of the records' message.",
            otherwise="the schema's only message",
        ),
    ] = None
    framing: Annotated[
        Framing,
        Key(
            "Where records and keys carry the ID of their schema, [more](#framing).",
            more="`id4`: a 0x00 byte, then 4 bytes, before the data (Confluent's wire format); `id8`: a 0x00 byte, then 8 "
            "bytes (Apicurio's earlier default); `header`: in `__value_schema_id` and "
            "`__key_schema_id` (Confluent's newer one), and as `id4` in a record without that header. "
            "Of values only: `single_object` (Avro's own), `glue`, `azure`, `apicurio_global`, "
            "`apicurio_content`, `cloudera`.",
        ),
    ] = "id4"
    schemas: Annotated[
        Properties,
        Key(
            "With `format: avro`: the schemas of the ids in records, instead of a registry, [more](#schemas).",
            more="Schema's id: JSON text or `file:/path`. With `framing: single_object`, any name: schema.",
            written="id: schema",
            example='{"7": \'{"type": "record", "name": "A", "fields": []}\'}',
        ),
    ] = ()
    protobuf_indexes: Annotated[
        ProtobufIndexes,
        Key(
            "How the indexes of a Protobuf message are written, [more](#framing).",
            more="`unsigned`: by earlier serializers, without zigzag.",
        ),
    ] = "zigzag"
    compression: Annotated[
        Compression,
        Key(
            "How the producer compresses each value itself, [more](#compression).",
            more="Not Kafka's own compression of batches (`compression.type`), which needs no key.",
        ),
    ] = "none"
    encoding: Annotated[
        Encoding,
        Key(
            "With `json`, `csv`, and a `string` column of `raw`: the encoding of the values' text, [more](#encoding).",
            more="A text is transcoded to UTF-8 before it is decoded; one that the encoding does not allow is a dead "
            "letter.",
            written="`utf-8`, `utf-16`, `iso-8859-1`, [others](#encoding)",
            example="gbk",
        ),
    ] = "utf-8"
    rows: Annotated[
        Rows,
        Key(
            "How many rows a message holds, [more](#rows).",
            more="`one`: one row; `lines`: one row per line (`json`, `csv`); `array`: one array of "
            "objects (`json`, `json_schema`), also `{array: PATH}` within an object. A message with one bad row is one "
            "dead letter.",
            written="`one`, `lines`, `array`, or `{array: PATH}`",
            example='{array: "$.Records"}',
        ),
    ] = "one"
    plugin: Annotated[
        PluginOptions | None,
        Key("With `format: plugin`: the decoder, [more](#plugin).", example="{name: my_decoder}"),
    ] = None
    csv: Annotated[
        CsvOptions,
        Key("With `format: csv`: how fields are written, [more](#csv).", example='{delimiter: ";"}'),
    ] = CsvOptions()  # noqa: RUF009  it is frozen
    source: Annotated[
        SourceKind,
        Key(
            "What the topics contain; [change logs](#source) begin at the earliest offset.",
            more="`binlog`: change records that become rows unchanged; `debezium`, `maxwell`, `canal`: "
            "their envelope is unpacked to the row and the columns `__op`, `__ts_ms`, "
            "`__source_position`.",
            written="`events`, `binlog`, `debezium`, `maxwell`, `canal`",
            example="{debezium: {decimals: text}}",
        ),
    ] = "events"
    latest: Annotated[
        LatestOptions | None,
        Key(
            "For change logs: make a view `<table>_latest` in Hive of each row's newest state, [more](#latest).",
            example="{key: [id]}",
        ),
    ] = None
    ignored_fields: Annotated[
        tuple[Annotated[str, Bounds(shortest=1)], ...],
        Key(
            "Top-level fields of the records' schema that are intentionally not columns, "
            "[more](#fields-of-the-records-schema).",
            example="[debug]",
        ),
    ] = ()
    readers: Annotated[
        tuple[TableReader, ...],
        Key(
            "Programs that read the table besides Hive: `validate` warns of "
            "[what they read differently](file-formats.md#other-readers), or not at all.",
            more="It changes nothing in the files.",
            written="`trino`, `spark`, `duckdb`, `polars`",
            example="[trino, spark]",
        ),
    ] = ()
    zone: Annotated[str, Key("Time zone of the table's timestamps.", written="zone")] = "UTC"
    tombstones: Annotated[
        Tombstones,
        Key(
            "Records with a null value; counted in any case. `write`: a row of nulls with its "
            "metadata; its bucket must not come from the value."
        ),
    ] = Tombstones.SKIP
    writer: Annotated[
        WriterOptions,
        Key("The table's files, [more](#writer).", example="{format: orc}"),
    ] = WriterOptions()  # noqa: RUF009  a frozen value of another module
    completion: Annotated[
        CompletionOptions | None,
        Key("Write a certificate for each complete partition, [more](#completion).", example="{delay: 1h}"),
    ] = None
    late: Annotated[
        Literal["append", "dead_letter"],
        Key(
            "What becomes of late records of a table with `completion`, [more](#late).",
            more="`append`: they are appended to their partition, which gets another certificate. `dead_letter`: "
            "records of closed periods, which ended at least `completion.delay` ago, become dead letters.",
        ),
    ] = "append"
    register: Annotated[
        Literal["first", "complete"],
        Key(
            "When Hive gets a partition of a table with `completion`, [more](#register).",
            more="`first`: with its first file. `complete`: with its certificate, so that readers through Hive see the whole "
            "partition at once.",
        ),
    ] = "first"
    compact: Annotated[
        CompactOptions | None,
        Key(
            "Rewrite the small files of complete partitions as a few large ones, [more](#compact).",
            example="{target: 256MiB}",
        ),
    ] = None
    retain: Retain = None
    counts: Annotated[
        CountOptions | None,
        Key(
            "Count the records by the time of their Kafka timestamps, [more](#counts).",
            example="{window: 10m}",
        ),
    ] = None
    dead_letter_share: Annotated[
        float,
        Key(
            "Largest share of an epoch's records that may be dead letters, [more](#dead_letter_share).",
            more="Above it the table is set aside. Unless it is 0, epochs of fewer than 100 records are not checked. "
            "1: no limit.",
            written="0 to 1",
            at_least=0,
            at_most=1,
        ),
    ] = 0.1
    on_break: Annotated[
        OnBreak,
        Key(
            "What becomes of rows that break a [rule](columns.md#rules), if the column does not say.",
            more="`dead_letter`: the message becomes a dead letter; `count`: the row is written and counted.",
        ),
    ] = "dead_letter"
    unique_within_message: Annotated[
        tuple[Annotated[str, Bounds(shortest=1)], ...],
        Key(
            "[Rule](columns.md#rules) of a table whose messages hold several rows: the columns whose values together occur once "
            "in a message.",
            example="[id]",
        ),
    ] = ()
    schema_evolution: Annotated[
        SchemaEvolution,
        Key(
            "What happens when Hive's table lacks columns of the map, or both lack fields of the "
            "records' schema, [more](#schema_evolution).",
            more="`add`: columns of the map that Hive's table lacks are added, and narrower ones widened, "
            "before the first file that has them; so are fields of the records' schema that the map "
            "does not name (`avro`, `protobuf` and `json_schema` with the registry). `ignore`: a table that lacks "
            "columns is set aside until it is altered. `stop`: the same, and so is one "
            "whose records' schema has fields that no column takes.",
        ),
    ] = "ignore"
    subject: Annotated[
        str,
        Key(
            "Subject in the registry whose newest schema is compared with the columns, "
            "[more](#fields-of-the-records-schema).",
            shortest=1,
        ),
    ] = "{topic}-value"

    @property
    def wire_format(self) -> WireFormat:
        """The framing of records and keys whose schemas are in the registry."""
        return WireFormat(self.framing, self.protobuf_indexes)

    @property
    def may_hold_several(self) -> bool:
        """Whether a message can become more rows than one."""
        return self.rows != "one" or self.format == "plugin" or change_log_of(self.source) is ChangeLog.CANAL


@dataclass(frozen=True, kw_only=True)  # without slots: its subclasses inherit slots from another class
class SelectOptions:
    """The options about SQL that a table's keys and its rule have in common, but not `defaults`."""

    sql: Annotated[
        str | None,
        Key(
            "Spark SELECT that computes the table's columns from the decoded records. [SQL in the map](sql.md).",
            more="`SELECT .. FROM records`; it returns at most one row for each record.",
        ),
    ] = None
    lookups: Annotated[
        Properties,
        Key(
            "With `sql`: directories of Parquet files that the SELECT may [join](sql.md#joins-with-lookups).",
            more="Each is sent to every task in full.",
            written="name: path",
            example='{countries: "hdfs://namenode:8020/lookups/countries"}',
        ),
    ] = ()
    udfs: Annotated[
        str | None,
        Key(
            "With `sql`: Python module with [user-defined functions](sql.md#functions-of-your-own).",
            more="The functions must be made by pyspark's `udf` or `pandas_udf`.",
            written="module or path",
        ),
    ] = None
    shuffle: Annotated[
        Literal["none", "bucket"],
        Key(
            "With `sql`: `bucket` brings the rows of a bucket to one task: [fewer files](sql.md#fewer-files-shuffle).",
            more="To few tasks if there are many rows; for tasks that each have rows of many buckets.",
        ),
    ] = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions(SharedOptions):
    """Options of a table that may also be in `defaults`.

    `given` holds the fields whose keys are in the map.
    """

    start: Annotated[
        Literal["earliest", "latest"] | Start | None,
        Key(
            "Where the table begins in a topic that it has never read.",
            written="`earliest`, `latest`, or [section](#start)",
            otherwise="`latest`; `earliest` for a change log",
            example='{timestamp: "2026-01-01T00:00:00Z"}',
        ),
    ] = None
    flush: Annotated[
        Literal["auto"] | Flush,
        Key(
            "When an epoch of the table is due, [more](#flush).",
            more="`auto`: small tables wait longer, up to 10 minutes.",
            written="`auto`, or section",
            example="{interval: 1m}",
        ),
    ] = Flush()  # noqa: RUF009  a frozen value of another module
    objective: Annotated[
        Objective | None,
        Key(
            "How fresh the table is meant to be: measured, shown by `status`, and alerted on, [more](#objective).",
            example="{freshness: 5m}",
        ),
    ] = None
    metadata: Annotated[
        tuple[MetadataColumn, ...] | dict[MetadataColumn, str],
        Key(
            "Columns filled from the record's metadata, [more](#metadata).",
            more="`[topic, offset]` adds `kafka_topic` and `kafka_offset`; `{offset: pos}` sets the name.",
            written="list, or kind: name",
            example="[topic, partition, offset]",
        ),
    ] = ()
    bucket: Annotated[
        Bucketing,
        Key(
            "Which Hive partition a record belongs to, [more](#bucket).",
            otherwise="record time, `dt=%Y-%m-%d`",
            example='{field: created_at, path: "dt=%Y-%m-%d"}',
        ),
    ] = Bucketing()  # noqa: RUF009  a frozen value of another module
    create: Annotated[
        bool | None,
        Key(
            "Create the table in Hive, as an external table, if it is missing.",
            otherwise="`true` with known columns",
        ),
    ] = None
    location: Annotated[
        str | None,
        Key(
            "The table's directory, with `{db}` and `{table}`; in `defaults` and for a family "
            "`{table}` is required. A changed location needs `recover --accept-location`.",
            written="path",
            otherwise="`<warehouse>/{db}.db/{table}`",
        ),
    ] = None
    given: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class _TableKeys(TableOptions):
    """A table's keys, without the keys of its SELECT, which come last."""

    table: Annotated[
        str,
        Key("`db.table`; with a pattern it may contain its groups as `{1}` or `{name}`.", written="table"),
    ]
    topics: Annotated[
        tuple[Annotated[str, Bounds(shortest=1)], ...] | None,
        Key(
            "Topics that the table reads; set either this or `pattern`. Several tables may read one topic.",
            shortest=1,
            example="[clicks, views]",
        ),
    ] = None
    pattern: Annotated[
        str | None,
        Key(
            "Python regular expression that must match a topic's whole name; set either this or `topics`. "
            "New topics that match are picked up while the service runs."
        ),
    ] = None
    columns: Annotated[
        dict[str, str | ColumnKeys] | tuple[NamedColumnKeys, ...],
        Key(
            "Columns of the record's value, spelled as in its JSON, or its Avro or Protobuf schema.",
            more="Column name: Hive type, or `{type, from, header, key, unit}`; or a list of the same with "
            "a name.",
            written="name: Hive type, or [more](#columns)",
            otherwise="from Hive; with `raw`: `value: binary`",
            example="{id: bigint, created_at: timestamp}",
        ),
    ] = ()
    records: Annotated[
        dict[str, str | ColumnKeys] | tuple[NamedColumnKeys, ...],
        Key(
            "With `sql`: the columns that are decoded from the record and that the SELECT reads.",
            written="like `columns`",
            otherwise="the table's columns",
            example="{id: bigint}",
        ),
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableKeys(SelectOptions, _TableKeys):
    """One table, or with `pattern` a family of tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOptions(SelectOptions, SharedOptions):
    """The options that a rule of the map and the settings of its tables have in common.

    `columns` do not include the `metadata` columns, which come from the record and are appended in this order. Without `sql`,
    the record fills the columns. With `sql`, the SELECT computes them from `records`, or from `columns` if that is empty.
    """

    table: str
    columns: tuple[Column, ...]
    records: tuple[Column, ...] = ()
    metadata: tuple[tuple[MetadataColumn, str], ...]
    bucketing: Bucketing
    location: str

    @property
    def decoded_columns(self) -> tuple[Column, ...]:
        """The columns that are decoded from records, before `sql`."""
        return self.records or self.columns


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSettings(RowOptions):
    """A concrete table as its tasks use it.

    `columns` are Hive's if the map has none. Hive keeps names in lower case, so `any_case` then says that the case of JSON keys
    is ignored. `location` is the table's directory. `added` holds the names, in lower case, of columns that schema evolution
    added.
    """

    any_case: bool = False
    added: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRule(RowOptions):
    """An entry of the map's `tables`: a list of topics for one table, or a pattern for a family of tables.

    Exactly one of `topics` and `pattern` is set. `table` is `db.table`; with a pattern it may contain the pattern's groups as
    `{1}` or `{name}`. `location` is a full path with scheme and authority, and may contain `{db}` and `{table}`. If `columns`
    is empty, they are read from Hive, where the table must exist.
    """

    topics: tuple[str, ...]
    pattern: str | None
    start: StartPolicy
    flush: Flush
    create: bool
    objective: Objective | None = None
    line: int = field(default=0, compare=False)

    @property
    def registers_complete(self) -> bool:
        """Whether Hive gets a partition only when it is complete."""
        return self.register == "complete"

    @property
    def success_file(self) -> str:
        """The name of the file in complete partitions, "" without one."""
        return (self.completion.success_file if self.completion else None) or ""

    def settings(self, columns: tuple[Column, ...], added: frozenset[str] = frozenset()) -> TableSettings:
        """Return the settings of a concrete table (see RoutedTable) with these columns, of which some were `added`."""
        options = {field.name: getattr(self, field.name) for field in fields(RowOptions)}
        return TableSettings(**options | {"columns": columns}, any_case=not self.columns, added=added)
