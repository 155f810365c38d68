"""The limits that all writers of a task share: buffered memory, open files, and the threads that close files."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Protocol, TypeVar

import pyarrow as pa

from kafka2hive.model.errors import TableError
from kafka2hive.storage.concurrency import SystemClock
from kafka2hive.storage.port import Clock, StorageError

Result = TypeVar("Result")

WRITE_ERRORS = (StorageError, TableError, pa.ArrowException)
"""Errors of a write that concern only the table whose rows are written."""
WIDTH = 16
"""The number of threads that close files."""
OPEN_FILE_BYTES = 128 * 1024
"""About the memory of an open file besides rows: its buffer, and what Parquet's writer keeps for some 20 columns."""


class Relievable(Protocol):
    """A writer whose memory and open files the limits can reduce."""

    @property
    def buffered_bytes(self) -> int: ...

    def relieve(self) -> None:
        """Write the largest buffer to its file, which reduces `buffered_bytes`."""
        ...

    def end_file(self, bucket: int) -> None:
        """End a bucket's open file; a later row of the bucket opens a new file."""
        ...

    def fail(self, error: Exception) -> None:
        """Give up all files, and raise `error` at the next call.

        The limits call it if `relieve` or `end_file` fails while another table's writer is running.
        """
        ...


class TaskLimits:
    """The limits of a task, over all of its writers.

    `memory_bytes` bounds the sum of the buffered Arrow data, the encoded bytes that files hold in memory, and the overhead of
    open files, which counts for at most half of it. `open_files` bounds the number of open files. The writers keep
    `buffered_bytes` up to date: it is the sum over all of them.
    """

    def __init__(
        self, memory_bytes: int, open_files: int, file_bytes: int, clock: Clock | None = None
    ) -> None:
        """`clock` times the retries of files (None: the system clock)."""
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
        """Remove a writer that has finished or failed; a second call does nothing."""
        if writer in self._writers:
            self._writers.remove(writer)
        for key in [key for key, owner in self._open.items() if owner is writer]:
            del self._open[key]

    def settle(self) -> None:
        """Write out the largest buffers until the memory is within its limit."""
        while self.buffered_bytes > self.memory_bytes - self.held.total - self._overhead():
            largest = max(self._writers, key=lambda writer: writer.buffered_bytes)
            try:
                largest.relieve()
            except WRITE_ERRORS as error:
                largest.fail(error)

    def _overhead(self) -> int:
        """Return the overhead of the open files. The other half of the memory is left for rows, however many files are open."""
        return min(len(self._open) * OPEN_FILE_BYTES, self.memory_bytes // 2)

    def note_opening(self, writer: Relievable, bucket: int) -> None:
        """Note that a file of this bucket will be opened, and end the least recently used files beyond the limit."""
        while len(self._open) >= self._open_files:
            (_, oldest_bucket), owner = self._open.popitem(last=False)
            try:
                owner.end_file(oldest_bucket)
            except WRITE_ERRORS as error:
                if owner is writer:
                    raise
                owner.fail(error)
        self._open[id(writer), bucket] = writer

    def note_use(self, writer: Relievable, bucket: int) -> None:
        self._open.move_to_end((id(writer), bucket))

    def note_end(self, writer: Relievable, bucket: int) -> None:
        """Note that the bucket's file has ended; a second call does nothing."""
        self._open.pop((id(writer), bucket), None)


class HeldBytes:
    """The budget of bytes that files hold in memory: `most` over all files, a quarter of `most` per file. Thread-safe."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._most_per_file = most // 4
        self._lock = threading.Lock()
        self.total = 0

    def take(self, held: int, more: int) -> bool:
        """Reserve `more` bytes for a file that holds `held` bytes. Returns False without reserving if the budget is exhausted."""
        with self._lock:
            if held + more > self._most_per_file or self.total + more > self._most:
                return False
            self.total += more
            return True

    def release(self, count: int) -> None:
        """Return reserved bytes to the budget."""
        with self._lock:
            self.total -= count


class Closer:
    """Closes files on WIDTH threads; `submit` waits while twice as many closings are pending."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None
        self._running: set[Future[object]] = set()

    def submit(self, closing: Callable[[], Result]) -> Future[Result]:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(WIDTH, thread_name_prefix="close")
        if len(self._running) >= 2 * WIDTH:
            _, self._running = wait(self._running, return_when=FIRST_COMPLETED)
        future = self._threads.submit(closing)
        self._running.add(future)  # type: ignore[arg-type]  # Future is invariant, and these results are not read
        return future

    def stop(self) -> None:
        """Cancel the closings that have not started, and wait for the others."""
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)
