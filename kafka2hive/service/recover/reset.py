"""`kafka2hive reset`: start a table over. It archives the ledger, can move the data away, and sets the group's offsets back."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from kafka2hive.config.dead_letters import dead_letter_directory
from kafka2hive.ledger.epoch import roll_forward
from kafka2hive.ledger.location import claim_location
from kafka2hive.ledger.look import NoLedger, View
from kafka2hive.ledger.ports import begin_again
from kafka2hive.ledger.repair.reset import ResetRecord, end_reset, put_away, put_files_away, unfinished_reset
from kafka2hive.ledger.start import take_over
from kafka2hive.model.errors import ConfigError, ManualActionRequired, ServiceUnavailable
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.model.paths.path import parent
from kafka2hive.model.paths.table_directory import reset_aside
from kafka2hive.model.text import counted
from kafka2hive.service.recover.consumer_group import ConsumerGroup, GroupMove
from kafka2hive.service.repair_heartbeat import RepairHeartbeat
from kafka2hive.service.tables.ledgers import ledger_tables, require_table
from kafka2hive.service.tables.live_stop import stopped_by_its_run
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import StorageError


@dataclass(frozen=True, slots=True)
class ResetRequest:
    """The options of a reset. `move_data`: visible files are moved away, too; `take_over`: a live owner is fenced."""

    table: str
    move_data: bool
    plan_only: bool = False
    take_over: bool = False


class ResetStage(Enum):
    """Whether a reset is new, continues an unfinished one, or finds no ledger."""

    NEW = "new"
    UNFINISHED = "unfinished"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class ResetPlan:
    """What a reset moves, and where to. `record` is None if the table has no ledger.

    `ledger` is the directory for the archived ledger; `data` are the directories for data and dead letters, none if these
    stay. `group_moves` are the changes of the offsets of consumer group `group`.
    """

    stage: ResetStage
    record: ResetRecord | None = None
    ledger: str = ""
    data: tuple[str, ...] = ()
    group: str | None = None
    group_moves: tuple[GroupMove, ...] = ()


@dataclass(frozen=True, slots=True)
class ResetResult:
    """The outcome. `moved` counts renames.

    `left_pending`: why a committed epoch could not be made visible before its ledger was archived.
    """

    plan: ResetPlan
    done: bool
    moved: int = 0
    left_pending: ManualActionRequired | None = None


def reset(
    wiring: Wiring, group: ConsumerGroup, request: ResetRequest, confirm: Callable[[ResetPlan], None]
) -> ResetResult:
    """Start the table over. `confirm` gets the plan, and raises an error if the operator does not want it.

    After a crash, either the old ledger is still in force, or every start refuses the table until the same command has
    been completed.
    Raises OwnedByLiveRun (nothing was changed), ManualActionRequired, Fenced, TakeOverLost, ServiceUnavailable.
    """
    confirmed: list[ResetPlan] = []

    def confirm_once(plan: ResetPlan) -> None:
        if not confirmed:
            confirm(plan)
            confirmed.append(plan)

    try:
        return begin_again(
            wiring.ports, f"reset {request.table}", lambda: _reset(wiring, group, request, confirm_once)
        )
    except StorageError as error:
        raise ServiceUnavailable(
            "storage.unavailable",
            f"{request.table}: {error}",
            "type the same `kafka2hive reset` command again",
        ) from error


def _reset(
    wiring: Wiring, group: ConsumerGroup, request: ResetRequest, confirm: Callable[[ResetPlan], None]
) -> ResetResult:
    tables = {paths.table for paths in ledger_tables(wiring)}
    paths = wiring.paths(request.table)
    unfinished = unfinished_reset(wiring.ports.files, paths)
    if unfinished is None:
        require_table(wiring, request.table, tables)
        try:
            ownership = wiring.ownership_check(
                take_over=request.take_over or request.plan_only,  # a plan fences nobody
                is_stopped=stopped_by_its_run(wiring),
            )
            view = ownership.check_owner(paths, None)
        except NoLedger:
            return ResetResult(ResetPlan(ResetStage.NOTHING), done=False)
        plan = _plan(wiring, group, _record(wiring, request, view), ResetStage.NEW)
    elif unfinished.move_data != request.move_data:
        raise ConfigError(
            "usage.reset",
            f"an unfinished reset of {request.table} was begun with {_option(unfinished)}",
            f"finish it: `kafka2hive reset --table {request.table} {_option(unfinished)} -c MAP`",
        )
    else:
        plan = _plan(wiring, group, unfinished, ResetStage.UNFINISHED)
    if plan.stage is ResetStage.NEW and view.state.early and not request.move_data:
        raise ManualActionRequired(
            "reset.early",
            f"{request.table} has {counted(len(view.state.early), 'partition')} at early places,"
            " which the next ledger would not keep",
            f"`kafka2hive compact --table {request.table} -c MAP` moves the complete ones; or use --move-data",
        )
    if request.plan_only:
        return ResetResult(plan, done=False)
    confirm(plan)
    record = plan.record
    assert record is not None
    with RepairHeartbeat(wiring) as heartbeat:
        heartbeat.begin()
        left_pending = _fence(wiring, view, record) if plan.stage is ResetStage.NEW else None
        moved = put_files_away(wiring.ports, paths, record)
        group.set_back(group.moves(request.table, _nothing_read(record)))
        end_reset(wiring.ports, paths, record)
    return ResetResult(plan, done=True, moved=moved, left_pending=left_pending)


def _fence(wiring: Wiring, view: View, record: ResetRecord) -> ManualActionRequired | None:
    """Take the table over, make a committed epoch visible if possible, and archive the ledger."""
    ports = wiring.ports
    owned = take_over(
        ports=ports,
        paths=view.paths,
        owner=wiring.command_owners.new_name(),
        checked=view.generation,
        own_names=wiring.command_owners,
    )
    claim_location(ports, record.location, owned.state)
    left_pending = None
    try:
        owned = roll_forward(ports, owned).owned
    except ManualActionRequired as stop:
        left_pending = stop
    put_away(ports, owned, record)
    return left_pending


def _record(wiring: Wiring, request: ResetRequest, view: View) -> ResetRecord:
    ends = [(p.topic_partition, p.end) for p in view.state.positions]
    positions = sorted((tp.topic, tp.number, end) for tp, end in ends)
    return ResetRecord(
        id=wiring.ports.new_uuid(),
        at=wiring.ports.clock.now(),
        table=request.table,
        ledger_id=view.state.ledger_id,
        generation=view.generation.name,
        epoch=view.state.epoch,
        pending=view.newest.pending,
        location=view.state.location,
        letters=dead_letter_directory(wiring.map.dead_letters.location, request.table),
        move_data=request.move_data,
        positions=tuple(positions),
    )


def _plan(wiring: Wiring, group: ConsumerGroup, record: ResetRecord, stage: ResetStage) -> ResetPlan:
    data = (reset_aside(record.location, record.id), reset_aside(parent(record.letters), record.id))
    return ResetPlan(
        stage,
        record,
        ledger=wiring.paths(record.table).reset(record.id),
        data=data if record.move_data else (),
        group=group.name,
        group_moves=group.moves(record.table, _nothing_read(record)),
    )


def _option(record: ResetRecord) -> str:
    return "--move-data" if record.move_data else "--keep-data"


def _nothing_read(record: ResetRecord) -> dict[TopicPartition, int]:
    """Return position 0 for each topic partition of the ledger that is reset."""
    return {TopicPartition(topic, number): 0 for topic, number, _ in record.positions}
