"""The map as it may be written: pydantic models at the edge, whose descriptions become the editors' JSON schema.

Strict and closed: no value is converted silently, no unknown key is accepted. Meaning across keys is checked in
check_service and check_table; defaults that depend on other keys are filled in by build.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, WithJsonSchema

from kafka2hive.config.reading.units import DURATION_PATTERN, SIZE_PATTERN, parse_duration, parse_size

SERVICE_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"


def _property_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise ValueError("expected a text, a number or true/false")


def _size_schema() -> dict[str, Any]:
    return {
        "anyOf": [{"type": "string", "pattern": SIZE_PATTERN}, {"type": "integer", "minimum": 1}],
        "examples": ["128MiB"],
    }


Size = Annotated[int, BeforeValidator(parse_size), Field(gt=0), WithJsonSchema(_size_schema())]
Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    Field(gt=0),
    WithJsonSchema({"type": "string", "pattern": DURATION_PATTERN, "examples": ["60s"]}),
]
PropertyText = Annotated[
    str, BeforeValidator(_property_text), WithJsonSchema({"type": ["string", "number", "boolean"]})
]
Kind = Literal["topic", "partition", "offset", "timestamp", "key", "headers"]


class Section(BaseModel):
    """Base of every section: closed and strict."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


class Kafka(Section):
    """Any property of librdkafka, as `name: value`, besides the keys below."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True, hide_input_in_errors=True)
    __pydantic_extra__: dict[str, PropertyText]

    bootstrap_servers: str = Field(
        alias="bootstrap.servers", min_length=1, description="Brokers to start from, `host:port,host:port`."
    )
    group_id: str | None = Field(
        default=None,
        alias="group.id",
        min_length=1,
        description="Consumer group that offsets are committed to for lag tools. Default: kafka2hive-<service>.",
    )
    commit_group: bool = Field(
        default=True,
        description="Commit the group's offsets after publishing; never read back as a position.",
    )


class Storage(Section):
    """Where files and ledgers live."""

    uri: str = Field(
        description="hdfs://host:port, hdfs://nameservice or file:///base; a path in it is the base of the defaults."
    )
    ledger_root: str | None = Field(
        default=None, description="Directory of the ledgers, a full path. Default: <uri>/kafka2hive."
    )
    warehouse: str | None = Field(
        default=None, description="Directory of the tables, a full path. Default: <uri>/warehouse."
    )
    properties: dict[str, PropertyText] = Field(
        default_factory=dict, description="Hadoop client keys, e.g. dfs.nameservices and what belongs to it."
    )
    config_dir: str | None = Field(
        default=None, description="Directory with core-site.xml and hdfs-site.xml."
    )


class Hive(Section):
    """HiveServer2. Leave the section out to write files only."""

    url: str = Field(
        description="hive://user@host:10000/default?auth=NONE; auth is NONE, NOSASL, LDAP or CUSTOM."
    )
    password: str | None = Field(
        default=None, description="Password for LDAP or CUSTOM, best as ${NAME} or file:/path."
    )
    timeout: Duration = Field(
        default="60s", validate_default=True, description="Longest wait for one statement."
    )


class Spark(Section):
    """The Spark session of the service."""

    master: str = Field(
        default="local[*,4]",
        min_length=1,
        description="Spark master: local[*,4] (4: tries of a task; plain local[*] never retries), spark://host:7077, yarn.",
    )
    conf: dict[str, PropertyText] = Field(
        default_factory=dict, description="Spark properties, `spark.x.y: value`."
    )


class Limits(Section):
    """Bounds of one epoch and of one task."""

    epoch_bytes: Size = Field(
        default="512MiB", validate_default=True, description="Most Kafka bytes of one epoch."
    )
    epoch_records: int = Field(default=5_000_000, gt=0, description="Most records of one epoch.")
    file_bytes: Size = Field(
        default="256MiB", validate_default=True, description="A data file is closed at this size."
    )
    open_files: int = Field(
        default=64, gt=0, description="Most files one task keeps open; others wait or are closed."
    )
    task_memory: Size = Field(
        default="256MiB",
        validate_default=True,
        description="Most memory one task buffers, over all its buckets.",
    )
    tasks_per_core: int = Field(
        default=1, ge=1, le=8, description="Tasks of an epoch for each core of Spark."
    )
    keep_snapshots: int = Field(
        default=10, ge=2, description="Finished snapshots kept beside the newest; older are archived."
    )
    stop_within: Duration = Field(
        default="60s", validate_default=True, description="Time an epoch gets to finish after SIGTERM."
    )


class DeadLetters(Section):
    """The service's table of records that cannot be decoded or have no bucket."""

    table: str | None = Field(
        default=None,
        description="db.table. Default: <service>_dead_letters in the first table's database (in kafka2hive when that "
        "one depends on the topic).",
    )
    location: str | None = Field(default=None, description="Full path. Default: <warehouse>/<db>.db/<table>.")


