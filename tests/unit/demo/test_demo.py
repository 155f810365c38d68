"""The parts of the demo that need neither Java nor a broker."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path

import orjson
import psutil
import pytest

from kafka2hive.config.load import load_text
from kafka2hive.demo.children import Child, LogFollower, find_java, install_command
from kafka2hive.demo.flights import Tally, Verdict, flights
from kafka2hive.demo.steps import LedgerView, map_text
from kafka2hive.demo.workspace import Console, workspace
from kafka2hive.model.errors import ConfigError, ServiceUnavailable
from kafka2hive.model.paths.ledger import SnapshotState
from tests.harness.cli_ledger import invoke, pending_service
from tests.harness.waiting import wait_until


def test_the_map_of_the_demo_is_right_and_short(tmp_path: Path) -> None:
    text = map_text("127.0.0.1:9092", 10000, tmp_path, 336_776)
    service_map = load_text(text, "flights.yaml", {})
    assert len(text.splitlines()) <= 20
    assert len(service_map.tables[0].columns) == 19
    assert service_map.limits.epoch_records * 10 >= 336_776


def test_flights_are_counted_as_they_are_given_out() -> None:
    tally = Tally()
    rows = [orjson.loads(record) for record in flights(1000, tally)]
    assert len(rows) == tally.flights == tally.carriers.total() == 1000
    assert tally.months == Counter({"2013-01": 1000})
    assert tally.miles == sum(row["distance"] for row in rows)
    assert len(rows[0]) == 19 and rows[0]["time_hour"] == "2013-01-01T10:00:00Z"


def test_without_the_flights_the_demo_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(ServiceUnavailable, match="pip install") as raised:
        next(flights(1, Tally()))
    assert raised.value.exit_code == 69


def test_without_java_the_demo_ends_with_69_and_the_one_command_to_type(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    result = invoke("demo", "--directory", str(tmp_path / "demo"))
    assert result.exit_code == 69
    assert install_command() in result.stderr
    assert not (tmp_path / "demo").exists()


def test_an_old_java_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_402\"' >&2\n")
    old.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ServiceUnavailable, match="found only Java 8"):
        find_java()


def test_a_directory_that_holds_something_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(ConfigError), workspace(tmp_path, False, Console(sys.stdout)):
        pass
    assert (tmp_path / "thesis.txt").exists()


def test_the_directory_goes_whatever_happens_unless_it_is_to_be_kept(tmp_path: Path) -> None:
    gone, kept = tmp_path / "gone", tmp_path / "kept"
    with pytest.raises(KeyboardInterrupt), workspace(gone, False, Console(sys.stdout)) as place:
        (place / "data").write_text("x")
        raise KeyboardInterrupt
    assert not gone.exists()
    with workspace(kept, True, Console(sys.stdout)) as place:
        (place / "data").write_text("x")
    assert (kept / "data").exists()


def test_sigterm_cleans_up_and_ends_with_143(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as raised, workspace(tmp_path / "demo", False, Console(sys.stdout)):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
    assert raised.value.code == 143
    assert not (tmp_path / "demo").exists()


def test_a_child_dies_with_a_demo_that_is_killed(tmp_path: Path) -> None:
    program = textwrap.dedent(f"""
        import pathlib, time
        from kafka2hive.demo.children import Child
        child = Child("sleeper", ["sleep", "600"], pathlib.Path({str(tmp_path / "child.log")!r}))
        print(child.pid, flush=True)
        time.sleep(600)
    """)
    demo = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert demo.stdout is not None
    pid = int(demo.stdout.readline())
    wait_until(lambda: psutil.Process(pid).name() == "sleep", "asleep")
    demo.kill()
    demo.wait()
    demo.stdout.close()
    wait_until(lambda: _is_gone(pid), "gone")


def test_ending_a_child_ends_what_it_started(tmp_path: Path) -> None:
    child = Child("shell", ["sh", "-c", "sleep 600 & echo $!; wait"], tmp_path / "log")
    wait_until(lambda: (tmp_path / "log").read_text().strip().isdigit(), "told")
    grandchild = int((tmp_path / "log").read_text())
    child.end(seconds=0.1)
    wait_until(lambda: _is_gone(grandchild), "gone")
    child.end()  # a second time is harmless


def test_a_service_that_ends_while_it_starts_shows_the_end_of_its_log(tmp_path: Path) -> None:
    child = Child("broken", ["sh", "-c", "echo no such disk; exit 3"], tmp_path / "log")
    with pytest.raises(ServiceUnavailable, match=r"broken ended with 3:\nno such disk"):
        child.wait_until(lambda: False, 20)


def test_a_follower_gives_whole_lines_only(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("old\n")
    follower = LogFollower(log)
    with log.open("a") as file:
        file.write("one\ntw")
        file.flush()
        assert follower.new_lines() == ["one"]
        file.write("o\n")
    assert follower.new_lines() == ["two"]


def test_the_listing_shows_a_commit_that_is_not_finished(tmp_path: Path) -> None:
    pending_service(tmp_path)
    view = LedgerView(tmp_path)
    assert view.epochs(SnapshotState.PENDING) == [2]
    assert view.epochs(SnapshotState.FINAL) == [0, 1]
    listing = "\n".join(view.listing())
    assert "e000002.pending" in listing and "<- committed, not finished" in listing
    assert "0 files .final, 2 .pending staged" in listing


def _tally(flights_of_january: int, miles: int) -> Tally:
    return Tally(Counter({"2013-01": flights_of_january}), Counter({"AA": flights_of_january}), miles)


def test_exact_means_every_flight_once_with_its_values() -> None:
    assert Verdict(_tally(5, 100), _tally(5, 100), 5).exact
    assert not Verdict(_tally(5, 100), _tally(4, 100), 4).exact  # one is lost
    assert not Verdict(_tally(5, 100), _tally(6, 120), 5).exact  # one is there twice
    assert not Verdict(_tally(5, 100), _tally(5, 100), 4).exact  # one twice, another lost
    assert not Verdict(_tally(5, 100), _tally(5, 90), 5).exact  # a value is another


def test_a_difference_is_marked_where_it_is() -> None:
    lines = Verdict(_tally(5, 100), _tally(4, 100), 4).lines()
    assert any("2013-01" in line and "!!" in line for line in lines)


def _is_gone(pid: int) -> bool:
    """Whether the process has ended, even if it is still a zombie."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True
