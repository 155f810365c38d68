"""A watchdog that ends a stalled worker, because some calls, for example to a stopped NameNode, lack a time limit."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STALLED = 70  # Spark notices the dead worker and retries the task


def _end_process() -> None:
    os._exit(STALLED)


class Watchdog:
    """A context manager that calls `expired` if `touch` is not called for `seconds`."""

    def __init__(self, seconds: float, expired: Callable[[], None] = _end_process) -> None:
        self._seconds = seconds
        self._expired = expired
        self._touched = time.monotonic()
        self._idle = False
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def touch(self) -> None:
        """Note progress: a record was read, bytes were written, or a file was closed."""
        self._touched = time.monotonic()

    @contextmanager
    def idle(self) -> Iterator[None]:
        """Suspend the watchdog while other code runs in this thread, such as a generator's caller after `yield`."""
        self._idle = True
        try:
            yield
        finally:
            self.touch()
            self._idle = False

    def _watch(self) -> None:
        while not self._stopped.wait(min(1.0, self._seconds / 4)):
            if not self._idle and time.monotonic() - self._touched > self._seconds:
                self._expired()
                return

    def __enter__(self) -> "Watchdog":
        self.touch()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()
