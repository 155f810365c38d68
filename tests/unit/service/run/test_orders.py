"""A live run takes orders: a paused table is planned no records, and each order is recorded once, by its own table."""

from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.ledger.draft import draft
from kafka2hive.ledger.inbox import GiveUpRegistration, Inbox, Instruction, PauseTable, ResumeTable, new_order
from kafka2hive.ledger.init import init
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import DataEpoch, PauseUpdate, RegistrationUpdate
from kafka2hive.model.errors import Fenced, TableError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, Position, RangeAccounting
from kafka2hive.model.paths.ledger import Generation, LedgerPaths
from kafka2hive.model.snapshot import MOST_ORDERS, Pause, RecordedOrder, Snapshot
from kafka2hive.service.orders.answers import change_for
from kafka2hive.service.run.epochs import EpochLoop
from kafka2hive.service.run.inbox_watch import LOOK_SECONDS, InboxWatch
from kafka2hive.service.run.owned_tables import OwnedTables
from kafka2hive.service.verify.snapshot_lines import audit_lines
from kafka2hive.service.wiring import Wiring
from tests.harness.epoch_loop import (
    EARLY,
    LATE,
    AtOnce,
    Kafka,
    make_loop_and_tables,
    make_wiring,
    next_epoch,
    planned,
    run,
)
from tests.harness.owner import new_owner
from tests.harness.values import snapshot

PARTITION = HivePartition("air.late", "dt=2013-01-17", "file:///w/late/dt=2013-01-17")
DENIED = TableError("hive.refused", "Permission denied")


class Service:
    """A run with an inbox, and an operator."""

    def __init__(self, folder: Path, *, once: bool = False) -> None:
        self.folder = folder
        self.kafka = Kafka()
        self.wiring: Wiring = make_wiring(folder)
        root = self.wiring.map.storage.ledger_root
        self.inbox = Inbox(self.wiring.ports, root, self.wiring.map.service)
        self.loop: EpochLoop
        self.tables: OwnedTables
        self.loop, self.tables = make_loop_and_tables(
            self.wiring,
            self.kafka,
            once=once,
            schemas=AtOnce(),
            orders=InboxWatch(self.wiring),
        )

    def give(self, table: str, instruction: Instruction) -> str:
        order = new_order(self.wiring.ports, self.wiring.map.service, table, "anna@etl1", instruction)
        self.inbox.give(order)
        self.wiring.ports.clock.sleep(LOOK_SECONDS)
        return order.id

    def state(self, table: str) -> Snapshot:
        return self.tables.tables[table].owned.state

    def dump(self) -> list[OffsetRange]:
        epoch = self.loop.plan()
        if epoch is None:
            return []
        run(self.loop, epoch)
        return planned(epoch)


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path)


def test_a_paused_table_is_planned_no_records_until_it_is_resumed(service: Service) -> None:
    service.give("air.late", PauseTable())
    assert service.dump() == [OffsetRange(EARLY, 0, 7)]
    paused = service.state("air.late").paused
    assert paused is not None and (paused.by, paused.epoch) == (
        "anna@etl1",
        service.state("air.late").orders[0].epoch,
    )
    assert service.tables.tables["air.late"].lag == 11 and service.dump() == []
    service.give("air.late", ResumeTable())
    assert service.dump() == [OffsetRange(LATE, 0, 11)]
    assert service.state("air.late").paused is None
    assert [each.kind for each in service.state("air.late").orders] == ["pause", "resume"]
    assert service.state("air.early").orders == ()


def test_a_pause_holds_over_a_restart_and_over_other_snapshots(service: Service, tmp_path: Path) -> None:
    service.give("air.late", PauseTable())
    service.dump()
    before = service.state("air.late").paused
    again = Service(tmp_path)
    again.kafka.ends[EARLY] = 9
    assert again.dump() == [OffsetRange(EARLY, 7, 9)]
    assert again.state("air.late").paused == before


