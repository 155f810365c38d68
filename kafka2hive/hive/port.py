"""The port of Hive: its tables and partitions, whichever of its interfaces is asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kafka2hive.hive.check import Alterations
from kafka2hive.hive.description import TableDescription
from kafka2hive.hive.stored_as import Reader
from kafka2hive.hive.tables import TableSpec
from kafka2hive.model.metastore import Partitions


@dataclass(frozen=True, slots=True)
class NewTable:
    """Create the table, and its database if that is missing; existing ones stay as they are."""

    spec: TableSpec
    ledger_id: str


@dataclass(frozen=True, slots=True)
class AlteredColumns:
    """Add and widen columns of a table that Hive describes as `before`, also in its partitions."""

    spec: TableSpec
    before: TableDescription
    alterations: Alterations


@dataclass(frozen=True, slots=True)
class NewView:
    """Make or replace the view of the table's newest states."""

    spec: TableSpec


TableChange = NewTable | AlteredColumns | NewView


class Tables(Protocol):
    """Hive's tables: how Hive describes them, and changes to them.

    Every method raises MetastoreUnavailable and MetastoreRefused.
    """

    def describe(self, table: str) -> TableDescription | None:
        """Return the table as Hive describes it; None if it or its database does not exist."""
        ...

    def describe_partition(self, table: str, path: str) -> TableDescription | None:
        """Return a partition as Hive describes it; None if it does not exist."""
        ...

    def partition_paths(self, table: str) -> frozenset[str]:
        """Return the paths of the table's partitions as Hive writes them."""
        ...

    def tables_in(self, database: str) -> frozenset[str]:
        """Return the names of a database's tables and views in lower case; none if the database does not exist."""
        ...

    def statements(self, change: TableChange) -> tuple[str, ...]:
        """Return the HiveQL of a change, as it is sent or as it would be typed. Changes nothing."""
        ...

    def change(self, change: TableChange) -> Sequence[str]:
        """Carry a change out, and return what was done, for the log.

        After MetastoreUnavailable or MetastoreRefused, parts of it may be done; whoever repeats it compares the table first.
        """
        ...

    def reader(self) -> Reader | None:
        """Return what Hive cannot read; None if this interface does not tell."""
        ...

    def version(self) -> str | None:
        """Return the version of Hive; None if this interface does not tell."""
        ...

    def close(self) -> None:
        """End the connection; the next call opens another. Never raises."""
        ...


class Hive(Partitions, Protocol):
    """Hive's partitions and tables. Safe for any thread; calls run one at a time."""

    @property
    def tables(self) -> Tables: ...

    def ask(self) -> None:
        """Log in, without a session, within some seconds. Raises MetastoreUnavailable, also as HiveLoginRefused."""
        ...

    def close(self) -> None: ...
