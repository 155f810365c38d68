"""The check of row groups before their file is closed, which detects a library that writes wrong values.

The comparison does not depend on the format. Floats are compared by their bits: NaN equals NaN, and 0.0 differs from -0.0.
"""

from collections.abc import Callable

import pyarrow as pa

from kafka2hive.model.errors import TableError

_BITS = {pa.float16(): pa.int16(), pa.float32(): pa.int32(), pa.float64(): pa.int64()}


def check_row_group(rows: pa.Table, read: Callable[[int], pa.ChunkedArray], format: str) -> None:
    """Compare a row group with the rows that were written. Raises TableError (`file.differs`) if a value differs or is
    unreadable.

    `read(n)` returns the n-th column as written, so only one column at a time is in memory.
    """
    for number, column in enumerate(rows.columns):
        name = rows.schema.field(number).name
        try:
            written = read(number)
        except (pa.ArrowException, OSError) as error:
            text = f"column {name} of a row group of {len(rows)} rows is unreadable: {error}"
            raise _difference(text, format) from error
        if (row := first_difference(column, written)) is not None:
            raise _difference(
                f"column {name}, row {row} of a row group of {len(rows)}, has another value", format
            )


def first_difference(given: pa.ChunkedArray, written: pa.ChunkedArray) -> int | None:
    """Return the first row whose values differ, or that only one of the columns has; None if they are equal."""
    start = 0
    for chunk in given.chunks:
        other = written.slice(start, len(chunk))
        if not _are_equal(chunk, other):
            return start + _first_row(chunk, other)
        start += len(chunk)
    return None if start == len(written) else start


def _first_row(given: pa.Array, written: pa.ChunkedArray) -> int:
    """Return the first row in which two unequal columns differ, found by bisection."""
    start, size = 0, len(given)
    while size > 1:
        half = size // 2
        if _are_equal(given.slice(start, half), written.slice(start, half)):
            start, size = start + half, size - half
        else:
            size = half
    return start


def _are_equal(given: pa.Array, written: pa.ChunkedArray) -> bool:
    """Compare two columns. Timestamps may have another unit, and values beneath a NULL are ignored."""
    if len(given) != len(written):
        return False
    try:
        other = written.cast(given.type).combine_chunks()
    except pa.ArrowException:
        return False
    bits = _in_bits(given.type)
    return bool(given.equals(other) if bits == given.type else given.view(bits).equals(other.view(bits)))


def _in_bits(kind: pa.DataType) -> pa.DataType:
    """Return the type with an integer of the same width for every float in it."""
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, kind.item_field.with_type(_in_bits(kind.item_type)))
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_in_bits(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_in_bits(field.type)) for field in kind])
    return _BITS.get(kind, kind)


def _difference(what: str, format: str) -> TableError:
    return TableError(
        "file.differs",
        f"rows that were written as {format} differ when they are read back: {what}; none was committed",
        f"the records stay in Kafka: write the table in another format than {format}, and report this bug",
    )
