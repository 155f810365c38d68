"""What every message is read for, its value and its timestamp, as Arrow columns.

One pass of the compiled library over the client's objects where it is installed, a pass of Python's for each field
where it is not.
"""

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
from confluent_kafka import Message

from kafka2hive.config.machine.native_library import LIBRARY
from kafka2hive.pipeline.decode.c_data import CArray

_second: Callable[[tuple[int, int]], int] = itemgetter(1)


def values_and_times(
    messages: list[Any], value_bytes: int, library: Any = LIBRARY
) -> tuple[pa.BinaryArray, pa.Int64Array]:
    """Values, null for tombstones, and timestamps as `times`. `value_bytes`: what the values sum to."""
    if library is None:
        return values(messages), times(messages)
    found = library.values_and_times(messages, Message.value, Message.timestamp, value_bytes)
    binary, integers = map(CArray, (pa.binary(), pa.int64()), found)
    return pa.array(binary), pa.array(integers)


def values(messages: Sequence[Any]) -> pa.BinaryArray:
    return pa.array(list(map(Message.value, messages)), pa.binary())


def times(messages: Sequence[Any]) -> pa.Int64Array:
    """Epoch milliseconds; null where the record has none (the protocol's -1)."""
    found = np.fromiter(map(_second, map(Message.timestamp, messages)), np.int64, len(messages))
    missing = found < 0
    return pa.array(found, mask=missing if missing.any() else None)
