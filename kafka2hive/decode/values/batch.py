"""Whole batches of messages or values: their bytes without a copy, places by key, casts that mark what cannot be cast."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.plugins import Decoded, Reason

Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]
"""Positions of messages or rows in a batch."""


class CArray:
    """An array of the library as Arrow imports it. `dtype`: its type, or for rows their schema."""

    def __init__(self, dtype: pa.DataType | pa.Schema, array: object) -> None:
        self._dtype = dtype
        self._array = array

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._dtype.__arrow_c_schema__(), self._array


def cast_or_null(array: pa.Array, dtype: pa.DataType) -> tuple[pa.Array, Mask]:
    """Cast by Arrow's strict rules. Return the cast array, with null for values that cannot be cast, and their mask.

    An array without such values costs one cast. A single one costs about one cast more, because halves of the array are tried;
    n of them cost 2 n small casts.
    """
    bad = np.zeros(len(array), dtype=np.bool_)
    pieces: list[pa.Array] = []
    waiting = [(0, len(array))]
    while waiting:
        start, end = waiting.pop()
        try:
            pieces.append(array.slice(start, end - start).cast(dtype))
        except pa.ArrowInvalid:
            if end - start == 1:
                bad[start] = True
                pieces.append(pa.nulls(1, dtype))
            else:
                middle = (start + end) // 2
                waiting += [(middle, end), (start, middle)]
    return (pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces)), bad


def mask_of(flags: pa.BooleanArray) -> Mask:
    """Return the mask of a boolean column, which may be written to; null counts as false."""
    mask: Mask = pc.fill_null(flags, False).to_numpy(zero_copy_only=False)
    return mask if mask.flags.writeable else mask.copy()


@dataclass(frozen=True, slots=True)
class MessageBytes:
    """Message i of n is `raw[offsets[i]:offsets[i + 1]]`; there are n + 1 offsets, and the first is 0."""

    raw: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int32]


def message_bytes(values: pa.BinaryArray) -> MessageBytes:
    """Return views of the array's buffers; they are valid while the array lives."""
    _, ends, data = values.buffers()
    if len(values) == 0 or data is None:
        return MessageBytes(np.empty(0, dtype=np.uint8), np.zeros(len(values) + 1, dtype=np.int32))
    offsets = np.frombuffer(ends, dtype=np.int32)[values.offset : values.offset + len(values) + 1]
    return MessageBytes(np.frombuffer(data, dtype=np.uint8)[offsets[0] : offsets[-1]], offsets - offsets[0])


def decoder_result(
    rows: pa.RecordBatch,
    places: Places,
    refusals: Mapping[int, Reason],
    without_rows: Places | None = None,
) -> Decoded:
    """Return a decoder's result. `places`: each row's message; `refusals`: by position the reasons against refused messages."""
    rejected = sorted(refusals)
    return Decoded(
        rows=rows,
        accepted=pa.array(places.astype(np.int32)),  # Arrow's own conversion takes three times as long
        rejected=pa.array(rejected, pa.int32()),
        reasons=[refusals[place] for place in rejected],
        without_rows=None if without_rows is None else pa.array(without_rows, pa.int32()),
    )


def refusals_of(result: Decoded) -> dict[int, Reason]:
    """Return by position the reasons against the rejected messages of a decoder's result."""
    return dict(zip(result.rejected.to_pylist(), result.reasons, strict=True))


def places_by_key(keys: Places) -> Iterator[tuple[int, Places]]:
    """Yield each distinct key and its places in `keys`, both ascending."""
    if not len(keys):
        return
    order = np.argsort(keys, kind="stable")
    for places in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
        yield int(keys[places[0]]), places
