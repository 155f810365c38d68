"""Which owners may be fenced: no live one without `--takeover`, and none because two processes look alike."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from kafka2hive.config.load import load_map
from kafka2hive.ledger.heartbeat import Heartbeat, ProcessIdentity
from kafka2hive.ledger.init import init
from kafka2hive.ledger.start import take_over
from kafka2hive.model.errors import OwnedByLiveRun, TableError
from kafka2hive.service.ownership import OwnershipCheck
from kafka2hive.service.process import new_uuid, owner_name, process_of
from kafka2hive.service.wiring import Wiring, wire
from tests.harness.cli_ledger import TABLE, write_map
from tests.harness.clock import SkippedTime

ME = ProcessIdentity("here", "boot", 1, 1, "pid:[1]")
FIRST = replace(ME, host="there", pid=2)
LATER = replace(ME, host="there", pid=3)
TWIN = replace(ME, started=2, namespace="pid:[2]")
"""Another container with this one's host name and process id."""


@dataclass
class Host:
    """The Processes port as ME sees it: it knows which processes of its pid namespace are alive."""

    gone: list[ProcessIdentity] = field(default_factory=list)

    def me(self) -> ProcessIdentity:
        return ME

    def is_gone(self, identity: ProcessIdentity) -> bool:
        return identity in self.gone


class Clock(SkippedTime):
    """A clock: while a second passes, every live process writes a heartbeat."""

    def __init__(self) -> None:
        super().__init__()
        self.pass_time: list[Callable[[], object]] = []

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        for beat in self.pass_time:
            beat()


class World:
    """One ledger on local disk, and processes that own it or beat."""

    def __init__(self, wiring: Wiring) -> None:
        self.host = Host()
        self.clock = Clock()
        self.wiring = replace(wiring, ports=replace(wiring.ports, clock=self.clock), processes=self.host)
        self._alive: dict[ProcessIdentity, Heartbeat] = {}

    def own(self, process: ProcessIdentity) -> None:
        take_over(self.wiring.ports, self.wiring.paths(TABLE), owner_name(process, new_uuid()), None)

    def live(self, process: ProcessIdentity, service: str = "demo", *, repairs: bool = False) -> None:
        owner, root = owner_name(process, new_uuid()), self.wiring.map.storage.ledger_root
        beat = Heartbeat(self.wiring.ports, root, service, owner, process, repairs=repairs)
        beat.send()
        self._alive[process] = beat
        self.clock.pass_time.append(beat.send)

    def die(self, process: ProcessIdentity) -> None:
        self.clock.pass_time.remove(self._alive.pop(process).send)

    def check(self, take_over: bool = False) -> OwnershipCheck:
        return self.wiring.ownership_check(take_over=take_over)

    def checked(self, ownership: OwnershipCheck) -> str:
        """The process whose ownership may end."""
        ownership.look_again()
        return process_of(ownership.check(self.wiring.paths(TABLE), None).owner or "")


@pytest.fixture
def world(tmp_path: Path) -> World:
    wiring = wire(load_map(str(write_map(tmp_path)), {}))
    init(wiring.ports, wiring.paths(TABLE), wiring.map.service, wiring.map.tables[0].location)
    return World(wiring)


def name(process: ProcessIdentity) -> str:
    return process_of(owner_name(process, new_uuid()))


def test_a_live_owner_is_respected_without_takeover(world: World) -> None:
    world.own(FIRST)
    world.live(FIRST)
    with pytest.raises(OwnedByLiveRun, match="there-2 of service demo"):
        world.checked(world.check())


def test_a_repair_that_is_alive_keeps_its_table_and_ends_no_run(world: World) -> None:
    world.own(FIRST)
    world.live(FIRST, repairs=True)
    with pytest.raises(TableError, match="being repaired by a command that is alive: there-2") as refused:
        world.checked(world.check())
    assert refused.value.code == "ledger.repair_under_way"
    world.die(FIRST)
    assert world.checked(world.check()) == name(FIRST)


def test_a_live_owner_is_found_whatever_its_service_is_called_now(world: World) -> None:
    world.own(FIRST)
    world.live(FIRST, "renamed")
    with pytest.raises(OwnedByLiveRun, match="there-2 of service renamed"):
        world.checked(world.check())


def test_another_container_of_the_same_host_name_and_process_id_is_not_me(world: World) -> None:
    world.own(TWIN)
    world.live(TWIN)
    with pytest.raises(OwnedByLiveRun, match="here-1 of service demo"):
        world.checked(world.check())


def test_a_living_process_does_not_keep_the_tables_of_a_dead_one_that_looks_alike(world: World) -> None:
    world.own(TWIN)
    world.live(replace(TWIN, started=3))
    assert world.checked(world.check()) == name(TWIN)
    assert world.clock.seconds == 0, "there is no beat of the owner to watch"


def test_an_owner_of_this_host_that_is_gone_is_dead_at_once(world: World) -> None:
    world.own(FIRST)
    world.live(FIRST)
    world.host.gone.append(FIRST)
    assert world.checked(world.check()) == name(FIRST)
    assert world.clock.seconds == 0


def test_an_owner_at_the_start_is_fenced_then_and_at_every_retry(world: World) -> None:
    world.own(FIRST)
    world.live(FIRST)
    check = world.check(take_over=True)
    assert world.checked(check) == name(FIRST)
    check.end_take_over()
    assert world.checked(check) == name(FIRST), (
        "the table failed at its first try, the fenced run still beats"
    )


def test_a_later_owner_is_respected(world: World) -> None:
    world.own(FIRST)
    world.live(FIRST)
    world.live(LATER)
    check = world.check(take_over=True)
    world.checked(check)
    check.end_take_over()
    world.own(LATER)
    with pytest.raises(OwnedByLiveRun):
        world.checked(check)
    world.die(LATER)
    assert world.checked(check) == name(LATER), "dead by now"
    world.own(ME)
    assert world.checked(check) == name(ME)
