"""Files of a writer that a package offers, read back by the package."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from kafka2hive.config.values import PluginOptions
from kafka2hive.formats.plugin.made import writer_of
from kafka2hive.model.entry_points import PluginKind, foreign_code
from kafka2hive.model.errors import TableError


class PluginReader:
    """A whole file (FileReader). What the package raises is pa.ArrowInvalid; so is a result that is none."""

    def __init__(self, data: bytes, plugin: PluginOptions, columns: pa.Schema | None) -> None:
        """`columns` of the table as the map has them, None: only the rows can be counted."""
        self._data = data
        self._name = plugin.name
        self._columns = columns
        with self._calling():
            self._writer = writer_of(plugin)

    @property
    def rows(self) -> int:
        with self._calling():
            found = self._writer.count(io.BytesIO(self._data))
        if type(found) is not int:
            raise self._invalid(f"count gave {type(found).__name__}")
        return found

    @property
    def schema(self) -> pa.Schema:
        first = next(self._batches(), None)
        return pa.schema([]) if first is None else first.schema

    def filled_columns(self) -> set[str]:
        """All of them: nothing counts their values."""
        return set(self.schema.names)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        for batch in self._batches():
            chosen = batch.select(list(columns))
            yield from (chosen.slice(start, rows) for start in range(0, len(chosen), rows))

    def _batches(self) -> Iterator[pa.RecordBatch]:
        if self._columns is None:
            raise self._invalid("its columns are known by the map's table only")
        with self._calling():
            found = iter(self._writer.read(io.BytesIO(self._data), self._columns))
        schema: pa.Schema | None = None
        while True:
            with self._calling():
                batch = next(found, None)
            if batch is None:
                return
            if not isinstance(batch, pa.RecordBatch) or (schema is not None and batch.schema != schema):
                raise self._invalid("read gave no record batches of one schema")
            batch.validate(full=True)
            schema = batch.schema
            yield batch

    @contextmanager
    def _calling(self) -> Iterator[None]:
        try:
            with foreign_code(PluginKind.WRITER, self._name):
                yield
        except TableError as error:
            raise pa.ArrowInvalid(error.message) from error

    def _invalid(self, fault: str) -> pa.ArrowInvalid:
        return pa.ArrowInvalid(f"{PluginKind.WRITER.value} {self._name}: {fault}")
