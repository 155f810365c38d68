"""A time limit around calls that have none: the call runs in a thread of its own, the caller waits so long and no longer.

hdfs-native waits without end for a NameNode that is stopped or whose host vanished. A call that does not return in time
is left behind in its thread (nothing can end it) and counted; when too many are left behind, no further call is made.
Threads are daemons: none of them keeps the process from ending.
"""

import threading
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

Result = TypeVar("Result")


class CallTimeout(Exception):
    """The call has not returned in time; it may still be carried out."""


class TooManyStuck(Exception):
    """The call was not made: as many as allowed already hang."""


class Guard:
    """Runs calls with a time limit; safe for any number of threads, not across a fork."""

    def __init__(self, stuck_limit: int = 64) -> None:
        self._stuck_limit = stuck_limit
        self._idle: deque[_Worker] = deque()  # the one used last is taken first
        self.stuck = 0  # calls left behind that have not returned
        self._lock = threading.Lock()

    def call(self, function: Callable[[], Result], seconds: float) -> Result:
        """The result of `function()`, or what it raises. Raises NoAnswer after `seconds`, TooManyStuck at once."""
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
            self._leave(worker)
            raise CallTimeout(f"no answer within {seconds:g} s") from None
        except BaseException:  # Ctrl-C while waiting
            self._leave(worker)
            raise
        self._idle.append(worker)
        if error is not None:
            try:
                raise error
            finally:
                del error  # or error and this frame would keep each other alive
        return result  # type: ignore[no-any-return]

    def _leave(self, worker: "_Worker") -> None:
        with self._lock:
            self.stuck += 1
        worker.requests.put(None)

    def _returned(self) -> None:
        with self._lock:
            self.stuck -= 1


class _Worker:
    """One thread: takes a function, answers with (result, error); None ends it."""

    def __init__(self, on_end: Callable[[], None]) -> None:
        self.requests: SimpleQueue[Callable[[], Any] | None] = SimpleQueue()
        self.answers: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        self._on_end = on_end
        threading.Thread(target=self._run, name="storage-call", daemon=True).start()

    def _run(self) -> None:
        while (function := self.requests.get()) is not None:
            try:
                answer: tuple[Any, BaseException | None] = (function(), None)
            except BaseException as error:  # noqa: BLE001 - handed to the caller, who raises it
                answer = (None, error)
            del function
            self.answers.put(answer)
            del answer
        self._on_end()
