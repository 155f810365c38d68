"""A file being written on HDFS: what hdfs-native's writer lacks (ADR 2), above all a close whose outcome can be found out."""

import atexit
import threading
import time
from collections.abc import Callable
from enum import Enum
from typing import Any, Protocol, TypeVar

from kafka2hive.storage.hdfs_errors import Operation
from kafka2hive.storage.port import FileStatus, StorageError, Unavailable

Result = TypeVar("Result")

KEEP = (1 << 64) - 1  # Java's -1: leave this time of a file as it is

# Seconds before each look whether the last block was reported; after their sum hdfs-native asks again by itself.
_PAUSES = (0.01, 0.01, 0.01, 0.02, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1)
_MOST_CALLS = 32
_AT_EXIT_SECONDS = 10.0  # longer than hdfs-native's sleep and a failover take (ADR 2, point 5)


class WriterCalls(Protocol):
    """What a writer asks of its file system: see HdfsFileSystem."""

    def transfer(self, operation: Operation, path: str, function: Callable[[], Result]) -> Result: ...

    def recover_lease(self, path: str) -> bool: ...

    def stat(self, path: str) -> FileStatus: ...

    def close(self, path: str, length: int, close: Callable[[], None]) -> None: ...


def disarmed(raw: Any) -> tuple[Any, Callable[[], None]]:
    """The hdfs-native writer and its `close`. Its destructor must not close: it would block 15 s after an error, and
    make a half-written file look whole.
    """
    close = raw.close
    raw.close = lambda: None
    return raw, close


class _Phase(Enum):
    """How far closing has come."""

    OPEN = "open"
    SYNCED = "synced"  # every DataNode has all bytes on its disk, and the NameNode knows the length
    IN_DOUBT = "in doubt"  # asked to be closed, and no clear response came
    ENDED = "ended"


class HdfsWriter:
    """See FileWriter. Closing waits for the NameNode to hear of the last block: close several files concurrently."""

    def __init__(self, files: WriterCalls, path: str, raw: Any, close: Callable[[], None]) -> None:
        self._files = files
        self._path = path
        self._raw: tuple[Any, Callable[[], None]] | None = (raw, close)
        self._phase = _Phase.OPEN
        self._length = 0

    def write(self, data: bytes | memoryview) -> None:
        raw, _ = self._parts()
        self._files.transfer(Operation.WRITE, self._path, lambda: raw.write(data))
        self._length += memoryview(data).nbytes

    def close(self) -> None:
        """See FileWriter.close. A sync without a response is repeated. After a close without one the lease is
        recovered, which closes a file that is still open; then the length tells whether all of it is there.
        """
        raw, close = self._parts()
        if self._phase is _Phase.OPEN:
            self._files.transfer(Operation.SYNC, self._path, raw.hsync)
            self._phase = _Phase.SYNCED
        if self._phase is _Phase.SYNCED:
            self._phase = _Phase.IN_DOUBT
            self._files.close(self._path, self._length, close)
        else:
            self._find_out()
        self._end()

    def _find_out(self) -> None:
        if not self._files.recover_lease(self._path):
            raise Unavailable(self._path, "its lease is being recovered")
        length = self._files.stat(self._path).length
        if length != self._length:
            raise StorageError(self._path, f"closed with {length} bytes, {self._length} were written")

    def abandon(self) -> None:
        """See FileWriter.abandon. The NameNode frees the file's lease by itself (60 s to 20 min)."""
        self._end()

    def _end(self) -> None:
        self._phase = _Phase.ENDED
        self._raw = None

    def _parts(self) -> tuple[Any, Callable[[], None]]:
        if self._raw is None:
            raise ValueError(f"{self._path} was closed or abandoned")
        return self._raw


class Closings:
    """hdfs-native's close, and the file closed sooner than by it (ADR 2, point 8). For any number of threads, not across a fork.

    hdfs-native asks the NameNode to complete the file, mostly some milliseconds before the DataNode has reported the last
    block, and then sleeps 500 ms. This looks in between, and has the file closed by recovering its lease, which a
    NameNode does at once when all blocks are complete. A look changes nothing.
    """

    def __init__(self) -> None:
        self._room = threading.BoundedSemaphore(_MOST_CALLS)
        # a thread that returns from hdfs-native while the interpreter goes down would abort the process
        atexit.register(self.wait)

    def close(self, client: Any, name: str, length: int, close: Callable[[], None]) -> None:
        """Return when the file of `length` bytes, all synced, is closed; `close` may then still run in its own thread.

        Raises what `close` raises. Raises OSError when the lease was asked for and the file is not known to be closed:
        what `close` is told from then on may be only in the memory of a NameNode (ADR 2, point 7). When too many calls
        still run, this one is just waited for.
        """
        if length == 0 or not self._room.acquire(blocking=False):
            close()  # without a block there is nothing to wait for
            return
        call = _CloseCall(client, close, self._room.release)
        if not _reported(call, client, name, length):
            call.ended.wait()
            if call.error is not None:
                raise call.error
        elif not _closed_by_lease(client, name):
            call.ended.wait()
            told = call.error or "completed"
            raise OSError(f"its lease was asked for, and it is not known to be closed ({told})")

    def wait(self, seconds: float = _AT_EXIT_SECONDS) -> None:
        """Until all calls have ended, at most that long. Later ones are made by their callers."""
        deadline = time.monotonic() + seconds
        for _ in range(_MOST_CALLS):
            if not self._room.acquire(timeout=max(0.0, deadline - time.monotonic())):
                return


def _reported(call: "_CloseCall", client: Any, name: str, length: int) -> bool:
    """Whether all blocks became complete while the call goes on: it has asked, and its answer is not awaited any more."""
    for pause in _PAUSES:
        if call.ended.wait(pause):
            return False
        try:
            if len(client.read(name)) == length:  # only complete blocks count
                return not call.ended.is_set()
        except (OSError, RuntimeError):
            return False
    return False


def _closed_by_lease(client: Any, name: str) -> bool:
    """Whether the file is closed, in the journal of the NameNode that says so.

    The first request closes it, or finds it closed by the call, maybe only in memory. So a change is acknowledged, which
    comes after the close in the journal, and the NameNode is asked again (ADR 2, point 7).
    """
    try:
        if not client.recover_lease(name):
            return False
        client.set_times(name, time.time_ns() // 1_000_000, KEEP)
        return bool(client.recover_lease(name))
    except (OSError, RuntimeError):
        return False


class _CloseCall:
    """`error` is what it raised, once it has `ended`."""

    def __init__(self, client: Any, close: Callable[[], None], on_end: Callable[[], None]) -> None:
        self._client = client  # dropped, it would end the runtime that the call waits in
        self.ended = threading.Event()
        self.error: BaseException | None = None
        self._close = close
        self._on_end = on_end
        threading.Thread(target=self._run, name="storage-close", daemon=True).start()

    def _run(self) -> None:
        try:
            self._close()
        except BaseException as error:  # noqa: BLE001 - handed to the caller, who raises it
            self.error = error
        del self._close, self._client
        self.ended.set()
        self._on_end()