class Metrics(Section):
    """Prometheus endpoint."""

    host: str = Field(default="127.0.0.1", min_length=1, description="Address to listen on.")
    port: int = Field(default=0, ge=0, le=65535, description="Port to listen on; 0 means no endpoint.")


class Start(Section):
    """A first position other than earliest or latest: exactly one of the keys."""

    timestamp: str | None = Field(
        default=None, description="ISO 8601 with a zone, e.g. 2013-01-01T00:00:00Z: first record not older."
    )
    offsets: dict[str, dict[int, Annotated[int, Field(ge=0)]]] | None = Field(
        default=None,
        description="topic: {partition number: offset}, every partition of every topic; a missing one is a STOP.",
    )


def _shape(value: object) -> str:
    return "mapping" if isinstance(value, dict | BaseModel) else "plain"


StartSetting = Annotated[
    Annotated[Literal["earliest", "latest"], Tag("plain")] | Annotated[Start, Tag("mapping")],
    Discriminator(_shape),
]
MetadataSetting = Annotated[
    Annotated[list[Kind], Tag("plain")] | Annotated[dict[Kind, str], Tag("mapping")],
    Discriminator(_shape),
]


class Bucket(Section):
    """Which Hive partition a record belongs to."""

    path: str = Field(
        default="dt=%Y-%m-%d",
        description="Hive partition path with strftime codes and {column} fields; empty: an unpartitioned table.",
    )
    time: Literal["event", "record", "processing"] | None = Field(
        default=None,
        description="event: the column `field`; record: Kafka's record timestamp; processing: when the epoch was planned. "
        "Default: event with a field, otherwise record.",
    )
    field: str | None = Field(
        default=None,
        description="Column with the event time, a timestamp, a date or a bigint; or a field of a struct column "
        "(props.at), or the path a column takes its value from ($.props.at).",
    )
    unit: Literal["s", "ms", "us"] | None = Field(
        default=None, description="Unit of a bigint field since 1970. Default: ms."
    )
    zone: str | None = Field(
        default=None, description="IANA time zone of the bucket's date and hour. Default: the table's zone."
    )


class Writer(Section):
    """Parquet files."""

    compression: Literal["zstd", "snappy", "gzip", "lz4", "none"] = Field(
        default="zstd", description="Parquet codec."
    )
    level: int | None = Field(default=None, description="Level of zstd (1 to 22) or gzip (1 to 9).")
    row_group_rows: int = Field(
        default=1_000_000, gt=0, description="A row group is closed at this many rows,"
    )
    row_group_bytes: Size = Field(
        default="64MiB", validate_default=True, description="or at this size in memory."
    )


class Flush(Section):
    """When a table is due: at whichever comes first."""

    interval: Duration = Field(
        default="60s", validate_default=True, description="Time since the table's last epoch."
    )
    bytes: Size = Field(default="128MiB", validate_default=True, description="Bytes that wait in Kafka.")


