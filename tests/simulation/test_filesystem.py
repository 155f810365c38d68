"""The simulated file system keeps the port's contract, and its faults do what their names say."""

import pytest

from kafka2hive.storage.port import Denied, NoRoom, NotFound, OutcomeUnknown, Unavailable, write_file
from tests.harness.filesystem_cases import CASES, Case
from tests.simulation.faults import NO_FAULTS, Rates
from tests.simulation.filesystem import SimulatedFileSystem
from tests.simulation.namenode import ROOT
from tests.simulation.world import World


def a_world(rates: Rates = NO_FAULTS) -> tuple[World, SimulatedFileSystem]:
    world = World(seed=7)
    world.namenode.mkdirs(f"{ROOT}/d")
    world.use(rates)
    return world, SimulatedFileSystem(world)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_the_simulated_file_system_keeps_the_contract(case: Case) -> None:
    _, files = a_world()
    case(files, f"{ROOT}/d")


def test_an_unavailable_namenode_does_nothing() -> None:
    world, files = a_world(Rates(unavailable=1.0))
    with pytest.raises(Unavailable):
        files.create(f"{ROOT}/d/a")
    assert world.namenode.node(f"{ROOT}/d/a") is None


def test_a_lost_request_is_not_done_and_a_lost_reply_is() -> None:
    world, files = a_world(Rates(lost_request=1.0))
    with pytest.raises(OutcomeUnknown):
        files.mkdirs(f"{ROOT}/d/lost")
    world.use(Rates(lost_reply=1.0))
    with pytest.raises(OutcomeUnknown):
        files.mkdirs(f"{ROOT}/d/done")
    assert list(world.namenode.directory(f"{ROOT}/d") or ()) == ["done"]


def test_a_delayed_request_is_done_later_and_once() -> None:
    world, files = a_world(Rates(delayed=1.0))
    with pytest.raises(OutcomeUnknown):
        files.create(f"{ROOT}/d/a")
    assert world.namenode.node(f"{ROOT}/d/a") is None
    world.execute_late()
    assert world.namenode.read(f"{ROOT}/d/a") == b""
    assert world.late == []


def test_a_late_duplicate_of_a_create_makes_an_empty_file_but_never_over_an_existing_one() -> None:
    world, files = a_world()
    for name in ("stays", "leaves"):
        world.use(Rates(duplicated=1.0))
        writer = files.create(f"{ROOT}/d/{name}")
        world.use(NO_FAULTS)
        writer.write(b"data")
        writer.close()
    files.rename(f"{ROOT}/d/leaves", f"{ROOT}/d/moved")
    while world.late:
        world.execute_late()
    assert world.namenode.read(f"{ROOT}/d/stays") == b"data"
    assert world.namenode.read(f"{ROOT}/d/moved") == b"data"
    assert world.namenode.read(f"{ROOT}/d/leaves") == b""


def test_a_late_duplicate_of_a_delete_removes_what_has_the_path_by_then() -> None:
    world, files = a_world()
    write_file(files, f"{ROOT}/d/a", b"old")
    world.use(Rates(duplicated=1.0))
    files.delete(f"{ROOT}/d/a")
    world.use(NO_FAULTS)
    write_file(files, f"{ROOT}/d/a", b"new")
    world.execute_late()
    assert world.namenode.node(f"{ROOT}/d/a") is None


def test_a_file_open_for_writing_moves_with_its_directory() -> None:
    world, files = a_world()
    writer = files.create(f"{ROOT}/d/a")
    files.rename(f"{ROOT}/d", f"{ROOT}/taken")
    writer.write(b"late")
    writer.close()
    assert world.namenode.read(f"{ROOT}/taken/a") == b"late"
    with pytest.raises(NotFound):
        files.stat(f"{ROOT}/d/a")


def test_a_full_disk_refuses_what_makes_something_and_a_missing_permission_refuses_everything() -> None:
    world, files = a_world()
    write_file(files, f"{ROOT}/d/a", b"")
    world.trouble = NoRoom
    with pytest.raises(NoRoom):
        files.create(f"{ROOT}/d/b")
    files.rename(f"{ROOT}/d/a", f"{ROOT}/d/c")
    world.trouble = Denied
    with pytest.raises(Denied):
        files.delete(f"{ROOT}/d/c")
