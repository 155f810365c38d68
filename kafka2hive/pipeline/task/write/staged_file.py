"""One file on its way into a table's staging directory: rows become bytes here, upload.py brings them there.

After any error that is raised the file is to be given up (`abandon`), and must not be listed (docs/protocol.md, rule T).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from kafka2hive.formats.port import Encoder
from kafka2hive.model.paths.data_file import DataFileName
from kafka2hive.pipeline.task.write.upload import Upload, Uploaded, UploadPlace

_SINK_BUFFER_BYTES = 64 * 1024  # per open file


@dataclass(frozen=True, slots=True)
class Staged:
    """A whole file. `rows` are those that the format counted in its footer: a second opinion on what was given to it."""

    upload: Uploaded
    rows: int


class _Sink:
    """The file object Arrow writes to. After `mute` it swallows everything, so that Arrow's clean-up cannot fail."""

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
        """Bytes of the row groups written so far."""
        return int(self._stream.tell())

    def write(self, rows: pa.Table) -> None:
        """One row group."""
        self._encoder.write(rows)
        self.rows += len(rows)

    def end(self, metadata: Mapping[str, str]) -> None:
        """Write the footer, with these key-value pairs. The file is not whole before `publish`."""
        self._ended = True
        self.rows_in_footer = self._encoder.end(metadata)
        self._release()

    def _release(self) -> None:
        """Let go of Arrow's buffers: a task may hold thousands of ended files."""
        self._stream.close()
        del self._encoder, self._stream

    def publish(self) -> Staged:
        """Close and sync, then rename to `.pending`. A second call is not allowed. Raises StorageError."""
        return Staged(self._upload.publish(), self.rows_in_footer)

    def make_no_further_try(self) -> None:
        self._upload.make_no_further_try()

    def abandon(self) -> None:
        self._sink.mute()
        if not self._ended:
            self._encoder.abandon()
            self._release()
        self._upload.abandon()
