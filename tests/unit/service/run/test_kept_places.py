"""A run records what looks at the locations of moved partitions met, before it lets the registrar correct one."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.model.files import HivePartition
from kafka2hive.model.snapshot import MovedPartition
from kafka2hive.service.hive.places import LocationLook
from kafka2hive.service.hive.registrar import RegisteredInHive
from kafka2hive.service.run.epochs import EpochLoop
from kafka2hive.service.run.owned_tables import OwnedTables
from kafka2hive.service.wiring import Wiring
from tests.harness.epoch_loop import (
    AtOnce,
    HiveAnswers,
    Kafka,
    make_loop_and_tables,
    make_wiring,
    next_epoch,
    only_tombstones,
)

HOME = HivePartition("air.early", "dt=1", "hdfs://n/early/dt=1")
NOBODY = frozenset[HivePartition]()


class Watched(HiveAnswers):
    """A registrar that keeps what it was told to watch last, by table, and what is pending."""

    def __init__(self) -> None:
        super().__init__()
        self.counted: dict[str, frozenset[HivePartition]] = {}
        self.pending: frozenset[HivePartition] = NOBODY

    def enqueue(self, unregistered: frozenset[HivePartition], before: Iterable[HivePartition] = ()) -> None:
        self.pending = self.pending.difference(before) | unregistered

    def watch(
        self, table: str, partitions: frozenset[HivePartition], counted: frozenset[HivePartition] = NOBODY
    ) -> None:
        self.counted[table] = counted


def with_moved(
    wiring: Wiring, unregistered: tuple[HivePartition, ...] = ()
) -> tuple[EpochLoop, OwnedTables, Watched]:
    """A loop whose table `air.early` has a partition that moved, and pending registrations that the registrar knows."""
    registrar = Watched()
    loop, tables = make_loop_and_tables(wiring, Kafka(), once=False, registrar=registrar, schemas=AtOnce())
    table = tables.tables["air.early"]
    early = HOME.location.replace("/early/", "/early/_open/")
    moved = MovedPartition(partition=HOME, early=early, epoch=0, late=0)
    ledger = table.owned.ledger
    state = replace(ledger.state, moved=(moved,), unregistered=unregistered)
    registrar.enqueue(frozenset(unregistered))
    table.ownership = replace(table.owned, ledger=OwnedLedger(ledger.paths, ledger.generation, state))
    return loop, tables, registrar


def test_the_time_of_a_moved_partition_begins_with_a_look_and_is_stopped_before_it_is_set_right(
    tmp_path: Path,
) -> None:
    wiring = make_wiring(tmp_path)
    loop, tables, registrar = with_moved(wiring)
    epoch = next_epoch(loop)
    loop.on_epoch(epoch.number, only_tombstones(epoch))
    table = tables.tables["air.early"]

    def plan_after(right: frozenset[HivePartition], put_back: frozenset[HivePartition]) -> str:
        registrar.events = [LocationLook(right, put_back, wiring.ports.clock.epoch_ms() / 1000)]
        loop.plan()
        return table.owned.state.moved[0].right_since

    before = table.owned.state.epoch
    since = plan_after(frozenset({HOME}), NOBODY)
    assert since and registrar.counted["air.early"] == {HOME}
    assert plan_after(frozenset({HOME}), NOBODY) == since
    assert table.owned.state.epoch == before + 1
    assert plan_after(frozenset({HOME}), frozenset({HOME})) == ""
    assert registrar.counted["air.early"] == NOBODY and table.owned.state.epoch == before + 2


def test_what_a_snapshot_leaves_pending_replaces_what_was_pending_before(tmp_path: Path) -> None:
    """A partition that moves is pending at its home and no longer at its early place (K6), also for the registrar."""
    loop, tables, registrar = with_moved(make_wiring(tmp_path), unregistered=(HOME,))
    registrar.events = [RegisteredInHive(frozenset({HOME}))]
    epoch = next_epoch(loop)
    loop.on_epoch(epoch.number, only_tombstones(epoch))
    assert not tables.tables["air.early"].owned.state.unregistered
    assert registrar.pending == NOBODY
