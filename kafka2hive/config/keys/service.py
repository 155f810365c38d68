"""The sections of the map other than its tables and connections, and the map itself. Field names end with their unit."""

from dataclasses import dataclass, field
from typing import Annotated

from kafka2hive.config.keys.connections import (
    HiveInterfaces,
    HiveKeys,
    KafkaOptions,
    KerberosOptions,
    RegistryOptions,
    StorageOptions,
    Text,
)
from kafka2hive.config.keys.declaration import IN_PLACE, UNSET, Bounds, Duration, Key, Properties, Size
from kafka2hive.config.keys.masks import LetterPayload, MaskKeyFile
from kafka2hive.config.keys.news import NewsReceiver
from kafka2hive.config.keys.table import TableKeys, TableOptions, TableRule
from kafka2hive.config.keys.units import MIB
from kafka2hive.config.keys.writer import LetterTimestamps

_OF_WORKERS = "Spark's workers get it when the run starts"
SERVICE_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """The Spark session of the service."""

    master: Annotated[
        Text,
        Key(
            "`local[*,4]` (4: attempts of a task; plain `local[*]` never retries), "
            "`spark://host:7077`, `yarn`, `k8s://..`."
        ),
    ] = "local[*,4]"
    conf: Annotated[
        Properties, Key("Spark properties, `spark.x.y: value`.", example="{spark.executor.memory: 2g}")
    ] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one epoch and of one task."""

    epoch_bytes: Annotated[
        Size,
        Key(
            "Target for the Kafka bytes of one epoch over all tables; [not a hard limit](#how-large-an-epoch-is).",
            change=IN_PLACE,
        ),
    ] = 512 * MIB
    epoch_records: Annotated[
        int,
        Key(
            "Maximum number of records in one epoch; exceeded by at most one record for each topic partition.",
            above=0,
            change=IN_PLACE,
        ),
    ] = 5_000_000
    backfill_bytes: Annotated[
        Size | None,
        Key(
            "Bytes a second by which the backlogs of all tables together may shrink; what arrives is never held back. "
            "[More](partitions.md#the-ceiling-of-a-backfill).",
            name="backfill",
            written="size",
            otherwise="no ceiling",
            change=IN_PLACE,
        ),
    ] = None
    file_bytes: Annotated[Size, Key("A data file is closed at this size.", change=_OF_WORKERS)] = 256 * MIB
    open_files: Annotated[
        int,
        Key(
            "Maximum number of files that one task writes at a time. Each table, and its dead letters, may have "
            "one more, which waits for its footer. Each takes 0.2 MB, half within `task_memory`.",
            above=0,
            change=_OF_WORKERS,
        ),
    ] = 64
    task_memory_bytes: Annotated[
        Size,
        Key(
            "Maximum memory that one task buffers over all its buckets, with the overhead of arrays and (up to "
            "half of it) of open files. Up to an eighth of it holds encoded, incomplete files.",
            name="task_memory",
            change=_OF_WORKERS,
        ),
    ] = 256 * MIB
    tasks_per_core: Annotated[
        int,
        Key(
            "Tasks of an epoch for each core of Spark, 1 to 8.",
            at_least=1,
            at_most=8,
            change="Spark's session gets it when the run starts",
        ),
    ] = 1
    keep_snapshots: Annotated[
        int,
        Key(
            "Finished snapshots kept in addition to the newest; older ones are archived. At least 2.",
            at_least=2,
            change=IN_PLACE,
        ),
    ] = 10
    stop_seconds: Annotated[
        Duration,
        Key(
            "Time an epoch gets to finish after SIGTERM.",
            name="stop_within",
            change="Spark's query gets it when the run starts",
        ),
    ] = 60.0
    transaction_wait_seconds: Annotated[
        Duration,
        Key(
            "How long `run --once` waits for open transactions that hold records back before it exits "
            "with 75. The producers' limit is 60 s by default.",
            name="transaction_wait",
            change=IN_PLACE,
        ),
    ] = 75.0


@dataclass(frozen=True, slots=True)
class DeadLetterOptions:
    """The service's table of records that cannot be decoded or have no bucket.

    It is partitioned by `source_table` and `dt`, the UTC day of the epoch.
    """

    table: Annotated[
        str,
        Key(
            "`<db>` is the first table's database; `kafka2hive` if its name contains a pattern's "
            "group. Characters that a Hive name cannot hold become `_`.",
            written="table",
            otherwise="`<db>.<service>_dead_letters`",
            derived=True,
        ),
    ]
    location: Annotated[
        str,
        Key(
            "Directory of the dead-letter table.",
            written="path",
            otherwise="`<warehouse>/<db>.db/<table>`",
            derived=True,
        ),
    ]
    timestamps: Annotated[
        LetterTimestamps | None,
        Key(
            "How the files store the records' timestamps. Hive before 4 reads [only `int96`](file-formats.md#hive-before-4).",
            otherwise="`int96` if the table's `writer` has it, otherwise `micros`",
        ),
    ] = None
    payload: Annotated[
        LetterPayload | None,
        Key(
            "What letters of tables with [masks](columns.md#masks) hold of the record's key, value and headers.",
            more="`keep`: all bytes, also the plain values; `hash`: SHA-256 of each; `drop`: nothing. Only letters with all "
            "bytes can be replayed.",
            otherwise="required with masks",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class Metrics:
    """Prometheus endpoint."""

    host: Annotated[Text, Key("Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Key("Port to listen on; 0: no endpoint.", at_least=0, at_most=65535)] = 0
    page: Annotated[
        bool,
        Key(
            "The run's page for a browser at `/` and its state as JSON at `/status`, for everyone who can reach the port; "
            "false: only metrics."
        ),
    ] = True


@dataclass(frozen=True, slots=True)
class LineageOptions:
    """A server that takes OpenLineage events over HTTP. References in it are already resolved; its token is never printed."""

    url: Annotated[
        Text,
        Key("`http(s)://host:port[/path]`; events are posted to `<url>/api/v1/lineage`."),
    ]
    token: Annotated[str | None, Key("Bearer token; best as `${NAME}` or `file:/path`.")] = field(
        default=None, repr=False
    )
    ca_file: Annotated[
        str | None,
        Key(
            "PEM file of the authorities to trust with https.", written="local path", otherwise="the system's"
        ),
    ] = None
    namespace: Annotated[Text, Key("OpenLineage's namespace of the service's jobs.")] = "kafka2hive"
    hive_namespace: Annotated[
        str | None,
        Key(
            "OpenLineage's namespace of the Hive tables; `hive://host:port` of the metastore, if Spark or Hive "
            "report to the same server.",
            otherwise="`hive://host:port` of `hive.url`",
        ),
    ] = None


ClusterName = Annotated[
    str,
    Bounds(
        pattern=r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}",
        expected="expected letters, digits, _ and -, at most 64, beginning with a letter or digit",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceKeys:
    """The keys that a map's text and its values have in common."""

    service: Annotated[
        str,
        Key(
            "Name of the service: letters, digits, `_` and `-`, at most 64. Part of the names of the "
            "`alive` directory, the consumer group and the dead-letter table.",
            pattern=SERVICE_NAME,
            expected="expected letters, digits, _ and -, at most 64, beginning with a letter or digit",
            change="ledgers, heartbeats and orders belong to the service of that name",
        ),
    ]
    kafka: Annotated[
        KafkaOptions,
        Key(
            "Kafka client, [more](#kafka).",
            example='{bootstrap.servers: "broker1:9092,broker2:9092"}',
            change="the Kafka clients of the run and its workers get it when they start",
        ),
    ]
    kafka_clusters: Annotated[
        tuple[tuple[ClusterName, KafkaOptions], ...],
        Key(
            "Further Kafka clusters by name, each with the keys of `kafka`, for tables with the key `kafka`, "
            "[more](#several-clusters).",
            written="name: section",
            example='{east: {bootstrap.servers: "east1:9092"}}',
            change="the Kafka clients of the run and its workers get it when they start",
        ),
    ] = ()
    storage: Annotated[
        StorageOptions,
        Key(
            "Where files and ledgers are, [more](#storage).",
            example='{uri: "hdfs://namenode:8020"}',
            change="the run has found its ledgers there, and all its connections lead there",
        ),
    ]
    kerberos: Annotated[
        KerberosOptions | None,
        Key(
            "Kerberos login for HDFS, Hive and Kafka, [more](#kerberos).",
            example="{principal: etl@EXAMPLE.COM, keytab: /etc/etl.keytab}",
            change="the clients log in when the run starts",
        ),
    ] = None
    registry: Annotated[
        RegistryOptions | None,
        Key(
            "Schema registry of tables with `format` or `key_format` `avro` or `protobuf`, [more](#registry).",
            example='{url: "http://registry:8081"}',
            change=_OF_WORKERS,
        ),
    ] = None
    spark: Annotated[
        SparkOptions,
        Key(
            "The Spark session, [more](#spark).",
            example='{master: "local[*,4]"}',
            change="Spark's session starts with the run",
        ),
    ] = SparkOptions()
    trigger_seconds: Annotated[
        Duration,
        Key(
            "How often the service checks whether a table is due.",
            name="trigger",
            change="Spark's query gets it when the run starts",
        ),
    ] = 10.0
    limits: Annotated[
        Limits, Key("Bounds of an epoch and a task, [more](#limits).", example="{epoch_records: 1000000}")
    ] = Limits()
    dead_letters: Annotated[
        DeadLetterOptions,
        Key(
            "The service's dead-letter table, [more](#dead_letters).",
            example="{table: etl.dead_letters}",
            change="all tables of the run write into that table; without the key it follows from the first table",
        ),
    ] = DeadLetterOptions(UNSET, UNSET)
    mask_keys: Annotated[
        tuple[MaskKeyFile, ...],
        Key(
            "Files with the keys of [`mask: hmac`](columns.md#masks): the first masks, the others are earlier ones.",
            written="list of sections",
            example="[{file: /etc/kafka2hive/mask.key, fingerprint: k1a2b3c4d}]",
            change="the keys are read when the run starts",
        ),
    ] = ()
    metrics: Annotated[
        Metrics,
        Key(
            "Prometheus endpoint, [more](#metrics).",
            example="{port: 9108}",
            change="the endpoint listens from the start of the run",
        ),
    ] = Metrics()
    lineage: Annotated[
        LineageOptions | None,
        Key(
            "Server for [OpenLineage](#lineage) events, [more](#lineage).",
            example='{url: "http://lineage:5000"}',
            change="the connection to the server begins with the run",
        ),
    ] = None
    news: Annotated[
        tuple[NewsReceiver, ...],
        Key(
            "Receivers that are told of complete partitions and of what changes later, [more](#news).",
            written="list of sections",
            example="[{name: airflow, url: https://airflow:8443/news}]",
            change="each receiver has a thread, which the run starts with it",
        ),
    ] = ()
    run_directory: Annotated[
        str,
        Key(
            "Directory of Spark's throw-away checkpoint. Default: `RUNTIME_DIRECTORY` (systemd), else "
            "`kafka2hive-<service>` in `XDG_RUNTIME_DIR`, `TMPDIR` or `/tmp`.",
            written="local path",
            otherwise="in a temporary directory",
            derived=True,
            change="the running query has its checkpoint there",
        ),
    ]

    @property
    def properties(self) -> Properties:
        """The properties of all clients: Kafka's, Hadoop's and Spark's."""
        clusters = (pair for _, options in self.kafka_clusters for pair in options.properties)
        return (*self.kafka.properties, *clusters, *self.storage.properties, *self.spark.conf)

    @property
    def clusters(self) -> dict[str, KafkaOptions]:
        """All Kafka clusters by name; the one of the section `kafka` has the name ""."""
        return {"": self.kafka, **dict(self.kafka_clusters)}