class TableOptions(Section):
    """What a table and `defaults` may both say."""

    source: Literal["events", "binlog"] = Field(
        default="events",
        description="What the topics hold; binlog (CDC) tables start at the earliest offset.",
    )
    start: StartSetting | None = Field(
        default=None,
        description="Where a table begins in a topic it never read. Default: latest; earliest with source binlog.",
    )
    format: Literal["json", "raw"] = Field(
        default="json", description="json: one object per record; raw: the record's value as one column."
    )
    metadata: MetadataSetting = Field(
        default_factory=list,
        description="Columns taken from the record: [topic, offset] makes kafka_topic and kafka_offset, "
        "{offset: pos} names them.",
    )
    bucket: Bucket = Field(default_factory=Bucket, description="Which Hive partition a record belongs to.")
    zone: str = Field(default="UTC", description="IANA time zone of the table's timestamps.")
    tombstones: Literal["skip", "write"] = Field(
        default="skip",
        description="Records with a null value: skip them, or write a row of nulls with the metadata.",
    )
    writer: Writer = Field(default_factory=Writer, description="Parquet files.")
    flush: Flush = Field(default_factory=Flush, description="When the table is due.")
    dead_letter_share: float = Field(
        default=0.1,
        ge=0,
        le=1,
        description="Share of an epoch's records that may be dead letters; above it the table is set aside. Not judged "
        "for an epoch of fewer than 100 records, unless it is 0. 1: never.",
    )
    create: bool | None = Field(
        default=None,
        description="Create the table in Hive when it is missing. Default: true when the columns are known.",
    )
    location: str | None = Field(
        default=None,
        description="Full path of the table's directory, with {db} and {table}. Default: <warehouse>/{db}.db/{table}.",
    )


class Column(Section):
    """A column that does not just take the JSON member of its name."""

    type: str = Field(description="Hive type.")
    path: str | None = Field(
        default=None,
        alias="from",
        description="Path of its value in the record's JSON: $.props['US Gross']. Default: its name.",
    )
    unit: Literal["s", "ms", "us", "ns"] | None = Field(
        default=None,
        description="For timestamp and date: the value is a number that counts from 1970 UTC in this unit.",
    )


class NamedColumn(Column):
    """A column in a list of columns."""

    name: str = Field(description="Name of the column.")


def _column_form(value: object) -> str:
    return "(mapping)" if isinstance(value, dict | BaseModel) else "(type)"


def _columns_form(value: object) -> str:
    return "(list)" if isinstance(value, list) else "(mapping)"


ColumnSetting = Annotated[
    Annotated[str, Tag("(type)")] | Annotated[Column, Tag("(mapping)")], Discriminator(_column_form)
]
ColumnsSetting = Annotated[
    Annotated[dict[str, ColumnSetting], Tag("(mapping)")] | Annotated[list[NamedColumn], Tag("(list)")],
    Discriminator(_columns_form),
]


class Table(TableOptions):
    """One table, or with `pattern` a family of tables."""

    table: str = Field(description="db.table; with a pattern its groups may stand in it as {1} or {name}.")
    topics: list[Annotated[str, Field(min_length=1)]] | None = Field(
        default=None, min_length=1, description="Topics that flow into the table."
    )
    pattern: str | None = Field(
        default=None, description="Regular expression over whole topic names, instead of topics."
    )
    columns: ColumnsSetting = Field(
        default_factory=dict,
        description="Column name: Hive type, or {type, from, unit}; or a list of {name, type, from, unit}. "
        "Left out: read from the existing Hive table.",
    )


class Map(Section):
    """A kafka2hive service: one map, one Spark query, a ledger for each table."""

    service: str = Field(pattern=SERVICE_NAME, description="Name of the service: letters, digits, _ and -.")
    kafka: Kafka = Field(description="Kafka client: any librdkafka property.")
    storage: Storage = Field(description="Where files and ledgers live.")
    hive: Hive | None = Field(default=None, description="HiveServer2; without it only files are written.")
    spark: Spark = Field(default_factory=Spark, description="The Spark session.")
    trigger: Duration = Field(
        default="10s",
        validate_default=True,
        description="How often the service looks whether a table is due.",
    )
    limits: Limits = Field(default_factory=Limits, description="Bounds of one epoch and of one task.")
    dead_letters: DeadLetters = Field(
        default_factory=DeadLetters, description="The service's dead-letter table."
    )
    metrics: Metrics = Field(default_factory=Metrics, description="Prometheus endpoint.")
    run_directory: str | None = Field(
        default=None,
        description="Local directory for Spark's throw-away checkpoint. Default: systemd's RUNTIME_DIRECTORY, "
        "XDG_RUNTIME_DIR/kafka2hive-<service>, or the same in the temporary directory.",
    )
    defaults: TableOptions = Field(
        default_factory=TableOptions, description="Options for all tables that do not say otherwise."
    )
    tables: list[Table] = Field(min_length=1, description="The tables.")
