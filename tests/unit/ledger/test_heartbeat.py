"""Heartbeats are advice: a look for live owners never fails, and mistakes no owner for another."""

import pytest

from kafka2hive.ledger.heartbeat import Heartbeat, HeartbeatWatch, LiveOwner, ProcessIdentity, live_owners
from kafka2hive.ledger.ports import Ports
from kafka2hive.model.paths.ledger import heartbeat_directory, heartbeat_name
from kafka2hive.model.paths.path import join
from kafka2hive.storage.port import write_file
from tests.simulation.clock import AnyOrder, SimulatedClock
from tests.simulation.filesystem import SimulatedFileSystem
from tests.simulation.namenode import ROOT
from tests.simulation.world import World

THERE = f"there-7-{'0' * 32}"


class NobodyIsGone:
    def me(self) -> ProcessIdentity:
        return ProcessIdentity("here", "boot", 1, 1, "pid:[1]")

    def is_gone(self, identity: ProcessIdentity) -> bool:
        return False


def make_ports() -> tuple[Ports, SimulatedClock]:
    world = World(0)
    clock = SimulatedClock()
    return Ports(SimulatedFileSystem(world), AnyOrder(world.below), clock, world.uuid), clock


def live(ports: Ports) -> dict[str, str]:
    found = live_owners(ports, ROOT, NobodyIsGone(), lambda _service, _owner: True)
    return {owner: beat.service for owner, beat in found.items()}


@pytest.mark.parametrize(
    "content", [b"", b"[1]", b"5", b"null", b'"text"', b"{}", b"{", b"\xff", b'{"host":"there","pid":"7"}']
)
def test_a_beat_with_anything_in_it_is_watched_like_any_other(content: bytes) -> None:
    ports, clock = make_ports()
    directory = heartbeat_directory(ROOT, "flights")
    ports.files.mkdirs(directory)
    write_file(ports.files, join(directory, heartbeat_name(THERE, 3)), content)
    assert live(ports) == {}
    assert clock.monotonic() >= 8


def test_where_nobody_asked_for_beats_nothing_is_waited_for() -> None:
    ports, clock = make_ports()
    Heartbeat(ports, ROOT, "flights", THERE, ProcessIdentity("there", "boot", 7, 1, "pid:[1]")).send()
    assert live_owners(ports, ROOT, NobodyIsGone(), lambda _service, _owner: False) == {}
    assert clock.monotonic() == 0


@pytest.mark.parametrize(
    "other",
    [
        ProcessIdentity("here", "boot", 1, 1, "pid:[2]"),
        ProcessIdentity("here", "boot", 1, 2, "pid:[1]"),
        ProcessIdentity("here", "other boot", 1, 1, "pid:[1]"),
        ProcessIdentity("there", "boot", 1, 1, "pid:[1]"),
    ],
)
@pytest.mark.parametrize("service", ["flights", "renamed since"])
def test_who_differs_in_any_part_of_the_identity_is_somebody_else_and_seen_in_every_service(
    other: ProcessIdentity, service: str
) -> None:
    world = World(0)
    beats: list[Heartbeat] = []

    def send_all() -> None:
        for beat in beats:
            beat.send()

    clock = SimulatedClock(send_all)
    ports = Ports(SimulatedFileSystem(world), AnyOrder(world.below), clock, world.uuid)
    beats.append(Heartbeat(ports, ROOT, service, THERE, other))
    beats[0].send()
    assert live(ports) == {THERE: service}


def test_my_own_beat_is_not_watched() -> None:
    ports, clock = make_ports()
    Heartbeat(ports, ROOT, "flights", THERE, NobodyIsGone().me()).send()
    assert live(ports) == {}
    assert clock.monotonic() == 0


@pytest.mark.parametrize("repairs", [False, True])
def test_a_watch_takes_who_is_new_or_changes_for_alive_and_who_is_quiet_for_eight_seconds_for_dead(
    repairs: bool,
) -> None:
    ports, clock = make_ports()
    there = ProcessIdentity("there", "boot", 7, 1, "pid:[1]")
    beat = Heartbeat(ports, ROOT, "flights", THERE, there, repairs=repairs)
    watch = HeartbeatWatch(ports, ROOT, NobodyIsGone())
    alive = {THERE: LiveOwner("flights", repairs)}
    assert watch.look() == {}
    beat.send()
    assert watch.look() == alive
    clock.sleep(7)
    assert watch.look() == alive, "it may be alive"
    beat.send()
    clock.sleep(7)
    assert watch.look() == alive
    clock.sleep(7)
    assert watch.look() == alive, "seven seconds since the last change that was seen"
    clock.sleep(1)
    assert watch.look() == {}
    beat.send()
    assert watch.look() == alive
    before = clock.monotonic()
    beat.end()
    assert watch.look() == {} and clock.monotonic() == before, "nothing is waited for"


def test_a_watch_does_not_see_this_process_and_who_is_gone_is_dead_at_once() -> None:
    ports, _ = make_ports()
    here, gone = NobodyIsGone().me(), ProcessIdentity("here", "boot", 9, 1, "pid:[1]")
    Heartbeat(ports, ROOT, "flights", "here-1-" + "0" * 32, here, repairs=True).send()
    Heartbeat(ports, ROOT, "flights", THERE, gone, repairs=True).send()
    assert list(HeartbeatWatch(ports, ROOT, NobodyIsGone()).look()) == [THERE]
    assert HeartbeatWatch(ports, ROOT, Gone(gone)).look() == {}


class Gone(NobodyIsGone):
    """The Processes port of a host from which one process is gone."""

    def __init__(self, gone: ProcessIdentity) -> None:
        self._gone = gone

    def is_gone(self, identity: ProcessIdentity) -> bool:
        return identity == self._gone


def test_the_beat_of_a_repair_is_watched_and_told_apart() -> None:
    world = World(0)
    beats: list[Heartbeat] = []
    clock = SimulatedClock(lambda: beats[0].send())
    ports = Ports(SimulatedFileSystem(world), AnyOrder(world.below), clock, world.uuid)
    there = ProcessIdentity("there", "boot", 7, 1, "pid:[1]")
    beats.append(Heartbeat(ports, ROOT, "flights", THERE, there, repairs=True))
    beats[0].send()
    found = live_owners(ports, ROOT, NobodyIsGone(), lambda _service, _owner: True)
    assert found == {THERE: LiveOwner("flights", repairs=True)}
