"""Find the placeholders that Debezium writes for values which the database did not log, and keep them out of the rows.

PostgreSQL does not log a large value that an update leaves unchanged, nor Oracle a large object. The connector writes a
placeholder in its place, whose form depends on the column's type.
"""

import hashlib
import json
import struct
import uuid
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys.source import (
    BEFORE,
    CHANGE_COLUMNS,
    DEFAULT_PLACEHOLDER,
    UNAVAILABLE,
    UNAVAILABLE_TYPE,
    placeholder_bytes,
)
from kafka2hive.decode.columns import with_columns
from kafka2hive.decode.contract.spec import UNAVAILABLE_VALUE, Changes, UnavailableValues
from kafka2hive.decode.values.batch import Mask, mask_of
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.plugins import Decoded, Reason

_SHAPES = (
    struct.pack("<BIdd", 1, 1, -99_999_999, -99_999_999),
    bytes.fromhex("0101000020e6100000000000fc83d797c1000000fc83d797c1"),
    bytes.fromhex("0101000020e61000000c21e7fdff7f66401842cefbff7f5640"),
)
"""The connector's placeholders of PostgreSQL's types point, geometry and geography, in WKB."""

Numbers = npt.NDArray[np.int64]


class Placeholders:
    """All forms of the placeholders."""

    def __init__(self, placeholders: Sequence[bytes]) -> None:
        texts = [text for placeholder in placeholders for text in _texts(placeholder)]
        self._texts = _Forms(pa.array(dict.fromkeys(texts), pa.string()))
        self._bytes = _Forms(pa.array([*placeholders, *_SHAPES], pa.binary()))
        self._numbers = [np.frombuffer(placeholder, np.int8).astype(np.int64) for placeholder in placeholders]

    def among(self, values: pa.Array) -> Mask:
        """Return the mask of the values that are a placeholder or contain one."""
        kind = values.type
        if pa.types.is_string(kind):
            return self._texts.among(values)
        if pa.types.is_binary(kind):
            return self._bytes.among(values)
        if pa.types.is_map(kind):
            return _any_within(values, self.among(values.keys) | self.among(values.items))
        if pa.types.is_list(kind):
            return _any_within(values, self.among(values.values)) | self._are_numbers(values)
        if pa.types.is_struct(kind):
            masks = [self.among(pc.struct_field(values, [number])) for number in range(kind.num_fields)]
            whole: Mask = np.logical_or.reduce(masks)
            return whole
        return np.zeros(len(values), np.bool_)

    def _are_numbers(self, lists: pa.ListArray) -> Mask:
        """Return the mask of the lists that are the bytes of a placeholder, one number for each."""
        mask = np.zeros(len(lists), np.bool_)
        if (elements := _whole_numbers(lists.values)) is None:
            return mask
        starts = lists.offsets.to_numpy().astype(np.int64)
        lengths = np.where(mask_of(lists.is_valid()), np.diff(starts), -1)
        for numbers in self._numbers:
            places = np.flatnonzero(lengths == len(numbers))
            if len(places):
                mask[places] = (elements[starts[places, None] + np.arange(len(numbers))] == numbers).all(
                    axis=1
                )
        return mask


class _Forms:
    """A few texts or bytes that are searched in columns, by their lengths first."""

    def __init__(self, forms: pa.Array) -> None:
        self._forms = forms
        lengths = pc.binary_length(forms).to_numpy()
        self._has_length = np.zeros(int(lengths.max()) + 2, np.bool_)
        self._has_length[lengths] = True

    def among(self, values: pa.Array) -> Mask:
        lengths = pc.fill_null(pc.binary_length(values), -1).to_numpy()
        beyond = len(self._has_length) - 1  # as null, whose -1 is the last place
        mask: Mask = self._has_length[np.minimum(lengths, beyond)]
        if mask.any():
            places = np.flatnonzero(mask)
            mask[places] = mask_of(pc.is_in(values.take(pa.array(places)), self._forms))
        return mask


def _texts(placeholder: bytes) -> list[str]:
    """Return the placeholder as text, as bytes in base64 and hexadecimal, as an hstore in JSON, and as a UUID."""
    text = placeholder.decode(errors="replace")
    return [
        text,
        b64encode(placeholder).decode(),
        urlsafe_b64encode(placeholder).decode(),
        placeholder.hex(),
        json.dumps({text: text}, ensure_ascii=False, separators=(",", ":")),
        str(uuid.UUID(bytes=hashlib.md5(placeholder, usedforsecurity=False).digest(), version=3)),
    ]


def _whole_numbers(values: pa.Array) -> Numbers | None:
    """Return numbers as integers, null and fractions as -1000; None for values that are no numbers."""
    kind = values.type
    if pa.types.is_date32(kind):
        values = values.cast(pa.int32())
    elif pa.types.is_decimal(kind) or pa.types.is_floating(kind):
        values = values.cast(pa.float64())
        whole = pc.and_(pc.equal(values, pc.floor(values)), pc.less_equal(pc.abs(values), 128.0))
        values = pc.if_else(pc.fill_null(whole, False), values, pa.scalar(None, pa.float64()))
    elif not pa.types.is_integer(kind):
        return None
    numbers: Numbers = pc.fill_null(values.cast(pa.int64()), -1000).to_numpy()
    return numbers


