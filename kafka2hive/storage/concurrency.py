"""The Concurrency, Background and Clock ports on this machine, and Concurrency without threads."""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from kafka2hive.model.text import utc_text

Item = TypeVar("Item")
Result = TypeVar("Result")

log = logging.getLogger("kafka2hive.storage")


class Sequential:
    """See Concurrency. Items run one after another in the caller's thread, up to the first exception."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        return [function(item) for item in items]


class Threads:
    """See Concurrency. Each call of map has up to `limit` threads.

    Threads live for one call of map, so the function may itself call map without waiting for its own threads
    (tables in parallel, and the files of each in parallel). 16 threads cost about 1 ms.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """See Concurrency. After an exception, items that have not started are skipped; further errors are logged."""
        todo = list(items)
        if len(todo) < 2 or self._limit < 2:
            return Sequential().map(function, todo)
        with ThreadPoolExecutor(min(self._limit, len(todo)), thread_name_prefix="storage") as pool:
            calls = [pool.submit(function, item) for item in todo]
            try:
                wait(calls, return_when=FIRST_EXCEPTION)
            finally:
                for call in calls:
                    call.cancel()  # does not affect running calls, for which leaving the block waits
        _raise_first(calls)
        return [call.result() for call in calls]


class DaemonThreads:
    """See Background."""

    def start(self, name: str, work: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=work, name=name, daemon=True)
        thread.start()
        return thread

    def condition(self) -> threading.Condition:
        return threading.Condition()


class SystemClock:
    """See Clock. The time of this machine."""

    def now(self) -> str:
        return utc_text(time.time())

    def epoch_ms(self) -> int:
        return time.time_ns() // 1_000_000

    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(time.sleep)


def _raise_first(calls: list[Future[Result]]) -> None:
    errors = [error for call in calls if not call.cancelled() and (error := call.exception()) is not None]
    for error in errors[1:]:
        log.warning("failed as well: %s: %s", type(error).__name__, error)
    if errors:
        raise errors[0]
