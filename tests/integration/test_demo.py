"""`kafka2hive demo` as a person starts it: the mock broker, a real Spark Thrift Server, real flights, a kill."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.harness.waiting import wait_until

FLIGHTS = 30_000


def _demo(directory: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "kafka2hive.cli.main", "demo", "--directory", str(directory), *options]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        # a shell that starts the tests in its background makes them, and all they start, ignore SIGINT
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def _processes_of(directory: Path) -> list[str]:
    """Command lines of living processes that name the directory."""
    found = []
    for process in psutil.process_iter():
        try:
            line = " ".join(process.cmdline())
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        if str(directory) in line:
            found.append(line)
    return found


def _assert_nothing_is_left(directory: Path) -> None:
    wait_until(
        lambda: not _processes_of(directory), "rid of processes"
    )  # the JVM of a killed driver takes its 2.5 s
    assert not directory.exists()


@pytest.mark.timeout(3600)
def test_the_demo_is_exact_across_a_kill_and_cleans_up(tmp_path: Path) -> None:
    directory = tmp_path / "demo"
    demo = _demo(directory, "--flights", str(FLIGHTS))
    text, _ = demo.communicate(timeout=3000)
    assert demo.returncode == 0, text
    assert f"EXACT: every one of {FLIGHTS:,} flights is in Hive exactly once." in text
    assert "KILLED (kill -9 " in text
    assert f"{FLIGHTS:,} distinct (partition, offset)" in text
    _assert_nothing_is_left(directory)


@pytest.mark.timeout(3600)
def test_ctrl_c_ends_all_processes_and_removes_the_directory(tmp_path: Path) -> None:
    directory = tmp_path / "demo"
    demo = _demo(directory, "--flights", str(FLIGHTS))
    assert demo.stdout is not None
    while "the map that says which topic" not in demo.stdout.readline():
        assert demo.poll() is None
    demo.send_signal(signal.SIGINT)
    text, _ = demo.communicate(timeout=300)
    assert demo.returncode == 130, text
    assert "cleaning up" in text
    _assert_nothing_is_left(directory)
