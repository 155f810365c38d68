"""An operator's commands in the simulation: the real `recover` with its repairs, and `--rebuild-ledger`.

Like driver.py, a mutant gets a copy of this module.
"""

from collections.abc import Callable
from dataclasses import replace

from kafka2hive.config.route import route
from kafka2hive.ledger.inbox import (
    CompactPartitions,
    Inbox,
    Instruction,
    Order,
    PauseTable,
    ReplayLetters,
    ResumeTable,
)
from kafka2hive.ledger.look import NoLedger
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.model.errors import Kafka2HiveError
from kafka2hive.model.files import DataFile, HivePartition
from kafka2hive.service.hive.registrar import RefusedByHive, register_now
from kafka2hive.service.orders.delivery import carry_out_waiting
from kafka2hive.service.recover.consumer_group import ConsumerGroup
from kafka2hive.service.recover.rebuild import rebuild_ledger
from kafka2hive.service.recover.repair import Repairs
from kafka2hive.service.recover.reset import ResetRequest, reset
from kafka2hive.service.recover.result import RecoverRequest, Registration
from kafka2hive.service.recover.service import recover
from kafka2hive.service.repair_heartbeat import repair_heartbeat
from kafka2hive.service.replay.letter_files import rules_digest
from kafka2hive.service.start.takeover import RegistrationOutcome
from tests.harness.repairs import no_rewrite
from tests.simulation import tasks
from tests.simulation.filesystem import SimulatedFileSystem
from tests.simulation.metastore import SimulatedMetastore
from tests.simulation.service.driver import Process
from tests.simulation.service.maps import TABLES
from tests.simulation.tasks import Share

__all__ = [
    "RecoverRequest",
    "Registration",
    "RepairPresence",
    "instruction_of",
    "run_order",
    "run_recover",
    "run_reset",
]


class RepairPresence:
    """A command's heartbeat, which takes no simulated time."""

    def __init__(self, process: Process) -> None:
        files = SimulatedFileSystem(process.world, f"{process.name}'s beat")
        wiring = replace(process.wiring, ports=replace(process.wiring.ports, files=files))
        self._beat = repair_heartbeat(wiring)

    def show(self) -> None:
        self._beat.send()

    def end(self) -> None:
        self._beat.end()


def run_recover(
    process: Process, order: RecoverRequest, announce: Callable[[], None] = lambda: None
) -> list[Kafka2HiveError]:
    """Run `recover` as a new process. Return the errors of its tables."""
    command = _Command(process)
    try:
        if order.rebuild is not None:
            kafka = process.kafka
            rebuild_ledger(
                process.wiring,
                order.rebuild,
                order.accept_gap,
                False,
                False,
                lambda: kafka,
                announce=announce,
            )
            order = RecoverRequest(tables=(order.rebuild,))
        result = recover(process.wiring, order, command.register, command.repairs, announce=announce)
    except Kafka2HiveError as error:
        return [error]
    return [table.error for table in result.tables if table.error is not None]


def instruction_of(process: Process, table: str, kind: str) -> Instruction:
    """Return an order of this kind as the command gives it by its map; a table of another service has no rules there."""
    if kind != ReplayLetters.kind:
        return {each.kind: each for each in (PauseTable, ResumeTable, CompactPartitions)}[kind]()
    service_map = process.wiring.map
    topics = {topic for topics in TABLES[service_map.service].values() for topic in topics}
    routed = route(service_map.tables, topics, frozenset(), {}).tables.get(table)
    return ReplayLetters("", "", "" if routed is None else rules_digest(routed.rule, service_map))


def run_order(
    process: Process, order_id: str, table: str, instruction: Instruction, given_at: str, *, carries_out: bool
) -> bool:
    """Give an order as a new process. Return whether it is in the inbox.

    If the process `carries_out` orders, it does what `pause` and `resume` do then if no run is alive.
    """
    wiring = process.wiring
    service, root = wiring.map.service, wiring.map.storage.ledger_root
    order = Order(
        id=order_id,
        service=service,
        table=table,
        given_by=process.name,
        given_at=given_at,
        instruction=instruction,
    )
    try:
        Inbox(wiring.ports, root, service).give(order)
    except Kafka2HiveError as error:
        process.world.tell(process.name, f"the order is not given: {error}")
        return False
    if carries_out:
        try:
            carry_out_waiting(wiring, wiring.paths(table), lambda: None)
        except (Kafka2HiveError, NoLedger) as error:
            process.world.tell(process.name, f"the order waits: {error}")
    return True


def run_reset(process: Process, table: str) -> list[Kafka2HiveError]:
    """Run `reset --move-data` as a new process."""
    group = ConsumerGroup(process.wiring, process.kafka)
    try:
        reset(process.wiring, group, ResetRequest(table, move_data=True), lambda plan: None)
    except Kafka2HiveError as error:
        return [error]
    return []


class _Command:
    """A command's access to Hive, Kafka and tasks."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.repairs = Repairs(process.wiring, lambda: process.kafka, self.refetch, no_rewrite)

    def refetch(self, owned: OwnedLedger, lost: DataFile) -> tuple[DataFile, ...]:
        process = self.process
        share = Share(
            0,
            owned.state.ledger_id,
            owned.generation.number,
            owned.next_epoch,
            lost.ranges,
            owned.paths.table,
        )
        staged = tasks.run_task(process.world, process.files, share)
        return tuple(f for f in staged if (f.kind, f.hive_partition) == (lost.kind, lost.hive_partition))

    def register(self, unregistered: frozenset[HivePartition]) -> RegistrationOutcome:
        process = self.process
        hive = SimulatedMetastore(process.world, process.around.hive, process.name, process.files.hand_over)
        attempt = register_now(hive, lambda name: None, unregistered)
        refusals = [event for event in attempt.events if isinstance(event, RefusedByHive)]
        return RegistrationOutcome(
            attempt.pending,
            refusals[0].error if refusals else None,
            {partition: refused.error for refused in refusals for partition in refused.partitions},
        )
