"""A cast that says which values it could not do, instead of failing as a whole."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Mask = npt.NDArray[np.bool_]


def cast_or_null(array: pa.Array, dtype: pa.DataType) -> tuple[pa.Array, Mask]:
    """Cast by Arrow's strict rules; returns the cast array, null where impossible, and a mask of those places.

    Good arrays cost one cast. One bad value costs about one cast more (halving), all bad ones 2 n small casts.
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
