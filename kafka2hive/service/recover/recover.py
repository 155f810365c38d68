"""`kafka2hive recover`: what a start of `run` does before its first epoch, without Spark and without a JVM.

Takes over, rolls forward, pays Hive's pending registrations, sweeps; idempotent and safe at any moment. Never creates a ledger.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial

from kafka2hive.kafka.acceptance import GapAcceptance
from kafka2hive.kafka.port import Kafka
from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.marker import refuse_vanished_ledger
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.promote import MoveCounts
from kafka2hive.ledger.reading.look import View
from kafka2hive.ledger.repair.location import accept_location, refuse_changed_location
from kafka2hive.ledger.snapshot.change import RegistrationUpdate, Repair
from kafka2hive.ledger.start import Started, StartOrder, start
from kafka2hive.model.addresses import same_location
from kafka2hive.model.errors import (
    AmbiguousOutcome,
    ConfigError,
    ExitCode,
    Kafka2HiveError,
    ManualActionRequired,
)
from kafka2hive.model.files import HivePartition
from kafka2hive.model.layout import LedgerPaths
from kafka2hive.model.offsets import Position
from kafka2hive.model.snapshot import AcceptedGap, Snapshot
from kafka2hive.service.conditions.derive import Foresight, KafkaLook, PendingFiles, look_at_kafka
from kafka2hive.service.recover.forget import (
    Forgetting,
    Payment,
    Registration,
    forget,
    refuse_unknown_registrations,
)
from kafka2hive.service.recover.rebuild import RebuiltLedger
from kafka2hive.service.recover.repair import Repairs, remedies
from kafka2hive.service.shared.ledgers import Unreadable, attempt, each_ledger, ledger_tables, unknown_tables
from kafka2hive.service.shared.ownership import OwnershipCheck
from kafka2hive.service.shared.process import process_of
from kafka2hive.service.shared.tables import location_in_map, routed_by_ledgers
from kafka2hive.service.shared.wiring import Wiring
from kafka2hive.storage.port import StorageError

log = logging.getLogger(__name__)


Pay = Callable[[frozenset[HivePartition]], Payment]


class Recovery(Enum):
    """What became of one table."""

    DONE = "done"
    PLANNED = "planned"
    STOPPED = "stopped"
    OWNED = "owned"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class RecoverOrder:
    """What a person asks for; `tables` empty: all of the map's service. Addresses are full final paths.

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


