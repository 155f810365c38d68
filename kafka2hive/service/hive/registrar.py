"""Registration in Hive in the background: rule R8 of docs/protocol.md. An outage of Hive stops neither epochs nor commits.

One thread takes partitions from the epoch loop, creates missing tables and registers the partitions; the loop takes the
results as events. A partition that fails stays a pending registration in the ledger.
"""

import logging
import math
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from kafka2hive.ledger.register import RegistrationResult, keep_locations, register
from kafka2hive.model.errors import Kafka2HiveError, TableError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import Metastore, MetastoreUnavailable, Partitions
from kafka2hive.observe.log import RECURRING
from kafka2hive.service.containment import Containment, bug_in
from kafka2hive.service.hive.dropped import DropLookResult, DroppedPartitions, look_and_drop
from kafka2hive.service.hive.places import LocationCorrection, LocationLook
from kafka2hive.service.hive.table_looks import TableGone, TableLooks
from kafka2hive.storage.concurrency import SystemClock
from kafka2hive.storage.port import Background, Clock, Thread

log = logging.getLogger(__name__)

RETRY_SECONDS = 10.0
LOOK_SECONDS = 60.0
"""How often the locations of the watched partitions are compared with Hive's (K7)."""


@dataclass(frozen=True, slots=True)
class RegisteredInHive:
    partitions: frozenset[HivePartition]


@dataclass(frozen=True, slots=True)
class RefusedByHive:
    """Hive refuses a table (if `partitions` is empty), or these partitions of it."""

    table: str
    error: TableError
    partitions: frozenset[HivePartition] = frozenset()


RegistrarEvent = (
    RegisteredInHive | RefusedByHive | LocationCorrection | LocationLook | DropLookResult | TableGone
)


@dataclass(frozen=True, slots=True)
class Attempt:
    """The outcome of one try. `pending` has all partitions that are not registered, including the `refused` ones.

    `no_answer` is the reason why Hive did not answer about the others, None if it answered about all.
    """

    pending: frozenset[HivePartition]
    refused: frozenset[HivePartition]
    events: tuple[RegistrarEvent, ...]
    no_answer: MetastoreUnavailable | None = None


class EnsureTable(Protocol):
    """Creates or checks one Hive table; cheap if it was done before."""

    def __call__(self, name: str) -> None:
        """Make the Hive table match the map. Raises MetastoreUnavailable, TableError."""
        ...


def register_now(
    metastore: Metastore,
    ensure: EnsureTable,
    unregistered: frozenset[HivePartition],
    checked: frozenset[HivePartition] = frozenset(),
) -> Attempt:
    """Register partitions in the caller's thread. `checked` are partitions whose location in Hive was right before."""
    tables = {t: _ensured(ensure, t) for t in sorted({p.table for p in unregistered})}
    result = register(metastore, frozenset(p for p in unregistered if tables[p.table] is None), checked)
    refusals = [*(t for t in tables.values() if isinstance(t, RefusedByHive)), *_refusals(result)]
    registered = frozenset(result.registered)
    of_refused_tables = frozenset(p for p in unregistered if isinstance(tables[p.table], RefusedByHive))
    return Attempt(
        unregistered - registered,
        of_refused_tables.union(result.refused, result.misplaced),
        (*refusals, *([RegisteredInHive(registered)] if registered else [])),
        next((t for t in tables.values() if isinstance(t, MetastoreUnavailable)), result.outage),
    )


def _ensured(ensure: EnsureTable, table: str) -> MetastoreUnavailable | RefusedByHive | None:
    """Make sure that Hive has the table. Return why its partitions cannot be registered, None if they can."""
    try:
        ensure(table)
    except MetastoreUnavailable as error:
        log.debug("%s keeps its pending registrations: %s", table, error)
        return error
    except TableError as error:
        return RefusedByHive(table, error)
    return None


def _refusals(result: RegistrationResult) -> Iterator[RefusedByHive]:
    for partition, reason in sorted(result.refused.items()):
        error = TableError(
            "hive.refused",
            f"Hive does not register {partition.table} {partition.path}: {reason}",
            "do what Hive's message asks for; or give the registration up:"
            f" `kafka2hive recover --forget-registration {partition.table} {shlex.quote(partition.path)} -c MAP`",
        )
        yield RefusedByHive(partition.table, error, frozenset({partition}))
    for partition, where in sorted(result.misplaced.items()):
        error = TableError(
            "hive.misplaced",
            f"{partition.table} partition {partition.path} is registered at {where}, but its rows are at"
            f" {partition.location}: readers would not see them",
            "drop the partition in Hive, or correct the table's location in the map",
        )
        yield RefusedByHive(partition.table, error, frozenset({partition}))


