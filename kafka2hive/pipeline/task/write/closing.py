"""Closing files takes half a second each where there is one DataNode: many at a time, while the task reads on."""

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

Result = TypeVar("Result")

WIDTH = 16


class Closer:
    """Runs closings on threads, `WIDTH` at a time; `submit` waits when twice as many are on their way."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None
        self._running: set[Future[object]] = set()

    def submit(self, closing: Callable[[], Result]) -> Future[Result]:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(WIDTH, thread_name_prefix="close")
        if len(self._running) >= 2 * WIDTH:
            _, self._running = wait(self._running, return_when=FIRST_COMPLETED)
        future = self._threads.submit(closing)
        self._running.add(future)  # type: ignore[arg-type]  # Future is invariant, and nobody reads these results
        return future

    def stop(self) -> None:
        """Wait for what runs; what has not begun is given up."""
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)
