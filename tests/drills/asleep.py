"""A run that sleeps: the machine was suspended, and wakes up later."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from tests.harness.program import Running


@contextmanager
def asleep(run: Running) -> Iterator[None]:
    """Stop every process of the run (driver, JVM, Python workers) with SIGSTOP, and let them go on at the end."""
    stopped: list[int] = []
    for _ in range(2):  # a worker may have been born while the first round went on
        for process in psutil.process_iter():
            if (
                process.pid not in stopped
                and _is_of(process.pid, run.pid)
                and _send(process.pid, signal.SIGSTOP)
            ):
                stopped.append(process.pid)
    try:
        yield
    finally:
        for pid in reversed(stopped):
            _send(pid, signal.SIGCONT)


def _is_of(pid: int, session: int) -> bool:
    try:
        return os.getsid(pid) == session
    except ProcessLookupError:
        return False


def _send(pid: int, number: signal.Signals) -> bool:
    """False when the process has just ended."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True
