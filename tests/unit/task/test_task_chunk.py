"""Chunks of messages: their columns, how they are split, and the end of a task that hangs."""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import Message

from kafka2hive.config.keys import Column, MetadataColumn, RecordPart, WriterOptions
from kafka2hive.config.keys.leeway import Leeway
from kafka2hive.config.native_library import LIBRARY
from kafka2hive.model.files import FileKind
from kafka2hive.model.offsets import OffsetAccounting, RangeAccounting
from kafka2hive.plan.contract import TaskPlan
from kafka2hive.task.chunk_decoder import LARGEST_VALUE, ChunkDecoder
from kafka2hive.task.fetch.chunk import Chunk, Segment
from kafka2hive.task.fetch.fetch import RangeRequest
from kafka2hive.task.fetch.reader import waves
from kafka2hive.task.fetch.records import MessageRecords, values_and_times
from kafka2hive.task.part import only_part
from kafka2hive.task.table import TableRun
from kafka2hive.task.watchdog import Watchdog
from tests.harness.fake_consumer import FakeConsumer
from tests.harness.task_files import (
    MemoryFiles,
    delivered_as,
    environment_of,
    offsets,
    read_rows,
    table_settings,
    table_task,
    task_settings,
)


class UnreadableHeaders(Message):  # type: ignore[misc]  # the client ships no types
    """Headers with a name that is not UTF-8: the client raises first, and later returns a list with holes."""

    asked = False

    def headers(self) -> Any:
        assert not self.asked, "a list with holes crashes whoever looks at it"
        self.asked = True
        raise SystemError("returned a result with an exception set")


def message(
    offset: int, value: bytes | None, kind: type[Message] = Message, time: int | None = None
) -> Message:
    stamp = 1_000 + offset if time is None else time
    return kind(topic="t", partition=0, offset=offset, value=value, key=b"k", timestamp=(1, stamp))


def chunk_of(*counts_and_sizes: tuple[int, int]) -> Chunk:
    """Return a chunk with one segment per (count, size of each value)."""
    segments, messages = [], []
    for number, (count, size) in enumerate(counts_and_sizes):
        segments.append(Segment(offsets("t", number, 0, count), count, count * size, -1))
        messages += [message(offset, bytes(size)) for offset in range(count)]
    return Chunk("db.t", tuple(segments), MessageRecords(messages))


def messages_of(chunk: Chunk) -> list[Any]:
    assert isinstance(chunk.records, MessageRecords)
    return chunk.records.messages


def test_a_split_chunk_holds_the_same_messages_in_small_pieces_and_a_large_one_alone() -> None:
    chunk = chunk_of((10, 30), (1, 500), (5, 100))
    pieces = list(chunk.split(100))
    assert [m for piece in pieces for m in messages_of(piece)] == messages_of(chunk)
    assert all(piece.value_bytes <= 100 or len(piece) == 1 for piece in pieces)
    assert sum(piece.value_bytes for piece in pieces) == chunk.value_bytes
    for number in range(3):
        source = chunk.segments[number].range
        assert (
            sum(s.count for p in pieces for s in p.segments if s.range == source)
            == chunk.segments[number].count
        )


def test_positions_are_counted_for_the_segment_they_lie_in() -> None:
    chunk = chunk_of((3, 1), (1, 1), (2, 1))
    assert chunk.count_by_segment(np.array([0, 2, 3, 5])) == [2, 1, 1]
    assert chunk.count_by_segment(np.array([], dtype=np.int64)) == [0, 0, 0]
    assert chunk.numbers(np.array([2, 3, 4])).to_pylist() == [0, 1, 2]
    assert chunk.numbers().to_pylist() == [0, 0, 0, 1, 2, 2]


def test_a_record_without_a_timestamp_has_none() -> None:
    messages = [Message(topic="t", partition=0, offset=0, value=b"", timestamp=(0, -1)), message(1, b"")]
    chunk = Chunk("db.t", (Segment(offsets("t", 0, 0, 2), 2, 0, -1),), MessageRecords(messages))
    assert chunk.timestamps().to_pylist() == [None, 1_001]


