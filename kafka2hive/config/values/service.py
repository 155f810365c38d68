"""The map's keys and values besides its tables. Units stand in the names of fields: seconds, bytes."""

from dataclasses import dataclass, field
from typing import Annotated

from kafka2hive.config.values.kerberos import KerberosOptions
from kafka2hive.config.values.key import LEFT_OUT, Bounds, Duration, FurtherKeys, Key, Properties, Size
from kafka2hive.config.values.registry import RegistryOptions
from kafka2hive.config.values.table import Table, TableOptions, TableRule
from kafka2hive.config.values.units import MIB

Text = Annotated[str, Bounds(shortest=1)]
SERVICE_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"


@dataclass(frozen=True, slots=True)
class KafkaOptions:
    """Any property of librdkafka, as `name: value`, besides the keys below.

    `properties` have their secrets resolved and are never printed (see `ServiceMap.secret_keys`).
    """

    properties: Annotated[
        Properties, FurtherKeys("bootstrap.servers", Text, "Brokers to start from, `host:port,host:port`.")
    ] = field(repr=False)
    group: Annotated[
        Text,
        Key(
            "Consumer group that offsets are committed to for lag tools. Default: kafka2hive-<service>.",
            name="group.id",
            derived=True,
        ),
    ]
    commit_group: Annotated[
        bool, Key("Commit the group's offsets after publishing; never read back as a position.")
    ] = True

    @property
    def committed_group(self) -> str | None:
        """None: no group's offsets are committed."""
        return self.group if self.commit_group else None


@dataclass(frozen=True, slots=True)
class StorageOptions:
    """Where files and ledgers live."""

    uri: Annotated[
        str,
        Key(
            "hdfs://host:port, hdfs://nameservice or file:///base; a path in it is the base of the defaults."
        ),
    ]
    ledger_root: Annotated[
        str, Key("Directory of the ledgers, a full path. Default: <uri>/kafka2hive.", derived=True)
    ]
    warehouse: Annotated[
        str, Key("Directory of the tables, a full path. Default: <uri>/warehouse.", derived=True)
    ]
    properties: Annotated[
        Properties, Key("Hadoop client keys, e.g. dfs.nameservices and what belongs to it.")
    ] = field(default=(), repr=False)
    config_dir: Annotated[str | None, Key("Directory with core-site.xml and hdfs-site.xml.")] = None
    kerberos: Annotated[
        KerberosOptions | None, Key("Who logs in to HDFS. Default: the map's `kerberos` section.")
    ] = None


@dataclass(frozen=True, slots=True)
class Hive:
    """HiveServer2. Leave the section out to write files only."""

    url: Annotated[
        str,
        Key(
            "hive://user@host:10000/default?auth=NONE; auth is NONE, NOSASL, LDAP, CUSTOM or KERBEROS (with"
            " service=hive, qop=auth-conf); ssl=true is TLS, transport=http the HTTP transport."
        ),
    ]
    password: Annotated[str | None, Key("Password for LDAP or CUSTOM, best as ${NAME} or file:/path.")] = (
        field(default=None, repr=False)
    )
    timeout_seconds: Annotated[Duration, Key("Longest wait for one statement.", name="timeout")] = 60.0
    ca_file: Annotated[
        str | None, Key("PEM file of the authorities to trust with ssl=true. Default: the system's.")
    ] = None
    kerberos: Annotated[
        KerberosOptions | None, Key("Who logs in with auth=KERBEROS. Default: the map's `kerberos` section.")
    ] = None


