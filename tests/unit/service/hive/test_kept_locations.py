"""The registrar looks at the locations of watched partitions every minute, and sets those again that were put back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from kafka2hive.ledger.snapshot.compaction import watched_partitions
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import MetastoreUnavailable
from kafka2hive.model.snapshot import MovedPartition
from kafka2hive.service.hive.places import LocationCorrection, LocationLook
from kafka2hive.service.hive.registrar import (
    LOOK_SECONDS,
    Registrar,
)
from kafka2hive.storage.concurrency import DaemonThreads
from tests.harness.clock import SkippedTime
from tests.harness.one_by_one import LOOK_SIZE, OneByOne
from tests.harness.values import snapshot
from tests.harness.waiting import wait_until

HOME = HivePartition("d.t", "dt=1", "hdfs://n/t/dt=1")
EARLY = "hdfs://n/t/_open/dt=1"


class Hive(OneByOne):
    """One partition, at a location that somebody changes. `order` has what was asked."""

    def __init__(self) -> None:
        self.where, self.looks = EARLY, 0
        self.order: list[str] = []
        self.asked: Callable[[], None] = lambda: None

    def add_partitions(self, partitions: Sequence[HivePartition]) -> Mapping[HivePartition, str]:
        self.order += [each.path for each in partitions]
        return {}

    def location(self, partition: HivePartition) -> str | None:
        self.looks += 1
        self.order.append("look")
        self.asked()
        return self.where if partition == HOME else partition.location

    def set_location(self, partition: HivePartition) -> None:
        self.where = partition.location


def test_a_location_is_compared_once_a_minute_and_set_again() -> None:
    hive, clock = Hive(), SkippedTime()
    registrar = Registrar(hive, lambda name: None, DaemonThreads(), clock)
    registrar.watch("d.t", frozenset({HOME}))
    registrar.keep_locations()
    assert hive.where == HOME.location
    assert registrar.take_events() == [LocationCorrection(frozenset({HOME}))]
    hive.where = EARLY
    registrar.keep_locations()
    assert (hive.looks, hive.where) == (1, EARLY)
    clock.sleep(LOOK_SECONDS)
    registrar.keep_locations()
    assert (hive.looks, hive.where) == (2, HOME.location)
    registrar.watch("d.t", frozenset())
    clock.sleep(LOOK_SECONDS)
    registrar.keep_locations()
    assert hive.looks == 2


def test_a_location_that_is_put_back_is_set_again_though_its_partition_gets_data_in_each_epoch() -> None:
    hive, clock = Hive(), SkippedTime()
    registrar = Registrar(hive, lambda name: None, DaemonThreads(), clock)
    hive.where = HOME.location
    for epoch in range(2, 5):
        moved = (MovedPartition(partition=HOME, early=EARLY, epoch=1, late=epoch),)
        state = snapshot(epoch=epoch, table="d.t", moved=moved, unregistered=(HOME,))
        registrar.enqueue(frozenset(state.unregistered))
        registrar.watch("d.t", watched_partitions(state))
        assert registrar.register_pending() == frozenset()
        hive.where = EARLY
        clock.sleep(LOOK_SECONDS)
        registrar.keep_locations()
        assert hive.where == HOME.location


def test_a_partition_that_has_moved_is_registered_at_its_home_only() -> None:
    """Otherwise Hive would hide the rows that came home since, or send queries to a place that is retired."""
    hive = Hive()
    registrar = Registrar(hive, lambda name: None, DaemonThreads(), SkippedTime())
    early = replace(HOME, location=EARLY)
    registrar.enqueue(frozenset({early}))
    registrar.enqueue(frozenset({HOME}), before=[early])
    assert registrar.register_pending() == frozenset()
    assert hive.order == [HOME.path, "look"] and hive.where == HOME.location


def test_the_thread_looks_as_soon_as_there_is_something_to_watch() -> None:
    hive = Hive()
    registrar = Registrar(hive, lambda name: None, DaemonThreads())
    registrar.start()
    registrar.watch("d.t", frozenset({HOME}))
    wait_until(lambda: hive.where == HOME.location, "set again")
    registrar.end()


def many(count: int) -> frozenset[HivePartition]:
    return frozenset(HivePartition("d.t", f"dt={n}", f"hdfs://n/t/dt={n}") for n in range(2, 2 + count))


def test_new_partitions_do_not_wait_until_all_locations_are_compared() -> None:
    hive, new = Hive(), HivePartition("d.t", "dt=new", "hdfs://n/t/dt=new")
    registrar = Registrar(hive, lambda name: None, DaemonThreads(), SkippedTime())
    registrar.watch("d.t", many(5 * LOOK_SIZE))
    hive.asked = lambda: registrar.enqueue(frozenset({new})) if hive.looks == 1 else None
    registrar.start()
    wait_until(lambda: "dt=new" in hive.order, "registered")
    assert hive.order.index("dt=new") <= LOOK_SIZE + 1
    wait_until(lambda: hive.looks > 5 * LOOK_SIZE, "all compared")
    registrar.end()


def test_a_look_ends_with_the_registrar() -> None:
    hive = Hive()
    registrar = Registrar(hive, lambda name: None, DaemonThreads(), SkippedTime())
    registrar.watch("d.t", many(LOOK_SIZE))
    hive.asked = lambda: registrar.end() if hive.looks == 3 else None
    registrar.keep_locations()
    assert hive.looks == 3


def test_a_partition_that_is_not_watched_any_more_is_left_out_of_the_look_under_way() -> None:
    hive = Hive()
    registrar = Registrar(hive, lambda name: None, DaemonThreads(), SkippedTime())
    registrar.watch("d.t", many(2 * LOOK_SIZE))
    assert registrar.keep_locations()
    registrar.watch("d.t", frozenset())
    registrar.keep_locations()
    assert hive.looks == LOOK_SIZE


def test_a_location_whose_time_runs_is_set_again_once_the_ledger_has_stopped_it() -> None:
    hive, clock, other = Hive(), SkippedTime(), HivePartition("d.t", "dt=2", "hdfs://n/t/dt=2")
    registrar = Registrar(hive, lambda name: None, DaemonThreads(), clock)
    both = frozenset({HOME, other})
    registrar.watch("d.t", both, both)
    registrar.keep_locations()
    began = clock.epoch_ms() / 1000
    assert registrar.take_events() == [
        LocationCorrection(frozenset({HOME})),
        LocationLook(frozenset({other}), frozenset({HOME}), began),
    ]
    registrar.keep_locations()
    assert hive.where == EARLY and hive.looks == 2
    registrar.watch("d.t", both, frozenset({other}))
    registrar.keep_locations()
    assert hive.where == HOME.location and hive.looks == 3
    registrar.keep_locations()
    assert hive.looks == 3


def test_the_thread_sets_a_location_again_as_soon_as_its_time_is_stopped() -> None:
    hive = Hive()
    registrar = Registrar(hive, lambda name: None, DaemonThreads())
    registrar.start()
    registrar.watch("d.t", frozenset({HOME}), frozenset({HOME}))
    wait_until(lambda: hive.looks == 1, "looked")
    registrar.watch("d.t", frozenset({HOME}))
    wait_until(lambda: hive.where == HOME.location, "set again")
    registrar.end()


def test_a_counted_location_that_was_put_back_is_told_with_the_time_at_which_the_look_began() -> None:
    hive, clock = Hive(), SkippedTime()
    registrar = Registrar(hive, lambda name: None, DaemonThreads(), clock)
    began = clock.epoch_ms() / 1000

    def slow() -> None:
        clock.seconds += 30

    hive.asked = slow
    registrar.watch("d.t", frozenset({HOME}), frozenset({HOME}))
    registrar.keep_locations()
    looks = [event for event in registrar.take_events() if isinstance(event, LocationLook)]
    assert looks == [LocationLook(frozenset(), frozenset({HOME}), began)]
    assert hive.where == EARLY, "it is corrected when the ledger has recorded it"


def test_after_an_outage_the_next_look_begins_anew() -> None:
    hive, clock = Hive(), SkippedTime()
    registrar = Registrar(hive, lambda name: None, DaemonThreads(), clock)
    days = frozenset(
        HivePartition("d.t", f"dt={n:02d}", f"hdfs://n/t/dt={n:02d}") for n in range(LOOK_SIZE + 1)
    )
    registrar.watch("d.t", days)

    def down() -> None:
        raise MetastoreUnavailable("down")

    hive.asked = down
    assert not registrar.keep_locations(), "the rest is not asked for"
    assert not registrar.keep_locations() and hive.looks == 1
    clock.sleep(LOOK_SECONDS)
    hive.asked = lambda: None
    assert registrar.keep_locations() and not registrar.keep_locations()
    assert hive.looks == LOOK_SIZE + 2


def test_the_thread_closes_the_connection_when_it_ends() -> None:
    closed: list[str] = []
    registrar = Registrar(Hive(), lambda name: None, DaemonThreads(), close=lambda: closed.append("closed"))
    registrar.start()
    assert closed == []
    registrar.end()
    assert closed == ["closed"]
