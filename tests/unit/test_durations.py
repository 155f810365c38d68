"""What each test takes: kept, compared, and which begin first."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.durations import (
    CPU,
    UNKNOWN_FILE,
    Duration,
    Stopwatch,
    brought_up_to_date,
    expected,
    grown,
    read,
    reference,
    write,
)
from tests.gate import files_of_tests

ROOT = Path(__file__).resolve().parents[2]
FILE = "tests/drills/test_a.py"
OTHER = "tests/drills/test_b.py"
KNOWN = {
    FILE: Duration(3.0, 1.0),
    f"{FILE}::test_long": Duration(20.0, 9.0),
    f"{OTHER}::test_b": Duration(5.0, 5.0),
}


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / "made" / "durations.json"
    assert read(file) == {}
    write(file, KNOWN)
    assert read(file) == KNOWN
    assert [each.name for each in file.parent.iterdir()] == ["durations.json"]


def test_tests_take_their_time_and_the_set_up_of_their_file() -> None:
    assert expected([f"{FILE}::test_long", f"{FILE}::test_short"], KNOWN) == 23.0
    assert expected(["tests/drills/test_new.py::test_x"], KNOWN) == UNKNOWN_FILE


def test_the_reference_names_long_tests_sums_up_short_ones_and_forgets_what_is_gone() -> None:
    latest = {
        FILE: Duration(2.0, 0.5),
        f"{FILE}::test_long": Duration(30.0, 10.0),
        f"{FILE}::test_short": Duration(0.5, 0.25),
        f"{FILE}::test_gone": Duration(7.0, 7.0),
    }
    tests = [f"{FILE}::test_long", f"{FILE}::test_short", f"{OTHER}::test_b"]
    assert brought_up_to_date(KNOWN, latest, tests) == {
        FILE: Duration(2.5, 0.75),
        f"{FILE}::test_long": Duration(30.0, 10.0),
        f"{OTHER}::test_b": Duration(5.0, 5.0),
    }
    assert brought_up_to_date(KNOWN, {}, [f"{OTHER}::test_b"]) == {f"{OTHER}::test_b": Duration(5.0, 5.0)}


def test_growth_is_said_the_most_first_and_not_that_of_a_slower_machine() -> None:
    many = {f"{OTHER}::test_{n}": Duration(10.0, 5.0) for n in range(30)}
    now = many | {
        FILE: Duration(500.0, 1.0),
        f"{FILE}::test_long": Duration(50.0, 9.0),
        f"{FILE}::test_new": Duration(80.0, 70.0),
        f"{OTHER}::test_b": Duration(6.0, 5.0),
    }
    title, *lines = grown(KNOWN | many, now)
    assert "pace: 1.0" in title
    assert [line.rpartition("::")[2] for line in lines] == ["test_new", "test_long"]
    assert "new" in lines[0] and "50.0 s, 9.0 CPU-s (was 20.0 s, 9.0 CPU-s)" in lines[1]
    slower = {name: Duration(30.0, 15.0) for name in many}
    assert grown(many, slower) == []
    assert len(grown(many, slower | {f"{OTHER}::test_7": Duration(60.0, 15.0)})) == 2
    assert grown(KNOWN, now) == [], "so few tests do not say how fast the machine is"


def test_a_run_writes_what_it_took_and_keeps_the_figures_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    latest = tmp_path / "durations.json"
    write(latest, KNOWN)
    monkeypatch.setattr("tests.durations.LATEST", latest)
    stopwatch, printed = Stopwatch(), list[str]()
    for when, seconds in (("setup", 2.0), ("call", 6.0), ("teardown", 1.0)):
        report: Any = SimpleNamespace(
            nodeid=f"{OTHER}::test_b",
            when=when,
            duration=seconds,
            user_properties=[(CPU, seconds / 2), ("x", 1)],
        )
        stopwatch.pytest_runtest_logreport(report)
    terminal: Any = SimpleNamespace(write_line=printed.append)
    stopwatch.pytest_terminal_summary(terminal)
    assert read(latest) == KNOWN | {OTHER: Duration(3.0, 1.5), f"{OTHER}::test_b": Duration(6.0, 3.0)}
    assert "tests/drills: 9.0 s, 4.5 CPU-seconds" in printed


def test_the_reference_names_files_that_are_there() -> None:
    named = {name.partition("::")[0] for name in reference()}
    assert named - set(files_of_tests(ROOT)) == set()
