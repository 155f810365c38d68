"""The receivers of news: who is told what happens to the tables (docs/news.md)."""

from dataclasses import dataclass, field
from typing import Annotated

from kafka2hive.config.keys.connections import Text
from kafka2hive.config.keys.declaration import Key, Properties


@dataclass(frozen=True, slots=True, kw_only=True)
class NewsReceiver:
    """Who is told what happens to tables. References in it are already resolved; its token and headers are never printed."""

    name: Annotated[
        str,
        Key(
            "The name of the receiver. The ledgers remember by it what was told, so a new name begins anew.",
            pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$",
            expected="expected letters, digits, _ and -, at most 64, beginning with a letter or digit",
        ),
    ]
    url: Annotated[
        Text | None, Key("`http(s)://host:port[/path]`, to which CloudEvents are posted. Excludes `topic`.")
    ] = None
    topic: Annotated[
        Text | None,
        Key("A topic of the map's Kafka cluster, into which CloudEvents are written. Excludes `url`."),
    ] = None
    token: Annotated[str | None, Key("Bearer token; best as `${NAME}` or `file:/path`.")] = field(
        default=None, repr=False
    )
    headers: Annotated[
        Properties,
        Key(
            "More headers of each request; values best as `${NAME}` or `file:/path`.",
            example='{X-Api-Key: "${API_KEY}"}',
        ),
    ] = field(default=(), repr=False)
    ca_file: Annotated[
        str | None,
        Key(
            "PEM file of the authorities to trust with https.", written="local path", otherwise="the system's"
        ),
    ] = None
    tables: Annotated[
        tuple[str, ...],
        Key(
            "The tables whose news it is told.",
            otherwise="all tables of the map",
            example="[web.clicks]",
        ),
    ] = ()
    since: Annotated[
        int | None,
        Key(
            "The first epoch of each table that a new receiver is told of. It changes nothing for a receiver that a ledger"
            " knows.",
            above=0,
            otherwise="the next epoch",
        ),
    ] = None

    def wants(self, table: str) -> bool:
        """Return whether the receiver is told of the table."""
        return not self.tables or table in self.tables

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that no log line and no page may show."""
        return tuple(value for value in (self.token, *(value for _, value in self.headers)) if value)
