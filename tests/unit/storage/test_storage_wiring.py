"""Time limits, threads, routing, the log of changes, and lazy imports around the adapters."""

import json
import logging
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kafka2hive.config.keys import KerberosOptions, StorageOptions
from kafka2hive.model.errors import ConfigError
from kafka2hive.model.paths.ledger import heartbeat_name
from kafka2hive.observe.log import JsonFormatter
from kafka2hive.storage.concurrency import CallTimeout, Guard, Sequential, SystemClock, Threads, TooManyStuck
from kafka2hive.storage.connect import connect, root_of
from kafka2hive.storage.local import LocalFileSystem
from kafka2hive.storage.logged import BELOW_DEBUG, LoggedFileSystem
from kafka2hive.storage.port import (
    AlreadyExists,
    NotFound,
    ParentMissing,
    StorageError,
    Unavailable,
    write_file,
)
from tests.harness.filesystem_cases import CASES, Case
from tests.harness.waiting import wait_until


def test_a_call_in_time_returns_its_result_or_raises_its_error() -> None:
    guard = Guard()
    assert guard.call(lambda: 42, seconds=60) == 42
    with pytest.raises(ZeroDivisionError):
        guard.call(lambda: 1 // 0, seconds=60)
    assert guard.stuck == 0


def test_a_call_that_hangs_is_abandoned_and_counted_until_it_returns() -> None:
    guard, go_on = Guard(), threading.Event()
    with pytest.raises(CallTimeout):
        guard.call(go_on.wait, seconds=0.05)
    assert guard.stuck == 1
    assert guard.call(lambda: "another thread", seconds=60) == "another thread"
    go_on.set()
    wait_until(lambda: guard.stuck == 0, "free of stuck calls")


def test_when_too_many_calls_hang_no_further_one_is_made() -> None:
    guard, go_on, made = Guard(stuck_limit=2), threading.Event(), []
    for _ in range(2):
        with pytest.raises(CallTimeout):
            guard.call(go_on.wait, seconds=0.05)
    with pytest.raises(TooManyStuck):
        guard.call(lambda: made.append(1), seconds=60)
    assert made == []
    go_on.set()
    wait_until(lambda: guard.stuck == 0, "free of stuck calls")
    guard.call(lambda: made.append(1), seconds=60)
    assert made == [1]


def test_many_callers_get_their_own_answers() -> None:
    guard = Guard()
    numbers = range(2000)
    assert Threads(16).map(lambda n: guard.call(lambda: n * 2, seconds=240), numbers) == [
        n * 2 for n in numbers
    ]


@pytest.mark.parametrize("concurrency", [Sequential(), Threads(4)], ids=["sequential", "threads"])
def test_results_come_in_the_order_of_the_items(concurrency: Sequential | Threads) -> None:
    def slow_at_first(number: int) -> int:
        time.sleep(0.02 if number < 4 else 0)
        return number * number

    assert concurrency.map(slow_at_first, iter(range(12))) == [n * n for n in range(12)]
    assert concurrency.map(slow_at_first, []) == []


def test_threads_run_concurrently() -> None:
    meeting = threading.Barrier(4)
    assert len(Threads(4).map(lambda _: meeting.wait(60), range(4))) == 4


def test_an_error_is_raised_after_all_running_calls_ended_and_no_other_begins() -> None:
    begun, ended = [], []

    def work(number: int) -> None:
        begun.append(number)
        if number == 0:
            raise NotFound("file:///0")
        time.sleep(0.1)
        ended.append(number)

    with pytest.raises(NotFound):
        Threads(2).map(work, range(1000))
    assert sorted(set(begun) - {0}) == sorted(ended), "a call was still running when the error was raised"
    assert len(begun) < 500, "the rest was begun"


def test_a_map_inside_a_map_does_not_wait_for_its_own_threads() -> None:
    threads = Threads(2)
    assert threads.map(lambda n: threads.map(lambda m: n * m, range(3)), range(4)) == [
        [0, n, 2 * n] for n in range(4)
    ]


@pytest.mark.parametrize(
    ("path", "root"),
    [
        ("hdfs://host:8020/a/b", "hdfs://host:8020"),
        ("hdfs://nameservice", "hdfs://nameservice"),
        ("file:///a/b", "file://"),
    ],
)
def test_the_root_of_a_path_is_its_scheme_and_authority(path: str, root: str) -> None:
    assert root_of(path) == root


@pytest.mark.parametrize("path", ["/a/b", "a", "hdfs:///a", "file://host/a", "s3://bucket/a", ""])
def test_a_path_of_an_unknown_file_system_is_a_fault_of_the_map(path: str) -> None:
    with pytest.raises(ConfigError) as refused:
        root_of(path)
    assert refused.value.code == "storage.uri"


def test_a_rename_across_file_systems_is_refused(tmp_path: Path) -> None:
    base = f"file://{tmp_path}"
    files = connect(StorageOptions(base, base, base))
    with pytest.raises(StorageError, match="another file system"):
        files.rename(f"{base}/a", "hdfs://127.0.0.1:1/a")


def test_an_unknown_nameservice_is_a_fault_of_the_map() -> None:
    files = connect(StorageOptions("hdfs://nowhere", "hdfs://nowhere/l", "hdfs://nowhere/w"))
    with pytest.raises(ConfigError, match=r"hdfs://nowhere: .*No NameNode hosts found") as caught:
        files.list("hdfs://nowhere/w")
    assert caught.value.code == "storage.hdfs"
    assert "a nameservice needs its NameNodes in storage.properties" in caught.value.remedy


NAMESERVICE = {
    "dfs.nameservices": "known",
    "dfs.ha.namenodes.known": "one",
    "dfs.namenode.rpc-address.known.one": "127.0.0.1:1",
}
ONCE = {"dfs.client.failover.max.attempts": "0"}


@pytest.mark.parametrize(
    "kerberos", [None, KerberosOptions("me@REALM", "/no/keytab")], ids=["plain", "keytab"]
)
@pytest.mark.parametrize("place", ["properties", "config_dir"])
def test_a_nameservice_is_known_from_properties_or_from_hadoops_files(
    tmp_path: Path, place: str, kerberos: KerberosOptions | None
) -> None:
    lines = (f"<property><name>{k}</name><value>{v}</value></property>" for k, v in NAMESERVICE.items())
    (tmp_path / "hdfs-site.xml").write_text(f"<configuration>{''.join(lines)}</configuration>")
    options = StorageOptions(
        uri="hdfs://known",
        ledger_root="hdfs://known/l",
        warehouse="hdfs://known/w",
        properties=tuple((ONCE if place == "config_dir" else ONCE | NAMESERVICE).items()),
        config_dir=str(tmp_path) if place == "config_dir" else None,
        kerberos=kerberos,
    )
    with pytest.raises(Unavailable, match="Connection refused"):
        connect(options).list("hdfs://known/w")


def test_connecting_imports_no_hdfs_client_until_an_hdfs_path_is_used() -> None:
    program = """
import sys
from kafka2hive.config.keys import StorageOptions
from kafka2hive.storage.connect import connect
files = connect(StorageOptions("hdfs://127.0.0.1:1", "hdfs://127.0.0.1:1/l", "hdfs://127.0.0.1:1/w"))
assert "hdfs_native" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_the_logged_file_system_keeps_the_contract(case: Case, tmp_path: Path) -> None:
    case(LoggedFileSystem(LocalFileSystem()), f"file://{tmp_path}")


def test_every_change_is_logged_with_operation_path_and_outcome(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files, base = LoggedFileSystem(LocalFileSystem()), f"file://{tmp_path}"
    with caplog.at_level(logging.DEBUG, logger="kafka2hive.storage"):
        write_file(files, f"{base}/a", b"x")
        with pytest.raises(AlreadyExists):
            files.create(f"{base}/a")
        files.rename(f"{base}/a", f"{base}/b")
        files.list(base)
        files.delete(f"{base}/b")
        files.delete(f"{base}/b")
    lines = [record.getMessage() for record in caplog.records]
    assert lines[0] == f"create {base}/a: ok"
    assert lines[1] == f"close {base}/a: ok"
    assert lines[2].startswith(f"create {base}/a: AlreadyExists")
    assert lines[3] == f"rename {base}/a -> {base}/b: ok"
    assert lines[4:] == [f"delete {base}/b: ok", f"delete {base}/b: missing"]
    renamed = json.loads(JsonFormatter().format(caplog.records[3]))
    assert (renamed["operation"], renamed["path"], renamed["target"]) == ("rename", f"{base}/a", f"{base}/b")


def test_the_clock_is_utc_to_the_second() -> None:
    clock = SystemClock()
    assert time.strptime(clock.now(), "%Y-%m-%dT%H:%M:%SZ")
    before = clock.monotonic()
    clock.sleep(0.01)
    assert clock.monotonic() - before >= 0.01


def test_a_heartbeat_is_logged_only_below_debug(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files, base = LoggedFileSystem(LocalFileSystem()), f"file://{tmp_path}"
    owner = "host-1-" + "a" * 32
    with caplog.at_level(BELOW_DEBUG, logger="kafka2hive.storage"):
        write_file(files, f"{base}/{heartbeat_name(owner, 0)}", b"x")
        files.rename(f"{base}/{heartbeat_name(owner, 0)}", f"{base}/{heartbeat_name(owner, 1)}")
        with pytest.raises(NotFound):
            files.rename(f"{base}/{heartbeat_name(owner, 0)}", f"{base}/{heartbeat_name(owner, 1)}")
    levels = [record.levelno for record in caplog.records]
    assert levels == [BELOW_DEBUG, BELOW_DEBUG, BELOW_DEBUG, logging.INFO]


def test_the_first_file_of_a_new_directory_is_not_a_failure_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files, base = LoggedFileSystem(LocalFileSystem()), f"file://{tmp_path}"
    write_file(files, f"{base}/a", b"x")
    caplog.clear()
    with caplog.at_level(BELOW_DEBUG, logger="kafka2hive.storage"):
        with pytest.raises(ParentMissing):
            files.rename(f"{base}/a", f"{base}/new/a")
        with pytest.raises(ParentMissing):
            files.create(f"{base}/new/b")
        with pytest.raises(NotFound):
            files.rename(f"{base}/gone", f"{base}/b")
    assert [record.levelno for record in caplog.records] == [BELOW_DEBUG, BELOW_DEBUG, logging.INFO]
    assert "ParentMissing" in caplog.records[0].getMessage()
