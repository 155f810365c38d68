"""The encoding for a table's writer options, with sorted row groups if they require it."""

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys import WriterOptions
from kafka2hive.formats.avro.encoding import AvroEncoding
from kafka2hive.formats.contract.port import Encoder, Encoding
from kafka2hive.formats.lines.delimited import text_lines
from kafka2hive.formats.lines.encoding import LinesEncoding
from kafka2hive.formats.lines.json import json_lines
from kafka2hive.formats.orc.encoding import OrcEncoding
from kafka2hive.formats.parquet.encoding import ParquetEncoding
from kafka2hive.formats.plugin import PluginEncoding


class SortingEncoding:
    """Sorts every row group for another encoding. NULLs come last; rows with equal keys keep their order."""

    def __init__(self, inner: Encoding, columns: Sequence[str]) -> None:
        self._inner = inner
        self._columns = columns

    @property
    def extension(self) -> str:
        return self._inner.extension

    def open(self, stream: pa.NativeFile, first: pa.Table) -> "SortingEncoder":
        return SortingEncoder(self._inner.open(stream, first), self._columns)


class SortingEncoder:
    """One file. While a row group is sorted, its rows are in memory twice."""

    def __init__(self, inner: Encoder, columns: Sequence[str]) -> None:
        self._inner = inner
        self._keys = [(name, "ascending", "at_end") for name in columns]

    def write(self, rows: pa.Table) -> None:
        self._inner.write(rows.take(pc.sort_indices(rows, sort_keys=self._keys)))

    def end(self, metadata: Mapping[str, str]) -> int:
        return self._inner.end(metadata)

    def abandon(self) -> None:
        self._inner.abandon()


def encoding_of(options: WriterOptions) -> Encoding:
    """Return a new encoding, for one table in one task. Raises TableError if a plug-in fails."""
    encoding = _of_format(options)
    return SortingEncoding(encoding, options.sorted_by) if options.sorted_by else encoding


def _of_format(options: WriterOptions) -> Encoding:
    match options.format:
        case "parquet":
            return ParquetEncoding(options)
        case "orc":
            return OrcEncoding(options)
        case "json":
            return LinesEncoding(options, json_lines)
        case "text":
            return LinesEncoding(options, lambda _schema: text_lines(options.text))
        case "avro":
            return AvroEncoding(options)
        case "plugin":
            assert options.plugin is not None, "the map's check"
            return PluginEncoding(options.plugin)
