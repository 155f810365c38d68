"""How long each test takes: every run writes it, says what grew, and begins with what took longest.

`.cache/durations.json` has the seconds and CPU seconds of every test that ran in this checkout, and `tests/durations.json`
those to compare with, which `scripts/durations` brings up to date. In both, a name without `::` is a file: its set-up and
tear-down, and in the second one also its tests of less than a second.
"""

import json
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from tests.gate import FOLDERS, is_standard

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "tests/durations.json"
LATEST = ROOT / ".cache/durations.json"
CPU = "CPU seconds"
"""The name of the property of a report that carries them from a worker."""
NAMED_FROM = 1.0
"""The reference names the tests that take as many seconds, or CPU seconds."""
GROWN_BY = 2.0
"""Growth of fewer seconds is not told."""
MOST_GROWN = 10
ENOUGH = 20
"""The median of so many tests says how fast the machine is; with fewer, nothing is compared."""
UNKNOWN_FILE = 30.0
"""So many seconds a file may take that the reference does not name."""


class Duration(NamedTuple):
    """Time on the clock, and CPU time of the test's process and of those that it started and that have ended."""

    seconds: float = 0.0
    cpu: float = 0.0

    def plus(self, other: "Duration") -> "Duration":
        return Duration(self.seconds + other.seconds, self.cpu + other.cpu)


Durations = dict[str, Duration]


def read(path: Path) -> Durations:
    """Return nothing for a file that is not there."""
    return (
        {name: Duration(*each) for name, each in json.loads(path.read_text()).items()}
        if path.exists()
        else {}
    )


