"""The upload of one file up to its rename to `.pending`, with the recovery from lost responses (rule T).

Bytes are held in memory until the file is whole or exceeds its share (HeldBytes). Until then, a failed create, write or
close is retried with the same bytes under a new name. A file that exceeds its share is streamed under one name.

Once a rename was sent, the file keeps its name: either it is found as `.pending`, or the table fails in this attempt. So
within one attempt two names never hold the same rows, and a rebuilt ledger cannot count rows twice.
"""

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa

from kafka2hive.formats.contract.port import Encoder
from kafka2hive.model.files import checksum_text
from kafka2hive.model.paths.path import join
from kafka2hive.model.paths.table_directory import DataFileName
from kafka2hive.storage.port import (
    Clock,
    Denied,
    FileSystem,
    NoRoom,
    OutcomeUnknown,
    ParentMissing,
    StorageError,
    StorageWriter,
    Unavailable,
    length_at,
)
from kafka2hive.task.write.limits import HeldBytes

Result = TypeVar("Result")

AMBIGUOUS = (Unavailable, OutcomeUnknown)
"""Errors after which the operation may have been done, or may succeed on a retry."""
MOST_TRIES = 16
"""Maximum number of tries of one file. Tries also end after SECONDS, so that an outage of HDFS fails the table soon."""
SECONDS = 30.0
_FIRST_WAIT = 0.05
_LONGEST_WAIT = 2.0
_CLOSES_OF_ONE_NAME = 3  # while the bytes are held, a new name is faster than lease recovery
_SINK_BUFFER_BYTES = 64 * 1024  # per open file


@dataclass(frozen=True, slots=True)
class UploadPlace:
    """What a table's uploads share; `directory` is their target, and is created if missing."""

    files: FileSystem
    directory: str
    held: HeldBytes
    clock: Clock
    progress: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A complete file with the state `.pending`; `checksum` is `crc32:<8 hex digits>`."""

    name: DataFileName
    path: str
    length: int
    checksum: str


@dataclass(slots=True)
class _InMemory:
    """All bytes of the file are in memory; a file that an earlier try left in the file system is an orphan."""

    parts: list[bytes]


@dataclass(frozen=True, slots=True)
class _OpenStream:
    """The file is open in the file system; bytes that were written are not kept in memory."""

    name: DataFileName
    writer: StorageWriter


class Upload:
    """One upload. Call `write` any number of times, then `publish` once; or `abandon` at any time."""

    def __init__(self, place: UploadPlace, new_name: Callable[[], DataFileName]) -> None:
        """`new_name` returns a different name at every call. Nothing is created yet."""
        self._place = place
        self._new_name = new_name
        self._tries = Tries(place.clock)
        self._state: _InMemory | _OpenStream = _InMemory([])
        self.length = 0
        self._crc = 0

    def write(self, data: bytes | memoryview) -> None:
        """Append bytes to the file. Raises StorageError."""
        match self._state:
            case _InMemory(parts) as held:
                if self._place.held.take(self.length, len(data)):
                    parts.append(bytes(data))
                else:
                    self._stream(held, data)
            case _OpenStream(_, writer):
                writer.write(data)
        self._crc = zlib.crc32(data, self._crc)
        self.length += len(data)
        self._place.progress()

    def publish(self) -> UploadedFile:
        """Close and sync, then rename to `.pending`. A second call is not allowed. Raises StorageError."""
        try:
            match self._state:
                case _InMemory(parts):
                    name = self._retry_until_done(lambda: self._write_whole(parts))
                case _OpenStream(name, writer):
                    self._close(writer)
            self._place.progress()
            self._rename(name)
        finally:
            self._release()
        self._place.progress()
        return UploadedFile(name, self._path(name, "pending"), self.length, checksum_text(self._crc))

    def abandon(self) -> None:
        """Give up the file in any state; never raises."""
        self.make_no_further_try()
        if isinstance(self._state, _OpenStream):
            self._state.writer.abandon()
        self._release()

    def make_no_further_try(self) -> None:
        """Make the next failure final. It ends the retries of a `publish` that runs in another thread."""
        self._tries.given_up = True

    def _stream(self, held: _InMemory, data: bytes | memoryview) -> None:
        """Create the file, because it exceeds its share, and write the held bytes."""
        name, writer = self._retry_until_done(lambda: self._write_out([*held.parts, bytes(data)]))
        self._release()
        self._state = _OpenStream(name, writer)

    def _retry_until_done(self, attempt: Callable[[], Result]) -> Result:
        while True:
            try:
                return attempt()
            except AMBIGUOUS as error:
                self._tries.again(error)

    def _write_out(self, parts: list[bytes]) -> tuple[DataFileName, StorageWriter]:
        """Write the bytes under a new name and leave it open. After an error the name is given up."""
        name = self._new_name()
        writer = self._create(self._path(name, "in-progress"))
        try:
            for part in parts:
                writer.write(part)
                self._place.progress()
        except StorageError:
            writer.abandon()
            raise
        return name, writer

    def _create(self, path: str) -> StorageWriter:
        try:
            return self._place.files.create(path)
        except ParentMissing:
            self._place.files.mkdirs(self._place.directory)
            return self._place.files.create(path)

    def _write_whole(self, parts: list[bytes]) -> DataFileName:
        name, writer = self._write_out(parts)
        self._close(writer, _CLOSES_OF_ONE_NAME)
        return name

    def _close(self, writer: StorageWriter, most: int | None = None) -> None:
        """Close the file; after a lost response, close it again (FileWriter.close), at most `most` times."""
        closes = 1
        try:
            while True:
                try:
                    writer.close()
                    return
                except AMBIGUOUS as error:
                    if closes == most:
                        raise
                    closes += 1
                    self._tries.again(error)
        except StorageError:
            writer.abandon()
            raise

    def _rename(self, name: DataFileName) -> None:
        source, target = self._path(name, "in-progress"), self._path(name, "pending")
        while True:
            try:
                self._place.files.rename(source, target)
                return
            except (Denied, NoRoom):
                raise
            except StorageError as error:
                if self._is_renamed(source, target, error):
                    return
                self._tries.again(error)

    def _is_renamed(self, source: str, target: str, refused: StorageError) -> bool:
        """Return whether the rename was done.

        The source is checked before the target: in the other order a rename in between would look like a loss. If the
        result is False, the rename was not done, or the checks failed too; the caller must retry it. Raises `refused` if
        neither name holds the whole file.
        """
        try:
            staged = length_at(self._place.files, source)
            moved = length_at(self._place.files, target)
        except AMBIGUOUS:
            return False
        if moved == self.length:
            return True
        if moved is not None or staged != self.length:
            raise refused
        return False

    def _release(self) -> None:
        if isinstance(self._state, _InMemory):
            self._place.held.release(sum(map(len, self._state.parts)))
            self._state = _InMemory([])

    def _path(self, name: DataFileName, state: str) -> str:
        return join(self._place.directory, name.in_state(state))


class Tries:
    """The retries of one file. The time limit runs from the first failure; each wait is twice the previous one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failed_at: float | None = None
        self._tries = 1
        self._wait = _FIRST_WAIT
        self.given_up = False
        """True ends the retries. Any thread may set it."""

    def again(self, error: StorageError) -> None:
        """Wait before the next try. Raises `error` if all tries are used up."""
        now = self._clock.monotonic()
        if self._failed_at is None:
            self._failed_at = now
        if self.given_up or self._tries >= MOST_TRIES or now - self._failed_at >= SECONDS:
            raise error
        self._tries += 1
        self._clock.sleep(self._wait)
        self._wait = min(self._wait * 2, _LONGEST_WAIT)


