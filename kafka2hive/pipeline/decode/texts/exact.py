"""One text into one column, by the rules for JSON's values; a number stands in the text as it would stand in JSON."""

import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from kafka2hive.model.hive.types import hive_type_of
from kafka2hive.pipeline.decode.exact.json_values import Fraction, Refused, Whole
from kafka2hive.pipeline.decode.exact.takers import taker
from kafka2hive.pipeline.decode.exact.times import epoch_number

TakeText = Callable[[str, str], Any]
"""(text; column as reasons name it) -> what pyarrow.array understands. Raises Refused."""

NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"

_NUMBER = re.compile(NUMBER)
_BOOLEANS = {"true": True, "false": False}


def text_taker(dtype: pa.DataType, zone: str, unit: str | None = None, truncate: bool = False) -> TakeText:
    """The function that takes a text into a plain type. `unit`: the text is an epoch number, `truncate`: cut to
    microseconds.
    """
    take = taker(dtype, zone, unit=unit) if unit is None else epoch_number(dtype, zone, unit, truncate)
    if unit is not None or pa.types.is_integer(dtype) or pa.types.is_floating(dtype):
        return lambda text, column: take(_number(text, dtype, column), column)
    if pa.types.is_boolean(dtype):
        return lambda text, column: take(_boolean(text, column), column)
    return take


def _number(text: str, dtype: pa.DataType, column: str) -> str:
    if _NUMBER.fullmatch(text) is None:
        raise Refused(
            "json.type", f"column {column} expects {hive_type_of(dtype)}, got text that is no number", column
        )
    return Fraction(text) if any(mark in text for mark in ".eE") else Whole(text)


def _boolean(text: str, column: str) -> bool:
    if text not in _BOOLEANS:
        raise Refused(
            "json.type", f"column {column} expects boolean, got text other than true and false", column
        )
    return _BOOLEANS[text]
