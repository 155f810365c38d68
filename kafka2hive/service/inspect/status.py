"""`kafka2hive status`: where every table stands, by its ledger and by Kafka; only reads."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TypeVar

from kafka2hive.kafka.port import Kafka, Watermark
from kafka2hive.ledger.board import read_boards, read_outcomes
from kafka2hive.ledger.heartbeat import live_owners
from kafka2hive.ledger.history import final_snapshots
from kafka2hive.ledger.look import View
from kafka2hive.model.errors import ExitCode, Kafka2HiveError, worst
from kafka2hive.model.offset_accounting import OffsetAccounting
from kafka2hive.model.offsets import Position, TopicPartition
from kafka2hive.service.inspect.state import (
    LastOutcome,
    NotRunning,
    OwnerLife,
    Runs,
    TableState,
    exit_code_of,
    state_of,
)
from kafka2hive.service.process import process_of
from kafka2hive.service.tables.condition import RunConditions, TableCondition, decode
from kafka2hive.service.tables.ledgers import (
    apart,
    attempt,
    each_ledger,
    ledger_tables,
    literal_rules,
    unknown_tables,
    vanished_ledgers,
)
from kafka2hive.service.tables.routes import known_routes, routed_by_ledgers
from kafka2hive.service.tables.start_preview import KafkaLook, StartPreview, look_at_kafka
from kafka2hive.service.wiring import Wiring

LAST_EPOCHS = 5
First = TypeVar("First")
Second = TypeVar("Second")


@dataclass(frozen=True, slots=True)
class EpochStatus:
    """One of a table's last epochs; `written_at` is the writer's clock, ISO-8601 UTC."""

    epoch: int
    written_at: str
    files: int
    rows: int
    account: OffsetAccounting


@dataclass(frozen=True, slots=True)
class TableStatus:
    """One table, as its ledger (`view`), its live run (`warnings`) or the `last` one, and Kafka show it.

    `ends` of logs: a topic partition that Kafka did not answer for is not among them. `last`: of a table that no live
    run has, unless it was taken over since.
    """

    view: View
    state: TableState
    owner_life: OwnerLife
    warnings: tuple[str, ...]
    ends: Mapping[TopicPartition, Watermark]
    last_epochs: tuple[EpochStatus, ...]
    last: LastOutcome | None = None

    @property
    def name(self) -> str:
        return self.view.paths.table

    def lag_of(self, position: Position) -> int | None:
        """In records; None when Kafka did not answer."""
        end = self.ends.get(position.topic_partition)
        return None if end is None else max(end.offset - position.end, 0)

    @property
    def lag(self) -> int | None:
        """In records; None when Kafka did not answer, or nothing was begun (no positions)."""
        lags = [lag for p in self.view.state.positions if (lag := self.lag_of(p)) is not None]
        return sum(lags) if lags else None


@dataclass(frozen=True, slots=True)
class NotBegun:
    """A table of the map that has no ledger yet; `condition`: what a live run says of it, `last`: what the last one said."""

    table: str
    condition: TableCondition | None = None
    last: LastOutcome | None = None

    @property
    def state(self) -> TableState:
        return NotRunning() if self.condition is None else self.condition.state

    @property
    def exit_code(self) -> ExitCode:
        return exit_code_of(self.state, self.last)


@dataclass(frozen=True, slots=True)
class StatusResult:
    """`kafka_error`: why there is no lag. `errors`: tables that could not be read, or whose ledger is gone.

    `last_run`: the last one of the service, where none is alive. `most_tasks`: how many an epoch of the live run has at most.
    `map_differs`: a live run has loaded another map.
    `decoder`: that of the run's driver, empty when no run has told it.
    """

    tables: tuple[TableStatus, ...]
    errors: tuple[tuple[str, Kafka2HiveError], ...]
    kafka_error: str | None
    not_begun: tuple[NotBegun, ...] = ()
    last_run: RunConditions | None = None
    most_tasks: int | None = None
    map_differs: bool = False
    decoder: str = ""

    @property
    def exit_code(self) -> ExitCode:
        """The worst: STOP before a service that is away, before a wrong name, before a table that is tried again."""
        codes = {error.exit_code for _, error in self.errors}
        codes |= {exit_code_of(t.state, t.last) for t in self.tables} | {t.exit_code for t in self.not_begun}
        if self.kafka_error is not None:
            codes.add(ExitCode.UNAVAILABLE)
        if self.last_run is not None and self.last_run.end is not None and self.last_run.end.trouble:
            codes.add(ExitCode(self.last_run.end.exit_code))
        return worst(codes)


def status(wiring: Wiring, kafka: Kafka | None, wanted: Collection[str] = ()) -> StatusResult:
    """Look at every ledger of the map's service, or at the `wanted` tables, which may be of another service.

    A run on another host is watched for a few heartbeats. Raises ServiceUnavailable when the file
    system does not answer.
    """
    ledgers = ledger_tables(wiring)
    there = {paths.table for paths in ledgers}
    if unknown := unknown_tables(wiring, wanted, there):
        return StatusResult((), tuple(unknown), None)
    vanished = vanished_ledgers(wiring, wanted, there)
    asked = [paths for paths in ledgers if not wanted or paths.table in wanted]
    found, failed = apart(each_ledger(wiring, asked, lambda view: [view]))
    views = [view for view in found if wanted or view.state.service == wiring.map.service]
    routed = routed_by_ledgers(wiring, (view.state for view in views))
    patterns = any(rule.pattern is not None for rule in wiring.map.tables)
    seen, runs = _both(
        wiring,
        lambda: look_at_kafka(kafka, views, routed, patterns=patterns),
        lambda: known_runs(wiring, views),
    )
    starts = StartPreview(wiring, kafka, seen, routed)

    def told(view: View) -> list[TableStatus]:
        return [
            _table(
                wiring=wiring,
                view=view,
                runs=runs,
                in_map=view.paths.table in routed,
                starts=starts,
                seen=seen,
            )
        ]

    shown = (attempt(view.paths.table, partial(told, view)) for view in views)
    tables, not_shown = apart(chain.from_iterable(shown))
    errors = [*vanished, *failed, *not_shown]
    not_begun = _not_begun(wiring, runs, wanted, there | {name for name, _ in errors})
    topics = seen.logs.cluster.topics if seen.logs else ()
    routing = known_routes(wiring, (view.state for view in views), topics, (name for name, _ in failed))
    errors += ((c.table, c.error) for c in routing.conflicts if not wanted or c.table in wanted)
    differs = runs.has_other_map(wiring.map.fingerprint)
    last, most = runs.last, runs.most_tasks
    return StatusResult(
        tables=tuple(tables),
        errors=tuple(errors),
        kafka_error=seen.silent,
        not_begun=not_begun,
        last_run=last,
        most_tasks=most,
        map_differs=differs,
        decoder=runs.decoder,
    )


def _both(wiring: Wiring, first: Callable[[], First], second: Callable[[], Second]) -> tuple[First, Second]:
    """Two questions at once: both wait long when nobody answers."""
    firsts: list[First] = []
    seconds: list[Second] = []
    asks: list[Callable[[], None]] = [lambda: firsts.append(first()), lambda: seconds.append(second())]
    wiring.side_by_side.map(lambda ask: ask(), asks)
    return firsts[0], seconds[0]


def known_runs(wiring: Wiring, views: Collection[View]) -> Runs:
    """Live runs and repairs of the map's service, live owners of its tables under another service's name, and runs that are
    gone.

    What they say is read after it is known who lives: who ends meanwhile has said so.
    """
    root, service = wiring.map.storage.ledger_root, wiring.map.service
    having = {process_of(view.generation.owner) for view in views if view.generation.owner}
    live = live_owners(
        wiring.ports,
        root,
        wiring.processes,
        lambda beating, owner: beating == service or process_of(owner) in having,
    )
    said = read_boards(wiring.ports, root, service, decode)
    ended = read_outcomes(wiring.ports, root, service, decode)
    runs = frozenset(owner for owner, beat in live.items() if not beat.repairs)
    return Runs(runs - ended.keys(), said | ended, frozenset(live) - runs)


def _not_begun(
    wiring: Wiring, runs: Runs, wanted: Collection[str], known: Collection[str]
) -> tuple[NotBegun, ...]:
    """Tables without a ledger: those that the map names, and those that a run has found by a pattern."""
    names = set(literal_rules(wiring))
    if any(rule.pattern is not None for rule in wiring.map.tables):
        names |= {condition.table for run in runs.said.values() for condition in run.tables}
    asked = (names & set(wanted) if wanted else names) - set(known)
    found = ((name, runs.condition(name, None)) for name in sorted(asked))
    return tuple(
        NotBegun(name, live, runs.last_outcome(name, None) if live is None else None) for name, live in found
    )


def _table(
    wiring: Wiring, view: View, runs: Runs, in_map: bool, starts: StartPreview, seen: KafkaLook
) -> TableStatus:
    owner = view.generation.owner
    life = OwnerLife.ALIVE if runs.of(owner) else OwnerLife.DEAD
    if owner is None:
        life = OwnerLife.NOBODY
    condition = runs.condition(view.paths.table, owner)
    repair = runs.repair(view.generation, condition)
    is_left = condition is None and repair is None and life is not OwnerLife.ALIVE
    stop = starts.of(view).stop if is_left else None
    return TableStatus(
        view=view,
        state=repair
        or state_of(condition=condition, life=life, in_map=in_map, stop=stop, table=view.paths.table),
        owner_life=life,
        warnings=condition.warnings if condition is not None else (),
        ends=seen.logs.high if seen.logs else {},
        last_epochs=_last_epochs(wiring, view),
        last=runs.last_outcome(view.paths.table, view.generation) if is_left else None,
    )


def _last_epochs(wiring: Wiring, view: View) -> tuple[EpochStatus, ...]:
    epochs: list[EpochStatus] = []
    for snapshot in final_snapshots(wiring.ports.files, view.paths, view.directory):
        if len(epochs) == LAST_EPOCHS:
            break
        total = sum((a.account for a in snapshot.accounts), OffsetAccounting())
        rows = sum(f.rows for f in snapshot.files)
        epochs.append(
            EpochStatus(
                epoch=snapshot.epoch,
                written_at=snapshot.written_at,
                files=len(snapshot.files),
                rows=rows,
                account=total,
            )
        )
    return tuple(epochs)
