"""The systems that a service connects to: Kafka, storage, Hive, the schema registry, and the Kerberos login for them."""

from dataclasses import dataclass, field, replace
from typing import Annotated

from kafka2hive.config.keys.declaration import Bounds, Duration, FurtherKeys, Key, Properties

Text = Annotated[str, Bounds(shortest=1)]


@dataclass(frozen=True, slots=True)
class KerberosOptions:
    """A principal with its keytab, or with a ticket cache that another program renews.

    The values are paths and names, not secrets. A check reads which principals a keytab has; its keys are not kept.
    """

    principal: Annotated[str, Key("`name@REALM` or `name/host@REALM`.")]
    keytab: Annotated[
        str | None,
        Key(
            "Path of the principal's keytab; it must exist wherever the driver and executors run (`submit` copies it).",
            written="local path",
        ),
    ] = None
    cache: Annotated[
        str | None,
        Key("Instead of `keytab`: a ticket cache, `FILE:/path`, that another program renews."),
    ] = None


@dataclass(frozen=True, slots=True)
class KafkaOptions:
    """Any property of librdkafka, as `name: value`, and the keys below.

    The references in `properties` are already resolved. Secrets among them are never printed (see `ServiceMap.secret_keys`).
    """

    properties: Annotated[
        Properties,
        FurtherKeys(
            first="bootstrap.servers",
            type=Text,
            doc="Brokers to start from, `host:port,host:port`.",
            others="A property of [librdkafka](https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md), "
            "e.g. `security.protocol`.",
        ),
    ] = field(repr=False)
    group: Annotated[
        Text,
        Key(
            "Consumer group that offsets are committed to, for lag tools.",
            otherwise="`kafka2hive-<service>`",
            name="group.id",
            derived=True,
        ),
    ]
    commit_group: Annotated[
        bool,
        Key(
            "Commit the group's offsets after publishing. They are never used as positions, only as "
            "evidence of a lost ledger."
        ),
    ] = True

    @property
    def committed_group(self) -> str | None:
        """The consumer group whose offsets are committed, None if the map turns that off."""
        return self.group if self.commit_group else None


