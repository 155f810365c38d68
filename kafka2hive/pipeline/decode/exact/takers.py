"""For each column type the function that takes a JSON value into it; arrays, maps and structs element by element."""

from typing import Any

import pyarrow as pa

from kafka2hive.pipeline.decode.exact import scalars, times
from kafka2hive.pipeline.decode.exact.json_values import Members, Refused, Take, once_each, wrong_kind
from kafka2hive.pipeline.decode.sources import Spelling, as_it_stands
from kafka2hive.pipeline.wall_clock import NAIVE


def taker(dtype: pa.DataType, zone: str, spelling: Spelling = as_it_stands, unit: str | None = None) -> Take:
    """The function that takes a JSON value into `dtype`, or raises Refused. `unit`: the value is an epoch number."""
    if unit is not None:
        return times.epoch_number(dtype, zone, unit)
    if pa.types.is_integer(dtype):
        return scalars.integer(dtype)
    if pa.types.is_floating(dtype):
        return scalars.floating(dtype)
    if pa.types.is_decimal128(dtype):
        return scalars.decimal(dtype)
    if pa.types.is_boolean(dtype):
        return scalars.plain(dtype, bool)
    if pa.types.is_string(dtype):
        return scalars.plain(dtype, str)
    if pa.types.is_binary(dtype):
        return scalars.binary(dtype)
    if pa.types.is_date32(dtype):
        return times.day(dtype)
    if dtype == NAIVE:
        return times.timestamp(zone)
    if pa.types.is_list(dtype):
        return _array(dtype, zone, spelling)
    if pa.types.is_map(dtype):
        return _map(dtype, zone, spelling)
    return _struct(dtype, zone, spelling)


def _array(dtype: pa.DataType, zone: str, spelling: Spelling) -> Take:
    element = taker(dtype.value_type, zone, spelling)

    def take(value: Any, path: str) -> list[Any]:
        if type(value) is not list:
            raise wrong_kind(dtype, value, path)
        return [None if v is None else element(v, f"{path}[{i}]") for i, v in enumerate(value)]

    return take


def _map(dtype: pa.DataType, zone: str, spelling: Spelling) -> Take:
    item = taker(dtype.item_type, zone, spelling)

    def take(value: Any, path: str) -> list[tuple[str, Any]]:
        if type(value) is not Members:
            raise wrong_kind(dtype, value, path)
        if len({key for key, _ in value}) != len(value):
            raise Refused("json.duplicate", f"column {path}: a key stands twice in the map", path)
        return [(key, None if v is None else item(v, f"{path}.{key}")) for key, v in value]

    return take


def _struct(dtype: pa.DataType, zone: str, spelling: Spelling) -> Take:
    fields = {spelling(field.name): (field.name, taker(field.type, zone, spelling)) for field in dtype}

    def take(value: Any, path: str) -> dict[str, Any]:
        if type(value) is not Members:
            raise wrong_kind(dtype, value, path)
        row: dict[str, Any] = {}
        for key, inner in once_each(value, fields, spelling, lambda name: f"column {path}.{name}"):
            name, take_field = fields[key]
            row[name] = None if inner is None else take_field(inner, f"{path}.{name}")
        return row

    return take
