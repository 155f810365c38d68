"""The interface of Hive: registration of partitions, and sessions for statements about tables."""

from collections.abc import Sequence
from typing import Any, Protocol

from kafka2hive.model.errors import AccessRefused, ServiceUnavailable
from kafka2hive.model.files import HivePartition


class MetastoreUnavailable(Exception):
    """HiveServer2 or its metastore does not answer, or the statement may or may not have been done: try again later."""

    code = "hive.unavailable"
    remedy = "bring HiveServer2 back, or correct hive.url"

    def ending(self, message: str, then: str = "") -> ServiceUnavailable:
        """The error of who cannot go on without Hive: `message` tells this one's text, `then` what comes after the remedy."""
        return ServiceUnavailable(self.code, message, self.remedy + then)


class HiveLoginRefused(MetastoreUnavailable):
    """Nobody is let in until the map, the realm or the server is changed; the text says what. Then all goes on by itself."""

    code = "hive.login"
    remedy = "correct the login as the message says (docs/security.md)"

    def ending(self, message: str, then: str = "; the service continues by itself") -> AccessRefused:
        return AccessRefused(self.code, message, self.remedy + then)


class StatementFailed(MetastoreUnavailable):
    """HiveServer2 answers: the statement failed while it ran, perhaps because another did the same at that moment.

    It says nothing of other statements.
    """


class MetastoreRefused(Exception):
    """The statement itself is refused (no such table, permission, wrong schema): trying again changes nothing."""


class Metastore(Protocol):
    """Registers partitions. Implemented by kafka2hive.hive over PyHive, and by a fake in the simulation."""

    def add_partitions(self, partitions: Sequence[HivePartition]) -> None:
        """`ADD IF NOT EXISTS PARTITION .. LOCATION`, one table at a time; doing it twice changes nothing.

        Raises MetastoreUnavailable, MetastoreRefused.
        """
        ...

    def location(self, partition: HivePartition) -> str | None:
        """Where Hive thinks the partition lies, None when it is not registered."""
        ...


class Session(Protocol):
    """One session of HiveServer2, which connects at the first statement; see HiveSession."""

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements one after another and return the rows of the last. Raises MetastoreUnavailable, MetastoreRefused."""
        ...

    def close(self) -> None: ...


class Hive(Metastore, Protocol):
    """The metastore, and the session that its statements run in."""

    @property
    def session(self) -> Session: ...

    def close(self) -> None: ...
