"""`kafka2hive run` under a supervisor that starts it again as the systemd unit would, and counts."""

import itertools
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

from tests.drills.followed_log import FollowedLog, Record
from tests.harness.program import Running

NOT_AGAIN = frozenset({0, 2, 72, 73, 76, 78, 130, 143})
"""Exit codes after which the unit stays down: `RestartPreventExitStatus` and the clean ends."""
EVERY_CHANGE = {"KAFKA2HIVE_LOG_LEVEL": "debug"}
"""Drills look for changes of files in the log."""
_PAUSE = 0.05


class Supervised:
    """One service, started again when it ends with a code that the unit restarts; everything is ended at the end."""

    def __init__(
        self, config: Path, restart_seconds: float = 1.0, env: Mapping[str, str] | None = None
    ) -> None:
        self._config = config
        self._env = env
        self._restart_seconds = restart_seconds
        self._runs: list[Running] = []
        self._logs: list[FollowedLog] = []
        self._start()

    @property
    def run(self) -> Running:
        """The one under way, or the last."""
        return self._runs[-1]

    @property
    def restarts(self) -> int:
        return len(self._runs) - 1

    @property
    def unclear(self) -> list[str]:
        """Changes of files by the driver (tasks log elsewhere) whose outcome HDFS left unknown, in all runs."""
        return [message for log in self._logs for message in log.unclear]

    def epochs(self) -> int:
        """Told of by all its runs together."""
        self.read_on()
        return sum(len(log.epoch_times) for log in self._logs)

    def longest_silence(self) -> float:
        """Seconds: the longest time between two epochs, restarts included."""
        self.read_on()
        times = [moment for log in self._logs for moment in log.epoch_times]
        return max((b - a for a, b in itertools.pairwise(times)), default=0.0)

    def read_on(self) -> list[Record]:
        """What the run under way logged since the last look."""
        return self._logs[-1].read_on()

    def wait_until(
        self, ready: Callable[[], bool], what: str, seconds: float = 600, pause: float = _PAUSE
    ) -> None:
        """Look after the service until `ready()`. Fails the test, with the log's end, after `seconds`."""
        deadline = time.monotonic() + seconds
        while not ready():
            self.look_after()
            assert time.monotonic() < deadline, f"not {what} within {seconds} s:\n{self.run.tail()}"
            time.sleep(pause)

    def wait_for_epochs(self, count: int, seconds: float = 600) -> None:
        """Until `count` more epochs than now."""
        wanted = self.epochs() + count
        self.wait_until(lambda: self.epochs() >= wanted, f"at {wanted} epochs", seconds)

    def wait_for_record(self, wanted: Callable[[Record], bool], what: str, seconds: float = 600) -> None:
        """Until the service logs such a record; looks every 2 ms."""
        self.read_on()
        self.wait_until(lambda: any(wanted(r) for r in self.read_on()), what, seconds, pause=0.002)

    def terminate(self) -> int:
        """SIGTERM to the run under way; gives its exit code."""
        return self.run.terminate()

    def tail(self) -> str:
        """The end of its log."""
        return self.run.tail()

    def look_after(self) -> None:
        """Start it again when it has ended. Fails the test when the unit would have stayed down."""
        if self.run.alive:
            return
        code = self.run.wait(1)
        assert code not in NOT_AGAIN, f"the service ended with {code} and stays down:\n{self.run.tail()}"
        self.run.__exit__()
        self.read_on()
        time.sleep(self._restart_seconds)
        self._start()

    def __enter__(self) -> "Supervised":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for run in self._runs:
            run.__exit__()

    def _start(self) -> None:
        run = Running(self._config, env=EVERY_CHANGE | dict(self._env or {}))
        self._runs.append(run)
        self._logs.append(FollowedLog(run.log))
