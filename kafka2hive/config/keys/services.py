"""The sections of the schema registry, of Kerberos and of plug-ins."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from kafka2hive.config.keys.declaration import Duration, Key, Properties

Framing = Literal["id4", "id8", "header"]
ProtobufIndexes = Literal["zigzag", "unsigned"]


@dataclass(frozen=True, slots=True)
class WireFormat:
    """Where records name their schema, and how Protobuf's message indexes are written."""

    framing: Framing = "id4"
    indexes: ProtobufIndexes = "zigzag"


@dataclass(frozen=True, slots=True)
class RegistryOptions:
    """The schema registry of the tables with format avro or protobuf.

    Its secrets have their references resolved and are never printed.
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
            "How often the newest schemas of tables with "
            "[`schema_evolution`](#fields-of-the-records-schema) `add` or `stop` are asked for, and "
            "schemas in use compared with the registry's.",
            name="refresh",
        ),
    ] = 300.0

    @property
    def urls(self) -> tuple[str, ...]:
        """The addresses of `url` without trailing slashes."""
        return tuple(url.strip().rstrip("/") for url in self.url.split(","))


@dataclass(frozen=True, slots=True)
class KerberosOptions:
    """A principal with its keytab, or with a ticket cache that something else renews.

    Paths and names, no secrets: a keytab's content never enters the program.
    """

    principal: Annotated[str, Key("`name@REALM` or `name/host@REALM`.")]
    keytab: Annotated[
        str | None,
        Key(
            "Path of its keytab, on every machine with executors; `submit` sends it there.",
            written="local path",
        ),
    ] = None
    cache: Annotated[
        str | None,
        Key("Instead of `keytab`: a ticket cache, `FILE:/path`, that something else renews."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginOptions:
    """A plug-in and its options."""

    name: Annotated[
        str,
        Key(
            "Name of the entry point in `kafka2hive.decoders`; within `bucket` in `.bucketers`, "
            "within `writer` in `.writers`, within `completion` in `.completion_policies`.",
            shortest=1,
        ),
    ]
    options: Annotated[
        Properties, Key("Options that are passed to the plug-in.", written="mapping of texts")
    ] = ()