@dataclass(frozen=True, slots=True)
class CompleteFile:
    """A complete file. `rows` is the count in its footer, an independent check of the rows that were written."""

    upload: UploadedFile
    rows: int


class _Sink:
    """The file object that Arrow writes to. After `mute` it discards all writes, so that Arrow's clean-up cannot fail."""

    def __init__(self, upload: Upload) -> None:
        self._upload = upload
        self._muted = False
        self.closed = False

    def write(self, data: bytes | memoryview) -> int:
        if not self._muted:
            self._upload.write(data)
        return len(data)

    def mute(self) -> None:
        self._muted = True

    def flush(self) -> None:
        """Do nothing: FileWriter.close makes the file durable."""

    def close(self) -> None:
        self.closed = True

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False


class StagedFile:
    """A staged file. Call `write` any number of times, then `end`, then `publish`; or `abandon` at any time."""

    def __init__(
        self,
        place: UploadPlace,
        new_name: Callable[[], DataFileName],
        open_encoder: Callable[[pa.NativeFile], Encoder],
    ) -> None:
        self._upload = Upload(place, new_name)
        self._sink = _Sink(self._upload)
        self._stream = pa.BufferedOutputStream(pa.PythonFile(self._sink, mode="w"), _SINK_BUFFER_BYTES)
        self._encoder = open_encoder(self._stream)
        self._ended = False
        self.rows = 0
        self.rows_in_footer = 0

    @property
    def length(self) -> int:
        """The number of encoded bytes so far."""
        return int(self._stream.tell())

    def write(self, rows: pa.Table) -> None:
        """Write one row group."""
        self._encoder.write(rows)
        self.rows += len(rows)

    def end(self, metadata: Mapping[str, str]) -> None:
        """Write the footer with these key-value pairs. The file is complete only after `publish`."""
        self._ended = True
        self.rows_in_footer = self._encoder.end(metadata)
        self._release()

    def _release(self) -> None:
        """Free Arrow's buffers, because a task may hold thousands of ended files."""
        self._stream.close()
        del self._encoder, self._stream

    def publish(self) -> CompleteFile:
        """Close and sync, then rename to `.pending`. A second call is not allowed. Raises StorageError."""
        return CompleteFile(self._upload.publish(), self.rows_in_footer)

    def make_no_further_try(self) -> None:
        self._upload.make_no_further_try()

    def abandon(self) -> None:
        self._sink.mute()
        if not self._ended:
            self._encoder.abandon()
            self._release()
        self._upload.abandon()
