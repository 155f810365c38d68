"""Rows sorted within each row group, for any format: what a query looks for then stands in few pages."""

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.formats.port import Encoder, Encoding


class SortingEncoding:
    """Another encoding, which gets every row group sorted. NULLs come last; equal rows keep their order."""

    def __init__(self, inner: Encoding, columns: Sequence[str]) -> None:
        self._inner = inner
        self._columns = columns

    @property
    def extension(self) -> str:
        return self._inner.extension

    def open(self, stream: pa.NativeFile, first: pa.Table) -> "SortingEncoder":
        return SortingEncoder(self._inner.open(stream, first), self._columns)


class SortingEncoder:
    """One file. While a row group is sorted its rows are held twice."""

    def __init__(self, inner: Encoder, columns: Sequence[str]) -> None:
        self._inner = inner
        self._keys = [(name, "ascending", "at_end") for name in columns]

    def write(self, rows: pa.Table) -> None:
        self._inner.write(rows.take(pc.sort_indices(rows, sort_keys=self._keys)))

    def end(self, metadata: Mapping[str, str]) -> int:
        return self._inner.end(metadata)

    def abandon(self) -> None:
        self._inner.abandon()
