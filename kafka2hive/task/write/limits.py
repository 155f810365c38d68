"""What all writers of a task share: the bounds on buffered memory and on open files, and the threads that close them."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Protocol, TypeVar

import pyarrow as pa

from kafka2hive.model.errors import TableError
from kafka2hive.storage.clock import SystemClock
from kafka2hive.storage.port import Clock, StorageError

WRITE_ERRORS = (StorageError, TableError, pa.ArrowException)
"""Errors of writing that belong to the one table that is written."""


class Relievable(Protocol):
    """A writer as the limits see it."""

    @property
    def buffered_bytes(self) -> int: ...

    def relieve(self) -> None:
        """Write the largest buffer to its file: `buffered_bytes` is smaller afterwards."""
        ...

    def end_file(self, bucket: int) -> None:
        """Finish a bucket's open file; a later row of that bucket opens a new one."""
        ...

    def fail(self, error: Exception) -> None:
        """Give everything up, and raise `error` at the writer's next call: it came up while serving another table."""
        ...


class TaskLimits:
    """`memory_bytes` bounds the Arrow data buffered by all writers and the encoded bytes held by their files together,
    `open_files` their open files. `buffered_bytes` is the sum over the writers, kept by them.
    """

    def __init__(
        self, memory_bytes: int, open_files: int, file_bytes: int, clock: Clock | None = None
    ) -> None:
        """`clock` times the tries of files (None: the real one)."""
        self.memory_bytes = memory_bytes
        self.held = HeldBytes(memory_bytes // 8)
        self.buffered_bytes = 0
        self.clock = clock or SystemClock()
        self.file_bytes = file_bytes
        self.closer = Closer()
        self._open_files = max(1, open_files)
        self._writers: list[Relievable] = []
        self._open: OrderedDict[tuple[int, int], Relievable] = OrderedDict()

    def join(self, writer: Relievable) -> None:
        self._writers.append(writer)

    def leave(self, writer: Relievable) -> None:
        """Forget a writer that is finished or has failed; a second call does nothing."""
        if writer in self._writers:
            self._writers.remove(writer)
        for key in [key for key, owner in self._open.items() if owner is writer]:
            del self._open[key]

    def settle(self) -> None:
        """Flush the largest buffers until the sum is within the bound."""
        while self.buffered_bytes > self.memory_bytes - self.held.total:
            largest = max(self._writers, key=lambda writer: writer.buffered_bytes)
            try:
                largest.relieve()
            except WRITE_ERRORS as error:
                largest.fail(error)

    def opening(self, writer: Relievable, bucket: int) -> None:
        """A file of this bucket is about to be opened: finish the least recently used ones beyond the bound."""
        while len(self._open) >= self._open_files:
            (_, oldest_bucket), owner = self._open.popitem(last=False)
            try:
                owner.end_file(oldest_bucket)
            except WRITE_ERRORS as error:
                if owner is writer:
                    raise
                owner.fail(error)
        self._open[id(writer), bucket] = writer

    def used(self, writer: Relievable, bucket: int) -> None:
        self._open.move_to_end((id(writer), bucket))

    def ended(self, writer: Relievable, bucket: int) -> None:
        """The bucket's file is finished; a second call does nothing."""
        self._open.pop((id(writer), bucket), None)


class HeldBytes:
    """`most` over all files of a task; one file may hold a quarter of it. Safe for any number of threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._most_of_one = most // 4
        self._lock = threading.Lock()
        self.total = 0

    def take(self, held: int, more: int) -> bool:
        """Room for `more` bytes of a file that holds `held`; False: there is none, nothing was taken."""
        with self._lock:
            if held + more > self._most_of_one or self.total + more > self._most:
                return False
            self.total += more
            return True

    def release(self, count: int) -> None:
        """Bytes that were taken are let go."""
        with self._lock:
            self.total -= count


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