@dataclass(frozen=True, slots=True)
class StorageOptions:
    """Where files and ledgers are stored."""

    uri: Annotated[
        str,
        Key(
            "`hdfs://host:port`, `hdfs://nameservice` or `file:///base`; a path in it is the base of "
            "the defaults below.",
            written="path",
        ),
    ]
    ledger_root: Annotated[
        str, Key("Directory of the ledgers.", written="path", otherwise="`<uri>/kafka2hive`", derived=True)
    ]
    warehouse: Annotated[
        str, Key("Directory of the tables.", written="path", otherwise="`<uri>/warehouse`", derived=True)
    ]
    properties: Annotated[
        Properties,
        Key(
            "[Properties of the HDFS client](#properties-of-the-hdfs-client), e.g. the NameNodes of a nameservice.",
            example="{dfs.replication: 2}",
        ),
    ] = field(default=(), repr=False)
    config_dir: Annotated[
        str | None, Key("Directory with `core-site.xml` and `hdfs-site.xml`.", written="local path")
    ] = None
    kerberos: Annotated[
        KerberosOptions | None,
        Key(
            "Separate [login](#kerberos) for HDFS.",
            otherwise="the map's",
            example="{principal: hdfs-etl@EXAMPLE.COM, keytab: /etc/hdfs-etl.keytab}",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class HiveKeys:
    """HiveServer2, the metastore, or both. Leave the section out to write files only."""

    url: Annotated[
        str | None,
        Key(
            "`hive://user@host:10000/default?auth=NONE`, without a password. Defaults: port 10000; "
            "user `HADOOP_USER_NAME`, `USER`, or `hive`; `auth` `NONE` (or `NOSASL`, `LDAP`, "
            "`CUSTOM`, `KERBEROS`).",
            more="Several hosts, `host:10000,host2:10000`, are tried in turn. "
            "Further options: `service` and `qop` with `KERBEROS`, `ssl=true` for TLS, "
            "`transport=http` with `http_path`.",
        ),
    ] = None
    metastore: Annotated[
        str | None,
        Key(
            "`thrift://host:9083,host2:9083`, the [metastore's own interface](#hiveserver2-or-the-metastore); "
            "hosts are tried in turn.",
            more="Options: `?auth=KERBEROS` with `service` and `qop`, and `ssl=true` for TLS; without Kerberos, `user@` "
            "before the first host.",
        ),
    ] = None
    password: Annotated[
        str | None, Key("For `url` with LDAP and CUSTOM; best as `${NAME}` or `file:/path`.")
    ] = field(default=None, repr=False)
    timeout_seconds: Annotated[
        Duration, Key("Maximum time to wait for one statement or call.", name="timeout")
    ] = 60.0
    ca_file: Annotated[
        str | None,
        Key(
            "PEM file of the authorities to trust, with `ssl=true`.",
            written="local path",
            otherwise="the system's",
        ),
    ] = None
    kerberos: Annotated[
        KerberosOptions | None,
        Key(
            "Separate [login](#kerberos) for Hive, with `auth=KERBEROS`.",
            otherwise="the map's",
            example="{principal: hive-etl@EXAMPLE.COM, keytab: /etc/hive-etl.keytab}",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class HiveOptions:
    """HiveServer2, with the parts of its URL.

    With auth KERBEROS, `service` is the first part of the server's principal, and `qop` is the requested protection (`auth`,
    `auth-int`, `auth-conf`; None means the strongest that the server offers). `ssl` turns on TLS with the authorities of
    `ca_file`. `http_path` is the path of the HTTP transport; None means the binary transport. `further_hosts` are asked if the
    first one does not take the login. With `namespace`, all hosts are ZooKeeper's, where servers are registered under that name.
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
    further_hosts: tuple[tuple[str, int], ...] = ()
    namespace: str | None = None

    @property
    def servers(self) -> tuple["HiveOptions", ...]:
        """The options of each host alone, in the order of the URL."""
        hosts = ((self.host, self.port), *self.further_hosts)
        return tuple(replace(self, host=host, port=port, further_hosts=()) for host, port in hosts)


@dataclass(frozen=True, slots=True)
class MetastoreOptions:
    """The metastore service, with the parts of its URL: `hosts` are names with ports, which are tried in turn.

    `auth` is NONE or KERBEROS; `service`, `qop`, `ssl`, `ca_file` and `kerberos` are as in HiveOptions.
    """

    hosts: tuple[tuple[str, int], ...]
    user: str
    auth: str
    timeout_seconds: float
    service: str = "hive"
    qop: str | None = None
    ssl: bool = False
    ca_file: str | None = None
    kerberos: KerberosOptions | None = None


@dataclass(frozen=True, slots=True)
class HiveInterfaces:
    """The interfaces of Hive that the map names, at least one. With both, HiveServer2 has tables, the metastore partitions."""

    server: HiveOptions | None = None
    metastore: MetastoreOptions | None = None

    @property
    def addresses(self) -> tuple[str, ...]:
        """Each `host:port`, HiveServer2's first."""
        servers = self.server.servers if self.server is not None else ()
        hosts = self.metastore.hosts if self.metastore is not None else ()
        return tuple(
            f"{host}:{port}" for host, port in (*((each.host, each.port) for each in servers), *hosts)
        )

    @property
    def kerberos(self) -> KerberosOptions | None:
        """The login for Hive; both interfaces have the same, if they have one."""
        return next((each.kerberos for each in (self.server, self.metastore) if each and each.kerberos), None)

    @property
    def ca_file(self) -> str | None:
        """The trusted authorities."""
        return next((each.ca_file for each in (self.server, self.metastore) if each and each.ca_file), None)


@dataclass(frozen=True, slots=True)
class RegistryOptions:
    """The schema registry of the tables with `format` or `key_format` avro or protobuf.

    References in it are already resolved. Its secrets are never printed.
    """

    url: Annotated[
        str,
        Key(
            "`http(s)://host:port[/path]`; several addresses of one registry are separated by commas "
            "and asked in turn.",
            shortest=1,
        ),
    ]
    username: Annotated[str | None, Key("User of basic authentication, with `password`.")] = None
    password: Annotated[str | None, Key("Password of `username`, best as `${NAME}` or `file:/path`.")] = (
        field(default=None, repr=False)
    )
    token: Annotated[
        str | None, Key("Bearer token instead of user and password; best as `${NAME}` or `file:/path`.")
    ] = field(default=None, repr=False)
    ca_file: Annotated[
        str | None,
        Key(
            "PEM file of the authorities to trust with https.", written="local path", otherwise="the system's"
        ),
    ] = None
    certificate_file: Annotated[
        str | None, Key("PEM file of the client's certificate, for mutual TLS.", written="local path")
    ] = None
    key_file: Annotated[
        str | None,
        Key(
            "PEM file of the client's private key, without a passphrase.",
            written="local path",
            otherwise="`certificate_file`",
        ),
    ] = None
    timeout_seconds: Annotated[Duration, Key("Maximum time to wait for one response.", name="timeout")] = 10.0
    refresh_seconds: Annotated[
        Duration,
        Key(
            "How often to fetch the newest schemas for [`schema_evolution`](#fields-of-the-records-schema) `add` or "
            "`stop`, and to compare the schemas in use with the registry's.",
            name="refresh",
        ),
    ] = 300.0

    @property
    def urls(self) -> tuple[str, ...]:
        """The addresses of `url` without trailing slashes."""
        return tuple(url.strip().rstrip("/") for url in self.url.split(","))
