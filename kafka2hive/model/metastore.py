"""The interface of Hive for partitions, and its errors. The one for tables is in `hive/port.py`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from kafka2hive.model.errors import AccessRefused, ServiceUnavailable
from kafka2hive.model.files import HivePartition


class MetastoreUnavailable(Exception):
    """HiveServer2 or the metastore does not answer, or a statement may or may not have been executed: try again later."""

    code = "hive.unavailable"
    remedy = "bring HiveServer2 or the metastore back, or correct hive.url or hive.metastore"

    def to_error(self, message: str, outlook: str = "") -> ServiceUnavailable:
        """Return the error to raise where the caller cannot continue without Hive; `outlook` is appended to the remedy."""
        return ServiceUnavailable(self.code, message, self.remedy + outlook)


class HiveLoginRefused(MetastoreUnavailable):
    """HiveServer2 refuses the login. Trying again helps only after the map, the realm or the server is changed."""

    code = "hive.login"
    remedy = "correct the login as the message says (docs/security.md)"

    def to_error(self, message: str, outlook: str = "; the service continues by itself") -> AccessRefused:
        return AccessRefused(self.code, message, self.remedy + outlook)


class TooManySessions(MetastoreUnavailable):
    """HiveServer2 answers, but refuses another session of this user or host."""

    code = "hive.sessions"
    remedy = (
        "close other sessions of the user, or raise hive.server2.limit.connections.per.user (or per.ipaddress,"
        " per.user.ipaddress) of HiveServer2"
    )


class StatementFailed(MetastoreUnavailable):
    """A statement failed while it ran, perhaps because another client ran the same. Other statements may succeed."""


class MetastoreRefused(Exception):
    """Hive refuses the statement (no such table, permission, wrong schema) and would refuse it again."""


class NoSuchTable(MetastoreRefused):
    """The table or its database does not exist."""


class NoSuchPartition(MetastoreRefused):
    """The table has no such partition."""


LocationAnswer = tuple[HivePartition, str | MetastoreRefused | None]
"""A partition with its location in Hive, None if it is not registered, or why Hive refuses to say."""
ChangeAnswer = tuple[HivePartition, MetastoreRefused | None]
"""A partition, and why Hive refuses its change; None if it has been made."""


class Metastore(Protocol):
    """The part of Hive that registers partitions.

    `locations` and `set_locations` yield an answer for each partition, as soon as Hive has given it; nothing is asked before its
    answer is wanted. A partition that Hive refuses has its own answer, and delays no other one.
    """

    @property
    def look_size(self) -> int:
        """How many partitions Hive looks up within about a second."""
        ...

    def add_partitions(self, partitions: Sequence[HivePartition]) -> Mapping[HivePartition, str]:
        """Register those partitions that are not registered yet. A second call changes nothing.

        Return the locations that Hive has, of those partitions about which the answer tells it.
        Raises MetastoreUnavailable, MetastoreRefused.
        """
        ...

    def location(self, partition: HivePartition) -> str | None:
        """Return the partition's location in Hive, None if it is not registered.

        Raises MetastoreUnavailable, MetastoreRefused.
        """
        ...

    def locations(self, partitions: Iterable[HivePartition]) -> Iterator[LocationAnswer]:
        """Look partitions up. Raises MetastoreUnavailable."""
        ...

    def set_locations(self, partitions: Iterable[HivePartition]) -> Iterator[ChangeAnswer]:
        """Set the locations of registered partitions to those of `partitions`. A second call changes nothing.

        Raises MetastoreUnavailable; then partitions without an answer may have been moved, or may be later.
        """
        ...


class PartitionDropper(Protocol):
    """The part of Hive that drops partitions; `locations` is as in Metastore."""

    def locations(self, partitions: Iterable[HivePartition]) -> Iterator[LocationAnswer]: ...

    def drop_partitions(self, partitions: Iterable[HivePartition]) -> Iterator[ChangeAnswer]:
        """Drop partitions of external tables, whose files stay. A second call changes nothing.

        Raises MetastoreUnavailable; then partitions without an answer may have been dropped, or may be later.
        """
        ...


class Partitions(Metastore, PartitionDropper, Protocol):
    """Both parts of Hive that concern partitions."""
