"""One Parquet file under a table's staging directory: `.in-progress` while it is written, `.pending` once it is whole.

Any error: the name is given up (`abandon`), nobody may count on it, and a further attempt takes a new uuid
(docs/protocol.md, rule T). Length and checksum are taken as the bytes pass through.
"""

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from kafka2hive.config.values import WriterOptions
from kafka2hive.model.layout import DataFileName, join
from kafka2hive.storage.port import (
    FileSystem,
    FileWriter,
    NotFound,
    OutcomeUnknown,
    ParentMissing,
    StorageError,
)

EXTENSION = "parquet"
_SINK_BUFFER_BYTES = 64 * 1024  # per open file


@dataclass(frozen=True, slots=True)
class Staged:
    """A whole file: `path` is its `.pending` name in full, `checksum` is `crc32:<8 hex digits>`.

    `rows` are those that Parquet counted in the footer: a second opinion on what was given to it.
    """

    path: str
    length: int
    rows: int
    checksum: str


class _Sink:
    """The file object Arrow writes to. After `mute` it swallows everything, so that Arrow's clean-up cannot fail."""

    def __init__(self, writer: FileWriter, progress: Callable[[], None]) -> None:
        self._writer = writer
        self._progress = progress
        self._muted = False
        self.closed = False
        self.length = 0
        self.crc = 0

    def write(self, data: bytes | memoryview) -> int:
        size = len(data)
        if not self._muted:
            self._writer.write(data)
            self.crc = zlib.crc32(data, self.crc)
            self.length += size
            self._progress()
        return size

    def mute(self) -> None:
        self._muted = True

    def flush(self) -> None:
        """Durability is the business of FileWriter.close."""

    def close(self) -> None:
        self.closed = True

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False


class StagedFile:
    """States: open (`write`), ended (`end`: the footer is written), published (`publish`) or abandoned."""

    def __init__(
        self,
        files: FileSystem,
        directory: str,
        name: DataFileName,
        schema: pa.Schema,
        options: WriterOptions,
        progress: Callable[[], None] = lambda: None,
    ) -> None:
        """Creates `<name>.in-progress` in the staging directory, which is made when it is missing."""
        self._files = files
        self.name = name
        self._in_progress = join(directory, name.in_state("in-progress"))
        self._pending = join(directory, name.in_state("pending"))
        self._progress = progress
        try:
            self._file = files.create(self._in_progress)
        except ParentMissing:
            files.mkdirs(directory)
            self._file = files.create(self._in_progress)
        self._sink = _Sink(self._file, progress)
        self._stream = pa.BufferedOutputStream(pa.PythonFile(self._sink, mode="w"), _SINK_BUFFER_BYTES)
        self._footers: list[pq.FileMetaData] = []
        self._parquet = pq.ParquetWriter(
            self._stream,
            schema,
            compression=options.compression.upper(),
            compression_level=options.level,
            metadata_collector=self._footers,
            store_schema=False,  # Arrow's own schema text: kilobytes in every footer that Hive does not read
        )
        self._options = options
        self._ended = False
        self.rows = 0
        self.rows_in_footer = 0

    @property
    def length(self) -> int:
        """Bytes of the row groups written so far."""
        return int(self._stream.tell())

    def write(self, rows: pa.Table) -> None:
        """One row group, or several where there are far more rows than belong into one."""
        most = self._options.row_group_rows
        self._parquet.write_table(rows, row_group_size=most if len(rows) > 1.5 * most else max(1, len(rows)))
        self.rows += len(rows)
        self._progress()

    def end(self, metadata: Mapping[str, str]) -> None:
        """Write the footer, with these key-value pairs. The file is not whole before `publish`."""
        self._parquet.add_key_value_metadata(dict(metadata))
        self._release()

    def _release(self) -> None:
        """Let go of Arrow's buffers: a task may hold thousands of ended files."""
        self._ended = True
        self._parquet.close()
        self._stream.close()
        self.rows_in_footer = sum(int(footer.num_rows) for footer in self._footers)
        del self._parquet, self._stream, self._footers

    def publish(self) -> Staged:
        """Close and sync, then rename to `.pending`. A second call is not allowed. Raises StorageError.

        A rename without an answer is looked at: the right length under `.pending` means that it happened.
        """
        try:
            self._file.close()
        except StorageError:
            self._file.abandon()
            raise
        self._progress()
        try:
            self._files.rename(self._in_progress, self._pending)
        except OutcomeUnknown as error:
            if not self._is_pending():
                raise error
        self._progress()
        return Staged(self._pending, self._sink.length, self.rows_in_footer, f"crc32:{self._sink.crc:08x}")

    def _is_pending(self) -> bool:
        try:
            return self._files.stat(self._pending).length == self._sink.length
        except NotFound:
            return False

    def abandon(self) -> None:
        """Give the file up in whatever state it is; never raises."""
        self._sink.mute()
        if not self._ended:
            self._release()
        self._file.abandon()
