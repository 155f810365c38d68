"""One table with `retain` and `compact`: a partition expires only after it has moved and its early files are gone."""

from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.ledger.retention import KEEP_SECONDS
from kafka2hive.model.files import HivePartition
from kafka2hive.model.paths.path import join
from kafka2hive.model.paths.table_directory import early_place
from kafka2hive.model.snapshot import EarlyPartition, MovedPartition, RetiredPartition
from kafka2hive.service.hive.places import LocationLook
from kafka2hive.service.retention.chore import EXPIRY_SECONDS
from tests.harness.cli_ledger import local
from tests.harness.values import file_name
from tests.unit.service.owned_table import restate
from tests.unit.service.run.test_run_retention import DAYS, MAP, NAME, Days

BOTH = MAP.replace("retain: 10d,", "retain: 10d, completion: {delay: 1s}, compact: {keep: 2d},")
ONLY_RETAIN = MAP.replace("retain: 10d,", "retain: 10d, completion: {delay: 1s},")


def home_of(days: Days, day: str = DAYS[0]) -> HivePartition:
    return HivePartition(NAME, day, join(days.table.location, day))


def early_of(days: Days) -> EarlyPartition:
    place = early_place(days.table.location, DAYS[0])
    return EarlyPartition(
        partition=replace(home_of(days), location=place),
        since=1,
        closes="2025-11-09T00:00:00Z",
        files=1,
        rows=1,
        certified=0,
    )


def moved_of(days: Days) -> MovedPartition:
    return MovedPartition(
        partition=home_of(days), early=early_place(days.table.location, DAYS[0]), epoch=1, late=0
    )


@pytest.mark.parametrize("state", ["early", "moved", "retired"])
def test_a_partition_between_its_two_places_waits_although_it_has_expired(tmp_path: Path, state: str) -> None:
    days = Days(tmp_path, BOTH)
    moved = moved_of(days)
    retired = RetiredPartition(partition=moved.partition, early=moved.early, through=1, epoch=2)
    line = {"early": early_of(days), "moved": moved, "retired": retired}[state]
    # a file that the deletion does not take, so that a retired line does not end at once
    name = file_name(days.state.ledger_id, 1, 0).in_state("final")
    file = local(join(moved.early, name))
    file.parent.mkdir(parents=True)
    file.write_bytes(b"rows")
    restate(days.table, **{state: (line,)})
    days.plan()
    assert list(days.lines) == [DAYS[1]], "the other one is dropped"
    assert file.exists() or state == "retired"
    restate(days.table, **{state: ()})
    days.plan(EXPIRY_SECONDS)
    assert list(days.lines) == [DAYS[1], DAYS[0]]


@pytest.mark.parametrize("service_map", [BOTH, ONLY_RETAIN])
def test_an_expired_partition_is_retired_then_dropped_then_deleted_at_both_places(
    tmp_path: Path, service_map: str
) -> None:
    """Also if the map has lost `compact`: by the default of two days."""
    days = Days(tmp_path, service_map)
    moved = moved_of(days)
    leftover = local(join(moved.early, "_kafka2hive_x"))
    leftover.parent.mkdir(parents=True)
    restate(days.table, moved=(moved,))

    def look(seconds: float) -> None:
        days.clock.seconds += seconds
        days.registrar.events = [
            LocationLook(frozenset({moved.partition}), frozenset(), days.clock.epoch_ms() / 1000)
        ]
        days.plan()

    look(0)
    assert DAYS[0] not in days.lines and days.state.moved[0].right_since
    look(2 * 86_400)
    assert not days.state.moved, "its early place is retired"
    for _ in range(3):
        days.plan(EXPIRY_SECONDS)
    assert not days.state.retired and DAYS[0] in days.lines
    mark = [path.name for path in leftover.parent.iterdir()]
    assert [name.partition("-")[0] for name in mark] == ["moved"]
    days.plan(1, gone=days.homes())
    days.plan(KEEP_SECONDS, gone=days.homes())
    assert DAYS[0] not in days.present() and not leftover.parent.exists()
