"""The request for `recover`, and its outcome for each table."""

import re
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache

from kafka2hive.kafka.positions import GapAcceptance
from kafka2hive.model.errors import ExitCode, Kafka2HiveError, worst
from kafka2hive.model.files import FileMoves, HivePartition
from kafka2hive.model.offsets import Position, TopicPartition
from kafka2hive.model.snapshot import AcceptedGap
from kafka2hive.service.recover.lost_files import PlannedRepair
from kafka2hive.service.recover.rebuild import RebuiltLedger
from kafka2hive.service.start.preview import PendingFiles


@dataclass(frozen=True, slots=True)
class Registration:
    """A Hive partition as an operator names it: the Hive table and the path, `dt=2013-01-17/hr=05`."""

    table: str
    path: str

    def __str__(self) -> str:
        return f"{self.table} {self.path}"

    def names(self, partition: HivePartition) -> bool:
        return (partition.table, partition.path) == (self.table, self.path)


@dataclass(frozen=True, slots=True)
class OffsetPair:
    """An offset of a topic partition in the former cluster, and the one of the same record in the new cluster."""

    topic_partition: TopicPartition
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class ClusterOffsets:
    """Where tables go on in another cluster: at translated offsets, or at the first records from `at_ms` on.

    If `unproven`, the operator accepts positions around which no records can be compared.
    """

    pairs: tuple[OffsetPair, ...] = ()
    at_ms: int | None = None
    unproven: bool = False


@dataclass(frozen=True, slots=True)
class RecoverRequest:
    """The options of `recover`. If `tables` is empty, all tables of the map's service are recovered.

    `accept_loss` and `refetch` name lost files by their final paths, or by patterns of these (see `is_named`).
    `accept_location` names tables whose changed location in the map is intended, `accept_cluster` those that go on in the
    Kafka cluster that the map names, at `cluster_offsets` if it is not the same cluster under another name. `rebuild` names a
    table whose ledger is lost; then `accept_gap` accepts offsets that the data files do not prove.
    """

    plan_only: bool = False
    take_over: bool = False
    tables: tuple[str, ...] = ()
    accept_loss: tuple[str, ...] = ()
    refetch: tuple[str, ...] = ()
    accept_gap: tuple[GapAcceptance, ...] = ()
    rebuild: str | None = None
    forget: tuple[Registration, ...] = ()
    accept_location: tuple[str, ...] = ()
    accept_cluster: tuple[str, ...] = ()
    cluster_offsets: ClusterOffsets | None = None


class Recovery(Enum):
    """The outcome of `recover` for one table."""

    DONE = "done"
    ORDERED = "ordered"
    PLANNED = "planned"
    STOPPED = "stopped"
    OWNED = "owned"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Relocation:
    """A table's location until now, and its new one."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class RecoveredTable:
    """The outcome for one table. `epoch` is its newest, `rolled_forward` the one that was pending, if there was one.

    `repaired`, `gaps` and `forgotten`: the accepted losses, gaps and forgotten registrations that this call recorded.
    `resumes_at`: the positions (end = next offset) at which the next run resumes. DONE with an `error` means that the
    table was rolled forward, but Hive refuses its partitions. ORDERED means that the table's live run got an order to do it.
    `lost`: with `--plan`, the lost files of finalised epochs; only a repair that names them does something about them.
    """

    table: str
    recovery: Recovery
    generation: str = ""
    epoch: int = -1
    rolled_forward: int | None = None
    moves: FileMoves = field(default_factory=FileMoves)
    pending: PendingFiles | None = None
    orphans_deleted: int = 0
    registered: int = 0
    unregistered: int = 0
    repaired: tuple[str, ...] = ()
    gaps: tuple[AcceptedGap, ...] = ()
    resumes_at: tuple[Position, ...] = ()
    error: Kafka2HiveError | None = None
    rebuilt: RebuiltLedger | None = None
    forgotten: tuple[HivePartition, ...] = ()
    relocated: Relocation | None = None
    lost: tuple[PlannedRepair, ...] = ()


@dataclass(frozen=True, slots=True)
class RecoverResult:
    """The outcomes, sorted by table. `kafka_error`: why `--plan` could not compare the positions with Kafka."""

    tables: tuple[RecoveredTable, ...]
    kafka_error: str | None = None

    @property
    def exit_code(self) -> ExitCode:
        """The worst of all tables' exit codes: STOP, then owned by a live run, then the others."""
        codes = [t.error.exit_code for t in self.tables if t.error is not None]
        return worst(codes if self.kafka_error is None else [*codes, ExitCode.UNAVAILABLE])


def failed_table(table: str, error: Kafka2HiveError) -> RecoveredTable:
    """Return the outcome of a table that was not recovered because of `error`."""
    kinds = {ExitCode.STOP: Recovery.STOPPED, ExitCode.OWNED: Recovery.OWNED}
    return RecoveredTable(table, kinds.get(error.exit_code, Recovery.FAILED), error=error)


def gaps_without_effect(request: RecoverRequest, result: RecoverResult) -> list[GapAcceptance]:
    """Return the accepted gaps that no ledger recorded, because nothing is lost there; empty unless all tables are DONE."""
    if request.plan_only or request.rebuild or any(t.recovery is not Recovery.DONE for t in result.tables):
        return []
    recorded = [gap.range.topic_partition for table in result.tables for gap in table.gaps]
    return [
        gap
        for gap in request.accept_gap
        if not any(replace(gap, up_to=None).covers(tp, 0) for tp in recorded)
    ]


def clusters_without_effect(request: RecoverRequest, result: RecoverResult) -> list[str]:
    """Return the tables whose ledgers are in the map's cluster already, although `accept_cluster` names them."""
    return [
        table.table
        for table in result.tables
        if table.table in request.accept_cluster
        and table.recovery is Recovery.DONE
        and not any(gap.moved_to for gap in table.gaps)
    ]


def paths_without_effect(request: RecoverRequest, result: RecoverResult) -> list[str]:
    """Return the files that were named as lost but are not lost in any ledger; empty with `--plan`."""
    if request.plan_only:
        return []
    repaired = [path for table in result.tables for path in table.repaired]
    return sorted(
        path
        for path in {*request.accept_loss, *request.refetch}
        if not any(is_named(path, file) for file in repaired)
    )


def is_named(path: str, file: str) -> bool:
    """Return whether `path` names the file: it is the file's path, or a pattern of it, whose `*` stands for any text."""
    return path == file or (is_pattern(path) and _expression(path).fullmatch(file) is not None)


def is_pattern(path: str) -> bool:
    return "*" in path


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split("*"))))
