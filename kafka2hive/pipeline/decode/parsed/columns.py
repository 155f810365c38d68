"""Whole columns from what pyarrow.json reads to the table's types, with the rows that need a second look.

pyarrow.json is strict about kinds but has holes (docs/decoding.md, "What the libraries get wrong"), so dates,
timestamps and binary are read as text and decimals as decimal256, and converted here by kernels that do not round.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.pipeline.decode.epochs import of_epoch_numbers
from kafka2hive.pipeline.decode.exact.scalars import standard_base64
from kafka2hive.pipeline.decode.parsed.timestamps import parse_timestamps
from kafka2hive.pipeline.decode.sources import Spelling, as_it_stands
from kafka2hive.pipeline.decode.tolerant_cast import Mask, cast_or_null
from kafka2hive.pipeline.wall_clock import NAIVE

# From here on neighbouring whole numbers are no longer all representable.
_WHOLE_LIMIT = {pa.float64(): 2.0**53, pa.float32(): 2.0**24}
_FIRST_DATE, _LAST_DATE = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31, days from 1970-01-01


def wire_type(dtype: pa.DataType, spelling: Spelling = as_it_stands) -> pa.DataType | None:
    """The type to ask pyarrow.json for, None where it cannot read such a column at all (maps)."""
    if dtype in (NAIVE, pa.date32(), pa.binary()):
        return pa.string()
    if pa.types.is_decimal128(dtype):
        return pa.decimal256(76, dtype.scale)
    if pa.types.is_list(dtype):
        element = wire_type(dtype.value_type, spelling)
        return None if element is None else pa.list_(element)
    if pa.types.is_struct(dtype):
        wires = [(spelling(field.name), wire_type(field.type, spelling)) for field in dtype]
        return None if any(wire is None for _, wire in wires) else pa.struct(wires)
    if pa.types.is_map(dtype):
        return None
    return dtype


def holds(dtype: pa.DataType, leaf: Callable[[pa.DataType], bool]) -> bool:
    """Whether a leaf of this kind stands anywhere in a type."""
    if pa.types.is_list(dtype):
        return holds(dtype.value_type, leaf)
    if pa.types.is_struct(dtype):
        return any(holds(field.type, leaf) for field in dtype)
    return leaf(dtype)


def structs_in(dtype: pa.DataType) -> Iterator[pa.StructType]:
    """The outermost structs of a type: itself, or its elements."""
    if pa.types.is_list(dtype):
        yield from structs_in(dtype.value_type)
    elif pa.types.is_struct(dtype):
        yield dtype


@dataclass(frozen=True, slots=True)
class Converted:
    """`suspect` rows must go the exact path; `large` ones only if the message spells a long whole number."""

    column: pa.Array
    suspect: Mask | None = None
    large: Mask | None = None


def convert(column: pa.Array, dtype: pa.DataType, zone: str, unit: str | None = None) -> Converted:
    """One column as read (wire type) to the table's type; with a unit it was read as epoch numbers."""
    if unit is not None:
        return Converted(*of_epoch_numbers(column, dtype, unit, zone))
    if dtype in _WHOLE_LIMIT:
        return _check_floats(column, dtype)
    if dtype == NAIVE:
        return Converted(*parse_timestamps(column, zone))
    if dtype == pa.date32():
        return _dates(column)
    if dtype == pa.binary():
        return _binary(column)
    if pa.types.is_decimal128(dtype):
        return Converted(*cast_or_null(column, dtype))
    if pa.types.is_list(dtype):
        return _lists(column, dtype, zone)
    if pa.types.is_struct(dtype):
        return _structs(column, dtype, zone)
    return Converted(column)


def _check_floats(column: pa.Array, dtype: pa.DataType) -> Converted:
    bounds = pc.min_max(column).as_py()
    low, high = bounds["min"], bounds["max"]
    limit = _WHOLE_LIMIT[dtype]
    quiet = low is None or (-limit < low and high < limit)
    if quiet and not pc.any(pc.is_nan(column)).as_py():
        return Converted(column)
    numbers = pc.fill_null(column, 0.0).to_numpy()
    return Converted(column, ~np.isfinite(numbers), np.abs(numbers) >= limit)


def _dates(texts: pa.Array) -> Converted:
    dates, bad = cast_or_null(texts, pa.date32())
    days = pc.fill_null(dates.cast(pa.int32()), 0).to_numpy()
    return Converted(dates, bad | (days < _FIRST_DATE) | (days > _LAST_DATE))


def _binary(texts: pa.Array) -> Converted:
    bad = np.zeros(len(texts), dtype=np.bool_)
    values: list[bytes | None] = []
    for row, text in enumerate(texts.to_pylist()):
        value = None if text is None else standard_base64(text)
        bad[row] = text is not None and value is None
        values.append(value)
    return Converted(pa.array(values, pa.binary()), bad)


def _lists(column: pa.Array, dtype: pa.DataType, zone: str) -> Converted:
    inner = convert(column.flatten(), dtype.value_type, zone)
    parents = pc.list_parent_indices(column).to_numpy()
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    offsets = np.zeros(len(column) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    rebuilt = pa.ListArray.from_arrays(
        pa.array(offsets), inner.column, type=dtype, mask=column.is_null() if column.null_count else None
    )
    return Converted(
        rebuilt, _of_rows(inner.suspect, parents, len(column)), _of_rows(inner.large, parents, len(column))
    )


def _of_rows(elements: Mask | None, parents: npt.NDArray[np.int64], rows: int) -> Mask | None:
    if elements is None:
        return None
    mask = np.zeros(rows, dtype=np.bool_)
    mask[parents[elements]] = True
    return mask


def _structs(column: pa.Array, dtype: pa.DataType, zone: str) -> Converted:
    inner = [convert(child, field.type, zone) for child, field in zip(column.flatten(), dtype, strict=True)]
    rebuilt = pa.StructArray.from_arrays(
        [child.column for child in inner],
        fields=list(dtype),
        mask=column.is_null() if column.null_count else None,
    )
    return Converted(rebuilt, either(c.suspect for c in inner), either(c.large for c in inner))


def either(masks: Iterable[Mask | None]) -> Mask | None:
    """The union of the masks there are."""
    union: Mask | None = None
    for mask in masks:
        if mask is not None:
            union = mask if union is None else union | mask
    return union
