"""The ports of storage, concurrency and time, with the same semantics on HDFS, on local disk and in simulation.

FileSystem has only the operations that the protocol needs. Its errors are sorted by what a caller can do, and it never
retries. Every path is full: `hdfs://host:port/a/b` on HDFS, `file:///a/b` on local disk.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, TypeVar

from kafka2hive.model.paths.path import parent
from kafka2hive.storage.stored_file import StoredFile

Item = TypeVar("Item")
Result = TypeVar("Result")


class StorageError(Exception):
    """The base of the port's errors. `path` is the operation's path, the source of a rename.

    `remedy` says what to do if the error itself shows it (a refused login); otherwise it is empty, and the caller decides.
    """

    def __init__(self, path: str, message: str = "", remedy: str = "") -> None:
        super().__init__(f"{path}: {message}" if message else path)
        self.path = path
        self.remedy = remedy


class NotFound(StorageError):
    """The path (for a rename, the source) does not exist."""


class ParentMissing(NotFound):
    """The parent of the path to create (for a rename, of the target) does not exist."""


class AlreadyExists(StorageError):
    """The path to create (for a rename, the target) exists; nothing was changed."""


class Unavailable(StorageError):
    """The operation did not happen (connection refused, standby, safe mode); the caller may try again later."""


class OutcomeUnknown(StorageError):
    """The operation may have happened (connection lost after the request); the caller must first read the state back."""


class Denied(StorageError):
    """Permission was denied; the operation did not happen."""


class NoRoom(StorageError):
    """The quota or the disk is full; nothing happened, or an unusable part of a file exists under its in-progress name."""

    def __init__(self, path: str, message: str = "", remedy: str = "free space, or raise the quota") -> None:
        super().__init__(path, message, remedy)


class ErasureCoded(StorageError):
    """The directory is erasure-coded, so no durable file can be created in it until an operator changes that."""


@dataclass(frozen=True, slots=True)
class FileStatus:
    """A file or directory. `path` is full, `length` is in bytes (0 for directories)."""

    path: str
    length: int
    is_directory: bool

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[1]

    @property
    def is_visible(self) -> bool:
        """Whether readers of a table see it: Hive and Spark hide names that begin with `_` or a dot."""
        return self.name[0] not in "_."


class StorageWriter(Protocol):
    """A file that is being written; `close` or `abandon` ends it."""

    def write(self, data: bytes | memoryview) -> None: ...

    def close(self) -> None:
        """Make the data durable (hsync) and close the file; afterwards every reader sees its length.

        After Unavailable or OutcomeUnknown, it may be called again: it resumes at the step whose response was lost, and
        checks whether the file is closed and whole. Any other error is final, and the file must be ignored.
        """
        ...

    def abandon(self) -> None:
        """Abandon the file, and leave what exists under its in-progress name. Never raises and does not block."""
        ...


class FileSystem(Protocol):
    """A file system. Every operation may raise Unavailable and Denied, changes also OutcomeUnknown.

    `create`, `mkdirs` and `rename` may raise NoRoom too.
    """

    def create(self, path: str) -> StorageWriter:
        """Create a file. Never overwrites (AlreadyExists) and never creates parents (ParentMissing).

        The writer may raise ErasureCoded.
        """
        ...

    def rename(self, source: str, target: str) -> None:
        """Rename a file or directory atomically. Never overwrites, and never moves into an existing directory.

        Raises NotFound if the source is missing, ParentMissing if the target's parent is, AlreadyExists if the target exists.
        """
        ...

    def read(self, path: str) -> bytes:
        """Return the whole file. Raises NotFound."""
        ...

    def open(self, path: str) -> StoredFile:
        """Open a closed file to read parts of it. Raises NotFound; the file's methods may raise StorageError, too."""
        ...

    def tail(self, path: str, most: int) -> bytes:
        """Return the last `most` bytes of a file, or all of a shorter one. Raises NotFound."""
        ...

    def stat(self, path: str) -> FileStatus:
        """Return the status of a file or directory. Raises NotFound."""
        ...

    def list(self, path: str) -> tuple[FileStatus, ...]:
        """Return the direct children of a directory, sorted by name. Raises NotFound."""
        ...

    def delete(self, path: str) -> bool:
        """Remove a file or an empty directory. Return False if it did not exist."""
        ...

    def mkdirs(self, path: str) -> None:
        """Create a directory and its parents, if it does not exist. Raises AlreadyExists if the path is a file."""
        ...


