"""What a writer of others writes to: the file's stream, and a copy on this host's disk to read the file back from."""

import io
import tempfile
from typing import TYPE_CHECKING, BinaryIO, cast

from kafka2hive.model.errors import TableError

if TYPE_CHECKING:
    import pyarrow as pa
    from _typeshed import ReadableBuffer


class Output(io.RawIOBase):
    """Every write takes all bytes. `error` is the first one of the stream or the disk, whatever the writer made of it."""

    def __init__(self, stream: "pa.NativeFile") -> None:
        super().__init__()
        self._stream = stream
        self._copy = cast("BinaryIO", tempfile.TemporaryFile(prefix="kafka2hive-"))  # noqa: SIM115  it outlives this
        self._ended = False
        self._muted = False
        self.error: Exception | None = None

    def writable(self) -> bool:
        return True

    def write(self, data: "ReadableBuffer") -> int:
        size = memoryview(data).nbytes
        if self._muted:
            return size
        if self._ended:
            raise ValueError("the file is ended")
        try:
            self._write(data)
        except Exception as error:
            self.error = self.error or error
            raise
        return size

    def _write(self, data: "ReadableBuffer") -> None:
        self._stream.write(data)
        try:
            self._copy.write(data)
        except OSError as error:
            raise TableError(
                "plugin.disk",
                f"a copy of a file cannot be written to {tempfile.gettempdir()}: {error}",
                "make room there on the worker's host, or give its environment another TMPDIR",
            ) from error

    def ended(self) -> BinaryIO:
        """The copy, from its beginning; nothing more is taken."""
        self._ended = True
        self._copy.seek(0)
        return self._copy

    def mute(self) -> None:
        """Let the copy go, and take what still comes for nothing."""
        self._muted = True
        self._copy.close()
