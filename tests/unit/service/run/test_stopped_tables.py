"""A run takes a stopped table up when somebody else has repaired it and is gone; and touches it before for no reason."""

from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.config.load import load_map
from kafka2hive.ledger.heartbeat import Heartbeat, ProcessIdentity
from kafka2hive.ledger.init import init
from kafka2hive.ledger.look import the_generation
from kafka2hive.ledger.start import take_over
from kafka2hive.model.errors import ManualActionRequired, TableError
from kafka2hive.model.paths.ledger import Generation
from kafka2hive.service.process import new_uuid, owner_name
from kafka2hive.service.run.stopped_tables import LOOK_SECONDS, StoppedTables
from kafka2hive.service.tables.table_state import MapTable, Table
from kafka2hive.service.wiring import wire
from tests.harness.cli_ledger import TABLE, write_map
from tests.harness.clock import SkippedTime

ME = ProcessIdentity("here", "boot", 1, 1, "pid:[1]")
COMMAND = replace(ME, host="there", pid=2)
LOST = ManualActionRequired("ledger.missing", "a file is gone", "recover")


class Nobody:
    """The Processes port of ME, which knows of no other process that it is gone."""

    def me(self) -> ProcessIdentity:
        return ME

    def is_gone(self, identity: ProcessIdentity) -> bool:
        return False


class Scene:
    """One stopped table on local disk, with the generation that its run has stopped at."""

    def __init__(self, folder: Path) -> None:
        self.clock = SkippedTime()
        wiring = wire(load_map(str(write_map(folder)), {}))
        self.wiring = replace(wiring, ports=replace(wiring.ports, clock=self.clock), processes=Nobody())
        rule = wiring.map.tables[0]
        self.table = Table(MapTable(rule, wiring.paths(TABLE), ("flights",)))
        init(self.wiring.ports, self.table.paths, "demo", rule.location)
        self.own(replace(COMMAND, pid=9))  # a run that is dead
        self.table.set_aside(LOST, 0.0)
        self.noticed = {TABLE: self.generation}
        self.stopped = StoppedTables(self.wiring, self.noticed)

    @property
    def generation(self) -> Generation:
        return the_generation(self.wiring.ports.files, self.table.paths)

    def own(self, process: ProcessIdentity) -> None:
        take_over(self.wiring.ports, self.table.paths, owner_name(process, new_uuid()), None)

    def beat(self, process: ProcessIdentity, service: str = "demo", *, repairs: bool) -> Heartbeat:
        owner, root = owner_name(process, new_uuid()), self.wiring.map.storage.ledger_root
        beat = Heartbeat(self.wiring.ports, root, service, owner, process, repairs=repairs)
        beat.send()
        return beat

    def is_taken_up(self) -> bool:
        self.clock.seconds += LOOK_SECONDS
        return self.stopped.repaired([self.table]) == [self.table]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_a_table_that_nobody_has_touched_since_it_stopped_is_left_alone(scene: Scene) -> None:
    assert not scene.is_taken_up()


def test_a_table_that_this_run_has_taken_over_itself_is_left_alone(scene: Scene) -> None:
    scene.own(ME)
    assert not scene.is_taken_up()


def test_a_table_that_somebody_has_taken_over_since_is_taken_up(scene: Scene) -> None:
    scene.own(COMMAND)
    assert scene.is_taken_up()
    scene.noticed[TABLE] = scene.generation  # what its start does, which stops again
    assert not scene.is_taken_up(), "not twice for one repair"
    scene.stopped.forget(scene.table)
    assert scene.is_taken_up(), "the start was too late, and did not decide"


@pytest.mark.parametrize("repairs", [False, True])
def test_a_table_is_not_taken_from_whoever_is_alive(scene: Scene, repairs: bool) -> None:
    beat = scene.beat(COMMAND, "another" if not repairs else "demo", repairs=repairs)
    scene.own(COMMAND)
    for _ in range(3):
        assert not scene.is_taken_up()
        beat.send()
    beat.end()
    assert scene.is_taken_up()


def test_a_command_that_was_killed_keeps_no_table(scene: Scene) -> None:
    scene.beat(COMMAND, repairs=True)
    scene.own(COMMAND)
    assert not scene.is_taken_up(), "it may be alive"
    assert scene.is_taken_up()


def test_a_ledger_that_a_command_of_the_service_has_just_rebuilt_is_left_to_it(scene: Scene) -> None:
    del scene.noticed[TABLE]
    beat = scene.beat(COMMAND, repairs=True)
    assert not scene.is_taken_up(), "the generation is nobody's yet"
    beat.end()
    assert scene.is_taken_up()


def test_a_command_of_another_service_is_at_work_on_other_tables(scene: Scene) -> None:
    scene.beat(replace(COMMAND, pid=3), "another", repairs=True)
    scene.own(COMMAND)
    assert scene.is_taken_up()


def test_a_look_comes_every_ten_seconds_and_only_where_a_table_is_stopped(scene: Scene) -> None:
    scene.own(COMMAND)
    scene.clock.seconds = LOOK_SECONDS - 1
    assert scene.stopped.repaired([scene.table]) == []
    scene.clock.seconds = LOOK_SECONDS
    assert scene.stopped.repaired([scene.table]) == [scene.table]
    scene.clock.seconds += LOOK_SECONDS - 1
    assert scene.stopped.repaired([scene.table]) == []
    scene.table.set_aside(TableError("hive.columns", "no column b"), 0.0)
    assert not scene.is_taken_up(), "it is tried again by itself"


def test_a_ledger_that_is_gone_is_looked_for_again(scene: Scene, tmp_path: Path) -> None:
    (ledger,) = tmp_path.rglob(f"kafka_partition_offsets/{TABLE}")
    ledger.rename(tmp_path / "away")
    assert not scene.is_taken_up()
    (tmp_path / "away").rename(ledger)
    scene.own(COMMAND)
    assert scene.is_taken_up()