def test_an_order_that_a_snapshot_records_is_only_moved(service: Service, tmp_path: Path) -> None:
    order_id = service.give("air.late", PauseTable())
    service.dump()
    done = tmp_path / f"kafka2hive/inbox/once/done/{order_id}.json"
    done.rename(tmp_path / f"kafka2hive/inbox/once/{order_id}.json")  # a kill before the move leaves it there
    epoch = service.state("air.late").epoch
    again = Service(tmp_path)
    again.dump()
    assert (again.state("air.late").epoch, len(again.state("air.late").orders)) == (epoch, 1)
    assert done.exists() and again.inbox.look() == ([], [], set())


def test_a_fenced_run_does_not_do_the_order_in_its_hand(service: Service, tmp_path: Path) -> None:
    service.give("air.late", PauseTable())
    successor = Service(tmp_path)
    successor.dump()
    before = successor.state("air.late")
    (tmp_path / "kafka2hive/inbox/once/done" / f"{before.orders[0].id}.json").rename(
        tmp_path / "kafka2hive/inbox/once" / f"{before.orders[0].id}.json"
    )
    with pytest.raises(Fenced):
        service.dump()
    successor.wiring.ports.clock.sleep(LOOK_SECONDS)
    successor.dump()
    assert successor.state("air.late").orders == before.orders and successor.inbox.look() == ([], [], set())