@dataclass(frozen=True, slots=True)
class Relocation:
    """Where a table's files were written until now, and where they are from now on."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class RecoveredTable:
    """One table's result. `epoch` is the newest, `rolled_forward` the one that was pending (None: nothing was).

    `repaired`, `gaps` and `forgotten` are the losses, gaps and registrations given up that this call has recorded.
    `resumes_at`: positions (end = next offset)
    from which the next run goes on. DONE with an `error`: rolled forward, but Hive refuses its partitions.
    """

    table: str
    recovery: Recovery
    generation: str = ""
    epoch: int = -1
    rolled_forward: int | None = None
    moves: MoveCounts = field(default_factory=MoveCounts)
    pending: PendingFiles | None = None
    swept: int = 0
    registered: int = 0
    unregistered: int = 0
    repaired: tuple[str, ...] = ()
    gaps: tuple[AcceptedGap, ...] = ()
    resumes_at: tuple[Position, ...] = ()
    error: Kafka2HiveError | None = None
    rebuilt: RebuiltLedger | None = None
    forgotten: tuple[HivePartition, ...] = ()
    relocated: Relocation | None = None


_WORST_FIRST = (
    ExitCode.BUG,
    ExitCode.STOP,
    ExitCode.FENCED,
    ExitCode.OWNED,
    ExitCode.UNAVAILABLE,
    ExitCode.CONFIG,
)


@dataclass(frozen=True, slots=True)
class RecoverResult:
    """All tables of the call, by name. `kafka_error`: why `--plan` does not know whether Kafka still fits the positions."""

    tables: tuple[RecoveredTable, ...]
    kafka_error: str | None = None

    @property
    def exit_code(self) -> ExitCode:
        """The worst: STOP before owned before anything set aside."""
        errors = [t.error.exit_code for t in self.tables if t.error is not None]
        for code in _WORST_FIRST:
            if code in errors:
                return code
        return ExitCode.SET_ASIDE if errors else ExitCode.DONE


def recover(
    wiring: Wiring, order: RecoverOrder, register: Pay, repairs: Repairs, kafka: Kafka | None = None
) -> RecoverResult:
    """Recover every ledger of the map's service. `pay` registers Hive partitions and says what is still owed.

    `kafka` is asked by `--plan` alone, for the STOP that a run would end in; None: it is not asked.
    A table named in `order.tables` may be another service's. A table, file or topic in the order that nobody knows
    is refused before anything is touched. Raises ConfigError (such a file or topic), ServiceUnavailable when the file
    system does not answer at all.
    """
    ledgers = ledger_tables(wiring)
    if order.tables and (left_out := sorted(set(order.accept_location) - set(order.tables))):
        raise ConfigError(
            "usage.accept_location", f"--accept-location {left_out[0]} is none of the --table given"
        )
    named = (*order.tables, *order.accept_location)
    if unknown := unknown_tables(wiring, named, {paths.table for paths in ledgers}):
        return RecoverResult(tuple(failed(name, error) for name, error in unknown))
    meant = [paths for paths in ledgers if not order.tables or paths.table in order.tables]
    _refuse_unknown_places(wiring, order, meant, repairs)
    me = process_of(wiring.new_owner())
    ownership = OwnershipCheck(
        wiring.ports, wiring.map.storage.ledger_root, wiring.processes, me, order.take_over
    )
    results = _without_ledger(wiring, order, {paths.table for paths in ledgers})
    planned: list[View] = []

    def work(view: View) -> list[RecoveredTable]:
        if view.state.service != wiring.map.service and view.paths.table not in order.tables:
            return []
        if order.plan_only:
            planned.append(view)
            return []
        return [_recover_table(wiring, view, order, ownership, register, repairs)]

    found = each_ledger(wiring, meant, work)
    results += (failed(r.table, r.error) if isinstance(r, Unreadable) else r for r in found)
    seen = KafkaLook()
    if planned:
        routed = routed_by_ledgers(wiring, (view.state for view in planned))
        seen = look_at_kafka(kafka, planned, routed)
        foresight = Foresight(wiring, kafka, seen, routed, order.accept_gap, order.accept_location)
        for view in planned:
            plan = partial(_planned, wiring, view, foresight, order)
            for r in attempt(view.paths.table, plan):
                results.append(failed(r.table, r.error) if isinstance(r, Unreadable) else r)
    return RecoverResult(tuple(sorted(results, key=lambda result: result.table)), seen.silent)


def _refuse_unknown_places(
    wiring: Wiring, order: RecoverOrder, ledgers: list[LedgerPaths], repairs: Repairs
) -> None:
    """Raises ConfigError when a file or a topic in the order is of none of the ledgers that it may be of.

    A ledger that cannot be read may be the one: then nothing is refused, and its own trouble is told instead.
    """
    if not (order.accept_loss or order.refetch or order.accept_gap or order.forget):
        return
    views = []
    try:
        for found in each_ledger(wiring, ledgers, lambda view: [view]):
            if isinstance(found, Unreadable):
                raise found.error
            if order.tables or found.state.service == wiring.map.service:
                views.append(found)
        repairs.refuse_unknown(views, (*order.accept_loss, *order.refetch), order.accept_gap)
        refuse_unknown_registrations((view.state for view in views), order.forget)
    except (ManualActionRequired, AmbiguousOutcome, StorageError) as trouble:
        log.debug("whether what was named exists cannot be said: %s", trouble)


def _without_ledger(wiring: Wiring, order: RecoverOrder, there: set[str]) -> list[RecoveredTable]:
    """Tables that the map names and that have no ledger: nothing to recover, unless their location says there was one."""
    results = []
    literal = {rule.table: rule for rule in wiring.map.tables if rule.pattern is None}
    for name in sorted(set(order.tables or literal) - there):
        paths = wiring.paths(name)
        try:
            refuse_vanished_ledger(wiring.ports.files, literal[name].location, paths.table_directory)
        except Kafka2HiveError as error:
            results.append(failed(name, error))
    return results


def _relocation(wiring: Wiring, state: Snapshot, order: RecoverOrder) -> Relocation | None:
    """What `--accept-location` asks for this table. Raises ManualActionRequired: the map's location is another one, and nobody
    said so.
    """
    location = location_in_map(wiring, state)
    if state.table not in order.accept_location:
        if location is not None:
            refuse_changed_location(state, location)
        return None
    if location is None:
        raise ConfigError(
            "usage.no_such_table", f"--accept-location {state.table}: no rule of the map makes it"
        )
    return None if same_location(location, state.location) else Relocation(state.location, location)


def _planned(
    wiring: Wiring, view: View, foresight: Foresight, order: RecoverOrder
) -> Iterator[RecoveredTable]:
    """`--plan`: only reads."""
    ahead = foresight.of(view)
    accepted = view.paths.table in order.accept_location
    yield RecoveredTable(
        view.paths.table,
        Recovery.PLANNED,
        generation=view.generation.name,
        epoch=view.state.epoch,
        rolled_forward=view.state.epoch if view.newest.pending else None,
        pending=ahead.pending,
        unregistered=len(view.state.unregistered),
        resumes_at=view.state.positions,
        error=ahead.stop,
        relocated=_relocation(wiring, view.state, order) if accepted else None,
    )


def _recover_table(
    wiring: Wiring,
    view: View,
    order: RecoverOrder,
    ownership: OwnershipCheck,
    register: Pay,
    repairs: Repairs,
) -> RecoveredTable:
    """Repairs are made ready before anything is rolled forward: one that cannot be done leaves the STOP as it was.

    What is lost is judged after each take-over, from the state taken over: another `recover` may have repaired it since
    the look. Only trouble with the question itself is wanted before the fence.
    Repairs are recorded right after the roll-forward. A crash between the two leaves a final epoch whose lost file is
    not recorded: the same command again records it, and `verify` names it.
    """
    named = remedies(order.accept_loss, order.refetch)
    repairs.wanted(view, named)
    relocation = _relocation(wiring, view.state, order)
    if relocation:
        ownership.check_marker(view, relocation.after)
    repair = Repair()

    def prepare(owned: OwnedLedger) -> frozenset[str]:
        nonlocal repair
        wanted = repairs.wanted(owned, named)
        repair = repairs.repair(owned, wanted, order.accept_gap)
        return wanted.finals

    started = start(
        wiring.ports,
        StartOrder(
            view.paths,
            judge=lambda: ownership.check(view.paths, None),
            owners=wiring.owners,
            keep=wiring.map.limits.keep_snapshots,
            before_roll_forward=prepare,
        ),
    )
    owned = started.owned
    if repair.losses or repair.gaps or repair.positions:
        owned = publish(wiring.ports, owned, repair).owned
    owed = frozenset(owned.state.unregistered)
    payment = register(owed) if owed else Payment()
    registered = len(owed - payment.left)
    forgetting = forget(owned, payment, order.forget, wiring.ports.clock.now())
    if forgetting.payment.left != owed:
        update = RegistrationUpdate(registered=owed - payment.left, forgotten=forgetting.recorded)
        owned = publish(wiring.ports, owned, update).owned
    if relocation and owned.state.location != relocation.after:
        owned = accept_location(wiring.ports, owned, relocation.after)
    return replace(_done(started, owned, registered, forgetting, repair), relocated=relocation)


def _done(
    started: Started, owned: OwnedLedger, registered: int, forgetting: Forgetting, repair: Repair
) -> RecoveredTable:
    return RecoveredTable(
        owned.paths.table,
        Recovery.DONE,
        generation=owned.generation.name,
        epoch=owned.state.epoch,
        rolled_forward=started.rolled_forward,
        moves=started.moves,
        swept=started.swept,
        registered=registered,
        unregistered=len(owned.state.unregistered),
        repaired=tuple(loss.path for loss in repair.losses),
        gaps=repair.gaps,
        resumes_at=owned.state.positions,
        error=forgetting.error or forgetting.payment.refused,
        forgotten=tuple(f.partition for f in forgetting.recorded),
    )


def failed(table: str, error: Kafka2HiveError) -> RecoveredTable:
    kinds = {ExitCode.STOP: Recovery.STOPPED, ExitCode.OWNED: Recovery.OWNED}
    return RecoveredTable(table, kinds.get(error.exit_code, Recovery.FAILED), error=error)
