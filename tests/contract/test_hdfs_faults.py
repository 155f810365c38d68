"""What a real HDFS does when it is full, forbids, hangs or is away, and which of the port's errors that becomes."""

import os
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from hdfs_native import WriteOptions

from kafka2hive.storage.concurrency import Threads
from kafka2hive.storage.hdfs import HdfsFileSystem
from kafka2hive.storage.port import (
    Denied,
    NoRoom,
    NotFound,
    OutcomeUnknown,
    StorageError,
    Unavailable,
    write_file,
)
from tests.harness.namenode_proxy import Fate, NameNodeProxy
from tests.harness.waiting import wait_until
from tests.services.hdfs import Hdfs
from tests.services.hdfs_ha import Failover, HdfsHa
from tests.services.ports import unread_at


@pytest.fixture
def base(hdfs_to_kill: Hdfs, unique: str) -> str:
    """A directory of the test's own."""
    path = f"{hdfs_to_kill.namenode_url}/{unique}"
    eventually(
        lambda: HdfsFileSystem(hdfs_to_kill.namenode_url).mkdirs(path)
    )  # it may have been restarted just now
    return path


def outcome(function: Callable[[], object]) -> StorageError | None:
    try:
        function()
    except StorageError as error:
        return error
    return None


def eventually(function: Callable[[], object], seconds: float = 120.0) -> None:
    """Call until it raises no StorageError."""
    deadline = time.monotonic() + seconds
    while (error := outcome(function)) is not None:
        assert time.monotonic() < deadline, error
        time.sleep(0.1)


def test_an_exceeded_quota_of_names_is_no_room_and_changes_nothing(
    hdfs_to_kill: Hdfs, base: str, unique: str
) -> None:
    files = HdfsFileSystem(hdfs_to_kill.namenode_url)
    files.mkdirs(f"{base}/small")
    files.mkdirs(f"{base}/other")
    hdfs_to_kill.set_quota(f"/{unique}/small", names=1)
    assert isinstance(outcome(lambda: files.create(f"{base}/small/f")), NoRoom)
    assert isinstance(outcome(lambda: files.mkdirs(f"{base}/small/d")), NoRoom)
    assert isinstance(outcome(lambda: files.rename(f"{base}/other", f"{base}/small/other")), NoRoom)
    assert files.list(f"{base}/small") == ()
    assert files.stat(f"{base}/other").is_directory


def test_an_exceeded_quota_of_bytes_is_no_room_when_the_file_is_written(
    hdfs_to_kill: Hdfs, base: str, unique: str
) -> None:
    files = HdfsFileSystem(hdfs_to_kill.namenode_url)
    files.mkdirs(f"{base}/small")
    hdfs_to_kill.set_quota(f"/{unique}/small", space_bytes=1 << 20)
    error = outcome(lambda: write_file(files, f"{base}/small/f", b"x" * 1000))
    assert isinstance(error, NoRoom)
    assert "\n" not in str(error), "the Java stack trace does not belong in a message"


