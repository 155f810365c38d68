"""What every file format does for tasks (Encoding, Encoder) and for what reads files back (FileReader, FileEnd)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

if TYPE_CHECKING:
    import pyarrow as pa


class Encoder(Protocol):
    """One file: row groups (`write`), then the footer (`end`); or `abandon` at any time before.

    `write` and `end` raise pa.ArrowException, and what the stream raises.
    """

    def write(self, rows: "pa.Table") -> None:
        """One row group; all of its bytes are in the stream afterwards."""
        ...

    def end(self, metadata: Mapping[str, str]) -> int:
        """Write the footer with these key-value pairs, and let go of all buffers. The rows that the format counted."""
        ...

    def abandon(self) -> None:
        """Let go of all buffers; what goes into the stream meanwhile is of no meaning."""
        ...


class Encoding(Protocol):
    """How one table's rows become files. It is kept from file to file: it may learn from the first rows."""

    @property
    def extension(self) -> str:
        """Of the files' names, without dots at the ends."""
        ...

    def open(self, stream: "pa.NativeFile", first: "pa.Table") -> Encoder:
        """A file that will begin with the rows `first`, which are not written by this; all rows have their schema."""
        ...


@dataclass(frozen=True, slots=True)
class FileEnd:
    """What a file's footer says: its rows, and key-value pairs."""

    rows: int
    metadata: Mapping[bytes, bytes]


class FileReader(Protocol):
    """One whole file. Everything raises what `formats.opened.UNREADABLE` names where the file is damaged."""

    @property
    def schema(self) -> "pa.Schema": ...

    @property
    def rows(self) -> int:
        """By the footer."""
        ...

    def filled_columns(self) -> set[str]:
        """Columns of which the file holds any value, by its footer; one that is not counted there is taken for filled.

        A struct counts by its fields, an array by its elements.
        """
        ...

    def batches(self, columns: Sequence[str], rows: int) -> "Iterator[pa.RecordBatch]":
        """The rows with these columns, at most so many at a time."""
        ...


_AT_ONCE = 2 * 1024 * 1024  # bytes in Arrow; what is written of them may be some times larger


def pieces(rows: pa.Table) -> Iterator[pa.RecordBatch]:
    """All rows in their order, a few megabytes at a time."""
    size = max(1, len(rows) * _AT_ONCE // max(1, rows.nbytes))
    for start in range(0, len(rows), size):
        yield from rows.slice(start, size).combine_chunks().to_batches()
