"""What `recover` is asked, and what became of each table."""

from dataclasses import dataclass, field, replace
from enum import Enum

from kafka2hive.kafka.positions import GapAcceptance
from kafka2hive.model.errors import ExitCode, Kafka2HiveError, worst
from kafka2hive.model.files import FileMoves, HivePartition
from kafka2hive.model.offsets import Position
from kafka2hive.model.snapshot import AcceptedGap
from kafka2hive.service.recover.forget import Registration
from kafka2hive.service.recover.rebuild import RebuiltLedger
from kafka2hive.service.tables.start_preview import PendingFiles


@dataclass(frozen=True, slots=True)
class RecoverRequest:
    """What is asked; `tables` empty: all of the map's service. Addresses are full final paths.

    `accept_location` names tables whose changed location in the map is meant. `rebuild` names a table whose ledger is
    lost; then `accept_gap` is about what the data files do not prove.
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


class Recovery(Enum):
    DONE = "done"
    PLANNED = "planned"
    STOPPED = "stopped"
    OWNED = "owned"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Relocation:
    """Where a table's files were written until now, and where they are from now on."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class RecoveredTable:
    """One table's result. `epoch` is the newest, `rolled_forward` the one that was pending (None: nothing was).

    `repaired`, `gaps` and `forgotten` are the losses, gaps and registrations given up that this call has recorded.
    `resumes_at`: positions (end = next offset) at which the next run resumes. DONE with an `error`: rolled forward, but
    Hive refuses its partitions.
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


@dataclass(frozen=True, slots=True)
class RecoverResult:
    """All tables of the call, by name. `kafka_error`: why `--plan` does not know whether Kafka still fits the positions."""

    tables: tuple[RecoveredTable, ...]
    kafka_error: str | None = None

    @property
    def exit_code(self) -> ExitCode:
        """The worst: STOP before owned before anything that does not answer or is set aside."""
        codes = [t.error.exit_code for t in self.tables if t.error is not None]
        return worst(codes if self.kafka_error is None else [*codes, ExitCode.UNAVAILABLE])


def failed(table: str, error: Kafka2HiveError) -> RecoveredTable:
    kinds = {ExitCode.STOP: Recovery.STOPPED, ExitCode.OWNED: Recovery.OWNED}
    return RecoveredTable(table, kinds.get(error.exit_code, Recovery.FAILED), error=error)


def gaps_without_effect(request: RecoverRequest, result: RecoverResult) -> list[GapAcceptance]:
    """Accepted gaps where nothing is lost; none while a table is not recovered, or where nothing is recorded."""
    if request.plan_only or request.rebuild or any(t.recovery is not Recovery.DONE for t in result.tables):
        return []
    found = [gap.range.topic_partition for table in result.tables for gap in table.gaps]
    return [
        gap for gap in request.accept_gap if not any(replace(gap, up_to=None).covers(tp, 0) for tp in found)
    ]


def paths_without_effect(request: RecoverRequest, result: RecoverResult) -> list[str]:
    """Files that were given as lost and are not lost in any of the ledgers; none with `--plan`."""
    if request.plan_only:
        return []
    return sorted(
        {*request.accept_loss, *request.refetch} - {path for t in result.tables for path in t.repaired}
    )