def test_a_missing_permission_is_denied(
    hdfs_to_kill: Hdfs, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = HdfsFileSystem(hdfs_to_kill.namenode_url)
    owner.mkdirs(f"{base}/d/below")
    write_file(owner, f"{base}/f", b"x")
    hdfs_to_kill.client().set_permission(base.removeprefix(hdfs_to_kill.namenode_url) + "/d", 0o700)
    monkeypatch.setenv("HADOOP_USER_NAME", "somebody")
    other = HdfsFileSystem(hdfs_to_kill.namenode_url)
    for change in (
        lambda: other.create(f"{base}/new"),
        lambda: other.mkdirs(f"{base}/new"),
        lambda: other.rename(f"{base}/f", f"{base}/g"),
        lambda: other.delete(f"{base}/f"),
        lambda: other.list(f"{base}/d"),
        lambda: other.stat(f"{base}/d/below"),
    ):
        assert isinstance(outcome(change), Denied)
    assert other.read(f"{base}/f") == b"x"


def test_safe_mode_is_unavailable_for_changes_while_reads_go_on(hdfs_to_kill: Hdfs, base: str) -> None:
    files = HdfsFileSystem(hdfs_to_kill.namenode_url)
    write_file(files, f"{base}/f", b"x")
    hdfs_to_kill.dfsadmin("-safemode", "enter")
    try:
        assert isinstance(outcome(lambda: files.create(f"{base}/g")), Unavailable)
        assert isinstance(outcome(lambda: files.rename(f"{base}/f", f"{base}/g")), Unavailable)
        assert isinstance(outcome(lambda: files.mkdirs(f"{base}/d")), Unavailable)
        assert isinstance(outcome(lambda: files.delete(f"{base}/f")), Unavailable)
        assert files.read(f"{base}/f") == b"x"
    finally:
        hdfs_to_kill.dfsadmin("-safemode", "leave")


def test_a_namenode_that_hangs_does_not_hang_the_caller(hdfs_to_kill: Hdfs, base: str) -> None:
    files = HdfsFileSystem(hdfs_to_kill.namenode_url, call_seconds=3.0)
    eventually(lambda: files.mkdirs(f"{base}/d"))  # a busy machine may take longer than that, too
    guard = files._session().guard
    wait_until(lambda: not guard.stuck, "free of stuck calls")
    hdfs_to_kill.namenode.suspend()
    try:
        began = time.monotonic()
        assert isinstance(outcome(lambda: files.mkdirs(f"{base}/late")), OutcomeUnknown)
        assert isinstance(outcome(lambda: files.stat(f"{base}/d")), Unavailable)
        assert time.monotonic() - began < 30
        assert guard.stuck == 2
    finally:
        hdfs_to_kill.namenode.resume()
    eventually(lambda: files.stat(f"{base}/late"))  # unknown, and it was done: that is why a caller must look
    wait_until(lambda: not guard.stuck, "free of a call that has returned")


@pytest.mark.parametrize("fate", [Fate.LOST, Fate.CUT])
@pytest.mark.parametrize("method", ["fsync", "complete"])
def test_a_close_without_an_answer_is_finished_by_closing_again(
    hdfs_to_kill: Hdfs, base: str, method: str, fate: Fate
) -> None:
    left = [fate]

    def faults(called: str) -> Fate:
        if called == "recoverLease":
            return Fate.CUT  # otherwise this could close the file before the lost answer is noticed
        return left.pop() if called == method and left else Fate.ANSWERED

    direct = HdfsFileSystem(hdfs_to_kill.namenode_url)
    name = f"{method}-{fate.value}"
    with NameNodeProxy(int(hdfs_to_kill.namenode_url.rpartition(":")[2])) as proxy:
        files = HdfsFileSystem(proxy.url)
        writer = files.create(f"{base.replace(hdfs_to_kill.namenode_url, proxy.url)}/{name}")
        writer.write(b"x" * 100_000)
        proxy.fate = faults
        assert isinstance(outcome(writer.close), OutcomeUnknown)
        assert not left, "the fault did not happen"
        proxy.fate = lambda called: Fate.ANSWERED
        eventually(writer.close, seconds=240)
    assert direct.stat(f"{base}/{name}").length == 100_000
    assert direct.read(f"{base}/{name}") == b"x" * 100_000
    assert direct.recover_lease(f"{base}/{name}"), "it is open"


def test_a_file_under_a_close_that_sleeps_shows_its_bytes_when_complete_and_its_lease_closes_it(
    hdfs_to_kill: Hdfs, base: str
) -> None:
    """What closing sooner than hdfs-native rests on (ADR 2, point 8); that closes again later, which changes nothing."""
    client, old, new = hdfs_to_kill.client(), f"{base}/old", f"{base}/new"
    old, new = (path.removeprefix(hdfs_to_kill.namenode_url) for path in (old, new))
    writer = client.create(old, WriteOptions(overwrite=False, create_parent=False))
    writer.write(b"x" * 100_000)
    writer.hsync()
    assert client.get_file_info(old).length == 100_000
    assert len(client.read(old)) == 0, "its only block is not complete"
    with ThreadPoolExecutor(1) as pool:
        closing = pool.submit(writer.close)
        wait_until(lambda: len(client.read(old)) == 100_000, "its block is reported", 240)
        assert client.recover_lease(old), "all its blocks are complete"
        client.rename(old, new, overwrite=False)
        closing.result(240)
    assert bytes(hdfs_to_kill.client().read(new).read()) == b"x" * 100_000
    with pytest.raises(FileNotFoundError):
        client.get_file_info(old)


@pytest.mark.parametrize("length", [0, 1, 100_000, 3_000_000])
def test_a_closed_file_is_whole_for_every_reader(hdfs_to_kill: Hdfs, base: str, length: int) -> None:
    files, other = HdfsFileSystem(hdfs_to_kill.namenode_url), hdfs_to_kill.client()
    paths = [f"{base}/f{number}" for number in range(6)]
    Threads(3).map(lambda path: write_file(files, path, b"x" * length), paths)
    for path in paths:
        assert len(other.read(path.removeprefix(hdfs_to_kill.namenode_url))) == length, "it is open"


def test_a_change_that_is_under_way_when_the_namenode_dies_has_an_unknown_outcome(
    hdfs_to_kill: Hdfs, base: str
) -> None:
    files = HdfsFileSystem(hdfs_to_kill.namenode_url)
    files.mkdirs(f"{base}/d")
    hdfs_to_kill.namenode.suspend()
    errors: list[StorageError | None] = []
    caller = threading.Thread(
        target=lambda: errors.append(outcome(lambda: files.rename(f"{base}/d", f"{base}/e")))
    )
    caller.start()
    port = int(hdfs_to_kill.namenode_url.rpartition(":")[2])
    wait_until(lambda: unread_at(port) > 0, "sent, and not read by the NameNode")
    hdfs_to_kill.namenode.kill()
    caller.join(120)
    try:
        assert [type(error) for error in errors] == [OutcomeUnknown]
        began = time.monotonic()
        again = outcome(lambda: files.rename(f"{base}/d", f"{base}/e"))
        for _ in range(5):  # the client may not have noticed yet that its other connections are gone, too
            if isinstance(again, OutcomeUnknown):
                again = outcome(lambda: files.rename(f"{base}/d", f"{base}/e"))
        assert isinstance(again, Unavailable)
        assert time.monotonic() - began < 60, "that a NameNode is down must be told soon"
    finally:
        hdfs_to_kill.start_namenode()
    assert len(files.list(base)) == 1


@pytest.mark.parametrize("change", ["mkdirs", "rename", "delete", "create"])
def test_after_a_lost_response_no_change_is_asked_of_the_other_namenode(
    hdfs_to_kill: Hdfs, base: str, unique: str, change: str
) -> None:
    """Else the other one's refusal would hide it: a login, or that the source is not there any more."""
    direct = HdfsFileSystem(hdfs_to_kill.namenode_url)
    direct.mkdirs(f"{base}/old")
    with (
        NameNodeProxy(int(hdfs_to_kill.namenode_url.rpartition(":")[2])) as proxy,
        socket.create_server(("127.0.0.1", 0)) as other,
    ):
        files = HdfsFileSystem(
            "hdfs://two",
            (
                ("dfs.nameservices", "two"),
                ("dfs.ha.namenodes.two", "a,b"),
                ("dfs.namenode.rpc-address.two.a", proxy.url.removeprefix("hdfs://")),
                ("dfs.namenode.rpc-address.two.b", f"127.0.0.1:{other.getsockname()[1]}"),
            ),
        )
        here = f"hdfs://two/{unique}"
        asked: dict[str, Callable[[], object]] = {
            "mkdirs": lambda: files.mkdirs(f"{here}/new"),
            "rename": lambda: files.rename(f"{here}/old", f"{here}/new"),
            "delete": lambda: files.delete(f"{here}/old"),
            "create": lambda: files.create(f"{here}/new"),
        }
        assert files.stat(f"{here}/old").is_directory
        proxy.lose = lambda change: True
        assert isinstance(outcome(asked[change]), OutcomeUnknown)
        assert len(proxy.changes()) == proxy.lost == 1, "sent once"
        other.setblocking(False)
        with pytest.raises(BlockingIOError):
            other.accept()
    there = {status.name for status in direct.list(base)}
    assert (
        there
        == {"mkdirs": {"old", "new"}, "rename": {"new"}, "delete": set(), "create": {"old", "new"}}[change]
    )


def test_without_a_datanode_writing_is_unavailable_giving_up_is_quick_and_names_still_move(
    hdfs_to_kill: Hdfs, base: str
) -> None:
    files = HdfsFileSystem(hdfs_to_kill.namenode_url, transfer_seconds=20.0)
    write_file(files, f"{base}/f", b"x")
    early = files.create(f"{base}/early")
    early.write(b"x" * 100_000)
    hdfs_to_kill.datanode.kill()
    try:
        assert isinstance(outcome(lambda: write_file(files, f"{base}/g", b"x")), Unavailable)
        assert isinstance(outcome(early.close), Unavailable)
        began = time.monotonic()
        early.abandon()
        del early
        assert time.monotonic() - began < 10, "hdfs-native would wait for 15 s"
        assert isinstance(outcome(lambda: files.read(f"{base}/f")), Unavailable)
        files.rename(f"{base}/f", f"{base}/moved")
    finally:
        hdfs_to_kill.start_datanode()
    eventually(lambda: files.read(f"{base}/moved"))


def test_a_full_datanode_is_no_room(tmp_path: Path) -> None:
    with Hdfs(tmp_path, full=True) as full:
        files = HdfsFileSystem(full.namenode_url)
        error = outcome(lambda: write_file(files, f"{full.namenode_url}/f", b"x"))
        assert isinstance(error, NoRoom), error


def test_closing_several_files_at_once_takes_as_long_as_closing_a_few(hdfs_to_kill: Hdfs, base: str) -> None:
    files = HdfsFileSystem(hdfs_to_kill.namenode_url)
    write_file(files, f"{base}/first", b"x" * 1000)

    def write(path: str) -> None:
        write_file(files, path, b"x" * 1000)

    said = []
    for number in range(3):  # others may need the machine just when the many are written: that says nothing
        home = f"{base}/{number}"
        files.mkdirs(home)
        began = time.monotonic()
        write(f"{home}/alone")
        alone = max(time.monotonic() - began, 0.5)
        began = time.monotonic()
        Threads(16).map(write, [f"{home}/{n}" for n in range(48)])
        took = time.monotonic() - began
        assert len(files.list(home)) == 1 + 48
        if took < 48 * alone / 2:
            break
        said.append(f"{took:.1f} s; one after another they take 48 times {alone:.2f} s")
    else:
        raise AssertionError(said)


def test_a_client_works_in_a_process_that_was_forked_after_its_first_use(
    hdfs_to_kill: Hdfs, base: str
) -> None:
    files = HdfsFileSystem(hdfs_to_kill.namenode_url, call_seconds=30.0)
    files.mkdirs(f"{base}/parent")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            files.rename(f"{base}/parent", f"{base}/child")
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert files.stat(f"{base}/child").is_directory


def test_a_namenode_that_hangs_is_left_for_the_other_one(hdfs_ha: HdfsHa, unique: str) -> None:
    files = HdfsFileSystem(hdfs_ha.namenode_url, tuple(hdfs_ha.client_properties.items()), call_seconds=3.0)
    base = f"{files.root}/{unique}"
    eventually(lambda: files.mkdirs(f"{base}/a"))
    hung = hdfs_ha.active
    hdfs_ha.failover(Failover.STOP)
    try:
        assert isinstance(outcome(lambda: files.rename(f"{base}/a", f"{base}/b")), OutcomeUnknown)
        eventually(lambda: files.stat(base))
    finally:
        hdfs_ha.revive(hung)
    eventually(lambda: files.list(base))
    assert [status.name for status in files.list(base)] in (["a"], ["b"])


def test_what_a_woken_namenode_shows_before_its_journal_refuses_it_is_not_believed(
    hdfs_ha: HdfsHa, unique: str
) -> None:
    old = hdfs_ha.active
    it_first = {
        "dfs.ha.namenodes.ha1": f"nn{old},nn{3 - old}",
        "dfs.client.failover.random.order.ha1": "false",
    }
    properties = hdfs_ha.client_properties | it_first
    files = HdfsFileSystem(hdfs_ha.namenode_url, tuple(properties.items()), call_seconds=4.0)
    base = f"{files.root}/{unique}"
    names = [str(number) for number in range(8)]
    for name in names:
        eventually(partial(files.mkdirs, f"{base}/{name}"))
    hdfs_ha.failover(Failover.STOP)
    moves = Threads(8).map(
        lambda name: outcome(lambda: files.rename(f"{base}/{name}", f"{base}/{name}.moved")), names
    )
    assert {type(move) for move in moves} == {OutcomeUnknown}
    waker = threading.Timer(1.0, hdfs_ha.namenodes[old].resume)
    waker.start()

    def is_moved(name: str) -> bool:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            try:
                files.stat(f"{base}/{name}.moved")
            except NotFound:
                return False
            except StorageError:
                continue
            return True
        raise AssertionError("no answer")

    seen = Threads(8).map(is_moved, names)
    waker.join()
    hdfs_ha.revive(old)
    other = HdfsFileSystem(hdfs_ha.namenode_url, tuple(hdfs_ha.client_properties.items()))
    there = {status.name for status in other.list(base)}
    assert [f"{name}.moved" in there for name in names] == seen
