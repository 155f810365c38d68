"""Committers without the price of starting Python: a warm parent forks one at a time and says how it ended.

The parent has the ledger's modules and no thread, no connection; hdfs-native is imported in the child only.
`python -m tests.drills.warm_committer` reads orders, one JSON object a line; answers with the child's pid, and with its wait
status when it has ended.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

from tests.drills.committer import CommitterOrder, run_committer
from tests.drills.failpoint import Failpoint
from tests.services import reaper

ROOT = Path(__file__).parents[2]


class WarmCommitter:
    """One committer after another; leave the `with` block and nothing of it is left."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self._parent: subprocess.Popen[bytes] | None = None
        self.pid = 0

    def __enter__(self) -> "WarmCommitter":
        with self.log.open("ab") as log:
            self._parent = subprocess.Popen(
                [sys.executable, "-m", "tests.drills.warm_committer"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                bufsize=0,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
                start_new_session=True,
            )
        reaper.watch(self._parent.pid)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._parent is not None and self._parent.stdin is not None and self._parent.stdout is not None
        reaper.kill_group(self._parent.pid)
        self._parent.wait()
        self._parent.stdin.close()
        self._parent.stdout.close()
        reaper.forget(self._parent.pid)

    def start(self, order: CommitterOrder) -> None:
        """Start a committer; the one before has ended."""
        assert self.pid == 0, "one at a time"
        assert self._parent is not None and self._parent.stdin is not None
        self._parent.stdin.write(json.dumps(asdict(order)).encode() + b"\n")
        self.pid = int(self._answer(240))

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the committer (not to its parent); harmless when it has just ended."""
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            pass  # it ended by itself; `wait` says how

    def wait(self, seconds: float = 240) -> int:
        """Wait for its end: the exit code, or the signal's number with a minus."""
        status = int(self._answer(seconds))
        self.pid = 0
        return os.waitstatus_to_exitcode(status)

    def has_ended(self) -> bool:
        """Its end can be read with `wait`."""
        assert self._parent is not None and self._parent.stdout is not None
        return bool(select.select([self._parent.stdout], [], [], 0)[0])

    def _answer(self, seconds: float) -> bytes:
        assert self._parent is not None and self._parent.stdout is not None
        if not select.select([self._parent.stdout], [], [], seconds)[0]:
            raise TimeoutError(f"the committer did not end within {seconds} s; {self.tail()}")
        line = b""
        while not line.endswith(b"\n"):
            more = self._parent.stdout.read(1)
            if not more:
                raise AssertionError(f"the committer's parent ended; {self.tail()}")
            line += more
        return line

    def tail(self) -> str:
        """The end of the log."""
        return f"its log ends:\n{self.log.read_text(errors='replace')[-3000:]}"


def serve() -> None:
    """The warm parent."""
    for line in sys.stdin.buffer:
        given = json.loads(line)
        point = given.pop("failpoint")
        order = CommitterOrder(**given, failpoint=Failpoint(**point) if point else None)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = run_committer(order)
            except Exception:  # noqa: BLE001 - a bug: told in the log, exit code 1
                sys.excepthook(*sys.exc_info())
            finally:
                sys.stderr.flush()
                os._exit(code)
        _say(child)
        # the order of the two lines is right: the child is reaped only here
        _say(os.waitpid(child, 0)[1])


def _say(number: int) -> None:
    os.write(1, f"{number}\n".encode())


def wait_until_note(journal: Path, event: str, count: int, pid: int, seconds: float = 240) -> None:
    """Wait until process `pid` has noted `event` so many times."""
    from tests.drills.failpoint import read_journal

    deadline = time.monotonic() + seconds
    while sum(line["event"] == event and line["pid"] == pid for line in read_journal(journal)) < count:
        assert time.monotonic() < deadline, f"{pid} did not note {count} x {event} within {seconds} s"
        time.sleep(0.02)


if __name__ == "__main__":
    serve()
