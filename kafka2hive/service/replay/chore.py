"""The chore that replays dead letters by an operator's order (docs/protocol.md, A replay by order).

The work of an order is cut into batches. A batch is an epoch of its table; Spark runs its tasks together with those of other
tables. The ledger records the progress of an order, so a run that takes the table over continues the order.
"""

import logging
import math
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Protocol

from kafka2hive.ledger.history import Letters
from kafka2hive.ledger.inbox import Order, ReplayLetters
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import Replay
from kafka2hive.model.errors import (
    ConfigError,
    Kafka2HiveError,
    ManualActionRequired,
    ServiceUnavailable,
    TableError,
)
from kafka2hive.model.files import DataFile
from kafka2hive.model.snapshot import RunningReplay
from kafka2hive.model.text import counted
from kafka2hive.plan.contract import TableManifest, TaskPlan
from kafka2hive.service.chores.port import TableOwner
from kafka2hive.service.hive.places import with_places
from kafka2hive.service.orders.answers import next_replay
from kafka2hive.service.replay.letter_files import (
    FileOfLetters,
    ReplayCounts,
    UntouchedFiles,
    judge_batch,
    oldest_first,
    progress_after,
    rules_digest,
    search_letters,
)
from kafka2hive.service.tables.table_state import Table
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import StorageError

log = logging.getLogger(__name__)

BATCH_LETTERS, BATCH_BYTES = 50_000, 32_000_000
"""Limits on the letters and bytes of one epoch's files; a single file may have more."""
SEARCH_SECONDS, IDLE_SEARCH_SECONDS = 0.5, 5.0
"""How long one step reads the ledger's history before other tables get their turn: in a busy run, and in an idle run."""
_OUTAGES = ("storage.unavailable", "storage.outcome_unknown")
_MOST_TRIES = 10
"""How many times a batch is tried while the file system does not answer its tasks, because one file may stay unreadable."""


@dataclass(slots=True)
class _OrderWork:
    """One order that is under way.

    - `generation`: the ledger's generation; after a new take-over the work begins again.
    - `search`, `letters`: the search for the order's files, and its result so far.
    - `files`: the files still to be decoded; None until the search has ended.
    - `in_flight`: the files of the epoch under way, by task.
    - `untouched`: what the replay leaves unchanged so far (see UntouchedFiles).
    - `records_next`: whether the table's records have the next turn.
    - `alone`: whether the next batch must be the only one of its epoch, because the last epoch with it failed as a whole.
    - `outages`: how many times the file system did not answer the tasks of the next batch.
    """

    order: Order
    instruction: ReplayLetters
    generation: int
    running: RunningReplay
    search: Iterator[Letters]
    letters: Letters
    files: deque[FileOfLetters] | None = None
    in_flight: dict[int, DataFile] = field(default_factory=dict)
    untouched: UntouchedFiles = field(default_factory=UntouchedFiles)
    records_next: bool = False
    alone: bool = False
    outages: int = 0


class ReplayListener(Protocol):
    """Learns how a replay goes on."""

    def interrupted(self, table: str, error: StorageError) -> None:
        """Note that the search for letters was interrupted, and continues with the next step."""
        ...

    def ended(self, table: str, done: RunningReplay, untouched: UntouchedFiles) -> None:
        """Note that no letters are left, what was done, and what was left unchanged."""
        ...


