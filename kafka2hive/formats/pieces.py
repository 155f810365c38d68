"""Row groups in pieces, each in one batch."""

from collections.abc import Iterator

import pyarrow as pa

_AT_ONCE = 2 * 1024 * 1024  # bytes in Arrow; what is written of them may be some times larger


def pieces(rows: pa.Table) -> Iterator[pa.RecordBatch]:
    """All rows in their order, a few megabytes at a time."""
    size = max(1, len(rows) * _AT_ONCE // max(1, rows.nbytes))
    for start in range(0, len(rows), size):
        yield from rows.slice(start, size).combine_chunks().to_batches()
