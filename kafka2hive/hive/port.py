"""The Hive port: Hive partitions (model.metastore), and sessions for statements about tables."""

from typing import Any, Protocol

from kafka2hive.model.metastore import Metastore


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
