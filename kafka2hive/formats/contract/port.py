"""The interface of every file format: Encoding and Encoder for tasks, FileReader and FileEnd for readers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Protocol

import pyarrow as pa

from kafka2hive.config.keys import WriterOptions
from kafka2hive.formats.contract.times import RowMask
from kafka2hive.storage.stored_file import StoredFile


class Encoder(Protocol):
    """Writes one file: row groups (`write`), then the footer (`end`), or `abandon` at any time before that.

    `write` and `end` raise pa.ArrowException, and the errors of the stream.
    """

    def write(self, rows: pa.Table) -> None:
        """Write one row group; afterwards the stream has all of its bytes."""
        ...

    def end(self, metadata: Mapping[str, str]) -> int:
        """Write the footer with these key-value pairs, release all buffers, and return the rows that the format counted."""
        ...

    def abandon(self) -> None:
        """Release all buffers. The stream's content must be ignored afterwards."""
        ...


class Encoding(Protocol):
    """Opens the files of one table. One object serves all of them, so it may adapt to the first rows."""

    @property
    def extension(self) -> str:
        """The extension of the files' names, without a dot at either end."""
        ...

    def open(self, stream: pa.NativeFile, first: pa.Table) -> Encoder:
        """Begin a file. `first` are its first rows, which this does not write; all later rows have their schema."""
        ...


@dataclass(frozen=True, slots=True)
class FileEnd:
    """The content of a file's footer: the number of rows, and key-value pairs."""

    rows: int
    metadata: Mapping[bytes, bytes]


class FileReader(Protocol):
    """Reads one whole file. Every method raises an error in `formats.files.UNREADABLE` if the file is damaged."""

    @property
    def schema(self) -> pa.Schema: ...

    @property
    def rows(self) -> int:
        """The number of rows according to the footer, if the format has one."""
        ...

    def filled_columns(self) -> set[str]:
        """Return the columns that hold any value according to the footer; a column without a count is included.

        A struct is filled if a field is, an array if an element is.
        """
        ...

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Yield all rows with these columns, at most `rows` in each batch."""
        ...


@dataclass(frozen=True, slots=True)
class Unwritable:
    """The check of a file format: `rows` finds the bad rows of a column, `reason` is the code, `fault` the message."""

    rows: Callable[[pa.Array], RowMask | None]
    reason: str
    fault: str


def _holds_all(_options: WriterOptions) -> Unwritable | None:
    return None


@dataclass(frozen=True, slots=True)
class FormatCode:
    """The code of a file format.

    - `encoding`: writes it. `unwritable`: which rows such files cannot hold; None if they hold all.
    - `magic`: the first bytes of each file, by which `read` is chosen; empty if there are none.
    - `has_parts`: `read` reads a file part by part. `end`: reads the footer, by the length and a function that returns the last
      bytes; None if the format has none.
    """

    encoding: Callable[[WriterOptions], Encoding]
    read: Callable[[BytesIO | StoredFile], FileReader] | None = None
    magic: bytes = b""
    has_parts: bool = False
    end: Callable[[int, Callable[[int], bytes]], FileEnd] | None = None
    unwritable: Callable[[WriterOptions], Unwritable | None] = _holds_all


_AT_ONCE = 2 * 1024 * 1024  # bytes in Arrow; their encoded form may be several times larger


def pieces(rows: pa.Table) -> Iterator[pa.RecordBatch]:
    """Yield all rows in order, a few megabytes at a time."""
    size = max(1, len(rows) * _AT_ONCE // max(1, rows.nbytes))
    for start in range(0, len(rows), size):
        yield from rows.slice(start, size).combine_chunks().to_batches()
