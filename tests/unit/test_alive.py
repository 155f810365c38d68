"""Beats are advice: whatever lies in their directory, looking for live owners never fails."""

import pytest

from kafka2hive.ledger.alive import ProcessIdentity, live_owners
from kafka2hive.ledger.ports import Ports
from kafka2hive.model.layout import alive_directory, beat_name, join
from kafka2hive.storage.port import write_file
from tests.simulation.clock import AnyOrder, SimulatedClock
from tests.simulation.filesystem import SimulatedFileSystem
from tests.simulation.namenode import ROOT
from tests.simulation.world import World


class NobodyIsGone:
    def me(self) -> ProcessIdentity:
        return ProcessIdentity("here", "boot", 1, 1)

    def is_gone(self, identity: ProcessIdentity) -> bool:
        return False


@pytest.mark.parametrize("content", [b"", b"[1]", b"5", b"null", b'"text"', b"{}", b"{", b"\xff"])
def test_a_beat_with_anything_in_it_is_watched_like_any_other(content: bytes) -> None:
    world = World(0)
    files = SimulatedFileSystem(world)
    directory = alive_directory(ROOT, "flights")
    files.mkdirs(directory)
    write_file(files, join(directory, beat_name(f"there-7-{'0' * 32}", 3)), content)
    clock = SimulatedClock()
    ports = Ports(files, AnyOrder(world.below), clock, world.uuid)
    assert live_owners(ports, ROOT, "flights", NobodyIsGone()) == frozenset()
    assert clock.monotonic() >= 8
