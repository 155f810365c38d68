"""Hive in the background: rule R8 of docs/protocol.md. The metastore being down stops neither dump nor commit.

One thread takes what the dump hands over, makes sure the tables are there, registers partitions, and reports back. What
fails stays a pending registration of the table, and so stands in its next snapshot.
"""

import logging
import threading
from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Protocol

from kafka2hive.model.errors import Kafka2HiveError, TableError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import Metastore, MetastoreRefused, MetastoreUnavailable
from kafka2hive.publish.register import register

log = logging.getLogger(__name__)

RETRY_SECONDS = 10.0


class Ensured(Enum):
    """What Hive says to a table."""

    READY = "ready"
    REFUSED = "refused"
    AWAY = "away"


class EnsureTable(Protocol):
    """Creates or checks one Hive table; cheap when it was done before."""

    def __call__(self, name: str) -> None:
        """Raises MetastoreUnavailable, MetastoreRefused, TableError."""
        ...


class Registrar:
    """`paid` is called with partitions now registered, `refused` with a table's error and the partitions that it is
    about (none: the table itself); both from this thread."""

    def __init__(
        self,
        metastore: Metastore,
        ensure: EnsureTable,
        registered: Callable[[frozenset[HivePartition]], None],
        refused: Callable[[str, TableError, frozenset[HivePartition]], None],
    ) -> None:
        self._metastore = metastore
        self._ensure = ensure
        self._registered = registered
        self._refused = refused
        self._unregistered: set[HivePartition] = set()
        self._checked: frozenset[HivePartition] = frozenset()
        self._hopeless: frozenset[HivePartition] = frozenset()
        self._condition = threading.Condition()
        self._ending = False
        self._busy = False
        self._once_more = False
        self._thread = threading.Thread(target=self._work, name="registrar", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def enqueue(self, unregistered: frozenset[HivePartition]) -> None:
        """Hand over partitions to register; returns at once."""
        with self._condition:
            self._unregistered |= unregistered
            self._condition.notify_all()

    def settle(self, seconds: float) -> bool:
        """Try once more, now, what is owed and not refused; wait for that at most so long; True when nothing is owed.

        A HiveServer2 that is away is not waited for: what it was not told stands in the ledgers.
        """
        with self._condition:
            self._once_more = bool(self._unregistered - self._hopeless)
            self._condition.notify_all()
            self._condition.wait_for(lambda: not self._busy and not self._once_more, seconds)
            return not self._unregistered

    @property
    def untold(self) -> frozenset[HivePartition]:
        """What is still owed, and was not refused: Hive gave no answer to it."""
        with self._condition:
            return frozenset(self._unregistered) - self._hopeless

    def end(self) -> None:
        """Finish the statement that runs and stop; what is still owed stands in the ledgers."""
        with self._condition:
            self._ending = True
            self._condition.notify_all()
        self._thread.join(RETRY_SECONDS)

    def _work(self) -> None:
        while True:
            with self._condition:
                self._busy = False
                self._condition.notify_all()
                self._condition.wait_for(lambda: bool(self._unregistered) or self._ending)
                if self._ending:
                    return
                unregistered, self._busy, self._once_more = frozenset(self._unregistered), True, False
            try:
                left = self.register(unregistered)
            except Kafka2HiveError as error:
                log.error("registering in Hive failed, it is tried again: %s", error)
                left = unregistered
            with self._condition:
                self._unregistered -= unregistered - left
                if left:
                    self._busy = False
                    self._condition.notify_all()
                    # what is new is not kept waiting by what is refused
                    self._condition.wait_for(partial(self._is_new_beside, left), RETRY_SECONDS)

    def _is_new_beside(self, left: frozenset[HivePartition]) -> bool:
        return self._ending or self._once_more or bool(self._unregistered - left)

    def register(self, unregistered: frozenset[HivePartition]) -> frozenset[HivePartition]:
        """Register now, in the caller's thread; what could not be done for now comes back."""
        tables = {t: self._ensured(t) for t in sorted({d.table for d in unregistered})}
        ready = frozenset(d for d in unregistered if tables[d.table] is Ensured.READY)
        result = register(self._metastore, ready, self._checked)
        self._checked |= result.registered
        refused = frozenset(d for d in unregistered if tables[d.table] is Ensured.REFUSED)
        self._hopeless = refused.union(result.refused, result.misplaced)
        for partition, reason in sorted(result.refused.items()):
            self._refused(
                partition.table,
                TableError(
                    "hive.refused",
                    f"Hive does not register {partition.table} {partition.path}: {reason}",
                    "as Hive says; or give the registration up:"
                    f" kafka2hive recover --forget-registration {partition.table} '{partition.path}'",
                ),
                frozenset({partition}),
            )
        for partition, where in sorted(result.misplaced.items()):
            self._refused(
                partition.table,
                TableError(
                    "hive.misplaced",
                    f"{partition.table} partition {partition.path} is registered at {where}, its rows are at"
                    f" {partition.location}: readers would not see them",
                    "drop that partition in Hive, or correct the table's location in the map",
                ),
                frozenset({partition}),
            )
        if result.registered:
            self._registered(frozenset(result.registered))
        return unregistered - frozenset(result.registered)

    def _ensured(self, table: str) -> Ensured:
        try:
            self._ensure(table)
        except MetastoreUnavailable as error:
            log.warning("Hive is not there, %s keeps its pending registrations: %s", table, error)
            return Ensured.AWAY
        except MetastoreRefused as error:
            self._refused(table, TableError("hive.refused", f"{table}: {error}"), frozenset())
            return Ensured.REFUSED
        except TableError as error:
            self._refused(table, error, frozenset())
            return Ensured.REFUSED
        return Ensured.READY