class ReplayChore:
    """The replays of dead letters, at most one per table. With `once`, a search is not interrupted."""

    instruction = ReplayLetters

    def __init__(
        self, wiring: Wiring, owner: TableOwner, *, once: bool, listeners: Sequence[ReplayListener] = ()
    ) -> None:
        self._wiring = wiring
        self._owner = owner
        self._once = once
        self._listeners = listeners
        self._works: dict[str, _OrderWork] = {}
        self._ended: list[Order] = []

    def forget(self, table: Table) -> None:
        self._works.pop(table.name, None)  # the order is in the inbox, and begins again

    def keep(self, waiting: Collection[str]) -> None:
        """Forget orders that somebody withdrew: their ids are not in `waiting`, which has the ids in the inbox."""
        for name, work in list(self._works.items()):
            if work.order.id not in waiting:
                log.info("%s: order %s from %s was withdrawn", name, work.order.id, work.order.given_by)
                del self._works[name]

    def begin(self, table: Table, orders: Sequence[Order], unread: Collection[str]) -> None:
        """Begin the order that is next, unless an order of the table is under way.

        An order that cannot be done is recorded as refused.
        """
        order = next_replay(orders, unread, table.owned.state)
        if order is not None and table.name not in self._works:
            self._begin(table, order)

    def _begin(self, table: Table, order: Order) -> None:
        assert isinstance(order.instruction, ReplayLetters)
        try:
            self._check(table, order.instruction, _done_before(table.owned.state.replaying, order))
        except Kafka2HiveError as error:
            self._owner.carry_out(table, order, error)
            self._ended.append(order)
            return
        owned = table.owned.ledger
        known = owned.state.replaying
        if known is None or known.order != order.id:
            known = RunningReplay(order=order.id, through=owned.state.epoch)
        text = "%s: order %s from %s: replaying dead letters up to epoch %d"
        log.info(text, table.name, order.id, order.given_by, known.through)
        self._works[table.name] = self._work(order, order.instruction, owned, known)

    def _check(self, table: Table, instruction: ReplayLetters, done: str) -> None:
        """Raise ConfigError if this run cannot carry the order out; the message ends with `done`, the order's progress."""
        if instruction.rules != rules_digest(table.rule, self._wiring.map):
            raise ConfigError(
                "order.other_map",
                f"{table.name}: the run's map has different rules for the table than the command's map: {done}",
                f"restart the run with the new map, then type `kafka2hive dead-letters replay --table {table.name} -c MAP` again",
            )
        if table.rule.sql is not None:
            raise ConfigError(
                "sql.needs_spark",
                f"{table.name} has `sql`, so its dead letters cannot be replayed: {done}",
                "docs/sql.md lists the limits of such tables",
            )
        try:
            if instruction.since:
                datetime.fromisoformat(instruction.since)
        except ValueError as error:
            raise ConfigError("usage.since", f"--since {instruction.since}: {error}: {done}") from error

    def _work(
        self, order: Order, instruction: ReplayLetters, owned: OwnedLedger, running: RunningReplay
    ) -> _OrderWork:
        letters = Letters(owned.state, running.through)
        return _OrderWork(
            order=order,
            instruction=instruction,
            generation=owned.generation.number,
            running=running,
            search=self._new_search(owned, letters),
            letters=letters,
        )

    def _new_search(self, owned: OwnedLedger, letters: Letters) -> Iterator[Letters]:
        return search_letters(self._wiring.ports.files, owned.paths, owned.directory, letters)

    def step(self, *, is_idle: bool) -> None:
        """Search for letters, and end the orders without letters left."""
        seconds = math.inf if self._once else IDLE_SEARCH_SECONDS if is_idle else SEARCH_SECONDS
        serving = [t for t in self._owner.serving() if t.name in self._works]
        self._owner.map_tables(serving, partial(self._step, seconds))

    def ended(self) -> list[Order]:
        ended, self._ended = self._ended, []
        return ended

    def _step(self, seconds: float, table: Table) -> None:
        work = self._works[table.name]
        ledger = table.owned.ledger
        if work.generation != ledger.generation.number:
            del self._works[table.name]  # the order is in the inbox, and begins again
            return
        if work.files is None:
            try:
                self._search(work, seconds)
            except StorageError as error:
                log.info(
                    "%s: the search for letters was interrupted and continues later: %s", table.name, error
                )
                work.search = self._new_search(ledger, work.letters)
                for listener in self._listeners:
                    listener.interrupted(table.name, error)
                return
            except ManualActionRequired as error:
                self._end(table, work, error)
                return
        if work.files and ledger.state.dropped:
            dropped = {each.partition for each in ledger.state.dropped}  # perhaps since the search
            work.files = deque(each for each in work.files if each.file.hive_partition not in dropped)
        if work.files is not None and not work.files:
            for listener in self._listeners:
                listener.ended(table.name, work.running, work.untouched)
            self._end(table, work, ReplayCounts.of(work.running, work.untouched).result)

    def _search(self, work: _OrderWork, seconds: float) -> None:
        clock = self._wiring.ports.clock
        until = clock.monotonic() + seconds
        for _ in work.search:
            if clock.monotonic() > until:
                return
        work.files = deque(oldest_first(work.letters))

    def _end(self, table: Table, work: _OrderWork, result: str | Kafka2HiveError) -> None:
        self._owner.carry_out(table, work.order, result)
        del self._works[table.name]
        self._ended.append(work.order)

    def files_left(self, table: str) -> int:
        """Return how many files of letters are still to be decoded; 0 before the search for them has ended."""
        work = self._works.get(table)
        return 0 if work is None else len(work.files or ())

    def tables_with_turn(self) -> frozenset[str]:
        """Return the tables whose next epoch decodes letters instead of records."""
        return frozenset(name for name, work in self._ready() if not work.records_next and not work.alone)

    def _ready(self) -> list[tuple[str, _OrderWork]]:
        serving = {table.name for table in self._owner.serving()}
        return [(name, work) for name, work in self._works.items() if work.files and name in serving]

    @property
    def is_waiting(self) -> bool:
        """Return whether letters wait to be decoded."""
        return bool(self._ready())

    def lone_tasks(self, slots: int) -> tuple[TaskPlan, ...]:
        """Return the tasks of a batch that must be the only one of its epoch and has the next turn, or an empty tuple.

        A batch has at most `slots` files, one per task.
        """
        for name, work in self._ready():
            if work.alone and not work.records_next:
                return tuple(self._guarded_batch(name, work, 0, slots))
        return ()

    def tasks_with(self, others: Sequence[TaskPlan], slots: int) -> tuple[TaskPlan, ...]:
        """Return the tasks to add to an epoch whose tasks `others` read records: a batch for each table without such tasks.

        If there are neither such tasks nor such batches, return the lone batch. Gives the next turn to the letters of tables
        that read records now.
        """
        taken = {task.table for plan in others for task in plan.tables}
        plans: list[TaskPlan] = []
        for name, work in self._ready():
            if name in taken or work.alone:
                work.records_next = False
            else:
                plans += self._guarded_batch(name, work, len(others) + len(plans), slots)
        return tuple(plans) if plans or others else self.lone_tasks(slots)

    def _guarded_batch(self, name: str, work: _OrderWork, first: int, slots: int) -> list[TaskPlan]:
        table = self._owner.tables[name]
        batches = self._owner.attempt(table, lambda table: self._batch(name, work, first, slots))
        return batches[0] if batches else []

    def _batch(self, name: str, work: _OrderWork, first: int, slots: int) -> list[TaskPlan]:
        table = self._owner.tables[name]
        owned, now_ms = table.owned.ledger, self._wiring.ports.clock.epoch_ms()
        plans: list[TaskPlan] = []
        letters = size = 0
        assert work.files is not None
        for index, letter_file in enumerate(islice(work.files, slots), first):
            letters, size = letters + letter_file.file.rows, size + letter_file.file.length
            if plans and (letters > BATCH_LETTERS or size > BATCH_BYTES):
                break
            instruction = work.instruction
            task = letter_file.task(
                state=owned.state,
                owned=owned,
                planned_at_ms=now_ms,
                reason=instruction.reason,
                since=instruction.since,
            )
            plans.append(TaskPlan(index, (task,)))
            work.in_flight[index] = letter_file.file
        return plans

    def publish(self, table: Table, manifests: Sequence[TableManifest]) -> None:
        """Commit the results of the table's batch, or end the order if its tasks failed.

        Raises the errors of `TableOwner.publish`. Raises ServiceUnavailable if the file system did not answer a task; then the
        batch is repeated after the table's records.
        """
        work = self._works[table.name]
        planned, work.in_flight = work.in_flight, {}
        untouched = replace(work.untouched, not_read=list(work.untouched.not_read))
        batch = judge_batch(planned, manifests, untouched)
        if batch.failure is not None:
            failure, work.records_next = batch.failure, True
            work.outages += failure.code in _OUTAGES
            if failure.code in _OUTAGES and work.outages < _MOST_TRIES:
                raise ServiceUnavailable(failure.code, f"{table.name}: {failure.message}", failure.remedy)
            self._refuse(work, batch.failure.error, table)
            return
        if batch.replayed:
            running = progress_after(work.running, batch.replayed)
            registered = table.owned.registered
            change = Replay(
                files=batch.files, replayed=batch.replayed, running=running, registered=registered
            )
            files = self._wiring.ports.files
            self._owner.publish(table, with_places(files, table.owned.state, table.rule, change))
            work.running = running
        for path, why in untouched.not_read[len(work.untouched.not_read) :]:
            log.warning("%s: letters in %s were not read: %s", table.name, path, why)
        work.untouched, work.records_next = untouched, True
        work.alone, work.outages = False, 0
        assert work.files is not None
        for _ in planned:
            work.files.popleft()
        log.info(
            "%s: order %s: %s replayed, %s left",
            table.name,
            work.order.id,
            counted(work.running.files, "file"),
            counted(len(work.files), "file"),
        )

    def failed(self, tables: Collection[str], reason: str) -> bool:
        """Handle an epoch that failed as a whole. Return whether it had a batch; then the cause may be the batch.

        The batch is tried once more alone in its epoch. If it was alone already, its order ends.
        """
        in_flight = {name: work for name, work in self._works.items() if work.in_flight}
        for name, work in in_flight.items():
            work.in_flight = {}
            was_alone = work.alone
            work.alone = True
            if was_alone and set(tables) == {name}:
                text = f"{name}: the tasks that decode its letters died or raised an error: {reason}"
                error = TableError("task.killed", text, "read the logs of the tasks")
                self._owner.map_tables([self._owner.tables[name]], partial(self._refuse, work, error))
        return bool(in_flight)

    def _refuse(self, work: _OrderWork, error: TableError, table: Table) -> None:
        """End the order with the error, which names the progress so far; the replayed files stay replayed."""
        done = work.running
        before = f"{counted(done.files, 'file')} with {counted(done.account.read, 'letter')} replayed before"
        self._end(table, work, TableError(error.code, f"{error.message} ({before})", error.remedy))


def _done_before(running: RunningReplay | None, order: Order) -> str:
    if running is None or running.order != order.id:
        return "nothing was done"
    return f"the order ends after {counted(running.files, 'file')} with {counted(running.account.read, 'letter')}"