class Registrar:
    """Registers partitions in a thread, from `start` to `end`. Callers wait for Hive only in `settle` and `end`.

    The thread calls `close` when it ends, because nobody else knows when it is done with `metastore`.
    """

    def __init__(
        self,
        metastore: Partitions,
        ensure: EnsureTable,
        background: Background,
        clock: Clock | None = None,
        tables: TableLooks | None = None,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self._metastore = metastore
        self._tables = tables
        self._close = close
        self._clock = clock or SystemClock()
        self._watched: dict[str, frozenset[HivePartition]] = {}
        self._counted: dict[str, frozenset[HivePartition]] = {}
        self._put_back: frozenset[HivePartition] = frozenset()
        self._looked_at = -math.inf
        self._to_look_at: list[HivePartition] = []
        self._dropped = DroppedPartitions()
        self._ensure = ensure
        self._background = background
        self._unregistered: set[HivePartition] = set()
        self._events: list[RegistrarEvent] = []
        self._checked: frozenset[HivePartition] = frozenset()
        self._refused: frozenset[HivePartition] = frozenset()
        self._no_answer: MetastoreUnavailable | None = None
        self._condition = background.condition()
        self._ending = False
        self._busy = False
        self._once_more = False
        self._thread: Thread | None = None
        self._containment = Containment()

    def start(self) -> None:
        self._thread = self._background.start("registrar", self._work)

    def enqueue(self, unregistered: frozenset[HivePartition], before: Iterable[HivePartition] = ()) -> None:
        """Hand over partitions to register, and return at once. They replace those that the ledger had pending `before`.

        A partition that has moved since is pending at its home only: at its early place, Hive would hide new rows (K6).
        """
        with self._condition:
            self._unregistered = self._unregistered.difference(before) | unregistered
            self._condition.notify_all()

    def give_up(self, partitions: frozenset[HivePartition]) -> None:
        """Stop trying to register these partitions. A statement under way may still register them."""
        with self._condition:
            self._unregistered -= partitions

    def watch(
        self,
        table: str,
        partitions: frozenset[HivePartition],
        counted: frozenset[HivePartition] = frozenset(),
    ) -> None:
        """Replace the partitions of a table whose locations in Hive are compared every LOOK_SECONDS.

        `counted` are moved partitions whose time until retirement is running. If one of their locations is put back, it is
        corrected as soon as a later call leaves the partition out of `counted` (K8).
        """
        with self._condition:
            if (partitions, counted) != (self._watched.get(table), self._counted.get(table)):
                self._watched[table], self._counted[table] = partitions, counted
                self._condition.notify_all()

    def drop(self, table: str, dropped: Mapping[HivePartition, bool]) -> None:
        """Replace the dropped partitions of a table; `dropped` maps each to whether the ledger records that Hive lacks it.

        Those that are not recorded so are dropped from Hive. All are looked for again from time to time (E3).
        """
        with self._condition:
            if self._dropped.replace(table, dropped):
                self._condition.notify_all()

    def keep_dropped(self) -> bool:
        """If looks are due, look for a slice of the dropped partitions in Hive (E3). Return whether more of them wait."""
        now = self._clock.monotonic()
        with self._condition:
            due = self._dropped.take(now, self._metastore.look_size)
        if not due:
            return False
        looks, outage = look_and_drop(self._metastore, due, self._clock)
        with self._condition:
            if outage is not None:
                log.warning("dropped partitions are looked for again later: %s", outage, extra=RECURRING)
                self._dropped.postpone(now)
            self._events += [event for look, at in looks for event in self._dropped.by_table(look, at)]
            return self._dropped.next_look <= now

    def keep_tables(self) -> bool:
        """If a look is due, look for a slice of the run's tables in Hive (R12). Return whether more of them wait."""
        if self._tables is None:
            return False
        look = self._tables.look()
        with self._condition:
            self._events += look.gone
            self._events += [RefusedByHive(name, error) for name, error in look.differs.items()]
        return self._tables.next_look <= self._clock.monotonic()

    def keep_locations(self) -> bool:
        """If a look is due, compare the locations of `look_size` watched partitions in the caller's thread.

        Return whether more of them wait. After an outage the next look begins anew.
        """
        now = self._clock.monotonic()
        with self._condition:
            due = sorted(self._due())
            self._put_back -= frozenset(due)
        if not due and not self._to_look_at and now - self._looked_at >= LOOK_SECONDS:
            self._looked_at = now
            with self._condition:
                self._to_look_at = sorted(frozenset[HivePartition]().union(*self._watched.values()))
        if not due:
            size = self._metastore.look_size  # then new partitions get their turn
            due, self._to_look_at = self._to_look_at[:size], self._to_look_at[size:]
        asked_at = self._clock.epoch_ms() / 1000
        check = keep_locations(self._metastore, due, self._is_watched, self._is_counted)
        for partition, why in check.refused.items():
            log.warning("Hive refuses the location of %s %s: %s", partition.table, partition.path, why)
        if check.outage is not None:
            self._to_look_at = []
        with self._condition:
            self._put_back |= check.put_back
            if check.corrected or check.put_back:
                self._events.append(LocationCorrection(check.corrected | check.put_back))
            if check.right or check.put_back:
                self._events.append(LocationLook(check.right, check.put_back, asked_at))
        return bool(self._to_look_at)

    def _due(self) -> frozenset[HivePartition]:
        """Return the partitions that were put back and may be corrected now. The caller must hold the condition."""
        return self._put_back - frozenset[HivePartition]().union(*self._counted.values())

    def _is_watched(self, partition: HivePartition) -> bool:
        with self._condition:
            return not self._ending and partition in self._watched.get(partition.table, ())

    def _is_counted(self, partition: HivePartition) -> bool:
        with self._condition:
            return partition in self._counted.get(partition.table, ())

    def take_events(self) -> list[RegistrarEvent]:
        """Return the events since the last call, in order."""
        with self._condition:
            events, self._events = self._events, []
            return events

    def settle(self, seconds: float) -> bool:
        """Try once more to register pending partitions that were not refused, for at most `seconds`.

        Return whether all partitions are registered. It also waits until the due looks for dropped partitions are done, but
        not for the end of an outage, because the ledgers keep what is pending.
        """
        with self._condition:
            self._once_more = bool(self._unregistered - self._refused)
            self._condition.notify_all()
            # if the try under way registers all partitions, the wait ends with it
            self._condition.wait_for(self._is_settled, seconds)
            return not self._unregistered

    def _is_settled(self) -> bool:
        if self._busy or (self._once_more and self._unregistered):
            return False
        return self._no_answer is not None or self._dropped.next_look > self._clock.monotonic()

    @property
    def unanswered(self) -> frozenset[HivePartition]:
        """The pending partitions about which Hive has not answered: all but the refused ones."""
        with self._condition:
            return frozenset(self._unregistered) - self._refused

    @property
    def no_answer(self) -> MetastoreUnavailable | None:
        """Why Hive did not answer about some partitions in the last finished try; None if it answered about all."""
        with self._condition:
            return self._no_answer

    def end(self) -> None:
        """Let the thread finish the try or look under way, for at most RETRY_SECONDS, and stop it.

        Pending registrations stay in the ledgers.
        """
        with self._condition:
            self._ending = True
            self._condition.notify_all()
        if self._thread is not None:
            self._thread.join(RETRY_SECONDS)

    def register_pending(self) -> frozenset[HivePartition]:
        """Make one try in the caller's thread, and return the partitions that are still pending."""
        with self._condition:
            unregistered = frozenset(self._unregistered)
        if not unregistered:
            return unregistered
        try:
            attempt = self._attempt(unregistered)
        except Kafka2HiveError as error:
            log.error("registering in Hive failed, and is tried again: %s", error)
            return unregistered
        registered = unregistered - attempt.pending
        with self._condition:
            self._checked |= registered
            self._refused = attempt.refused
            self._no_answer = attempt.no_answer
            self._unregistered -= registered
            self._events += attempt.events
        return attempt.pending

    def _attempt(self, unregistered: frozenset[HivePartition]) -> Attempt:
        """Register the partitions. A bug refuses only the table for which it happens: then each table is tried alone."""

        def register_those(partitions: frozenset[HivePartition]) -> list[Attempt] | Exception:
            return self._containment.attempt(
                ", ".join(sorted({p.table for p in partitions})),
                lambda: register_now(self._metastore, self._ensure, partitions, self._checked),
            )

        outcome = register_those(unregistered)
        if not isinstance(outcome, Exception):
            return outcome[0]
        attempts = []
        for table in sorted({p.table for p in unregistered}):
            of_table = frozenset(p for p in unregistered if p.table == table)
            alone = register_those(of_table)
            if isinstance(alone, Exception):
                refused = RefusedByHive(table, bug_in(table, alone))
                alone = [Attempt(of_table, of_table, (refused,))]
            attempts += alone
        return Attempt(
            frozenset[HivePartition]().union(*(each.pending for each in attempts)),
            frozenset[HivePartition]().union(*(each.refused for each in attempts)),
            tuple(event for each in attempts for event in each.events),
            next((each.no_answer for each in attempts if each.no_answer is not None), None),
        )

    def _work(self) -> None:
        try:
            self._register_until_end()
        finally:
            self._close()

    def _register_until_end(self) -> None:
        failed, more = frozenset[HivePartition](), False
        while True:
            with self._condition:
                self._busy = False
                self._condition.notify_all()
                if not more:
                    look_at = self._next_look_at()
                    seconds = None if look_at == math.inf else max(0.0, look_at - self._clock.monotonic())
                    self._condition.wait_for(partial(self._has_work, look_at), seconds)
                if self._ending:
                    return
                is_due = not more or self._has_other_work(failed)
                self._busy, self._once_more = is_due and bool(self._unregistered), False
            if is_due:
                failed = self.register_pending()
            with self._condition:
                self._busy = False
                self._condition.notify_all()
            more = not (failed and self.no_answer is not None) and self._look()
            with self._condition:
                if failed and not more:
                    # wait before the next try of refused or unanswered partitions, unless new partitions come
                    self._condition.wait_for(partial(self._has_other_work, failed), RETRY_SECONDS)

    def _look(self) -> bool:
        """Do a slice of each look that is due. Return whether more wait."""
        looks = (self.keep_locations, self.keep_dropped, self.keep_tables)
        outcomes = [self._containment.attempt("a look in Hive", look) for look in looks]
        return any(not isinstance(more, Exception) and more[0] for more in outcomes)

    def _next_look_at(self) -> float:
        """Return when Hive is asked again about locations or dropped partitions (monotonic seconds), infinity for never."""
        look_at = self._dropped.next_look
        if self._tables is not None:
            look_at = min(look_at, self._tables.next_look)
        if any(self._watched.values()):
            look_at = min(look_at, -math.inf if self._due() else self._looked_at + LOOK_SECONDS)
        return look_at

    def _has_work(self, look_at: float) -> bool:
        return bool(self._unregistered) or self._ending or self._next_look_at() < look_at

    def _has_other_work(self, failed: frozenset[HivePartition]) -> bool:
        return self._ending or self._once_more or bool(self._unregistered - failed)


class NoRegistrar:
    """The Registrar of a map without Hive: partitions stay pending registrations in the ledgers."""

    def start(self) -> None:
        log.warning(
            "the map has no hive section: files are published, and partitions stay pending registrations in the ledgers"
        )

    def enqueue(self, unregistered: frozenset[HivePartition], before: Iterable[HivePartition] = ()) -> None:
        """Do nothing."""

    def give_up(self, partitions: frozenset[HivePartition]) -> None:
        """Do nothing."""

    def watch(
        self,
        table: str,
        partitions: frozenset[HivePartition],
        counted: frozenset[HivePartition] = frozenset(),
    ) -> None:
        """Do nothing."""

    def drop(self, table: str, dropped: Mapping[HivePartition, bool]) -> None:
        """Do nothing: without Hive, nobody looks for dropped partitions."""

    def take_events(self) -> list[RegistrarEvent]:
        return []

    def settle(self, seconds: float) -> bool:
        return True

    @property
    def unanswered(self) -> frozenset[HivePartition]:
        return frozenset()

    @property
    def no_answer(self) -> MetastoreUnavailable | None:
        return None

    def end(self) -> None:
        """Do nothing, because there is no thread."""
