"""A lock that measures for how long its holder has made no progress, so that a hung run does not look alive."""

from typing import Protocol

from kafka2hive.storage.port import Clock


class Lock(Protocol):
    """The part of `threading.RLock` that BusyLock uses."""

    def acquire(self) -> bool: ...

    def release(self) -> None: ...


class BusyLock:
    """A lock around `lock`; it is re-entrant if `lock` is. Any thread that works for the holder may call `progress`."""

    def __init__(self, clock: Clock, lock: Lock) -> None:
        self._clock = clock
        self._lock = lock
        self._depth = 0
        self._progress_at: float | None = None

    def __enter__(self) -> None:
        self._lock.acquire()
        self._depth += 1
        self.progress()

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._progress_at = None
        self._lock.release()

    def progress(self) -> None:
        self._progress_at = self._clock.monotonic()

    def busy_seconds(self) -> float:
        """Seconds since the holder's last progress; 0 if nobody holds the lock."""
        since = self._progress_at
        return 0.0 if since is None else self._clock.monotonic() - since