def _any_within(lists: pa.ListArray | pa.MapArray, elements: Mask) -> Mask:
    """Return the mask of the lists with an element in `elements`, which are those of the lists' child."""
    before = np.concatenate([[0], np.cumsum(elements)])
    offsets = lists.offsets.to_numpy()
    within: Mask = (before[offsets[1:]] > before[offsets[:-1]]) & mask_of(lists.is_valid())
    return within


class UnavailableColumns:
    """Replaces placeholders in rows by NULL and names their columns, or refuses the rows.

    A row is refused if the table has no column UNAVAILABLE, or if the column without a value is one that the table needs.
    """

    def __init__(self, schema: pa.Schema, options: UnavailableValues, changes: Changes) -> None:
        """Raise ValueError if the table lacks the column that the map asks for, or has it with another type."""
        if UNAVAILABLE in schema.names and schema.field(UNAVAILABLE).type != parse_hive_type(
            UNAVAILABLE_TYPE
        ):
            raise ValueError(f"{UNAVAILABLE} must be a column of type {UNAVAILABLE_TYPE}")
        if options.is_marked and UNAVAILABLE not in schema.names:
            raise ValueError(
                f"source.debezium.unavailable: mark needs the column {UNAVAILABLE} of type {UNAVAILABLE_TYPE}"
            )
        placeholders = {DEFAULT_PLACEHOLDER, options.placeholder or DEFAULT_PLACEHOLDER}
        self._placeholders = Placeholders(sorted(map(placeholder_bytes, placeholders)))
        self._changes = changes
        self._is_marked = UNAVAILABLE in schema.names
        self._needed = {name.lower() for name in options.needed}
        others = (*CHANGE_COLUMNS, BEFORE, UNAVAILABLE)
        self._columns = [
            number
            for number, field in enumerate(schema)
            if field.name not in others and _may_hold(field.type)
        ]
        self._before = schema.get_field_index(BEFORE)

    def mark(self, decoded: Decoded) -> Decoded:
        """Return the result without placeholders in its rows. A message must have at most one row."""
        rows = decoded.rows
        columns, names = list(rows.columns), list(rows.schema.names)
        unavailable: list[tuple[str, Mask]] = []
        for number in self._columns:
            mask = self._placeholders.among(columns[number])
            if mask.any():
                unavailable.append((names[number], mask))
                columns[number] = _without(columns[number], mask)
        if self._before >= 0:
            columns[self._before] = self._of_before(columns[self._before], unavailable)
        if not unavailable:
            return decoded
        refusals = self._refusals(unavailable)
        if self._is_marked:
            columns[rows.schema.get_field_index(UNAVAILABLE)] = _names(unavailable, len(rows))
            good = np.ones(len(rows), np.bool_)
            good[list(refusals)] = False
            self._changes.add(UNAVAILABLE_VALUE, sum(int((mask & good).sum()) for _, mask in unavailable))
        return with_columns(decoded, pa.RecordBatch.from_arrays(columns, schema=rows.schema), refusals)

    def _of_before(self, image: pa.StructArray, unavailable: list[tuple[str, Mask]]) -> pa.StructArray:
        """Return the rows before the change without placeholders; add the fields that had one to `unavailable`."""
        fields = [pc.struct_field(image, [number]) for number in range(image.type.num_fields)]
        is_changed = False
        for number, field in enumerate(image.type):
            mask = self._placeholders.among(fields[number]) if _may_hold(field.type) else None
            if mask is not None and mask.any():
                unavailable.append((f"{BEFORE}.{field.name}", mask))
                fields[number] = _without(fields[number], mask)
                is_changed = True
        if not is_changed:
            return image
        return pa.StructArray.from_arrays(fields, fields=list(image.type), mask=image.is_null())

    def _refusals(self, unavailable: Sequence[tuple[str, Mask]]) -> dict[int, Reason]:
        refusals: dict[int, Reason] = {}
        for name, mask in unavailable:
            if self._is_marked and name.lower() not in self._needed:
                continue
            why = (
                "the table needs it"
                if self._is_marked
                else "set source: {debezium: {unavailable: mark}} for a NULL that is marked"
            )
            text = (
                f"column {name}: the connector's placeholder for a value that the database did not log: {why}"
            )
            reason = Reason("change_log.unavailable", text, name)
            for row in np.flatnonzero(mask).tolist():
                refusals.setdefault(row, reason)
        return refusals


def _may_hold(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_nested(kind))


def _without(values: pa.Array, mask: Mask) -> pa.Array:
    return values.take(pa.array(np.arange(len(values)), mask=mask))


def _names(unavailable: Sequence[tuple[str, Mask]], rows: int) -> pa.ListArray:
    """Return for each row the list of its names; NULL for a row without any."""
    masks = np.column_stack([mask for _, mask in unavailable])
    counts = masks.sum(axis=1)
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    names = pa.array([name for name, _ in unavailable], pa.string()).take(pa.array(np.nonzero(masks)[1]))
    offsets = pa.array(ends, mask=np.append(counts == 0, False))
    assert len(offsets) == rows + 1
    return pa.ListArray.from_arrays(offsets, names)