@dataclass(frozen=True, slots=True, kw_only=True)
class MapKeys(ServiceKeys):
    """A kafka2hive service: one map, one Spark query, a ledger for each table."""

    hive: Annotated[
        HiveKeys | None,
        Key(
            "HiveServer2 or the metastore, [more](#hive). Without it only files are written, and every table needs `columns`.",
            example='{url: "hive://hiveserver:10000"}',
            change="the sessions with Hive begin with the run",
        ),
    ] = None
    defaults: Annotated[
        TableOptions,
        Key(
            "[Options of a table](#options-of-a-table) for all tables that do not set them. "
            "Sections are not merged: a table that sets `bucket` takes nothing from `defaults.bucket`.",
            example="{start: earliest}",
            change=IN_PLACE,
        ),
    ] = TableOptions()  # noqa: RUF009  it is frozen
    tables: Annotated[
        tuple[TableKeys, ...],
        Key(
            "The tables, [more](#tables).",
            shortest=1,
            example="[{table: web.clicks, topics: [clicks]}]",
            change=IN_PLACE,
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceMap(ServiceKeys):
    """A map with all defaults: one service, and one Spark query. Without `hive` only files are written.

    `fingerprint` is the SHA-256 of the map's text; `secret_keys` are the names of properties (of Kafka, storage and Spark)
    whose values must not be shown.
    """

    hive: HiveInterfaces | None
    tables: tuple[TableRule, ...]
    path: str = "<memory>"
    fingerprint: str = ""
    secret_keys: frozenset[str] = frozenset()

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that no log line and no page may show."""
        values = [value for key, value in self.properties if key in self.secret_keys]
        registry = () if self.registry is None else (self.registry.password, self.registry.token)
        hive = None if self.hive is None or self.hive.server is None else self.hive.server.password
        lineage = None if self.lineage is None else self.lineage.token
        news = [secret for receiver in self.news for secret in receiver.secrets]
        return tuple(v for v in (*values, hive, *registry, lineage, *news) if v)
