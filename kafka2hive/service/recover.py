"""`kafka2hive recover`: what a start of `run` does before its first epoch, without Spark and without a JVM.

Takes over, rolls forward, pays Hive's debts, sweeps; idempotent and safe at any moment. Never creates a ledger.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum

from kafka2hive.kafka.acceptance import GapAcceptance
from kafka2hive.ledger.draft import draft
from kafka2hive.ledger.epoch import publish_epoch
from kafka2hive.ledger.look import View, look
from kafka2hive.ledger.promote import MoveCounts
from kafka2hive.ledger.start import Started, StartOrder, start
from kafka2hive.ledger.take_over import NoLedger
from kafka2hive.ledger.tenure import Tenure
from kafka2hive.model.errors import ExitCode, Kafka2HiveError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.layout import LedgerPaths
from kafka2hive.model.offsets import Position
from kafka2hive.service.identity import new_owner, process_of
from kafka2hive.service.judge import Judge
from kafka2hive.service.ledgers import ledger_tables
from kafka2hive.service.pending import PendingFiles, pending_files
from kafka2hive.service.repair import Repairs
from kafka2hive.service.wiring import Wiring

Pay = Callable[[frozenset[HivePartition]], frozenset[HivePartition]]


class Recovery(Enum):
    """What became of one table."""

    DONE = "done"
    PLANNED = "planned"
    STOPPED = "stopped"
    OWNED = "owned"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class RecoverOrder:
    """What a person asks for; `tables` empty: all of the map's service. Addresses are full final paths."""

    plan_only: bool = False
    take_over: bool = False
    tables: tuple[str, ...] = ()
    accept_loss: tuple[str, ...] = ()
    refetch: tuple[str, ...] = ()
    accept_gap: tuple[GapAcceptance, ...] = ()


@dataclass(frozen=True, slots=True)
class RecoveredTable:
    """One table's result. `epoch` is the newest, `rolled_forward` the one that was pending (None: nothing was).

    `resumes_at`: positions (end = next offset) from which the next run goes on.
    """

    table: str
    recovery: Recovery
    generation: str = ""
    epoch: int = -1
    rolled_forward: int | None = None
    moves: MoveCounts = field(default_factory=MoveCounts)
    pending: PendingFiles | None = None
    swept: int = 0
    debts_paid: int = 0
    debts_open: int = 0
    repaired: tuple[str, ...] = ()
    resumes_at: tuple[Position, ...] = ()
    error: Kafka2HiveError | None = None


@dataclass(frozen=True, slots=True)
class RecoverResult:
    tables: tuple[RecoveredTable, ...]

    @property
    def exit_code(self) -> ExitCode:
        """The worst: STOP before owned before anything set aside."""
        errors = [t.error.exit_code for t in self.tables if t.error is not None]
        for code in (ExitCode.BUG, ExitCode.STOP, ExitCode.FENCED, ExitCode.OWNED, ExitCode.UNAVAILABLE):
            if code in errors:
                return code
        return ExitCode.SET_ASIDE if errors else ExitCode.DONE


def recover(wiring: Wiring, order: RecoverOrder, pay: Pay, repairs: Repairs) -> RecoverResult:
    """Recover every ledger of the map's service. `pay` registers Hive partitions and returns what is still owed.

    Raises ServiceUnavailable when the file system does not answer at all.
    """
    me = process_of(new_owner())
    judge = Judge(wiring.ports, wiring.map.storage.ledger_root, wiring.processes, me, order.take_over)
    results = []
    for paths in ledger_tables(wiring):
        if order.tables and paths.table not in order.tables:
            continue
        try:
            view = look(wiring.ports.files, paths)
        except NoLedger:
            continue
        except Kafka2HiveError as error:
            results.append(_failed(paths, error))
            continue
        if view.state.service != wiring.map.service and paths.table not in order.tables:
            continue
        if order.plan_only:
            results.append(_planned(wiring, view))
            continue
        try:
            results.append(_recover_table(wiring, view, order, judge, pay, repairs))
        except Kafka2HiveError as error:
            results.append(_failed(paths, error))
    return RecoverResult(tuple(results))


def _planned(wiring: Wiring, view: View) -> RecoveredTable:
    """`--plan`: only reads."""
    pending = pending_files(wiring.ports.files, view.state.files) if view.newest.pending else None
    return RecoveredTable(
        view.paths.table,
        Recovery.PLANNED,
        generation=view.generation.name,
        epoch=view.state.epoch,
        rolled_forward=view.state.epoch if view.newest.pending else None,
        pending=pending,
        debts_open=len(view.state.debts),
        resumes_at=view.state.positions,
        error=pending.problem if pending else None,
    )


def _recover_table(
    wiring: Wiring, view: View, order: RecoverOrder, judge: Judge, pay: Pay, repairs: Repairs
) -> RecoveredTable:
    wanted = repairs.wanted(view, order.accept_loss, order.refetch)
    started = start(
        wiring.ports,
        StartOrder(
            view.paths,
            judge=lambda: judge.judge(view.paths, None),
            new_owner=new_owner,
            keep=wiring.map.limits.keep_snapshots,
            given_up=frozenset(file.final for file in wanted.files),
        ),
    )
    tenure = started.tenure
    owed = frozenset(tenure.state.debts)
    left = pay(owed) if owed else owed
    change = replace(repairs.change(tenure, wanted, order.accept_gap), open_debts=left)
    if change.losses or change.gaps or change.first or left != owed:
        snapshot = draft(tenure, wiring.map.service, wiring.ports.clock.now(), change)
        tenure = publish_epoch(wiring.ports, tenure, snapshot).tenure
    return _done(started, tenure, len(owed - left), len(left), tuple(x.path for x in change.losses))


def _done(
    started: Started, tenure: Tenure, paid: int, owed: int, repaired: tuple[str, ...]
) -> RecoveredTable:
    return RecoveredTable(
        tenure.paths.table,
        Recovery.DONE,
        generation=tenure.generation.name,
        epoch=tenure.state.epoch,
        rolled_forward=started.rolled_forward,
        moves=started.moves,
        swept=started.swept,
        debts_paid=paid,
        debts_open=owed,
        repaired=repaired,
        resumes_at=tenure.state.positions,
    )


def _failed(paths: LedgerPaths, error: Kafka2HiveError) -> RecoveredTable:
    kinds = {ExitCode.STOP: Recovery.STOPPED, ExitCode.OWNED: Recovery.OWNED}
    return RecoveredTable(paths.table, kinds.get(error.exit_code, Recovery.FAILED), error=error)
