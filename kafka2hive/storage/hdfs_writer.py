"""The writer of a file on HDFS. Its close is faster than that of hdfs-native, and its outcome can be checked (ADR 2)."""

import atexit
import threading
import time
from collections.abc import Callable
from enum import Enum
from typing import Any, Protocol, TypeVar

from kafka2hive.storage.hdfs_errors import Operation
from kafka2hive.storage.port import FileStatus, StorageError, Unavailable

Result = TypeVar("Result")

KEEP = (1 << 64) - 1  # Java's -1: do not change this time of the file

_PAUSES = (0.01, 0.01, 0.01, 0.02, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1)
"""Seconds before each check whether the last block was reported.

Their sum is less than the 500 ms after which hdfs-native repeats the request.
"""
_MOST_CALLS = 32
_AT_EXIT_SECONDS = 10.0  # longer than hdfs-native's sleep and a failover take (ADR 2, point 5)


class WriterCalls(Protocol):
    """What a writer needs from its file system; see HdfsFileSystem."""

    def transfer(self, operation: Operation, path: str, function: Callable[[], Result]) -> Result: ...

    def recover_lease(self, path: str) -> bool: ...

    def stat(self, path: str) -> FileStatus: ...

    def close(self, path: str, length: int, close: Callable[[], None]) -> None: ...


def disarm(raw: Any) -> tuple[Any, Callable[[], None]]:
    """Return the hdfs-native writer and its `close`, which its destructor no longer calls.

    The destructor would block for 15 s after an error, and make a partly written file look whole.
    """
    close = raw.close
    raw.close = lambda: None
    return raw, close


class _Phase(Enum):
    """The steps of closing a file."""

    OPEN = "open"
    SYNCED = "synced"  # every DataNode in the pipeline has all bytes on its disk, and the NameNode knows the length
    IN_DOUBT = "in doubt"  # the close was requested and has no clear response
    ENDED = "ended"


class HdfsWriter:
    """See StorageWriter. Closing waits until the last block is reported to the NameNode, so close files concurrently."""

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
        """See StorageWriter.close. A sync without a response is repeated.

        After a close without a response, the lease is recovered, which closes the file if it is still open; then the
        length shows whether the file is whole.
        """
        raw, close = self._parts()
        if self._phase is _Phase.OPEN:
            self._files.transfer(Operation.SYNC, self._path, raw.hsync)
            self._phase = _Phase.SYNCED
        if self._phase is _Phase.SYNCED:
            self._phase = _Phase.IN_DOUBT
            self._files.close(self._path, self._length, close)
        else:
            self._check_closed()
        self._end()

    def _check_closed(self) -> None:
        if not self._files.recover_lease(self._path):
            raise Unavailable(self._path, "its lease is being recovered")
        length = self._files.stat(self._path).length
        if length != self._length:
            raise StorageError(self._path, f"closed with {length} bytes, {self._length} were written")

    def abandon(self) -> None:
        """See StorageWriter.abandon. The NameNode then releases the file's lease (after 60 s to 20 min)."""
        self._end()

    def _end(self) -> None:
        self._phase = _Phase.ENDED
        self._raw = None

    def _parts(self) -> tuple[Any, Callable[[], None]]:
        if self._raw is None:
            raise ValueError(f"{self._path} was closed or abandoned")
        return self._raw


class Closings:
    """Closes files sooner than hdfs-native does (ADR 2, point 8). Safe for any number of threads, but not across a fork.

    hdfs-native asks the NameNode to complete the file, usually some milliseconds before the DataNode reports the last
    block, and then sleeps for 500 ms. In the meantime, this class checks whether the block was reported, and then recovers
    the lease: a NameNode thereby closes a file at once if all blocks are complete. The check changes no file.
    """

    def __init__(self) -> None:
        self._room = threading.BoundedSemaphore(_MOST_CALLS)
        # a thread that returns from hdfs-native while the interpreter exits would abort the process
        atexit.register(self.wait)

    def close(self, client: Any, name: str, length: int, close: Callable[[], None]) -> None:
        """Close the file of `length` bytes, all synced; on return, the call of `close` may still run in its thread.

        Raises what `close` raises. Raises OSError if the lease was requested and the file is not known to be closed: the
        answer to `close` may then exist only in the memory of a NameNode (ADR 2, point 7). If too many calls still run,
        this only calls `close`.
        """
        if length == 0 or not self._room.acquire(blocking=False):
            close()  # an empty file has no block to wait for
            return
        call = _CloseCall(client, close, self._room.release)
        if not _is_reported(call, client, name, length):
            call.ended.wait()
            if call.error is not None:
                raise call.error
        elif not _is_closed_by_lease(client, name):
            call.ended.wait()
            outcome = call.error or "completed"
            raise OSError(
                f"its lease was recovered, but it is not known whether the file is closed ({outcome})"
            )

    def wait(self, seconds: float = _AT_EXIT_SECONDS) -> None:
        """Wait until all calls have ended, for at most `seconds`. Calls after that run in their callers' threads."""
        deadline = time.monotonic() + seconds
        for _ in range(_MOST_CALLS):
            if not self._room.acquire(timeout=max(0.0, deadline - time.monotonic())):
                return


def _is_reported(call: "_CloseCall", client: Any, name: str, length: int) -> bool:
    """Return whether all blocks became complete while the call still runs, so that its answer need not be awaited."""
    for pause in _PAUSES:
        if call.ended.wait(pause):
            return False
        try:
            if len(client.read(name)) == length:  # only complete blocks count
                return not call.ended.is_set()
        except (OSError, RuntimeError):
            return False
    return False


def _is_closed_by_lease(client: Any, name: str) -> bool:
    """Recover the lease, and return whether the close is in the journal of the NameNode that answers.

    The first request closes the file or finds it closed by the call, perhaps only in memory. So a change follows, whose
    acknowledgement means that the journal has the close too, and the NameNode is asked again (ADR 2, point 7).
    """
    try:
        if not client.recover_lease(name):
            return False
        client.set_times(name, time.time_ns() // 1_000_000, KEEP)
        return bool(client.recover_lease(name))
    except (OSError, RuntimeError):
        return False


class _CloseCall:
    """One call of `close` in a thread. After `ended` is set, `error` is what it raised."""

    def __init__(self, client: Any, close: Callable[[], None], on_end: Callable[[], None]) -> None:
        self._client = client  # kept, because the runtime that the call waits in ends with the client
        self.ended = threading.Event()
        self.error: BaseException | None = None
        self._close = close
        self._on_end = on_end
        threading.Thread(target=self._run, name="storage-close", daemon=True).start()

    def _run(self) -> None:
        try:
            self._close()
        except BaseException as error:  # noqa: BLE001 - raised in the caller
            self.error = error
        del self._close, self._client
        self.ended.set()
        self._on_end()
