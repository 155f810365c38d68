"""`kafka2hive status`: where every table stands, by its ledger and by Kafka; only reads."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain

from kafka2hive.kafka.port import Kafka, Watermark
from kafka2hive.ledger.reading.board import read_boards
from kafka2hive.ledger.reading.heartbeat import live_owners
from kafka2hive.ledger.reading.history import final_snapshots
from kafka2hive.ledger.reading.look import View
from kafka2hive.model.errors import ExitCode, Kafka2HiveError, worst
from kafka2hive.model.offset_accounting import OffsetAccounting
from kafka2hive.model.offsets import Position, TopicPartition
from kafka2hive.service.conditions.condition import decode
from kafka2hive.service.conditions.derive import KafkaLook, StartPreview, look_at_kafka
from kafka2hive.service.conditions.table_state import LiveRuns, OwnerLife, TableState, exit_code_of, state_of
from kafka2hive.service.shared.ledgers import (
    apart,
    attempt,
    each_ledger,
    ledger_tables,
    literal_rules,
    unknown_tables,
    vanished_ledgers,
)
from kafka2hive.service.shared.process import process_of
from kafka2hive.service.shared.tables import routed_by_ledgers
from kafka2hive.service.shared.wiring import Wiring

LAST_EPOCHS = 5


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
    """One table, as its ledger (`view`), its live run (`warnings`) and Kafka show it.

    `ends` of logs: a topic partition that Kafka did not answer for is not among them.
    """

    view: View
    state: TableState
    owner_life: OwnerLife
    warnings: tuple[str, ...]
    ends: Mapping[TopicPartition, Watermark]
    last_epochs: tuple[EpochStatus, ...]

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
class StatusResult:
    """`kafka_error`: why there is no lag. `errors`: tables that could not be read, or whose ledger is gone.

    `not_begun`: tables of the map that have no ledger yet.
    """

    tables: tuple[TableStatus, ...]
    errors: tuple[tuple[str, Kafka2HiveError], ...]
    kafka_error: str | None
    not_begun: tuple[str, ...] = ()

    @property
    def exit_code(self) -> ExitCode:
        """The worst: STOP before a service that is away, before a wrong name, before a table that is tried again."""
        codes = {error.exit_code for _, error in self.errors} | {exit_code_of(t.state) for t in self.tables}
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
    seen = look_at_kafka(kafka, views, routed)
    live = live_runs(wiring, views) if views else LiveRuns(frozenset(), {})
    starts = StartPreview(wiring, kafka, seen, routed)

    def told(view: View) -> list[TableStatus]:
        return [_table(wiring, view, live, view.paths.table in routed, starts, seen)]

    shown = (attempt(view.paths.table, partial(told, view)) for view in views)
    tables, not_shown = apart(chain.from_iterable(shown))
    errors = [*vanished, *failed, *not_shown]
    literal = literal_rules(wiring).keys()
    not_begun = sorted((literal & set(wanted or literal)) - there - {name for name, _ in errors})
    return StatusResult(tuple(tables), tuple(errors), seen.silent, tuple(not_begun))


def live_runs(wiring: Wiring, views: Collection[View]) -> LiveRuns:
    """Live runs of the map's service, and live owners of its tables under another service's name, with what they report."""
    root, service = wiring.map.storage.ledger_root, wiring.map.service
    said = read_boards(wiring.ports, root, service, decode)
    having = {process_of(view.generation.owner) for view in views if view.generation.owner}
    owners = live_owners(
        wiring.ports,
        root,
        wiring.processes,
        lambda beating, owner: beating == service or process_of(owner) in having,
    )
    return LiveRuns(frozenset(owners), said)


def _table(
    wiring: Wiring, view: View, live: LiveRuns, in_map: bool, starts: StartPreview, seen: KafkaLook
) -> TableStatus:
    owner = view.generation.owner
    life = OwnerLife.ALIVE if live.of(owner) else OwnerLife.DEAD
    if owner is None:
        life = OwnerLife.NOBODY
    condition = live.condition(view.paths.table, owner)
    stop = starts.of(view).stop if condition is None and life is not OwnerLife.ALIVE else None
    return TableStatus(
        view,
        state_of(condition, life, in_map, stop),
        life,
        condition.warnings if condition is not None else (),
        seen.logs.latest if seen.logs else {},
        _last_epochs(wiring, view),
    )


def _last_epochs(wiring: Wiring, view: View) -> tuple[EpochStatus, ...]:
    epochs: list[EpochStatus] = []
    for snapshot in final_snapshots(wiring.ports.files, view.paths, view.directory):
        if len(epochs) == LAST_EPOCHS:
            break
        total = sum((a.account for a in snapshot.accounts), OffsetAccounting())
        rows = sum(f.rows for f in snapshot.files)
        epochs.append(EpochStatus(snapshot.epoch, snapshot.written_at, len(snapshot.files), rows, total))
    return tuple(epochs)
