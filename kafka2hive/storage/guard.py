"""A time limit for calls that have none: the call runs in another thread, and the caller waits only until the limit.

hdfs-native waits for ever for a NameNode that is suspended or whose host vanished. A call that does not return in time
cannot be ended, so it stays in its thread and is counted; if too many hang, no further call is made.
The threads are daemons and do not keep the process from exiting.
"""

import threading
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

Result = TypeVar("Result")


class CallTimeout(Exception):
    """The call did not return in time; it may still be carried out."""


class TooManyStuck(Exception):
    """The call was not made, because as many as allowed already hang."""


class Guard:
    """Runs calls with a time limit. Safe for any number of threads, but not across a fork."""

    def __init__(self, stuck_limit: int = 64) -> None:
        self._stuck_limit = stuck_limit
        self._idle: deque[_Worker] = deque()  # the last one used is taken first
        self.stuck = 0  # calls past their limit that have not returned
        self._lock = threading.Lock()

    def call(self, function: Callable[[], Result], seconds: float) -> Result:
        """Return or raise what `function()` does. Raises CallTimeout after `seconds`, and TooManyStuck at once."""
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
                del error  # otherwise error and this frame would keep each other alive
        return result  # type: ignore[no-any-return]

    def _leave(self, worker: "_Worker") -> None:
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
