"""The registrar looks for dropped partitions in Hive, and drops those that the ledger allows: rule E3 of docs/protocol.md."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kafka2hive.ledger.retention import DropLook
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import MetastoreUnavailable
from kafka2hive.service.hive.dropped import (
    LATER_SECONDS,
    SOON_SECONDS,
    DropLookResult,
    DroppedPartitions,
    look_and_drop,
)
from kafka2hive.service.hive.registrar import Registrar
from kafka2hive.storage.concurrency import DaemonThreads
from tests.harness.clock import SkippedTime
from tests.harness.one_by_one import LOOK_SIZE, OneByOne
from tests.harness.waiting import wait_until

OLD = HivePartition("d.t", "dt=1", "hdfs://n/t/dt=1")
NOBODY = frozenset[HivePartition]()


class Hive(OneByOne):
    """The locations of partitions by path. `order` has what was asked; while `is_down`, nothing is answered."""

    def __init__(self, *partitions: HivePartition) -> None:
        self.where = {each.path: each.location for each in partitions}
        self.order: list[str] = []
        self.is_down = False

    def location(self, partition: HivePartition) -> str | None:
        self.order.append("look")
        if self.is_down:
            raise MetastoreUnavailable("down")
        return self.where.get(partition.path)

    def drop_partition(self, partition: HivePartition) -> None:
        self.order.append("drop")
        del self.where[partition.path]

    def add_partitions(self, partitions: Sequence[HivePartition]) -> Mapping[HivePartition, str]:
        raise AssertionError("nothing is pending")


def registrar_of(hive: Hive) -> tuple[Registrar, SkippedTime]:
    clock = SkippedTime()
    return Registrar(hive, lambda name: None, DaemonThreads(), clock), clock


def looks(registrar: Registrar) -> list[DropLook]:
    events = registrar.take_events()
    assert all(isinstance(event, DropLookResult) and event.table == "d.t" for event in events)
    return [event.look for event in events if isinstance(event, DropLookResult)]


def test_a_partition_is_dropped_once_and_then_looked_for_every_hour() -> None:
    hive = Hive(OLD)
    registrar, clock = registrar_of(hive)
    registrar.drop("d.t", {OLD: False})
    assert not registrar.keep_dropped()
    assert hive.order == ["look", "drop", "look"] and not hive.where
    assert looks(registrar) == [DropLook(present=frozenset({OLD})), DropLook(gone=frozenset({OLD}))]
    registrar.keep_dropped()
    assert len(hive.order) == 3
    registrar.drop("d.t", {OLD: True})
    clock.sleep(SOON_SECONDS)
    registrar.keep_dropped()
    assert looks(registrar) == [DropLook(gone=frozenset({OLD}))], "a look that was due when Hive still had it"
    clock.sleep(LATER_SECONDS - 1)
    registrar.keep_dropped()
    assert looks(registrar) == []
    clock.sleep(1)
    registrar.keep_dropped()
    assert looks(registrar) == [DropLook(gone=frozenset({OLD}))]
    registrar.drop("d.t", {})
    clock.sleep(LATER_SECONDS)
    registrar.keep_dropped()
    assert looks(registrar) == [], "its files are gone"


def test_a_partition_that_is_back_is_dropped_again_only_when_the_ledger_has_recorded_it() -> None:
    hive = Hive(OLD)
    registrar, _ = registrar_of(hive)
    registrar.drop("d.t", {OLD: True})
    registrar.keep_dropped()
    assert hive.order == ["look"] and looks(registrar) == [DropLook(present=frozenset({OLD}))]
    registrar.drop("d.t", {OLD: False})
    registrar.keep_dropped()
    assert hive.order == ["look", "look", "drop", "look"]


def test_after_an_outage_the_look_is_made_again_a_minute_later() -> None:
    hive = Hive(OLD)
    registrar, clock = registrar_of(hive)
    hive.is_down = True
    registrar.drop("d.t", {OLD: True})
    registrar.keep_dropped()
    assert looks(registrar) == [] and hive.order == ["look"]
    hive.is_down = False
    clock.sleep(SOON_SECONDS - 1)
    registrar.keep_dropped()
    assert hive.order == ["look"]
    clock.sleep(1)
    registrar.keep_dropped()
    assert looks(registrar) == [DropLook(present=frozenset({OLD}))]


def test_many_are_looked_for_in_slices() -> None:
    many = {HivePartition("d.t", f"dt={i}", f"hdfs://n/t/dt={i}"): True for i in range(LOOK_SIZE + 3)}
    hive = Hive()
    registrar, _ = registrar_of(hive)
    registrar.drop("d.t", many)
    assert registrar.keep_dropped() and len(hive.order) == LOOK_SIZE
    assert not registrar.keep_dropped() and len(hive.order) == LOOK_SIZE + 3


def test_partitions_of_dead_letters_are_those_of_the_table_whose_letters_they_hold() -> None:
    letters = HivePartition("d.dead", "source_table=d.t/dt=1", "hdfs://n/dead/source_table=d.t/dt=1")
    hive = Hive(OLD, letters)
    registrar, _ = registrar_of(hive)
    registrar.drop("d.t", {OLD: False, letters: True})
    registrar.keep_dropped()
    both = frozenset({OLD, letters})
    assert looks(registrar) == [DropLook(present=both), DropLook(gone=frozenset({OLD}))]
    assert list(hive.where) == [letters.path], "recorded as gone, so its return must be recorded first"
    registrar.drop("d.t", {})
    assert not registrar.keep_dropped() and looks(registrar) == []


def test_the_thread_drops_at_once_and_the_end_of_a_run_waits_for_it() -> None:
    hive = Hive(OLD)
    registrar = Registrar(hive, lambda name: None, DaemonThreads())
    registrar.start()
    registrar.drop("d.t", {OLD: False})
    assert registrar.settle(240)
    assert not hive.where
    other = HivePartition("d.t", "dt=2", "hdfs://n/t/dt=2")
    hive.where[other.path] = other.location
    registrar.drop("d.t", {OLD: True, other: False})
    wait_until(lambda: not hive.where, "dropped while the next look for the first one is an hour away")
    registrar.end()


class SlowHive(Hive):
    """A Hive that takes half a minute for each call; `left_at` is when it began to drop a partition last."""

    clock: SkippedTime
    left_at = 0.0

    def location(self, partition: HivePartition) -> str | None:
        self.clock.seconds += 30
        return super().location(partition)

    def drop_partition(self, partition: HivePartition) -> None:
        self.clock.seconds += 30
        self.left_at = self.clock.epoch_ms() / 1000
        super().drop_partition(partition)


def test_a_look_counts_from_its_beginning() -> None:
    """Somebody may have added the first partition while Hive was asked for the last one."""
    hive = SlowHive()
    registrar, clock = registrar_of(hive)
    hive.clock = clock
    began = clock.epoch_ms() / 1000
    registrar.drop("d.t", {OLD: True, replace(OLD, path="dt=2"): True})
    registrar.keep_dropped()
    assert [event.at for event in registrar.take_events() if isinstance(event, DropLookResult)] == [began]


def test_the_time_to_keep_the_files_begins_after_the_drop() -> None:
    hive = SlowHive(OLD)
    registrar, hive.clock = registrar_of(hive)
    registrar.drop("d.t", {OLD: False})
    registrar.keep_dropped()
    found, again = (event for event in registrar.take_events() if isinstance(event, DropLookResult))
    assert again.look == DropLook(gone=frozenset({OLD}))
    assert found.at < hive.left_at <= again.at


def test_nothing_is_dropped_by_a_look_without_all_answers() -> None:
    class Silent(Hive):
        def location(self, partition: HivePartition) -> str | None:
            if partition.path == "dt=2":
                raise MetastoreUnavailable("down")
            return super().location(partition)

    hive, second = Silent(OLD), replace(OLD, path="dt=2")
    looks, outage = look_and_drop(hive, {OLD: False, second: False}, SkippedTime())
    assert outage is not None and "drop" not in hive.order
    assert [(look.gone, look.present) for look, _ in looks] == [(NOBODY, frozenset({OLD}))]


def test_a_look_is_split_by_table_and_says_nothing_of_what_was_forgotten_meanwhile() -> None:
    dropped = DroppedPartitions()
    other, forgotten = HivePartition("d.u", "dt=1", "hdfs://n/u/dt=1"), replace(OLD, path="dt=9")
    letters = HivePartition("d.letters", "source_table=d.u/dt=1", "hdfs://n/letters/source_table=d.u/dt=1")
    dropped.replace("d.t", {OLD: True, forgotten: True})
    dropped.replace("d.u", {other: True, letters: False})
    dropped.replace("d.t", {OLD: True})
    look = DropLook(frozenset({OLD, other}), frozenset({letters}), {forgotten: "no"})
    assert dropped.by_table(look, 7.0) == [
        DropLookResult("d.t", DropLook(frozenset({OLD})), 7.0),
        DropLookResult("d.u", DropLook(frozenset({other}), frozenset({letters})), 7.0),
    ]
