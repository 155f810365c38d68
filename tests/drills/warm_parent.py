"""Processes without the price of starting Python: a warm parent forks one at a time and says how it ended.

The parent has imported what its children need, and has no thread and no connection; it reads orders, one JSON object a line,
and answers with the child's pid, and with its wait status when it has ended.
"""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from tests.services import reaper

ROOT = Path(__file__).parents[2]


class WarmParent:
    """One child after another of `python -m module`; leave the `with` block and nothing of it is left."""

    def __init__(self, module: str, log: Path, env: Mapping[str, str] | None = None) -> None:
        """`env` is added to the environment."""
        self.log = log
        self._env = dict(env or {})
        self._module = module
        self._parent: subprocess.Popen[bytes] | None = None
        self.pid = 0

    def __enter__(self) -> Self:
        with self.log.open("ab") as log:
            self._parent = subprocess.Popen(
                [sys.executable, "-m", self._module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                bufsize=0,
                env=os.environ | {"PYTHONPATH": str(ROOT)} | self._env,
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

    def fork(self, order: dict[str, Any]) -> None:
        """Start a child with this order; the one before has ended."""
        assert self.pid == 0, "one at a time"
        assert self._parent is not None and self._parent.stdin is not None
        self._parent.stdin.write(json.dumps(order).encode() + b"\n")
        self.pid = int(self._answer(240))

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the child (not to its parent); harmless when it has just ended."""
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
            raise TimeoutError(f"the child of {self._module} did not end within {seconds} s; {self.tail()}")
        line = b""
        while not line.endswith(b"\n"):
            more = self._parent.stdout.read(1)
            if not more:
                raise AssertionError(f"{self._module} ended; {self.tail()}")
            line += more
        return line

    def tail(self) -> str:
        """The end of the log."""
        return f"its log ends:\n{self.log.read_text(errors='replace')[-3000:]}"


def serve(child: Callable[[dict[str, Any]], int]) -> None:
    """The warm parent: `child` carries out an order in a process of its own and gives its exit code."""
    for line in sys.stdin.buffer:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                code = child(order)
            except Exception:  # noqa: BLE001 - a bug: told in the log, exit code 1
                sys.excepthook(*sys.exc_info())
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        _say(pid)
        # the order of the two lines is right: the child is reaped only here
        _say(os.waitpid(pid, 0)[1])


def _say(number: int) -> None:
    os.write(1, f"{number}\n".encode())