def test_what_is_no_order_of_this_service_changes_nothing(
    service: Service, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    strange = service.give("air.strange", PauseTable())
    (tmp_path / "kafka2hive/inbox/once/note.txt").write_text("do not touch")
    assert len(service.dump()) == 2
    assert service.inbox.look() == ([], [], set()) and service.inbox.is_rejected(strange)
    assert "[order.no_table]" in caplog.text and "[order.foreign] note.txt" in caplog.text
    assert service.state("air.late").orders == ()


@pytest.mark.parametrize("service_of_ledger", ["once", "another"])
def test_an_order_to_a_table_that_the_run_does_not_route_waits_if_the_ledger_is_of_its_service(
    service: Service, service_of_ledger: str
) -> None:
    """A broker with older metadata may not list the table's topic, and another run of the service may."""
    assert service.wiring.map.service == "once"
    init(service.wiring.ports, service.wiring.paths("air.hidden"), service_of_ledger, "file:///w/hidden")
    order_id = service.give("air.hidden", PauseTable())
    service.dump()
    waiting = [order.id for order in service.inbox.look()[0]]
    is_ours = service_of_ledger == "once"
    assert (waiting, service.inbox.is_rejected(order_id)) == ([order_id] * is_ours, not is_ours)


def test_an_order_to_a_table_whose_ledger_is_not_held_waits(service: Service) -> None:
    table = service.tables.tables["air.late"]
    service.tables.set_aside(table, DENIED)
    service.tables.forget(table)
    service.give("air.late", PauseTable())
    assert table.aside is not None and table.aside.until > service.wiring.ports.clock.monotonic() - 1
    orders, _, _ = service.inbox.look()
    assert len(orders) == 1
    service.wiring.ports.clock.sleep(60)
    service.dump()
    assert service.state("air.late").paused is not None


def test_an_order_to_a_table_that_is_set_aside_leaves_it_so(service: Service) -> None:
    table = service.tables.tables["air.late"]
    service.tables.set_aside(table, TableError("hive.columns", "differs"))
    table.failures = 9
    service.tables.set_aside(table, TableError("hive.columns", "differs"))
    service.give("air.late", PauseTable())
    service.dump()
    assert table.aside is not None and service.state("air.late").paused is not None


def test_a_run_of_once_says_what_a_paused_table_lacks(tmp_path: Path) -> None:
    service = Service(tmp_path, once=True)
    service.give("air.late", PauseTable())
    run(service.loop, next_epoch(service.loop))
    assert service.loop.plan() is None
    ((name, error),) = service.tables.troubles()
    assert (name, error.code) == ("air.late", "table.paused") and "11 records" in error.message


def owned(state: Snapshot) -> OwnedLedger:
    return OwnedLedger(LedgerPaths("file:///k", state.table), Generation(1, "now", new_owner()), state)


def pending(**more: object) -> OwnedLedger:
    return owned(snapshot(table="air.late", epoch=4, unregistered=(PARTITION,), **more))


def forget(wiring: Wiring, partition: str = "dt=2013-01-17") -> object:
    return new_order(wiring.ports, "once", "air.late", "anna@etl1", GiveUpRegistration("air.late", partition))


def test_only_a_registration_that_hive_refuses_is_given_up(service: Service) -> None:
    ledger, order = pending(), forget(service.wiring)
    change = change_for(order, ledger, "now", refusals={PARTITION: DENIED})  # type: ignore[arg-type]
    after = draft(ledger, "once", "now", change)
    assert (after.unregistered, after.forgotten[0].accepted_by) == ((), "anna@etl1")
    assert after.orders[0].result == "done"
    done = change_for(order, owned(after), "now", refusals={})  # type: ignore[arg-type]
    assert isinstance(done, RegistrationUpdate) and done.forgotten == () and done.orders[0].result == "done"


def test_a_registration_that_hive_has_not_refused_is_not_given_up(service: Service) -> None:
    for order, wanted in (
        (forget(service.wiring), "[hive.not_refused]"),
        (forget(service.wiring, "dt=2013-01-18"), "[usage.no_such_registration]"),
    ):
        ledger = pending()
        after = draft(ledger, "once", "now", change_for(order, ledger, "now", refusals={}))  # type: ignore[arg-type]
        assert (after.unregistered, after.forgotten) == ((PARTITION,), ())
        assert after.orders[0].result.startswith(wanted)


def test_a_table_that_waited_for_a_registration_serves_again_once_it_is_given_up(service: Service) -> None:
    table = service.tables.tables["air.late"]
    state = replace(table.owned.state, unregistered=(PARTITION,))
    table.ownership = replace(table.owned, ledger=replace(table.owned.ledger, state=state))
    table.hive = table.hive.after_refusal(frozenset({PARTITION}), DENIED)
    service.tables.set_aside(table, DENIED)
    service.give("air.late", GiveUpRegistration("air.late", PARTITION.path))
    assert OffsetRange(LATE, 0, 11) in service.dump()
    assert service.state("air.late").forgotten[0].partition == PARTITION


def recorded(number: int, kind: str = "pause", epoch: int = 5) -> RecordedOrder:
    return RecordedOrder(
        id=f"{number:032x}", kind=kind, given_by="a", given_at="t", done_at="t", epoch=epoch, result="done"
    )


def test_a_snapshot_lists_the_last_hundred_orders() -> None:
    before = snapshot(epoch=4, orders=tuple(recorded(n, "resume", 4) for n in range(MOST_ORDERS)))
    after = draft(owned(before), "s", "now", RegistrationUpdate(orders=(recorded(MOST_ORDERS, "resume"),)))
    assert len(after.orders) == MOST_ORDERS
    assert (after.orders[0].id, after.orders[-1].epoch) == (f"{1:032x}", 5)
    assert codes(before, after) == []


def codes(before: Snapshot, after: Snapshot) -> list[str]:
    return [finding.message for finding in audit_lines((before, after)) if finding.code == "verify.order"]


def test_the_audit_finds_orders_and_pauses_that_do_not_follow() -> None:
    before = snapshot(epoch=4, positions=(Position(LATE, 0, 0),))
    pause = Pause(since="t", by="a", order=recorded(1).id, epoch=5)
    paused = draft(owned(before), "s", "now", PauseUpdate(paused=pause, orders=(recorded(1),)))
    assert codes(before, paused) == []
    assert codes(before, replace(paused, paused=None)) and codes(before, replace(paused, orders=()))
    resumed = draft(owned(paused), "s", "now", PauseUpdate(paused=None, orders=(recorded(2, "resume", 6),)))
    assert codes(paused, resumed) == []
    assert codes(paused, replace(resumed, paused=pause))
    assert codes(paused, replace(resumed, orders=resumed.orders * 2))
    account = RangeAccounting(0, OffsetRange(LATE, 0, 3), OffsetAccounting(read=3, tombstones=3))
    read = draft(owned(paused), "s", "now", DataEpoch(files=(), accounts=(account,)))
    assert any("was paused" in message for message in codes(paused, read))
