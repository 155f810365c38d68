"""Files of a writer that a package offers: rows are counted on both sides of it, and each file is read back for its rows."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, cast

from kafka2hive.config.values import PluginOptions
from kafka2hive.formats.plugin.made import writer_of, wrong_result
from kafka2hive.formats.plugin.output import Output
from kafka2hive.model.entry_points import PluginKind, foreign_code
from kafka2hive.plugins import FileWriter

if TYPE_CHECKING:
    import pyarrow as pa


class PluginEncoder:
    """One file (Encoder). Raises TableError (`plugin.failed`, `plugin.result`, `plugin.disk`), too."""

    def __init__(self, stream: "pa.NativeFile", schema: "pa.Schema", name: str, writer: FileWriter) -> None:
        self._name = name
        self._writer = writer
        self._rows = 0
        self._output = Output(stream)
        try:
            with self._calling():
                self._file = writer.open(cast("BinaryIO", self._output), schema)
        except BaseException:
            self.abandon()
            raise

    def write(self, rows: "pa.Table") -> None:
        with self._calling():
            for batch in rows.to_batches():
                self._file.write(batch)
        self._rows += len(rows)

    def end(self, metadata: Mapping[str, str]) -> int:
        """The rows that the writer finds in the whole file. Its files hold no metadata of ours."""
        try:
            with self._calling():
                self._file.close()
            with self._calling():
                found = self._writer.count(self._output.ended())
        finally:
            self.abandon()
        if type(found) is not int or found != self._rows:
            raise wrong_result(self._name, f"it was given {self._rows} rows and counts {found!r} in the file")
        return found

    def abandon(self) -> None:
        self._output.mute()

    @contextmanager
    def _calling(self) -> Iterator[None]:
        """An error of the output is raised as it was, also where the writer has caught it."""
        try:
            with foreign_code(PluginKind.WRITER, self._name):
                yield
        finally:
            if self._output.error is not None:
                raise self._output.error


class PluginEncoding:
    """All files of one table in one task. Raises TableError: `plugin.missing`, `plugin.failed`."""

    def __init__(self, plugin: PluginOptions) -> None:
        self.extension = plugin.name
        self._writer = writer_of(plugin)

    def open(self, stream: "pa.NativeFile", first: "pa.Table") -> PluginEncoder:
        return PluginEncoder(stream, first.schema, self.extension, self._writer)
