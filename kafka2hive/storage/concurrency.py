"""Threads and time on this machine: the Concurrency, Background and Clock ports, and a time limit for calls without one."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from kafka2hive.model.text import utc_text

Item = TypeVar("Item")
Result = TypeVar("Result")
log = logging.getLogger("kafka2hive.storage")


class CallTimeout(Exception):
    """The call did not return in time; it may still be carried out."""


class TooManyStuck(Exception):
    """The call was not made, because as many calls as are allowed already hang."""


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


def _raise_first(calls: list[Future[Result]]) -> None:
    errors = [error for call in calls if not call.cancelled() and (error := call.exception()) is not None]
    for error in errors[1:]:
        log.warning("failed as well: %s: %s", type(error).__name__, error)
    if errors:
        raise errors[0]


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


class Guard:
    """Gives calls a time limit: each runs in another thread, and the caller waits only until the limit.

    hdfs-native waits forever for a NameNode that is suspended or whose host has vanished. A call that does not return in time
    cannot be ended, so it stays in its thread and is counted; if too many hang, no further call is made. Safe for any number
    of threads, which are daemons and do not keep the process from exiting, but not across a fork.
    """

    def __init__(self, stuck_limit: int = 64) -> None:
        self._stuck_limit = stuck_limit
        self._idle: deque[_Worker] = deque()  # the last one used is taken first
        self.stuck = 0  # calls past their limit that have not returned
        self._lock = threading.Lock()

    def call(self, function: Callable[[], Result], seconds: float) -> Result:
        """Return or raise what `function()` does. Raises CallTimeout after `seconds`, and TooManyStuck without waiting."""
        if self.stuck >= self._stuck_limit:
            raise TooManyStuck(f"{self.stuck} calls hang")
        try:
            worker = self._idle.pop()
        except IndexError:
            worker = _Worker(self._returned)
        worker.requests.put(function)
        try:
            result, error = worker.answers.get(timeout=seconds)
        except Empty:
            self._give_up(worker)
            raise CallTimeout(f"no answer within {seconds:g} s") from None
        except BaseException:  # Ctrl-C while waiting
            self._give_up(worker)
            raise
        self._idle.append(worker)
        if error is not None:
            try:
                raise error
            finally:
                del error  # otherwise error and this frame would keep each other alive
        return result  # type: ignore[no-any-return]

    def _give_up(self, worker: "_Worker") -> None:
        with self._lock:
            self.stuck += 1
        worker.requests.put(None)

    def _returned(self) -> None:
        with self._lock:
            self.stuck -= 1


class _Worker:
    """One thread, which answers each function with (result, error); the request None ends it."""

    def __init__(self, on_end: Callable[[], None]) -> None:
        self.requests: SimpleQueue[Callable[[], Any] | None] = SimpleQueue()
        self.answers: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        self._on_end = on_end
        threading.Thread(target=self._run, name="storage-call", daemon=True).start()

    def _run(self) -> None:
        while (function := self.requests.get()) is not None:
            try:
                answer: tuple[Any, BaseException | None] = (function(), None)
            except BaseException as error:  # noqa: BLE001 - raised in the caller
                answer = (None, error)
            del function
            self.answers.put(answer)
            del answer
        self._on_end()