def test_a_record_of_the_first_millisecond_of_1970_has_a_timestamp() -> None:
    messages = [Message(topic="t", partition=0, offset=n, value=b"", timestamp=(1, n - 1)) for n in range(3)]
    for library in {LIBRARY, None}:
        assert values_and_times(messages, 0, library)[1].to_pylist() == [None, 0, 1]
    records = MessageRecords(messages)
    assert records.timestamps(np.array([1, 2])).to_pylist() == [0, 1]


def test_a_topic_partition_is_read_from_one_place_at_a_time() -> None:
    first, second = offsets("t", 0, 0, 10), offsets("t", 0, 10, 20)
    other, empty = offsets("t", 1, 0, 5), offsets("t", 2, 7, 7)
    wanted = [
        RangeRequest("a", first),
        RangeRequest("a", second),
        RangeRequest("b", first),
        RangeRequest("b", other),
        RangeRequest("b", empty),
    ]
    assert waves(wanted) == [
        [RangeRequest("a", first), RangeRequest("b", other)],
        [RangeRequest("a", second)],
        [RangeRequest("b", first)],
    ]


def run_chunk(
    messages: list[Message], with_headers: bool, with_time: bool = False
) -> tuple[OffsetAccounting, list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the account, the rows and the dead letters of one chunk."""
    metadata = [(MetadataColumn.OFFSET, "o")] + ([(MetadataColumn.HEADERS, "h")] if with_headers else [])
    metadata += [(MetadataColumn.TIMESTAMP, "at")] if with_time else []
    table = table_settings("db.t", metadata=metadata, writer=WriterOptions(compression="none"))
    source = offsets("t", 0, 0, len(messages))
    files, settings = MemoryFiles(), task_settings("", table)
    environment = environment_of(settings, files, FakeConsumer({}), Watchdog(240.0))
    run = TableRun(only_part(TaskPlan(0, (table_task("db.t", source),)), settings), environment)
    size = sum(map(len, messages))
    assert not list(
        run.take(Chunk("db.t", (Segment(source, len(messages), size, 5),), MessageRecords(messages)))
    )
    account = RangeAccounting(0, source, OffsetAccounting(read=len(messages)))
    run.complete(delivered_as([account]))
    manifest = run.manifest()
    environment.close()
    rows, letters = (read_rows(files, manifest, kind) for kind in (FileKind.DATA, FileKind.DEAD_LETTER))
    return manifest.accounts[0].account, rows, letters


def test_a_header_name_that_is_not_utf_8_is_a_dead_letter_where_headers_are_wanted() -> None:
    messages = [message(0, b"a"), message(1, b"b", UnreadableHeaders), message(2, None)]
    account, rows, letters = run_chunk(messages, with_headers=True)
    assert [row["value"] for row in rows] == [b"a"]
    assert [(letter["offset"], letter["reason"], letter["value"]) for letter in letters] == [
        (1, "headers.utf8", b"b")
    ]
    assert (account.written, account.dead_lettered, account.tombstones) == (1, 1, 1)


def test_a_header_name_that_is_not_utf_8_does_not_matter_where_headers_are_not_wanted() -> None:
    account, rows, letters = run_chunk([message(0, b"a", UnreadableHeaders)], with_headers=False)
    assert ([row["value"] for row in rows], letters, account.written) == ([b"a"], [], 1)


def test_values_that_a_columns_leeway_changes_are_counted_in_the_manifest() -> None:
    truncate = Leeway(fraction="truncate")
    columns = (
        Column("at", "timestamp", unit="ns", leeway=truncate),
        Column("of_key", "timestamp", (), "ns", RecordPart.KEY, truncate),
        Column("id", "bigint"),
    )
    table = replace(table_settings("db.t", "json", (("id", "bigint"),)), columns=columns)
    decoder = ChunkDecoder(table)
    messages = [
        Message(
            topic="t", partition=0, offset=n, value=b'{"at":%d,"id":1}' % at, key=b"1001", timestamp=(1, 1)
        )
        for n, at in enumerate((1_000, 1_001, 1_999))
    ]
    chunk = Chunk("db.t", (Segment(offsets("t", 0, 0, 3), 3, 60, -1),), MessageRecords(messages))
    (part,) = decoder.decode(chunk)
    ((rows, _),) = part.batches
    assert rows.column("at").cast(pa.int64()).to_pylist() == [1, 1, 1]
    assert rows.column("of_key").cast(pa.int64()).to_pylist() == [1, 1, 1]
    assert decoder.changed() == (("fraction", 5),)
    list(decoder.decode(chunk))
    assert ChunkDecoder(table).changed() == ()  # what a task that was given up counted


LAST_MS = 253_402_300_799_999  # of the year 9999


def test_a_record_whose_timestamp_no_column_holds_is_a_dead_letter_without_one() -> None:
    times = [LAST_MS, LAST_MS + 1, 2**62, 2**63 - 1, 0]
    messages = [message(offset, b"a", time=time) for offset, time in enumerate(times)]
    account, rows, letters = run_chunk([*messages, message(5, None, time=2**62)], False, with_time=True)
    assert [(row["o"], row["at"]) for row in rows] == [
        (0, datetime(9999, 12, 31, 23, 59, 59, 999_000)),
        (4, datetime(1970, 1, 1)),
    ]
    assert {letter["reason"] for letter in letters} == {"metadata.timestamp"}
    assert [(letter["offset"], letter["timestamp"]) for letter in letters] == [
        (1, None),
        (2, None),
        (3, None),
    ]
    assert (account.written, account.dead_lettered, account.tombstones) == (2, 3, 1)
    assert run_chunk(messages, with_headers=False)[0].written == len(times)


def test_a_value_larger_than_a_decoder_takes_is_a_dead_letter() -> None:
    value = bytes(LARGEST_VALUE + 1)
    account, rows, letters = run_chunk([message(0, value)], with_headers=False)
    assert (rows, account.dead_lettered) == ([], 1)
    assert letters[0]["reason"] == "decode.oversized"
    assert letters[0]["value"] == value


def test_threads_that_decode_one_table_at_once_each_get_their_own_rows() -> None:
    table = table_settings("db.t", "json", (("a", "bigint"),))
    source, barrier = offsets("t", 0, 0, 10), threading.Barrier(4)

    def decoded(number: int) -> bool:
        values = [b'{"a": %d}' % number] * len(source)
        chunk = Chunk(
            "db.t",
            (Segment(source, len(values), 10 * len(values), 5),),
            MessageRecords(list(map(message, range(10), values))),
        )
        barrier.wait(60)
        for _ in range(250):
            (part,) = ChunkDecoder(table).decode(chunk)
            ((rows, _),) = part.batches
            if rows.column("a").to_pylist() != [number] * len(source):
                return False
        return True

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # else each thread would decode all before the next one has its turn
    try:
        with ThreadPoolExecutor(4) as threads:
            assert all(threads.map(decoded, range(4)))
    finally:
        sys.setswitchinterval(interval)


def test_the_watchdog_ends_what_makes_no_progress() -> None:
    ended = threading.Event()
    with Watchdog(0.2, ended.set):
        assert ended.wait(60)


@pytest.mark.parametrize("idle", [True, False])
def test_the_watchdog_leaves_alone_what_makes_progress_or_has_yielded(idle: bool) -> None:
    ended = threading.Event()
    with Watchdog(3.0, ended.set) as watchdog:
        if idle:
            with watchdog.idle():
                time.sleep(4.0)
        else:
            for _ in range(40):
                time.sleep(0.1)
                watchdog.touch()
    assert not ended.is_set()
