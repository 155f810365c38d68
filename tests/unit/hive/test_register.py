"""Rule R8: every pending registration ends as registered, unavailable, refused or misplaced; Hive's errors are never raised."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka2hive.config.keys import HiveOptions
from kafka2hive.hive.metastore import HiveMetastore
from kafka2hive.ledger.register import keep_locations, register
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import MetastoreRefused, MetastoreUnavailable
from tests.harness.one_by_one import OneByOne


def _registration(path: str, table: str = "d.t") -> HivePartition:
    return HivePartition(table, path, f"hdfs://n/{table}/{path}")


class Hive(OneByOne):
    """A metastore that refuses some partitions, has others at another location, and goes down after some calls."""

    def __init__(self, bad: set[HivePartition] | None = None, calls: int | None = None) -> None:
        self.registered: dict[tuple[str, str], str] = {}
        self.asked: list[HivePartition] = []
        self.calls = 0
        self._bad = bad or set()
        self._until = calls

    def add_partitions(self, partitions: Sequence[HivePartition]) -> Mapping[HivePartition, str]:
        self._called()
        assert len({p.table for p in partitions}) == 1 and all(p.path for p in partitions)
        if self._bad.intersection(partitions):
            raise MetastoreRefused("no such table")
        for partition in partitions:
            self.registered.setdefault((partition.table, partition.path), partition.location)
        return {}

    def set_location(self, partition: HivePartition) -> None:
        self._called()
        self.registered[partition.table, partition.path] = partition.location

    def location(self, partition: HivePartition) -> str | None:
        self._called()
        self.asked.append(partition)
        return self.registered.get((partition.table, partition.path))

    def _called(self) -> None:
        if self._until is not None and self.calls >= self._until:
            raise MetastoreUnavailable("gone")
        self.calls += 1


_unregistered = st.sets(
    st.builds(
        _registration,
        st.integers(0, 8).map(lambda n: f"dt={n}") | st.just(""),
        st.sampled_from(["d.t", "d.u"]),
    )
)


@given(_unregistered, st.data())
def test_every_debt_is_sorted_once_and_refused_ones_do_not_hold_up_the_others(
    unregistered: set[HivePartition], data: st.DataObject
) -> None:
    bad = data.draw(st.sets(st.sampled_from(sorted(unregistered)))) if unregistered else set()
    bad = {partition for partition in bad if partition.path}
    calls = data.draw(st.none() | st.integers(0, 20))
    hive = Hive(bad, calls)
    found = register(hive, unregistered)
    parts = [found.registered, found.failed_unavailable, set(found.refused), set(found.misplaced)]
    assert sum(map(len, parts)) == len(unregistered) and set().union(*parts) == unregistered
    assert set(found.refused) <= bad
    for registered in found.registered:
        assert (
            not registered.path or hive.registered[registered.table, registered.path] == registered.location
        )
    if calls is None:
        assert set(found.refused) == bad and found.registered == unregistered - bad and not found.outage
    else:
        assert bool(found.outage) >= bool(found.failed_unavailable)


def test_a_server_that_is_away_is_asked_once() -> None:
    class Away(Hive):
        def _called(self) -> None:
            self.calls += 1
            raise MetastoreUnavailable("no answer within 60 s")

    hive = Away()
    unregistered = {_registration(f"dt={n}", table) for n in range(5) for table in ("d.t", "d.u")}
    found = register(hive, unregistered)
    assert (
        hive.calls == 1
        and found.failed_unavailable == unregistered
        and str(found.outage) == "no answer within 60 s"
    )


def test_a_partition_that_lies_elsewhere_is_told_with_its_place() -> None:
    hive = Hive()
    hive.registered["d.t", "dt=1"] = "hdfs://n/other"
    found = register(hive, {_registration("dt=1"), _registration("dt=2")})
    assert found.misplaced == {_registration("dt=1"): "hdfs://n/other"} and found.registered == {
        _registration("dt=2")
    }


def test_the_place_is_compared_once_a_run() -> None:
    hive = Hive()
    unregistered = {_registration("dt=1"), _registration("dt=2")}
    first = register(hive, {_registration("dt=1")})
    register(hive, unregistered, checked=first.registered)
    assert sorted(hive.asked) == [_registration("dt=1"), _registration("dt=2")]


def test_paying_twice_changes_nothing() -> None:
    hive = Hive()
    first = register(hive, {_registration("dt=1"), _registration("")})
    before = dict(hive.registered)
    assert register(hive, {_registration("dt=1"), _registration("")}) == first and hive.registered == before


def test_more_debts_than_fit_into_one_statement_are_all_registered() -> None:
    hive = Hive()
    unregistered = {_registration(f"dt={n:03d}") for n in range(403)}
    assert register(hive, unregistered).registered == unregistered
    assert len(hive.registered) == 403


def test_a_partition_that_is_dropped_meanwhile_stays_to_be_registered() -> None:
    class Dropping(Hive):
        def location(self, partition: HivePartition) -> str | None:
            self.registered.pop((partition.table, partition.path), None)
            return super().location(partition)

    found = register(Dropping(), {_registration("dt=1")})
    assert found.registered == frozenset() and found.failed_unavailable == {_registration("dt=1")}


def _at(place: str) -> HivePartition:
    return HivePartition("d.t", "dt=1", f"hdfs://n/t/{place}")


@pytest.mark.parametrize(("pending", "other"), [("dt=1", "_open/dt=1"), ("_open/dt=1", "dt=1")])
def test_a_partition_at_its_other_place_is_set_to_the_one_that_is_pending(pending: str, other: str) -> None:
    hive = Hive()
    hive.registered["d.t", "dt=1"] = _at(other).location
    found = register(hive, {_at(pending)})
    assert found.registered == {_at(pending)} and not found.misplaced
    assert hive.registered["d.t", "dt=1"] == _at(pending).location


def test_a_location_that_was_put_back_is_set_again_and_one_that_was_moved_on_purpose_stays() -> None:
    hive, others = Hive(), HivePartition("d.t", "dt=2", "hdfs://n/t/dt=2")
    gone = HivePartition("d.t", "dt=3", "hdfs://n/t/dt=3")
    hive.registered = {("d.t", "dt=1"): _at("_open/dt=1").location, ("d.t", "dt=2"): "hdfs://n/elsewhere"}
    check = keep_locations(hive, [_at("dt=1"), others, gone])
    assert check.corrected == {_at("dt=1")} and check.outage is None
    assert hive.registered == {
        ("d.t", "dt=1"): _at("dt=1").location,
        ("d.t", "dt=2"): "hdfs://n/elsewhere",
    }
    assert keep_locations(hive, [_at("dt=1")]).corrected == frozenset()


class Described:
    """A session of Hive whose table has these properties, and the statements that it was sent."""

    def __init__(self, *properties: tuple[str, str], kind: str = "EXTERNAL_TABLE") -> None:
        self.rows: list[tuple[str, str, str]] = [
            ("# Detailed Table Information", "", ""),
            ("Table Type:", kind, ""),
            ("Table Parameters:", "", ""),
            *(("", name, value) for name, value in properties),
        ]
        self.sent: list[str] = []

    def run(self, *statements: str) -> list[tuple[str, str, str]]:
        self.sent += statements
        return self.rows


@pytest.mark.parametrize(
    ("session", "why"),
    [
        (Described(("external.table.purge", "TRUE")), "SET TBLPROPERTIES ('external.table.purge'='false')"),
        (Described(kind="MANAGED_TABLE"), "managed table"),
        (Described(("TRANSLATED_TO_EXTERNAL", "TRUE"), ("external.table.purge", "TRUE")), "managed table"),
        (Described(("external.table.purge", "false")), ""),
        (Described(), ""),
    ],
)
def test_no_partition_is_dropped_if_hive_would_delete_its_files(session: Described, why: str) -> None:
    metastore = HiveMetastore(HiveOptions("127.0.0.1", 1, "u", None, "NONE", 1.0))
    metastore.session = session  # type: ignore[assignment]
    home = HivePartition("d.t", "dt=1", "hdfs://n/t/dt=1")
    ((dropped, refusal),) = metastore.drop_partitions([home])
    assert dropped == home and bool(refusal) == bool(why) and why in str(refusal)
    assert session.sent[1:] == ([] if why else ["ALTER TABLE `d`.`t` DROP IF EXISTS PARTITION (`dt`='1')"])
