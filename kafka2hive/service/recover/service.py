"""`recover` with the real Hive and Kafka of the map, each made only when there is something for it to do.

No Spark and no JVM; pyarrow only with `--refetch`, which decodes and writes records in this very process.
"""

import logging
from collections.abc import Callable, Collection
from dataclasses import replace

from kafka2hive.kafka.port import Kafka
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.model.errors import ServiceUnavailable, TableError
from kafka2hive.model.files import DataFile, HivePartition
from kafka2hive.model.paths.ledger import Generation
from kafka2hive.service.recover.consumer_group import ConsumerGroup, set_back_after_rebuild
from kafka2hive.service.recover.forget import RegistrationOutcome
from kafka2hive.service.recover.heartbeat import RepairHeartbeat
from kafka2hive.service.recover.rebuild import RebuiltLedger, rebuild_ledger
from kafka2hive.service.recover.recover import recover
from kafka2hive.service.recover.refetch import refetch_file
from kafka2hive.service.recover.repair import Repairs
from kafka2hive.service.recover.result import RecoveredTable, RecoverOrder, RecoverResult, Recovery, failed
from kafka2hive.service.shared.ledgers import Unreadable, attempt
from kafka2hive.service.shared.registrar import RefusedByHive, register_now
from kafka2hive.service.shared.tables import MapTables
from kafka2hive.service.shared.wiring import Wiring

PLAN_SECONDS = 5.0  # `--plan` asks Kafka at most that long

log = logging.getLogger(__name__)


def recover_service(wiring: Wiring, order: RecoverOrder) -> RecoverResult:
    """Recover the map's service. Raises ServiceUnavailable when the file system does not answer at all."""
    with RepairHeartbeat(wiring) as heartbeat:
        if order.rebuild is not None:
            return rebuild_and_recover(wiring, order, order.rebuild, wiring.kafka, announce=heartbeat.begin)
        return _recover(wiring, order, heartbeat.begin)


def _recover(wiring: Wiring, order: RecoverOrder, announce: Callable[[], None]) -> RecoverResult:
    outside = _Outside(wiring)
    kafka = wiring.kafka(PLAN_SECONDS) if order.plan_only else None
    repairs = Repairs(wiring, wiring.kafka if kafka is None else lambda: kafka, outside.refetch)
    return recover(
        wiring=wiring, order=order, register=outside.register, repairs=repairs, kafka=kafka, announce=announce
    )


def rebuild_and_recover(
    wiring: Wiring,
    order: RecoverOrder,
    table: str,
    kafka: Callable[[], Kafka],
    *,
    announce: Callable[[], None] = lambda: None,
) -> RecoverResult:
    """The rebuilt ledger is recovered like any other: taken over, its pending epoch rolled forward, Hive told.

    The consumer group is set back to it, unless the map has none.
    """

    def rebuild() -> list[RebuiltLedger]:
        return [
            rebuild_ledger(
                wiring=wiring,
                table=table,
                acceptances=order.accept_gap,
                plan_only=order.plan_only,
                take_over=order.take_over,
                kafka=kafka,
                announce=announce,
            )
        ]

    (rebuilt,) = attempt(table, rebuild)
    if isinstance(rebuilt, Unreadable):
        return RecoverResult((failed(table, rebuilt.error),))
    newest = rebuilt.ledger.newest
    if order.plan_only:
        planned = RecoveredTable(
            table,
            Recovery.PLANNED,
            generation=Generation(newest.generation).name,
            epoch=newest.epoch,
            rolled_forward=rebuilt.ledger.pending.epoch if rebuilt.ledger.pending else None,
            unregistered=len(newest.unregistered),
            gaps=newest.gaps,
            resumes_at=newest.positions,
            rebuilt=rebuilt,
        )
        return RecoverResult((planned,))
    set_back_after_rebuild(ConsumerGroup(wiring, kafka()), table, newest.positions)
    rest = RecoverOrder(take_over=order.take_over, tables=(table,))
    return RecoverResult(tuple(replace(t, rebuilt=rebuilt) for t in _recover(wiring, rest, announce).tables))


class _Outside:
    """Hive, and the map's rule for each table; nothing is asked or connected before it is needed."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._metastore = wiring.hive()
        self._tables = MapTables(wiring, self._metastore)
        self._catalogue = self._tables.catalogue

    def register(self, unregistered: frozenset[HivePartition]) -> RegistrationOutcome:
        """Register partitions now; those of a table whose schema cannot be had stay pending registrations."""
        if self._metastore is None:
            return RegistrationOutcome(unregistered)
        tables = self._resolvable({partition.table for partition in unregistered})
        resolvable = frozenset(partition for partition in unregistered if partition.table in tables)
        attempt = register_now(self._metastore, self._catalogue.ensure, resolvable)
        if registered := resolvable - attempt.left:
            log.info("registered %d partitions in Hive", len(registered))
        refusals = [event for event in attempt.events if isinstance(event, RefusedByHive)]
        refusals.sort(key=lambda refused: bool(refused.partitions))  # whole tables first
        return RegistrationOutcome(
            attempt.left | (unregistered - resolvable),
            refusals[0].error if refusals else None,
            {partition: refused.error for refused in refusals for partition in refused.partitions},
        )

    def refetch(self, owned: OwnedLedger, lost: DataFile) -> tuple[DataFile, ...]:
        return refetch_file(owned, lost, self._tables.settings, self._wiring.ports.clock.epoch_ms())

    def _resolvable(self, names: Collection[str]) -> set[str]:
        """Those of the tables that Hive can be told about: also tables the map knows no more, they must exist."""
        ready = set(names)
        for name in sorted(ready & set(self._tables.by_name)):
            try:
                self._catalogue.resolve(self._tables.by_name[name])
            except (ServiceUnavailable, TableError) as error:
                log.warning("%s keeps its pending registrations: %s", name, error)
                ready.discard(name)
        return ready