@dataclass(frozen=True, slots=True)
class FreeSpace:
    """What may still be added to a directory: names of files and directories, and bytes. None: no limit is known."""

    names: int | None = None
    bytes: int | None = None


class InspectableFileSystem(FileSystem, Protocol):
    """A file system with what only `doctor` asks. For `free_space` the NameNode counts the whole directory, which takes time."""

    def free_space(self, path: str) -> FreeSpace:
        """Return what the directory's own quotas, or a local disk, leave. Raises NotFound."""
        ...

    def modified_at(self, path: str) -> float:
        """Return when a file or directory was changed last, in Unix seconds by the file system's clock. Raises NotFound."""
        ...


class Concurrency(Protocol):
    """Runs one function over many items, concurrently if the adapter can. Results are in the order of the items.

    The first exception is raised after all running calls have ended.
    """

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]: ...


class Thread(Protocol):
    """A thread that `Background.start` has started."""

    def join(self, timeout: float | None = None) -> None:
        """Wait until the thread ends, for at most `timeout` seconds."""
        ...


class Condition(Protocol):
    """The part of `threading.Condition` that the product uses."""

    def __enter__(self) -> bool: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

    def notify_all(self) -> None: ...

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool: ...


class Background(Protocol):
    """Starts threads, which do not keep the process from exiting, and makes the conditions to coordinate them."""

    def start(self, name: str, work: Callable[[], None]) -> Thread: ...

    def condition(self) -> Condition: ...


class Clock(Protocol):
    """Time, which the protocol uses to wait and in messages for people, never to decide about data."""

    def now(self) -> str:
        """Return the wall clock as ISO 8601 in UTC, to the second: `2026-11-21T07:48:44Z`."""
        ...

    def epoch_ms(self) -> int:
        """Return the wall clock in milliseconds since 1970."""
        ...

    def monotonic(self) -> float:
        """Return seconds since an arbitrary start; never goes back."""
        ...

    def sleep(self, seconds: float) -> None: ...


def length_at(files: FileSystem, path: str) -> int | None:
    """Return the length of a file in bytes; None if it does not exist. Raises StorageError."""
    try:
        return files.stat(path).length
    except NotFound:
        return None


def children(files: FileSystem, directory: str) -> tuple[FileStatus, ...]:
    """Return the children of a directory, () if it does not exist. Raises StorageError."""
    try:
        return files.list(directory)
    except NotFound:
        return ()


def write_file(files: FileSystem, path: str, data: bytes) -> None:
    """Create a file, write `data`, sync and close it. After an error or a crash, the file at `path` must be ignored.

    In an erasure-coded directory it is deleted again, because each later try would leave another one.
    """
    writer = files.create(path)
    try:
        writer.write(data)
        writer.close()
    except StorageError as error:
        writer.abandon()
        if isinstance(error, ErasureCoded):
            files.delete(path)
        raise


def in_its_directory(files: FileSystem, path: str, put: Callable[[], None]) -> None:
    """Call `put`, which creates `path`. If its directory is missing, create that and call `put` again."""
    try:
        put()
    except ParentMissing:
        files.mkdirs(parent(path))
        put()


def files_below(
    files: FileSystem,
    concurrency: Concurrency,
    directories: Iterable[str],
    enters: Callable[[FileStatus], bool] = lambda directory: directory.is_visible,
) -> Iterator[FileStatus]:
    """Yield the files below `directories`, level by level; the directories of a level are listed concurrently, each once.

    `enters` decides which subdirectories to list, by default those that readers see. A missing directory counts as empty.
    Raises StorageError.
    """
    level, listed = set(directories), set[str]()
    while level:
        listed |= level
        deeper = set()
        for entries in concurrency.map(lambda directory: children(files, directory), sorted(level)):
            for child in entries:
                if not child.is_directory:
                    yield child
                elif enters(child):
                    deeper.add(child.path)
        level = deeper - listed
