"""Decimals as Kafka Connect writes them into JSON: their digits as a number in bytes, in base64, their scale in the schema."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.pipeline.decode.parsed.message_bytes import message_bytes
from kafka2hive.pipeline.decode.tolerant_cast import Mask

NAME = "org.apache.kafka.connect.data.Decimal"
SCHEMA = pa.list_(
    pa.struct(
        [
            ("field", pa.string()),
            (
                "fields",
                pa.list_(
                    pa.struct(
                        [
                            ("field", pa.string()),
                            ("name", pa.string()),
                            ("parameters", pa.struct([("scale", pa.string())])),
                        ]
                    )
                ),
            ),
        ]
    )
)
"""What is read of `$.schema.fields`: the images of the row, and the name and scale of each of their fields."""

_IMAGES = pa.array(["before", "after"])
_BYTES = 16


def wire_type(dtype: pa.DataType) -> pa.DataType:
    """The type to read a column as: bytes where it is a decimal, or a field of a struct that is one."""
    if pa.types.is_decimal(dtype):
        return pa.binary()
    if pa.types.is_struct(dtype):
        return pa.struct([(field.name, wire_type(field.type)) for field in dtype])
    return dtype


def converted(column: pa.Array, dtype: pa.DataType) -> tuple[pa.Array, Mask]:
    """A column of `wire_type(dtype)` as `dtype`; the mask marks rows with a decimal that does not fit."""
    if pa.types.is_decimal(dtype):
        return decimals_of(column, dtype)
    bad = np.zeros(len(column), np.bool_)
    if not pa.types.is_struct(dtype) or column.type == dtype:
        return column, bad
    children = []
    for field in dtype:
        child, unfit = converted(pc.struct_field(column, field.name), field.type)
        children.append(child)
        bad |= unfit
    mask = column.is_null() if column.null_count else None
    return pa.StructArray.from_arrays(children, fields=list(dtype), mask=mask), bad


def decimals_of(values: pa.BinaryArray, dtype: pa.Decimal128Type) -> tuple[pa.Array, Mask]:
    """Whole numbers in two's complement, the highest byte first, as so many of the decimal's last digit."""
    found = message_bytes(values.fill_null(b"\0") if values.null_count else values)
    starts, ends = found.offsets[:-1].astype(np.int64), found.offsets[1:].astype(np.int64)
    size = ends - starts
    bad = (size == 0) | (size > _BYTES)
    raw = np.append(found.raw, np.uint8(0))
    negative = raw[starts] >= 0x80
    digits = np.empty((len(values), _BYTES), np.uint8)
    for place in range(_BYTES):
        beyond = np.where(negative, np.uint8(0xFF), np.uint8(0))
        digits[:, _BYTES - 1 - place] = np.where(place < size, raw[np.maximum(ends - 1 - place, 0)], beyond)
    bad |= _beyond(digits, 10**dtype.precision)
    if values.null_count:
        bad &= values.is_valid().to_numpy(zero_copy_only=False)
    digits[bad] = 0
    data = pa.py_buffer(np.ascontiguousarray(digits[:, ::-1]).tobytes())
    column = pa.Array.from_buffers(dtype, len(values), [None, data])
    missing = pa.array(bad) if not values.null_count else pc.or_(pa.array(bad), values.is_null())
    return pc.if_else(missing, pa.scalar(None, dtype), column), bad


def _beyond(digits: np.ndarray[tuple[int, int], np.dtype[np.uint8]], limit: int) -> Mask:
    """Which numbers have an absolute value of `limit` or more."""
    high = np.ascontiguousarray(digits[:, :8]).view(">i8").ravel()
    low = np.ascontiguousarray(digits[:, 8:]).view(">u8").ravel()
    top, rest = limit >> 64, limit & (2**64 - 1)
    bottom, last = -limit >> 64, -limit & (2**64 - 1)
    above = (high > top) | ((high == top) & (low >= np.uint64(rest)))
    below = (high < bottom) | ((high == bottom) & (low <= np.uint64(last)))
    beyond: Mask = above | below
    return beyond


def contradicted(schemas: pa.ListArray, scales: Mapping[str, int]) -> dict[int, str]:
    """The rows whose own schema says something else of a column than that it is a decimal of this scale; and what.

    `scales` by the column's key in the row. A key that a schema does not have is in no row of its record.
    """
    images = pc.list_flatten(schemas)
    of_row = pc.list_parent_indices(schemas).to_numpy()
    fields = pc.struct_field(images, "fields")
    entries = pc.list_flatten(fields)
    of_image = pc.list_parent_indices(fields).to_numpy()
    in_row = pc.is_in(pc.struct_field(images, "field"), _IMAGES).to_numpy(zero_copy_only=False)[of_image]
    keys = pc.utf8_lower(pc.struct_field(entries, "field"))
    is_decimal = pc.fill_null(pc.equal(pc.struct_field(entries, "name"), NAME), False)
    scale = pc.fill_null(pc.struct_field(pc.struct_field(entries, "parameters"), "scale"), "")
    found: dict[int, str] = {}
    for key, wanted in scales.items():
        same = pc.and_(is_decimal, pc.equal(scale, str(wanted)))
        other = pc.and_(pc.fill_null(pc.equal(keys, key.lower()), False), pc.invert(same))
        for at in np.flatnonzero(other.to_numpy(zero_copy_only=False) & in_row).tolist():
            told = f"scale {scale[at].as_py()}" if is_decimal[at].as_py() else "another type"
            found.setdefault(
                int(of_row[of_image[at]]), f"{key} has scale {wanted}, the record's schema says {told}"
            )
    return found
