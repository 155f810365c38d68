"""`kafka2hive status`: where every table stands, by its ledger and by Kafka; only reads."""

from dataclasses import dataclass

from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.kafka.views import Watermark
from kafka2hive.ledger.history import final_snapshots
from kafka2hive.ledger.look import View, look
from kafka2hive.ledger.take_over import NoLedger
from kafka2hive.model.account import Account
from kafka2hive.model.errors import ExitCode, Kafka2HiveError, ServiceUnavailable
from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.ledgers import ledger_tables
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import StorageError

LAST_EPOCHS = 5


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """One topic partition: `position` is the next offset to read; `log_end` and `lag` None when Kafka did not answer."""

    topic: str
    number: int
    position: int
    log_end: int | None
    lag: int | None


@dataclass(frozen=True, slots=True)
class EpochStatus:
    """One of a table's last epochs; `written_at` is the writer's clock, ISO-8601 UTC."""

    epoch: int
    written_at: str
    files: int
    rows: int
    account: Account


@dataclass(frozen=True, slots=True)
class TableStatus:
    """One table. `lag` in records, None when Kafka did not answer; `newest_ms`: time of the newest visible record.

    `pending_files`: files of an unfinished commit.
    """

    table: str
    service: str
    generation: str
    owner: str
    epoch: int
    written_at: str
    pending: bool
    pending_files: int
    lag: int | None
    newest_ms: int | None
    partitions: tuple[PartitionStatus, ...]
    debts: tuple[HivePartition, ...]
    last_epochs: tuple[EpochStatus, ...]
    gaps: int
    losses: int


@dataclass(frozen=True, slots=True)
class StatusResult:
    """`kafka_error`: why there is no lag. `errors`: tables that could not be read."""

    tables: tuple[TableStatus, ...]
    errors: tuple[tuple[str, Kafka2HiveError], ...]
    kafka_error: str | None

    @property
    def exit_code(self) -> ExitCode:
        return self.errors[0][1].exit_code if self.errors else ExitCode.DONE


def status(wiring: Wiring, kafka: KafkaAdmin | None) -> StatusResult:
    """Look at every ledger of the map's service. Raises ServiceUnavailable when the file system does not answer."""
    views: list[View] = []
    errors: list[tuple[str, Kafka2HiveError]] = []
    for paths in ledger_tables(wiring):
        try:
            view = look(wiring.ports.files, paths)
        except NoLedger:
            continue
        except Kafka2HiveError as error:
            errors.append((paths.table, error))
            continue
        if view.state.service == wiring.map.service:
            views.append(view)
    ends: dict[TopicPartition, Watermark] = {}
    kafka_error = None
    if kafka is not None and views:
        try:
            ends = kafka.latest({p.topic_partition for v in views for p in v.state.positions})
        except ServiceUnavailable as error:
            kafka_error = error.message
    tables = []
    for view in views:
        try:
            tables.append(_table(wiring, view, ends))
        except Kafka2HiveError as error:
            errors.append((view.paths.table, error))
        except StorageError as error:
            moved = ServiceUnavailable(
                "storage.unavailable", f"reading {view.directory}: {error}", "ask again"
            )
            errors.append((view.paths.table, moved))
    return StatusResult(tuple(tables), tuple(errors), kafka_error)


def _table(wiring: Wiring, view: View, ends: dict[TopicPartition, Watermark]) -> TableStatus:
    partitions = tuple(_partition(view.state, p.topic_partition, p.end, ends) for p in view.state.positions)
    lags = [p.lag for p in partitions if p.lag is not None]
    return TableStatus(
        table=view.paths.table,
        service=view.state.service,
        generation=view.generation.name,
        owner=view.generation.owner or "init",
        epoch=view.state.epoch,
        written_at=view.state.written_at,
        pending=view.newest.pending,
        pending_files=len(view.state.files) if view.newest.pending else 0,
        lag=sum(lags) if lags or not partitions else None,
        newest_ms=view.state.newest_ms,
        partitions=partitions,
        debts=view.state.debts,
        last_epochs=_last_epochs(wiring, view),
        gaps=len(view.state.gaps),
        losses=len(view.state.losses),
    )


def _partition(
    state: Snapshot, tp: TopicPartition, position: int, ends: dict[TopicPartition, Watermark]
) -> PartitionStatus:
    end = ends[tp].offset if tp in ends else None
    return PartitionStatus(
        tp.topic, tp.number, position, end, None if end is None else max(end - position, 0)
    )


def _last_epochs(wiring: Wiring, view: View) -> tuple[EpochStatus, ...]:
    epochs: list[EpochStatus] = []
    for snapshot in final_snapshots(wiring.ports.files, view.paths, view.directory):
        if len(epochs) == LAST_EPOCHS:
            break
        total = sum((a.account for a in snapshot.accounts), Account())
        rows = sum(f.rows for f in snapshot.files)
        epochs.append(EpochStatus(snapshot.epoch, snapshot.written_at, len(snapshot.files), rows, total))
    return tuple(epochs)
