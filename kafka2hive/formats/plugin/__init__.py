"""Files by writers that packages offer (`kafka2hive.writers`, docs/plugins.md): what a writer is given and what it promises."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Protocol

from kafka2hive.model.plugins import HiveStorage as HiveStorage

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterContext:
    """`options` are the map's; empty where a file is only read back."""

    options: Mapping[str, str]


class RowFile(Protocol):
    """One file that is being written."""

    def write(self, rows: "pa.RecordBatch") -> None:
        """More rows, of the schema that the file was opened with."""
        ...

    def close(self) -> None:
        """Write what is left. All bytes of the file are in its output afterwards."""
        ...


class FileWriter(Protocol):
    """How rows become files, and files rows. It is kept from file to file, and several files are open at a time."""

    hive: HiveStorage

    def open(self, output: BinaryIO, schema: "pa.Schema") -> RowFile:
        """`output` takes bytes one after the other; it cannot seek, and is not closed by the writer."""
        ...

    def count(self, source: BinaryIO) -> int:
        """The rows of a whole file; `source` can seek. Raises an Exception where it is damaged."""
        ...

    def read(self, source: BinaryIO, schema: "pa.Schema") -> "Iterator[pa.RecordBatch]":
        """The rows of a whole file, with the columns that it holds. Raises an Exception where it is damaged.

        `schema` is what the map says now: for files that do not say their columns themselves.
        """
        ...