@dataclass(frozen=True, slots=True)
class HiveOptions:
    """HiveServer2, with the parts of its URL.

    `service` and `qop` belong to auth KERBEROS: the first part of the server's principal, and the protection that is
    asked for (one of QOP; None: the strongest that the server offers). `ssl`: TLS, with the authorities of `ca_file`.
    `http_path`: of HiveServer2's HTTP transport, None: the binary one.
    """

    host: str
    port: int
    user: str
    password: str | None = field(repr=False)
    auth: str
    timeout_seconds: float
    service: str = "hive"
    qop: str | None = None
    ssl: bool = False
    ca_file: str | None = None
    kerberos: KerberosOptions | None = None
    http_path: str | None = None


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """The Spark session of the service."""

    master: Annotated[
        Text,
        Key(
            "Spark master: local[*,4] (4: tries of a task; plain local[*] never retries), spark://host:7077, yarn."
        ),
    ] = "local[*,4]"
    conf: Annotated[Properties, Key("Spark properties, `spark.x.y: value`.")] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one epoch and of one task."""

    epoch_bytes: Annotated[
        Size, Key("Kafka bytes that one epoch aims at, by the record sizes of the ones before.")
    ] = 512 * MIB
    epoch_records: Annotated[int, Key("Most records of one epoch.", above=0)] = 5_000_000
    file_bytes: Annotated[Size, Key("A data file is closed at this size.")] = 256 * MIB
    open_files: Annotated[int, Key("Most files one task keeps open; others wait or are closed.", above=0)] = (
        64
    )
    task_memory_bytes: Annotated[
        Size, Key("Most memory one task buffers, over all its buckets.", name="task_memory")
    ] = 256 * MIB
    tasks_per_core: Annotated[
        int, Key("Tasks of an epoch for each core of Spark.", at_least=1, at_most=8)
    ] = 1
    keep_snapshots: Annotated[
        int, Key("Finished snapshots kept beside the newest; older are archived.", at_least=2)
    ] = 10
    stop_seconds: Annotated[
        Duration, Key("Time an epoch gets to finish after SIGTERM.", name="stop_within")
    ] = 60.0
    transaction_wait_seconds: Annotated[
        Duration,
        Key(
            "Time `run --once` waits for open transactions that hold records back; then it ends with 75.",
            name="transaction_wait",
        ),
    ] = 75.0


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """The service's table of records that cannot be decoded or have no bucket.

    It is partitioned by `source_table` and `dt`, the UTC day of the epoch.
    """

    table: Annotated[
        str,
        Key(
            "db.table. Default: <service>_dead_letters in the first table's database (in kafka2hive when that one "
            "depends on the topic).",
            derived=True,
        ),
    ]
    location: Annotated[str, Key("Full path. Default: <warehouse>/<db>.db/<table>.", derived=True)]


@dataclass(frozen=True, slots=True)
class Metrics:
    """Prometheus endpoint."""

    host: Annotated[Text, Key("Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Key("Port to listen on; 0 means no endpoint.", at_least=0, at_most=65535)] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceKeys:
    """What the map says in the words in which everybody uses it."""

    service: Annotated[
        str,
        Key(
            "Name of the service: letters, digits, _ and -.",
            pattern=SERVICE_NAME,
            expected="expected letters, digits, _ and -, at most 64, beginning with a letter or digit",
        ),
    ]
    kafka: Annotated[KafkaOptions, Key("Kafka client: any librdkafka property.")]
    storage: Annotated[StorageOptions, Key()]
    kerberos: Annotated[
        KerberosOptions | None,
        Key("Who the service is to Kerberos: to HDFS, to Hive with auth=KERBEROS, to Kafka with GSSAPI."),
    ] = None
    registry: Annotated[
        RegistryOptions | None,
        Key("Schema registry of tables with format avro or protobuf and without a schema of their own."),
    ] = None
    spark: Annotated[SparkOptions, Key("The Spark session.")] = SparkOptions()
    trigger_seconds: Annotated[
        Duration, Key("How often the service looks whether a table is due.", name="trigger")
    ] = 10.0
    limits: Annotated[Limits, Key()] = Limits()
    dead_letters: Annotated[DeadLetters, Key("The service's dead-letter table.")] = DeadLetters(
        LEFT_OUT, LEFT_OUT
    )
    metrics: Annotated[Metrics, Key()] = Metrics()
    run_directory: Annotated[
        str,
        Key(
            "Local directory for Spark's throw-away checkpoint. Default: systemd's RUNTIME_DIRECTORY, "
            "XDG_RUNTIME_DIR/kafka2hive-<service>, or the same in the temporary directory.",
            derived=True,
        ),
    ]

    @property
    def properties(self) -> Properties:
        """Of all clients: Kafka's, Hadoop's, Spark's."""
        return (*self.kafka.properties, *self.storage.properties, *self.spark.conf)


@dataclass(frozen=True, slots=True, kw_only=True)
class Map(ServiceKeys):
    """A kafka2hive service: one map, one Spark query, a ledger for each table."""

    hive: Annotated[Hive | None, Key("HiveServer2; without it only files are written.")] = None
    defaults: Annotated[TableOptions, Key("Options for all tables that do not say otherwise.")] = (
        TableOptions()  # noqa: RUF009  it is frozen
    )
    tables: Annotated[tuple[Table, ...], Key("The tables.", shortest=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceMap(ServiceKeys):
    """One map = one service = one Spark query. `hive` None: files only, with a warning at start.

    `fingerprint` is the SHA-256 of the map's text as written; `secret_keys` are the names of properties (of Kafka,
    storage and Spark) whose values must not be shown.
    """

    hive: HiveOptions | None
    tables: tuple[TableRule, ...]
    path: str = "<memory>"
    fingerprint: str = ""
    secret_keys: frozenset[str] = frozenset()