def write(path: Path, durations: Mapping[str, Duration]) -> None:
    """Replace the file at once; one line for each name."""
    lines = (
        f"{json.dumps(name)}: [{each.seconds:.2f}, {each.cpu:.2f}]"
        for name, each in sorted(durations.items())
    )
    path.parent.mkdir(exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    draft.replace(path)


def file_of(name: str) -> str:
    return name.partition("::")[0]


@cache
def reference() -> Durations:
    """Return what tests took when `scripts/durations` was run."""
    return read(REFERENCE)


def expected(tests: Iterable[str], known: Mapping[str, Duration]) -> float:
    """Return how many seconds these tests take together, with the set-up of their files."""
    names = set(tests)
    files = {file_of(name) for name in names}
    unknown = files - {file_of(name) for name in known}
    return sum(known[name].seconds for name in names | files if name in known) + len(unknown) * UNKNOWN_FILE


def brought_up_to_date(
    known: Mapping[str, Duration], latest: Mapping[str, Duration], tests: Iterable[str]
) -> Durations:
    """Return the new reference: `latest` for each file that ran, `known` for the others, and nothing that is gone."""
    there = set(tests)
    there |= {file_of(name) for name in there}
    ran = {file_of(name) for name in latest}
    updated = {name: each for name, each in known.items() if name in there and file_of(name) not in ran}
    for name, each in latest.items():
        if name in there:
            short = max(each) < NAMED_FROM
            key = file_of(name) if short else name
            updated[key] = updated.get(key, Duration()).plus(each)
    return updated


def grown(known: Mapping[str, Duration], now: Mapping[str, Duration]) -> list[str]:
    """Say which tests take longer than in the reference, those that grew most first, and how fast this machine is.

    A test is named if it takes half as long again as the reference and this machine let expect.
    """
    tests = {name: each for name, each in now.items() if "::" in name}
    ratios = [each.seconds / known[name].seconds for name, each in tests.items() if name in known]
    if len(ratios) < ENOUGH:
        return []
    pace, below = statistics.median(ratios), Duration(NAMED_FROM, NAMED_FROM)
    growth = {
        name: each.seconds - 1.5 * pace * known.get(name, below).seconds for name, each in tests.items()
    }
    most = sorted((name for name in growth if growth[name] >= GROWN_BY), key=lambda name: -growth[name])
    if not most:
        return []
    lines = [f"grown most since {REFERENCE.name} (this run's pace: {pace:.1f} times its seconds):"]
    for name in most[:MOST_GROWN]:
        before = known.get(name)
        was = f"was {before.seconds:.1f} s, {before.cpu:.1f} CPU-s" if before else "new, or was short"
        lines.append(f"  {tests[name].seconds:.1f} s, {tests[name].cpu:.1f} CPU-s ({was}): {name}")
    return lines


class CpuMeter:
    """In the process that runs tests: each report carries the CPU seconds since the one before it."""

    def __init__(self) -> None:
        self._before = _cpu_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        now = _cpu_seconds()
        report.user_properties.append((CPU, now - self._before))
        self._before = now
        return report


class Stopwatch:
    """In the process that prints: adds up what tests took, and writes and tells it at the end."""

    def __init__(self) -> None:
        self._took: defaultdict[str, Duration] = defaultdict(Duration)
        self._machine_before = _of_the_machine()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test's own time is its call; set-up and tear-down are its file's, because the first test pays for all."""
        name = report.nodeid if report.when == "call" else file_of(report.nodeid)
        cpu = sum(value for key, value in report.user_properties if key == CPU and isinstance(value, float))
        self._took[name] = self._took[name].plus(Duration(report.duration, cpu))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what each folder took, the sum of its tests whichever worker ran them, and what grew.

        A JVM's CPU seconds count where it ends; those of shared services and of killed groups only in the machine's, which
        count whatever else runs on it.
        """
        folders: defaultdict[str, Duration] = defaultdict(Duration)
        for name, each in self._took.items():
            folder = "/".join(name.split("/")[:2])
            folders[folder] = folders[folder].plus(each)
        for folder, each in folders.items():
            terminalreporter.write_line(f"{folder}: {each.seconds:.1f} s, {each.cpu:.1f} CPU-seconds")
        total, used = _of_the_machine()
        total_before, used_before = self._machine_before
        terminalreporter.write_line(
            f"this machine meanwhile: {used - used_before:.0f} of {total - total_before:.0f} CPU-seconds"
        )
        if self._took:
            write(LATEST, {**read(LATEST), **self._took})
        for line in grown(reference(), self._took):
            terminalreporter.write_line(line)


def _cpu_seconds() -> float:
    """Of this process and of all that it started and that have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _of_the_machine() -> tuple[float, float]:
    """CPU seconds that all cores had since the machine started, and those that any process used."""
    times = psutil.cpu_times()
    everything = sum(times[:8])  # on Linux a guest's are contained in these
    unused = times.idle + getattr(times, "iowait", 0.0) + getattr(times, "steal", 0.0)
    return everything, everything - unused


def _tests_by_collecting() -> list[str]:
    """Return the names of all tests of `scripts/test --all`."""
    folders = [f"tests/{folder}" for folder in FOLDERS]
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", *folders]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        sys.exit(f"{listed.stdout[-3000:]}{listed.stderr[-1000:]}the tests cannot be collected")
    return [line for line in listed.stdout.splitlines() if "::" in line]


def totals(known: Mapping[str, Duration], tests: Iterable[str]) -> list[str]:
    """Say how long the standard tests take together, and all of them, and how many files have never been measured."""
    tests = list(tests)
    measured = {file_of(name) for name in known}
    lines = []
    for title, chosen in (("standard", [test for test in tests if is_standard(test)]), ("all", tests)):
        files = {file_of(test) for test in chosen}
        names = {*chosen, *files} & known.keys()
        seconds, cpu = (sum(known[name][n] for name in names) for n in (0, 1))
        lines.append(
            f"{title}: {len(chosen)} tests in {len(files)} files, {seconds:.0f} s and {cpu:.0f} CPU-s one after the other;"
            f" {len(files - measured)} files not measured yet"
        )
    return lines


def main() -> None:
    """`scripts/durations`: bring the reference up to date from the runs of this checkout."""
    tests = _tests_by_collecting()
    known = brought_up_to_date(read(REFERENCE), read(LATEST), tests)
    write(REFERENCE, known)
    sys.stdout.write("\n".join([*totals(known, tests), ""]))


if __name__ == "__main__":
    main()
