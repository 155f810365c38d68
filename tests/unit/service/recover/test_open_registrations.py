"""What is still to be registered in Hive stands in the next snapshot: no more than that, and no less."""

from pathlib import Path

from kafka2hive.ledger.look import look
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.start import Owners, StartRequest, start
from kafka2hive.model.files import DataFile, HivePartition
from kafka2hive.service.hive.registrar import RegisteredInHive
from kafka2hive.service.recover.repair import Repairs
from kafka2hive.service.recover.result import RecoverRequest
from kafka2hive.service.recover.service import recover
from kafka2hive.service.repair_heartbeat import RepairHeartbeat
from kafka2hive.service.start.takeover import RegistrationOutcome
from tests.harness.cli_ledger import TABLE, Service, pending_service
from tests.harness.epoch_loop import (
    HiveAnswers,
    Kafka,
    make_loop_and_tables,
    make_wiring,
    next_epoch,
    only_tombstones,
)
from tests.harness.owner import new_owner
from tests.harness.repairs import no_rewrite
from tests.unit.service.owned_table import restate

FIRST = HivePartition("air.early", "dt=1", "file:///w/early/dt=1")
SECOND = HivePartition("air.early", "dt=2", "file:///w/early/dt=2")


def test_what_hive_has_registered_is_not_in_the_next_snapshot(tmp_path: Path) -> None:
    wiring = make_wiring(tmp_path)
    hive = HiveAnswers()
    loop, owned_tables = make_loop_and_tables(wiring, Kafka(), registrar=hive)
    table = owned_tables.tables["air.early"]
    restate(table, unregistered=(FIRST, SECOND))
    epoch = next_epoch(loop)
    hive.events.append(RegisteredInHive(frozenset({FIRST})))
    loop.on_epoch(epoch.number, only_tombstones(epoch))
    assert look(wiring.ports.files, table.paths).state.unregistered == (SECOND,)


def test_a_table_with_nothing_to_read_says_what_hive_has_registered(tmp_path: Path) -> None:
    wiring = make_wiring(tmp_path)
    hive = HiveAnswers()
    loop, owned_tables = make_loop_and_tables(wiring, Kafka(), registrar=hive)
    table = owned_tables.tables["air.early"]
    restate(table, unregistered=(FIRST, SECOND))
    epoch = next_epoch(loop)
    loop.on_epoch(epoch.number, only_tombstones(epoch))
    assert set(look(wiring.ports.files, table.paths).state.unregistered) == {FIRST, SECOND}
    hive.events.append(RegisteredInHive(frozenset({SECOND})))
    loop.record_registrations()
    assert look(wiring.ports.files, table.paths).state.unregistered == (FIRST,)


def _unasked(owned: OwnedLedger, lost: DataFile) -> tuple[DataFile, ...]:
    raise AssertionError("nobody asked for a refetch")


def _no_kafka() -> object:
    raise AssertionError("nobody asked for Kafka")


def _accept_loss(service: Service, registered: bool) -> None:
    service.staged(0).unlink()
    repairs = Repairs(service.wiring, _no_kafka, _unasked, no_rewrite)  # type: ignore[arg-type]  # never called
    order = RecoverRequest(accept_loss=(service.files[0].final,))
    (table,) = recover(
        service.wiring,
        order,
        lambda unregistered: RegistrationOutcome(frozenset() if registered else unregistered),
        repairs,
    ).tables
    assert table.error is None


def test_a_repair_keeps_what_is_still_to_be_registered(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    _accept_loss(service, registered=False)
    state = look(service.wiring.ports.files, service.wiring.paths(TABLE)).state
    assert [loss.path for loss in state.losses] == [service.files[0].final]
    assert state.unregistered == (service.files[1].hive_partition,)


def test_a_repair_that_reaches_hive_leaves_nothing_to_register(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    _accept_loss(service, registered=True)
    state = look(service.wiring.ports.files, service.wiring.paths(TABLE)).state
    assert ([loss.path for loss in state.losses], state.unregistered) == ([service.files[0].final], ())


def test_a_table_is_released_before_hive_is_asked_and_a_run_may_take_it_over_meanwhile(
    tmp_path: Path,
) -> None:
    service = pending_service(tmp_path)
    wiring = service.wiring
    heartbeat = RepairHeartbeat(wiring)
    alive = tmp_path / "kafka2hive" / "alive" / wiring.map.service
    beats = []

    def register(unregistered: frozenset[HivePartition]) -> RegistrationOutcome:
        beats.append(list(alive.glob("repair.*")))
        run = StartRequest(wiring.paths(TABLE), lambda: None, Owners(new_owner))
        taken = start(wiring.ports, run).owned
        assert set(taken.state.unregistered) == unregistered
        return RegistrationOutcome()

    def begin() -> None:
        heartbeat.begin()
        beats.append(list(alive.glob("repair.*")))

    repairs = Repairs(wiring, _no_kafka, _unasked, no_rewrite)  # type: ignore[arg-type]  # never called
    (table,) = recover(
        wiring, RecoverRequest(), register, repairs, announce=begin, release=heartbeat.end
    ).tables
    assert (len(beats[0]), beats[1]) == (1, [])
    assert (table.error, table.registered, table.unregistered) == (None, 1, 0)
    state = look(wiring.ports.files, wiring.paths(TABLE)).state
    assert state.unregistered == (service.files[1].hive_partition,), "its new owner records that"
