"""Values and timestamps of messages as Arrow columns: the same by Python's passes and by the compiled library's one."""

import random
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Message

from kafka2hive.config.native_library import LIBRARY
from kafka2hive.task.fetch.chunk import Chunk, Segment
from kafka2hive.task.fetch.records import MessageRecords, values_and_times
from tests.harness.compiled_library import needs_compiled
from tests.harness.task_files import offsets

EACH_WAY = [pytest.param(None, id="python"), pytest.param(LIBRARY, id="compiled", marks=needs_compiled)]
NO_TIMESTAMP, CREATED, APPENDED = 0, 1, 2


def message(value: bytes | None, timestamp: tuple[int, int] = (CREATED, 1_000)) -> Message:
    return Message(topic="t", partition=0, offset=0, value=value, key=b"k", timestamp=timestamp)


def read(messages: list[Any], library: Any, value_bytes: int | None = None) -> tuple[list[Any], list[Any]]:
    size = sum(map(len, messages)) if value_bytes is None else value_bytes
    values, times = values_and_times(messages, size, library)
    values.validate(full=True)
    times.validate(full=True)
    assert (values.type, times.type) == (pa.binary(), pa.int64())
    return values.to_pylist(), times.to_pylist()


@pytest.mark.parametrize("library", EACH_WAY)
def test_a_tombstone_is_null_and_an_empty_value_is_not(library: Any) -> None:
    messages = [message(b"a"), message(None), message(b""), message(b"\x00\xff" * 3), message(None)]
    assert read(messages, library)[0] == [b"a", None, b"", b"\x00\xff" * 3, None]


@pytest.mark.parametrize("library", EACH_WAY)
def test_a_timestamp_counts_whatever_set_it_and_none_is_null(library: Any) -> None:
    given = [(NO_TIMESTAMP, -1), (CREATED, 0), (APPENDED, 253_402_300_799_999), (CREATED, -5), (CREATED, 7)]
    messages = [message(b"", timestamp) for timestamp in given]
    assert read(messages, library)[1] == [None, 0, 253_402_300_799_999, None, 7]


@pytest.mark.parametrize("library", EACH_WAY)
def test_no_messages_are_two_empty_columns(library: Any) -> None:
    assert read([], library) == ([], [])


@pytest.mark.parametrize("library", EACH_WAY)
@pytest.mark.parametrize("value_bytes", [0, 1, 1_000_000])
def test_the_room_that_is_made_for_values_changes_nothing(library: Any, value_bytes: int) -> None:
    messages = [message(bytes([n]) * n) for n in range(100)]
    assert read(messages, library, value_bytes)[0] == [bytes([n]) * n for n in range(100)]


@pytest.mark.parametrize("library", EACH_WAY)
def test_columns_outlive_the_messages_that_they_were_read_from(library: Any) -> None:
    dice = random.Random(11)
    given = [None if dice.random() < 0.1 else dice.randbytes(dice.randrange(2_000)) for _ in range(3_000)]
    times = [dice.choice([-1, dice.randrange(2**42)]) for _ in given]
    messages = [message(value, (CREATED, time)) for value, time in zip(given, times, strict=True)]
    values, stamps = values_and_times(messages, sum(map(len, messages)), library)
    del messages
    assert values.to_pylist() == given
    assert stamps.to_pylist() == [None if time < 0 else time for time in times]
    assert values.slice(1_000, 10).to_pylist() == given[1_000:1_010]


@pytest.mark.parametrize("library", EACH_WAY)
def test_what_is_no_message_is_an_error(library: Any) -> None:
    with pytest.raises(TypeError):
        values_and_times([message(b"a"), "no message"], 1, library)


def test_a_chunk_has_the_same_timestamps_before_and_after_its_values_were_read() -> None:
    messages = [message(b"a", (CREATED, 5)), message(b"b", (NO_TIMESTAMP, -1)), message(None, (APPENDED, 6))]
    chunk = Chunk("db.t", (Segment(offsets("t", 0, 0, 3), 3, 2, -1),), MessageRecords(messages))
    before = chunk.timestamps()
    assert chunk.values().to_pylist() == [b"a", b"b", None]
    assert chunk.timestamps().equals(before)
    assert before.to_pylist() == [5, None, 6]


class Column:
    """What the library gives, with its type, as Arrow takes it."""

    def __init__(self, dtype: pa.DataType, array: object) -> None:
        self._both = (dtype.__arrow_c_schema__(), array)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._both


@needs_compiled
def test_a_value_that_is_neither_bytes_nor_none_is_an_error() -> None:
    for wrong in ("text", 7, bytearray(b"a")):
        with pytest.raises(TypeError, match="bytes or None"):
            LIBRARY.values_and_times([message(b"a")], lambda _, value=wrong: value, Message.timestamp, 1)


@needs_compiled
def test_a_list_that_shrinks_while_it_is_read_gives_the_messages_that_were_read() -> None:
    messages = [message(b"%d" % n) for n in range(1_000)]

    def value(one: Message, left: list[Message] = messages) -> bytes | None:
        del left[10:]
        return one.value()  # type: ignore[no-any-return]  # it ships no types

    found = LIBRARY.values_and_times(messages, value, Message.timestamp, 0)
    values, times = map(pa.array, map(Column, (pa.binary(), pa.int64()), found))
    values.validate(full=True)
    times.validate(full=True)
    assert values.to_pylist() == [b"%d" % n for n in range(10)]
    assert times.to_pylist() == [1_000] * 10
