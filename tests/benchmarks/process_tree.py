"""What a program costs: wall clock, CPU seconds and memory of all its processes, also of those that ended.

Linux adds a child's time to its parent only when the parent waits for it, and pyspark's daemon does not: its workers
would be missing from `time`. So /proc is sampled: every process of the program's session, ten times a second. What a
process used after its last sample is missed, at most a tenth of a second each.
"""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.services import reaper

_TICKS = os.sysconf("SC_CLK_TCK")
_PAUSE = 0.1
_MEMORY_PAUSE = 0.5  # summing up PSS walks page tables: not more often than needed


@dataclass(frozen=True, slots=True)
class Cost:
    """`cpu` in seconds, user and system; `peak_mb` the largest sum of PSS (10^6 bytes), shared pages counted once."""

    wall: float
    cpu: float
    peak_mb: float


class ProgramFailed(Exception):
    """The program did not end with 0, or not in time; the text holds the end of what it said."""


@dataclass(slots=True)
class Session:
    """All processes of one session, watched; `leader` is the session's id."""

    leader: int
    peak_mb: float = 0.0
    _ticks: dict[tuple[int, int], int] = field(default_factory=dict)
    _strangers: set[int] = field(default_factory=set)
    _memory_due: float = 0.0

    @property
    def cpu(self) -> float:
        """Seconds so far."""
        return sum(self._ticks.values()) / _TICKS

    def sample(self) -> list[int]:
        """Look at all processes; gives those of the session that are alive."""
        alive = []
        pids = {int(name) for name in os.listdir("/proc") if name.isdigit()}  # noqa: PTH208 ten times a second: no Path for each
        self._strangers &= pids
        for pid in pids - self._strangers:
            try:
                stat = Path(f"/proc/{pid}/stat").read_bytes()
            except (FileNotFoundError, ProcessLookupError):
                continue
            fields = stat[stat.rindex(b")") + 2 :].split()  # the name may hold anything
            if int(fields[3]) != self.leader:
                # a child that has just been forked from elsewhere cannot come into this session later
                self._strangers.add(pid)
                continue
            self._ticks[pid, int(fields[19])] = int(fields[11]) + int(fields[12])
            if fields[0] != b"Z":
                alive.append(pid)
        if time.monotonic() >= self._memory_due:
            self.peak_mb = max(self.peak_mb, sum(map(pss_mb, alive)))
            self._memory_due = time.monotonic() + _MEMORY_PAUSE
        return alive


def pss_mb(pid: int) -> float:
    """Proportional set size, 0 for a process that is gone."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    line = next((line for line in text.splitlines() if line.startswith("Pss:")), None)
    return int(line.split()[1]) * 1024 / 1e6 if line else 0.0


def measured(
    command: Sequence[str], log: Path, env: Mapping[str, str] | None = None, seconds: float = 1800
) -> Cost:
    """Run a program to its end; what it says goes to `log`. Raises ProgramFailed."""
    began = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, **(env or {})},
        )
    reaper.watch(process.pid)
    session = Session(process.pid)
    try:
        while process.poll() is None:
            session.sample()
            if time.monotonic() - began > seconds:
                raise ProgramFailed(f"{command[:3]} did not end within {seconds:.0f} s")
            time.sleep(_PAUSE)
        wall = time.monotonic() - began
        _wait_for_rest(session)
    finally:
        end(session)
        process.wait()
        reaper.forget(process.pid)
    if process.returncode != 0:
        said = log.read_text(errors="replace")[-3000:]
        raise ProgramFailed(f"{' '.join(command[:4])} ended with {process.returncode}; it said:\n{said}")
    return Cost(wall, session.cpu, session.peak_mb)


def end(session: Session) -> None:
    """SIGKILL to all that is left of it."""
    reaper.kill_group(session.leader)
    for pid in session.sample():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # ended by itself


def _wait_for_rest(session: Session, seconds: float = 20) -> None:
    """What the program started may end a moment after it; its CPU counts."""
    deadline = time.monotonic() + seconds
    while session.sample() and time.monotonic() < deadline:
        time.sleep(_PAUSE)
