"""The FileSystem port: the few operations the protocol needs, with the same semantics on HDFS, local disk and in simulation.

Errors are sorted by what a caller can do. Nothing here retries on its own. Every path is full, `scheme://authority/a/b`
on HDFS (`hdfs://host:port/a/b`) and `file:///a/b` on local disk.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, TypeVar

from kafka2hive.model.paths.path import parent

Item = TypeVar("Item")
Result = TypeVar("Result")


class StorageError(Exception):
    """Base of the port's errors; `path` is the path the operation was asked for.

    `remedy` says what to do, where the error itself shows it (a refused login); otherwise the caller knows better.
    """

    def __init__(self, path: str, message: str = "", remedy: str = "") -> None:
        super().__init__(f"{path}: {message}" if message else path)
        self.path = path
        self.remedy = remedy


class NotFound(StorageError):
    """The path (source of a rename) does not exist."""


class ParentMissing(NotFound):
    """The parent directory of the path to create does not exist."""


class AlreadyExists(StorageError):
    """The path to create (target of a rename) exists; nothing was changed."""


class Unavailable(StorageError):
    """It did not happen (connection refused, standby, safe mode); trying again later is right."""


class OutcomeUnknown(StorageError):
    """It may have happened (connection lost after the request was sent): read back before anything else."""


class Denied(StorageError):
    """Permission refused; it did not happen."""


class NoRoom(StorageError):
    """Quota or disk is full; it did not happen, or an unusable part of it did under an in-progress name."""


@dataclass(frozen=True, slots=True)
class FileStatus:
    """`path` full, `length` in bytes (0 for directories)."""

    path: str
    length: int
    is_directory: bool

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[1]


class StorageWriter(Protocol):
    """A file being written. Exactly one of `close` and `abandon` ends it."""

    def write(self, data: bytes | memoryview) -> None: ...

    def close(self) -> None:
        """Make what was written durable (hsync) and close; afterwards the length is right for every reader.

        After Unavailable or OutcomeUnknown it may be called again: it resumes at the step whose response was lost, and finds
        out whether the file is closed and whole. Any other error is final: the file must be ignored.
        """
        ...

    def abandon(self) -> None:
        """Abandon the file: never raises, leaves whatever there is under its in-progress name, does not block."""
        ...


class FileSystem(Protocol):
    """All operations may raise Unavailable, OutcomeUnknown (mutations only), Denied; `create`, `mkdirs`, `rename` also NoRoom."""

    def create(self, path: str) -> StorageWriter:
        """A new file. Never overwrites (AlreadyExists), never creates parents (ParentMissing)."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Atomic, file or directory, never overwrites nor moves into an existing directory.

        NotFound: source missing; ParentMissing: target's parent missing; AlreadyExists: target exists.
        """
        ...

    def read(self, path: str) -> bytes:
        """The whole file. NotFound."""
        ...

    def tail(self, path: str, most: int) -> bytes:
        """The last `most` bytes of a file, all of a shorter one. NotFound."""
        ...

    def stat(self, path: str) -> FileStatus:
        """NotFound."""
        ...

    def list(self, path: str) -> tuple[FileStatus, ...]:
        """Direct children of a directory, sorted by name. NotFound."""
        ...

    def delete(self, path: str) -> bool:
        """Remove one file or an empty directory; False when it was not there."""
        ...

    def mkdirs(self, path: str) -> None:
        """Create a directory and its parents; nothing happens when it exists. AlreadyExists when a file is there."""
        ...


class Concurrency(Protocol):
    """Runs one function over many items, several at a time where the adapter can; results in the order of the items.

    The first exception is raised after all running calls have ended.
    """

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]: ...


class Thread(Protocol):
    """What `Background.start` has started."""

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end, at most that long (seconds)."""
        ...


class Condition(Protocol):
    """What `threading.Condition` gives."""

    def __enter__(self) -> bool: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

    def notify_all(self) -> None: ...

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool: ...


class Background(Protocol):
    """Work beside the caller's, and what the two meet at. It does not keep the process from ending."""

    def start(self, name: str, work: Callable[[], None]) -> Thread: ...

    def condition(self) -> Condition: ...


class Clock(Protocol):
    """Time as the protocol uses it: to wait, and to write into texts for people. Never for a decision about data."""

    def now(self) -> str:
        """Wall clock, ISO-8601 UTC to the second, e.g. `2026-11-21T07:48:44Z`."""
        ...

    def epoch_ms(self) -> int:
        """Wall clock, milliseconds since 1970."""
        ...

    def monotonic(self) -> float:
        """Seconds, from an arbitrary start."""
        ...

    def sleep(self, seconds: float) -> None: ...


def length_at(files: FileSystem, path: str) -> int | None:
    """Bytes of a file, None when it is not there. Raises StorageError."""
    try:
        return files.stat(path).length
    except NotFound:
        return None


def children(files: FileSystem, directory: str) -> tuple[FileStatus, ...]:
    """What `list` gives, nothing for a directory that is not there. Raises StorageError."""
    try:
        return files.list(directory)
    except NotFound:
        return ()


def write_file(files: FileSystem, path: str, data: bytes) -> None:
    """Create, write, sync, close. On an error the file under `path` is abandoned and must be ignored."""
    writer = files.create(path)
    try:
        writer.write(data)
        writer.close()
    except StorageError:
        writer.abandon()
        raise


def in_its_directory(files: FileSystem, path: str, put: Callable[[], None]) -> None:
    """`put`, which makes `path`; where the directory of it is missing, that is made first, and `put` done again."""
    try:
        put()
    except ParentMissing:
        files.mkdirs(parent(path))
        put()


def files_below(
    files: FileSystem,
    concurrency: Concurrency,
    directories: Iterable[str],
    enters: Callable[[FileStatus], bool] = lambda directory: directory.name[0] not in "_.",
) -> Iterator[FileStatus]:
    """Level by level, the directories of a level side by side, each once. `enters`: whether to look into a subdirectory,
    by default those that readers see. A directory that is not there is empty. Raises StorageError.
    """
    level, listed = set(directories), set[str]()
    while level:
        listed |= level
        deeper = set()
        for found in concurrency.map(lambda directory: children(files, directory), sorted(level)):
            for child in found:
                if not child.is_directory:
                    yield child
                elif enters(child):
                    deeper.add(child.path)
        level = deeper - listed
