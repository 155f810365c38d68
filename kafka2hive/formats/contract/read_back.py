"""Row groups read back before their file gets a name: a library that writes other values than it was given is found.

What compares knows nothing of how rows are written. Floats are compared by their bits: NaN equals NaN, 0.0 is not -0.0.
"""

from collections.abc import Callable

import pyarrow as pa

from kafka2hive.model.errors import TableError

_BITS = {pa.float16(): pa.int16(), pa.float32(): pa.int32(), pa.float64(): pa.int64()}


def check_row_group(rows: pa.Table, read: Callable[[int], pa.ChunkedArray], format: str) -> None:
    """`read` gives a column of what was written, by its number, so that one at a time is in memory.

    Raises TableError where a value differs, or cannot be read.
    """
    for number, column in enumerate(rows.columns):
        name = rows.schema.field(number).name
        try:
            written = read(number)
        except (pa.ArrowException, OSError) as error:
            text = f"column {name} of a row group of {len(rows)} rows is unreadable: {error}"
            raise _refused(text, format) from error
        if (row := first_difference(column, written)) is not None:
            raise _refused(
                f"column {name}, row {row} of a row group of {len(rows)}, has another value", format
            )


def first_difference(given: pa.ChunkedArray, written: pa.ChunkedArray) -> int | None:
    """The first row whose values differ, or that only one of them has; None: they are equal."""
    start = 0
    for chunk in given.chunks:
        other = written.slice(start, len(chunk))
        if not _are_equal(chunk, other):
            return start + _first(chunk, other)
        start += len(chunk)
    return None if start == len(written) else start


def _first(given: pa.Array, written: pa.ChunkedArray) -> int:
    """Of two that are not equal: the halves that are equal are passed over."""
    start, size = 0, len(given)
    while size > 1:
        half = size // 2
        if _are_equal(given.slice(start, half), written.slice(start, half)):
            start, size = start + half, size - half
        else:
            size = half
    return start


def _are_equal(given: pa.Array, written: pa.ChunkedArray) -> bool:
    """A time that was written in another unit must be the same one; a value beneath a NULL is of no meaning."""
    if len(given) != len(written):
        return False
    try:
        other = written.cast(given.type).combine_chunks()
    except pa.ArrowException:
        return False
    bits = _in_bits(given.type)
    return bool(given.equals(other) if bits == given.type else given.view(bits).equals(other.view(bits)))


def _in_bits(kind: pa.DataType) -> pa.DataType:
    """The type with every float in it as the integer of its bits."""
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, kind.item_field.with_type(_in_bits(kind.item_type)))
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_in_bits(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_in_bits(field.type)) for field in kind])
    return _BITS.get(kind, kind)


def _refused(what: str, format: str) -> TableError:
    return TableError(
        "file.differs",
        f"what was written as {format} is not what is read back of it: {what}; nothing of it was committed",
        f"the records stay in Kafka: write the table in another format than {format}, and report it: a bug",
    )
