"""What a run makes of several looks at the locations of moved partitions: K7 and K8 of docs/protocol.md."""

from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.ledger.retire import FRESH_SECONDS
from kafka2hive.model.files import HivePartition
from kafka2hive.model.paths.path import join
from kafka2hive.model.paths.table_directory import early_place
from kafka2hive.model.snapshot import MovedPartition
from kafka2hive.model.text import utc_text
from kafka2hive.service.hive.places import LocationLook
from kafka2hive.service.run.epochs import EpochLoop
from kafka2hive.service.tables.table_state import Table
from tests.harness.cli_ledger import local, wired
from tests.harness.epoch_loop import AtOnce, Clock, HiveAnswers, Kafka, make_loop_and_tables
from tests.harness.values import file_name
from tests.unit.service.owned_table import restate

NAME, DAYS = "air.early", ("dt=2025-11-08", "dt=2025-11-09")
KEEP = 2 * 86_400
MAP = """\
hive: {url: "hive://127.0.0.1:9"}
defaults: {start: earliest, format: raw, completion: {delay: 1s}}
tables:
  - {table: air.early, topics: [early], compact: {keep: 2d}, bucket: {path: "dt=%Y-%m-%d"}}
  - {table: air.late, topics: [late], compact: {keep: 2d}, bucket: {path: "dt=%Y-%m-%d"}}
"""
NOBODY = frozenset[HivePartition]()


class Run:
    """A run over two idle tables with two moved partitions each; the first partition's time runs since `began`."""

    def __init__(self, folder: Path) -> None:
        real = wired(folder, MAP, service="once")
        self.clock, self.registrar = Clock(), HiveAnswers()
        self.wiring = replace(real, ports=replace(real.ports, clock=self.clock))
        kafka = Kafka()
        self.loop: EpochLoop
        self.loop, tables = make_loop_and_tables(
            self.wiring, kafka, once=False, schemas=AtOnce(), registrar=self.registrar
        )
        kafka.ends = dict.fromkeys(kafka.ends, 0)
        assert self.loop.plan() is None
        self.tables = dict(tables.tables)
        self.began = utc_text(self.now)
        for table in self.tables.values():
            moved = tuple(
                MovedPartition(
                    partition=home,
                    early=early_place(table.location, home.path),
                    epoch=1,
                    late=0,
                    right_since=self.began if home.path == DAYS[0] else "",
                )
                for home in self.homes(table)
            )
            restate(table, moved=moved)

    @property
    def now(self) -> float:
        return self.clock.epoch_ms() / 1000

    def homes(self, table: Table) -> list[HivePartition]:
        return [HivePartition(table.name, day, join(table.location, day)) for day in DAYS]

    def looks(self, *looks: LocationLook) -> dict[str, str]:
        """Plan after these looks. Return the times of the first table's partitions that are not retired."""
        self.registrar.events = list(looks)
        assert self.loop.plan() is None
        return {each.partition.path: each.right_since for each in self.tables[NAME].owned.state.moved}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def test_a_location_that_was_put_back_is_not_forgotten_by_the_next_look(run: Run) -> None:
    first, second = run.homes(run.tables[NAME])
    run.clock.seconds += 2 * KEEP
    put_back = LocationLook(NOBODY, frozenset({first}), run.now - 2)
    right = LocationLook(frozenset({first, second}), NOBODY, run.now - 1)
    assert run.looks(put_back, right) == {DAYS[0]: "", DAYS[1]: utc_text(run.now)}


@pytest.mark.parametrize("age", [0, FRESH_SECONDS, FRESH_SECONDS + 1])
def test_a_look_counts_from_its_beginning_and_for_a_minute(run: Run, age: float) -> None:
    """A run that was busy for minutes applies looks late."""
    first, second = run.homes(run.tables[NAME])
    run.clock.seconds += 2 * KEEP
    times = run.looks(LocationLook(frozenset({first, second}), NOBODY, run.now - age))
    assert (DAYS[0] in times) is (age > FRESH_SECONDS)
    assert bool(times[DAYS[1]]) is (age <= FRESH_SECONDS)


def test_a_look_is_used_once_and_for_its_own_table(run: Run) -> None:
    first, second = run.homes(run.tables["air.late"])
    look = LocationLook(frozenset({first, second}), frozenset({first}), run.now)
    assert run.looks(look) == {DAYS[0]: run.began, DAYS[1]: ""}
    late = run.tables["air.late"].owned
    assert [each.right_since for each in late.state.moved] == ["", utc_text(run.now)]
    restate(run.tables["air.late"], moved=tuple(replace(each, right_since="") for each in late.state.moved))
    run.looks()
    assert [each.right_since for each in run.tables["air.late"].owned.state.moved] == ["", ""]


def test_a_partition_is_retired_by_the_look_and_its_early_files_are_deleted(run: Run) -> None:
    table = run.tables[NAME]
    first, _ = run.homes(table)
    name = file_name(table.owned.state.ledger_id, 1, 5).in_state("final")  # of an epoch after the move
    file = local(join(early_place(table.location, DAYS[0]), name))
    file.parent.mkdir(parents=True)
    file.write_bytes(b"late")
    run.clock.seconds += KEEP
    assert DAYS[0] not in run.looks(LocationLook(frozenset({first}), NOBODY, run.now))
    assert file.exists(), "K8 deletes files up to the epoch of the move"


def test_a_look_that_arrives_when_the_run_ends_is_recorded(run: Run) -> None:
    table = run.tables[NAME]
    _, second = run.homes(table)
    run.registrar.events = [LocationLook(frozenset({second}), NOBODY, run.now)]
    run.loop.record_registrations()
    assert all(each.right_since for each in table.owned.state.moved)
