"""Maps whose keys are no strings: every format has them as texts, which become keys of the column's type afterwards."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.decode.values.batch import Mask, Places, mask_of
from kafka2hive.decode.values.texts import TextColumn
from kafka2hive.plugins import Reason

Refusals = dict[int, Reason]
"""By position the reasons against values."""


def in_texts(dtype: pa.DataType) -> pa.DataType:
    """Return the type with strings as keys of all maps."""
    if pa.types.is_map(dtype):
        return pa.map_(pa.string(), in_texts(dtype.item_type))
    if pa.types.is_list(dtype):
        return pa.list_(in_texts(dtype.value_type))
    if pa.types.is_struct(dtype):
        return pa.struct([field.with_type(in_texts(field.type)) for field in dtype])
    return dtype


@dataclass(frozen=True, slots=True)
class KeyedColumn:
    """A column with such maps. `label`: its name in the text of reasons; `family`: the first part of their codes."""

    name: str
    label: str
    type: pa.DataType
    zone: str
    family: str

    def convert(self, values: pa.Array) -> tuple[pa.Array, Refusals]:
        """Return the column made of one whose keys are strings, and the reasons against some of its rows."""
        return self._converted(values, self.type)

    def _converted(self, values: pa.Array, dtype: pa.DataType) -> tuple[pa.Array, Refusals]:
        if values.type == dtype:
            return values, {}
        mask = values.is_null() if values.null_count else None
        if pa.types.is_struct(dtype):
            parts = [
                self._converted(part, field.type) for part, field in zip(values.flatten(), dtype, strict=True)
            ]
            fields = [part for part, _ in parts]
            refusals = {place: reason for _, bad in reversed(parts) for place, reason in bad.items()}
            return pa.StructArray.from_arrays(fields, fields=list(dtype), mask=mask), refusals
        if pa.types.is_list(dtype):
            elements, bad = self._converted(values.flatten(), dtype.value_type)
            whole = pa.ListArray.from_arrays(_offsets(values), elements, type=dtype, mask=mask)
            return whole, _of_lists(values, bad)
        return self._map(values, dtype)

    def _map(self, values: pa.MapArray, dtype: pa.MapType) -> tuple[pa.Array, Refusals]:
        pairs = values.cast(pa.list_(pa.struct([("key", pa.string()), ("value", values.type.item_type)])))
        texts, inner = pairs.flatten().flatten()
        items, bad = self._converted(inner, dtype.item_type)
        keys, of_keys = self._keys(texts, dtype.key_type)
        return self.joined(pairs, keys=keys, items=items, dtype=dtype, refusals={**bad, **of_keys})

    def joined(
        self, pairs: pa.ListArray, keys: pa.Array, items: pa.Array, dtype: pa.MapType, refusals: Refusals
    ) -> tuple[pa.Array, Refusals]:
        """Return maps of the keys and items of all pairs, and the reasons against some of them.

        `refusals`: the reasons against pairs, among them those whose key is null.
        """
        for place in np.flatnonzero(_twice(pairs, keys)).tolist():
            text = f"column {self.label}: two keys of the map are {keys[place]}"
            refusals.setdefault(place, Reason(f"{self.family}.duplicate", text, self.name))
        if keys.null_count:  # only maps that are refused have such keys
            keys = pc.fill_null(keys, _any_key(keys.type))
        mask = pairs.is_null() if pairs.null_count else None
        whole = pa.MapArray.from_arrays(_offsets(pairs), keys, items, type=dtype, mask=mask)
        return whole, _of_lists(pairs, refusals)

    def _keys(self, texts: pa.StringArray, dtype: pa.DataType) -> tuple[pa.Array, Refusals]:
        if dtype == pa.string():
            return texts, {}
        column = TextColumn(
            column=self.name,
            dtype=dtype,
            zone=self.zone,
            family=self.family,
            label=f"{self.label} (a key of the map)",
        )
        return column.read(texts)


def keyed_columns(
    schema: pa.Schema, names: Sequence[str], labels: Sequence[str], zone: str, family: str
) -> dict[int, Callable[[pa.Array], tuple[pa.Array, Refusals]]]:
    """Return by number the conversions of the columns with such maps. `names`, `labels`: of the columns in reasons."""
    return {
        number: KeyedColumn(name=name, label=label, type=field.type, zone=zone, family=family).convert
        for number, (field, name, label) in enumerate(zip(schema, names, labels, strict=True))
        if in_texts(field.type) != field.type
    }


def _any_key(dtype: pa.DataType) -> pa.Scalar:
    key: Any = 0
    if pa.types.is_string(dtype):
        key = ""
    elif pa.types.is_date32(dtype):
        key = date(1970, 1, 1)
    elif pa.types.is_decimal128(dtype):
        key = Decimal(0)
    elif pa.types.is_boolean(dtype):
        key = False
    return pa.scalar(key, dtype)


def _offsets(lists: pa.ListArray) -> pa.Array:
    """Return the offsets of lists whose elements are those of `flatten`."""
    return pa.array(np.concatenate([[0], np.cumsum(_lengths(lists))]), pa.int32())


def _lengths(lists: pa.ListArray) -> Places:
    lengths: Places = pc.fill_null(pc.list_value_length(lists), 0).to_numpy().astype(np.int64)
    return lengths


def _parents(lists: pa.ListArray) -> Places:
    """Return for each element of `flatten` the position of its list."""
    return np.repeat(np.arange(len(lists)), _lengths(lists))


def _of_lists(lists: pa.ListArray, of_elements: Refusals) -> Refusals:
    """Return the reasons against lists by those against their elements; the first element's counts."""
    if not of_elements:
        return {}
    parents = _parents(lists)
    refusals: Refusals = {}
    for place in sorted(of_elements):
        refusals.setdefault(int(parents[place]), of_elements[place])
    return refusals


def _twice(pairs: pa.ListArray, keys: pa.Array) -> Mask:
    """Return the mask of keys that an earlier key of their map equals."""
    valid = mask_of(keys.is_valid())
    codes = pc.dictionary_encode(keys).indices
    numbers = pc.fill_null(codes, 0).to_numpy().astype(np.int64)
    both = _parents(pairs) * (len(keys) + 1) + numbers
    twice: Mask = np.ones(len(keys), np.bool_)
    twice[np.unique(both, return_index=True)[1]] = False
    return twice & valid
