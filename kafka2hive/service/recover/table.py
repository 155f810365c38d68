"""Recover one table, or plan it for `--plan`."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.location import accept_location, refuse_changed_location
from kafka2hive.ledger.look import View
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.ports import Ports
from kafka2hive.ledger.snapshot.change import RegistrationUpdate, Repair
from kafka2hive.ledger.start import StartRequest, StartResult, start
from kafka2hive.model.errors import ConfigError, Kafka2HiveError, ManualActionRequired
from kafka2hive.model.paths.path import same_location
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.ownership import OwnershipCheck
from kafka2hive.service.recover.forget import ForgetPlan, forget
from kafka2hive.service.recover.repair import Repairs, remedies
from kafka2hive.service.recover.result import RecoveredTable, RecoverRequest, Recovery, Relocation
from kafka2hive.service.start.preview import StartPreview
from kafka2hive.service.start.takeover import Register, RegistrationOutcome, register_released
from kafka2hive.service.topics.routes import routed_by_ledgers
from kafka2hive.service.wiring import Wiring


def recover_table(
    wiring: Wiring,
    view: View,
    request: RecoverRequest,
    ownership: OwnershipCheck,
    register: Register,
    repairs: Repairs,
    *,
    announce: Callable[[], None] = lambda: None,
) -> tuple[RecoveredTable, OwnedLedger]:
    """Recover a table in five steps: take over, roll forward, record repairs, give registrations up, accept a new location.

    `register` is asked only about registrations to give up. The caller registers the others when it has released the table.

    `announce` is called before each take-over, once its checks have passed: from then on this process must have a heartbeat.

    Repairs are prepared before anything is rolled forward, so that a failed preparation leaves the STOP unchanged. Which files
    are lost is decided after each take-over by the state that was taken over, because another `recover` may have repaired them
    since the look. Repairs are recorded right after the roll-forward. A crash between the two leaves a final epoch whose
    lost file is not recorded; `verify` names it, and the same command records it.
    """
    named = remedies(request.accept_loss, request.refetch)
    repairs.lost_files(view, named)
    relocation = _relocation(wiring, view.state, request)
    if relocation:
        ownership.check_marker(view, relocation.after)
    if view.paths.table in request.accept_cluster:
        repairs.of_positions(view.state, request)  # a refusal leaves everything unchanged
    repair = Repair()

    def prepare(owned: OwnedLedger) -> frozenset[str]:
        nonlocal repair
        lost = repairs.lost_files(owned, named)
        repair = repairs.repair(owned, lost, request)
        return frozenset(file.final for file, _ in lost)

    started = start(
        wiring.ports,
        StartRequest(
            view.paths,
            check=ownership.taking_over(view.paths, None, announce),
            owners=wiring.command_owners,
            keep=wiring.map.limits.keep_snapshots,
            before_roll_forward=prepare,
        ),
    )
    owned = started.owned
    if repair.losses or repair.gaps or repair.positions:
        repair = replace(repair, withdrawn=repairs.withdrawn(owned, repair))
        owned = publish(wiring.ports, owned, repair).owned
    pending = frozenset(p for p in owned.pending_registrations if any(r.names(p) for r in request.forget))
    outcome = register(pending) if pending else RegistrationOutcome()
    registered = pending - outcome.pending
    forgetting = forget(owned, outcome, request.forget, wiring.ports.clock.now())
    if forgetting.outcome.pending != pending:
        update = RegistrationUpdate(registered=registered, forgotten=forgetting.recorded)
        owned = publish(wiring.ports, owned, update).owned
    if relocation and owned.state.location != relocation.after:
        owned = accept_location(wiring.ports, owned, relocation.after)
    done = _done(
        started=started, owned=owned, registered=len(registered), forgetting=forgetting, repair=repair
    )
    return replace(done, relocated=relocation), owned


def with_registrations(
    ports: Ports, recovered: RecoveredTable, owned: OwnedLedger, register: Register
) -> RecoveredTable:
    """Register what is left pending, and return the result with it. The table must be released."""
    pending = len(owned.pending_registrations)
    try:
        outcome = register_released(ports, owned, register)
    except Kafka2HiveError as error:
        return replace(recovered, error=recovered.error or error)
    return replace(
        recovered,
        registered=recovered.registered + pending - len(outcome.pending),
        unregistered=len(outcome.pending),
        error=recovered.error or outcome.refused,
    )


def _done(
    started: StartResult, owned: OwnedLedger, registered: int, forgetting: ForgetPlan, repair: Repair
) -> RecoveredTable:
    return RecoveredTable(
        owned.paths.table,
        Recovery.DONE,
        generation=owned.generation.name,
        epoch=owned.state.epoch,
        rolled_forward=started.rolled_forward,
        moves=started.moves,
        orphans_deleted=started.orphans_deleted,
        registered=registered,
        unregistered=len(owned.pending_registrations),
        repaired=tuple(loss.path for loss in repair.losses),
        gaps=repair.gaps,
        resumes_at=owned.state.positions,
        error=forgetting.error or forgetting.outcome.refused,
        forgotten=tuple(f.partition for f in forgetting.recorded),
    )


def planned_table(
    wiring: Wiring,
    view: View,
    starts: StartPreview,
    request: RecoverRequest,
    repairs: Repairs,
    *,
    knows_kafka: bool,
) -> Iterator[RecoveredTable]:
    """Plan one table for `--plan`; only reads. If Kafka does not answer, accepted gaps are unknown."""
    outlook = starts.of(view)
    stop = outlook.stop
    accepted = view.paths.table in request.accept_location
    repair = Repair()
    try:
        if knows_kafka:
            repair = repairs.of_positions(view.state, request)
    except ManualActionRequired as gap_stop:
        stop = stop or gap_stop
    left = {gap.range.topic_partition for gap in repair.gaps if gap.moved_to}
    kept = [p for p in view.state.positions if p.topic_partition not in left]
    positions = {p.topic_partition: p for p in (*kept, *repair.positions)}
    yield RecoveredTable(
        view.paths.table,
        Recovery.PLANNED,
        generation=view.generation.name,
        epoch=view.state.epoch,
        rolled_forward=view.state.epoch if view.newest.pending else None,
        pending=outlook.pending,
        unregistered=len(view.state.unregistered),
        gaps=repair.gaps,
        resumes_at=tuple(positions[tp] for tp in sorted(positions)),
        error=stop,
        relocated=_relocation(wiring, view.state, request) if accepted else None,
        lost=repairs.planned_repairs(view),
    )


def _relocation(wiring: Wiring, state: Snapshot, request: RecoverRequest) -> Relocation | None:
    """Return the relocation that `--accept-location` accepts for this table, if there is one.

    Raises ManualActionRequired if the map's location differs and was not accepted.
    """
    routed = routed_by_ledgers(wiring, [state]).get(state.table)
    if state.table not in request.accept_location:
        if routed is not None:
            refuse_changed_location(state, routed.rule.location)
        return None
    if routed is None:
        raise ConfigError(
            "usage.no_such_table",
            f"--accept-location {state.table}: no rule of the map creates this table",
            "give the table a rule in the map, with the new location",
        )
    if same_location(routed.rule.location, state.location):
        return None
    if state.early:
        raise ManualActionRequired(
            "ledger.early_partitions",
            f"{state.table}: partitions ({len(state.early)}) are at early places below {state.location},"
            f" {state.early[0].partition.path} among them, and further data of these partitions would go there",
            f"set the old location in the map until `kafka2hive compact --table {state.table} -c MAP` has moved them",
        )
    if routed.rule.compact is not None:
        raise ManualActionRequired(
            "ledger.early_partitions",
            f"{state.table}: partitions that are not copied to {routed.rule.location} yet would begin at early places there",
            f"take `compact` out of the map, repeat `kafka2hive recover --accept-location {state.table} -c MAP`, copy the"
            " partitions, and add `compact` again",
        )
    return Relocation(state.location, routed.rule.location)
