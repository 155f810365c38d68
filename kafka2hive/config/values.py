"""The map as frozen values, after validation. Units stand in the names: seconds, bytes, milliseconds.

Loaded by kafka2hive.config.load; the YAML's own words and defaults are documented in docs/configuration.md.
"""

from dataclasses import dataclass, field
from enum import Enum


class StartKind(Enum):
    """Where a table's first epoch begins in a topic it never read."""

    EARLIEST = "earliest"
    LATEST = "latest"
    TIMESTAMP = "timestamp"
    OFFSETS = "offsets"


@dataclass(frozen=True, slots=True)
class StartPolicy:
    """`timestamp_ms` with TIMESTAMP (epoch milliseconds); `offsets` with OFFSETS: (topic, number, offset)."""

    kind: StartKind
    timestamp_ms: int | None = None
    offsets: tuple[tuple[str, int, int], ...] = ()

    @property
    def text(self) -> str:
        """As the ledger records it: `latest`, `timestamp 1358380800000`, `offsets flights:0=12 flights:1=9`."""
        given = [f"{topic}:{number}={offset}" for topic, number, offset in self.offsets]
        at = [] if self.timestamp_ms is None else [str(self.timestamp_ms)]
        return " ".join([self.kind.value, *at, *sorted(given)])


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the Hive table; `type` is Hive's text, e.g. `decimal(10,2)`.

    `path`: the keys that lead to its value in a record's JSON; empty: its name. `unit` (`s`, `ms`, `us`, `ns`): the
    value is a number that counts from 1970 UTC.
    """

    name: str
    type: str
    path: tuple[str, ...] = ()
    unit: str | None = None


class MetadataColumn(Enum):
    """Columns a table may take from the record instead of its value; the name in the table is the map's choice."""

    TOPIC = "topic"  # string
    PARTITION = "partition"  # int
    OFFSET = "offset"  # bigint
    TIMESTAMP = "timestamp"  # timestamp
    KEY = "key"  # binary
    HEADERS = "headers"  # array<struct<key:string,value:binary>>


class BucketTime(Enum):
    """Which time buckets a record."""

    EVENT = "event"  # the column Bucketing.field
    RECORD = "record"  # the record's own timestamp
    PROCESSING = "processing"  # the epoch's planning time: one bucket per epoch


@dataclass(frozen=True, slots=True)
class Bucketing:
    """`path` is a Hive partition path with strftime codes and `{column}` fields, e.g. `dt=%Y-%m-%d/hr=%H/c={country}`.

    Empty path: an unpartitioned table. `field` names the event-time column (a timestamp, a date, or a bigint of
    `unit`: `s`, `ms`, `us`), `inner` the fields that lead to it where that column is a struct; `zone` is an IANA name.
    """

    path: str
    time: BucketTime = BucketTime.EVENT
    field: str | None = None
    unit: str = "ms"
    zone: str = "UTC"
    inner: tuple[str, ...] = ()

    @property
    def field_text(self) -> str:
        """The event time's column, and the fields within it."""
        return ".".join((self.field or "", *self.inner))


class Tombstones(Enum):
    """What becomes of records with a null value; both are counted."""

    SKIP = "skip"
    WRITE = "write"  # as a row of nulls with its metadata columns; needs a bucket that does not come from the value


@dataclass(frozen=True, slots=True)
class WriterOptions:
    """Parquet: codec `zstd`, `snappy`, `gzip`, `lz4` or `none`; row groups close at whichever bound comes first."""

    compression: str = "zstd"
    level: int | None = None
    row_group_rows: int = 1_000_000
    row_group_bytes: int = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Flush:
    """A table is due when `interval_seconds` have passed since its last epoch, or `bytes` wait."""

    interval_seconds: float = 60.0
    bytes: int = 128 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class TableRule:
    """One entry of the map's `tables`: a list of topics into one table, or a pattern into a family of tables.

    Exactly one of `topics` and `pattern` is set. With a pattern, `table` may hold the pattern's groups as `{1}` or
    `{name}`. `table` is `db.table`. `location` may hold `{db}` and `{table}`; it is a full path (scheme and authority).
    Empty `columns`: the schema is read from Hive (the table must exist).
    """

    table: str
    topics: tuple[str, ...]
    pattern: str | None
    start: StartPolicy
    format: str
    columns: tuple[Column, ...]
    metadata: tuple[tuple[MetadataColumn, str], ...]
    bucketing: Bucketing
    zone: str
    tombstones: Tombstones
    writer: WriterOptions
    flush: Flush
    dead_letter_share: float
    create: bool
    location: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class KafkaOptions:
    """`properties` are librdkafka's, secrets resolved; never printed (see `secret_keys`)."""

    properties: tuple[tuple[str, str], ...] = field(repr=False)
    group: str
    commit_group: bool = True


@dataclass(frozen=True, slots=True)
class StorageOptions:
    """`uri` is `hdfs://host:port`, `hdfs://nameservice` or `file:///base`; `ledger_root` and `warehouse` full paths.

    `properties` are Hadoop client keys for hdfs-native (services of HA, time-outs); `config_dir` a Hadoop conf directory.
    """

    uri: str
    ledger_root: str
    warehouse: str
    properties: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    config_dir: str | None = None


@dataclass(frozen=True, slots=True)
class HiveOptions:
    """HiveServer2: `hive://user@host:10000/default?auth=NONE`; None: no Hive (files only), said aloud at start."""

    host: str
    port: int
    user: str
    password: str | None = field(repr=False)
    auth: str
    timeout_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class SparkOptions:
    master: str = "local[*,4]"
    conf: tuple[tuple[str, str], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one epoch and one task."""

    epoch_bytes: int = 512 * 1024 * 1024
    epoch_records: int = 5_000_000
    file_bytes: int = 256 * 1024 * 1024
    open_files: int = 64
    task_memory_bytes: int = 256 * 1024 * 1024
    tasks_per_core: int = 1
    keep_snapshots: int = 10
    stop_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """The service's dead-letter table (`db.table`), partitioned by `source_table` and `dt` (UTC day of the epoch)."""

    table: str
    location: str


@dataclass(frozen=True, slots=True)
class Metrics:
    """Prometheus endpoint; port 0 means off."""

    host: str = "127.0.0.1"
    port: int = 0


@dataclass(frozen=True, slots=True)
class ServiceMap:
    """One map = one service = one Spark query.

    `fingerprint` is the SHA-256 of the map's text as written; `secret_keys` are the names of properties (of Kafka,
    storage and Spark) whose values must not be shown.
    """

    service: str
    kafka: KafkaOptions
    storage: StorageOptions
    hive: HiveOptions | None
    spark: SparkOptions
    trigger_seconds: float
    limits: Limits
    dead_letters: DeadLetters
    metrics: Metrics
    tables: tuple[TableRule, ...]
    run_directory: str
    path: str = "<memory>"
    fingerprint: str = ""
    secret_keys: frozenset[str] = field(default_factory=frozenset)
