"""One function over many items, one after another or several at a time; and work in the background."""

import logging
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

log = logging.getLogger("kafka2hive.storage")


class Sequential:
    """See Concurrency: in the caller's thread, one after another; the first exception ends it."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        return [function(item) for item in items]


class Threads:
    """See Concurrency: up to `limit` threads for each call of map.

    Threads live for one call of map, so a function may itself call map without waiting for its own threads
    (tables side by side, the files of each side by side). 16 threads cost about 1 ms.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """See Concurrency.map. After an exception, items that have not started are skipped; further errors are logged."""
        todo = list(items)
        if len(todo) < 2 or self._limit < 2:
            return Sequential().map(function, todo)
        with ThreadPoolExecutor(min(self._limit, len(todo)), thread_name_prefix="storage") as pool:
            calls = [pool.submit(function, item) for item in todo]
            try:
                wait(calls, return_when=FIRST_EXCEPTION)
            finally:
                for call in calls:
                    call.cancel()  # nothing to those that run or have ended; leaving the block waits for these
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


def _raise_first(calls: list[Future[Result]]) -> None:
    errors = [error for call in calls if not call.cancelled() and (error := call.exception()) is not None]
    for error in errors[1:]:
        log.warning("failed as well: %s: %s", type(error).__name__, error)
    if errors:
        raise errors[0]
