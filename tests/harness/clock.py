"""Clocks for tests: one where no time passes but what somebody waits for, and a wall clock that is moved."""

import os
from pathlib import Path

# every reading of the wall clock in Python goes through these
MOVED = """\
import os, time

real, to_utc, to_local = time.time, time.gmtime, time.localtime

def moved():
    with open(os.environ["MOVED_CLOCK"]) as file:
        return real() + float(file.read())

time.time = moved
time.time_ns = lambda: int(moved() * 1e9)
time.gmtime = lambda seconds=None: to_utc(moved() if seconds is None else seconds)
time.localtime = lambda seconds=None: to_local(moved() if seconds is None else seconds)
"""


class SkippedTime:
    """Waiting takes no time, and is counted in `waits`; `now` stands still, the other two move on by `seconds`."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.waits: list[float] = []

    def now(self) -> str:
        return "2025-11-21T08:00:00Z"

    def epoch_ms(self) -> int:
        return 1_763_712_000_000 + int(self.seconds * 1000)

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.seconds += seconds


class MovedClock:
    """The wall clock that Python processes see which are started with `env`: the real one, `move` seconds away.

    Kafka's and HDFS's clients and the JVM keep the real one: under libfaketime (0.9.10) both JVM and librdkafka wait for
    moments that never come, or spin.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        (folder / "moved").mkdir()
        (folder / "moved" / "sitecustomize.py").write_text(MOVED)
        self.env = {
            "MOVED_CLOCK": str(self._file),
            "PYTHONPATH": os.pathsep.join([str(folder / "moved"), os.environ.get("PYTHONPATH", "")]),
        }
        self.moves = 0
        self.move(0)

    def move(self, seconds: int) -> None:
        """From now on, also for those that run."""
        beside = self._file.with_name("clock.new")
        beside.write_text(f"{seconds:+d}\n")
        beside.replace(self._file)
        self.moves += 1
