"""Read planned ranges from Kafka: exactly the records of `[start, end)`, each once, in offset order per range.

All ranges that a consumer can read at once are assigned together (reader.py), so a task with many small ranges waits
for the broker once, not once per range. A range ends with a record at or beyond `end`. If compaction, aborted transactions
or transaction markers removed the last records, it ends with the client's report of the log's end (`enable.partition.eof`).
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError
from confluent_kafka import TopicPartition as Assignment

from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.offsets import OffsetRange
from kafka2hive.plan.contract import TableFailure
from kafka2hive.task.fetch.chunk import Chunk, Segment
from kafka2hive.task.fetch.consumer import GONE, TRANSIENT
from kafka2hive.task.fetch.delivery_count import CountedConsumer
from kafka2hive.task.fetch.records import DeliveryRun, Key, Records

CHUNK_RECORDS = 16_000  # smaller chunks cost more per record; larger chunks exceed the processor's cache
CHUNK_BYTES = 16 * 1024 * 1024
_HELD_BYTES = 2 * CHUNK_BYTES  # the sum over tables whose chunk is not full yet
_POLL_SECONDS = 0.05
_TRANSIENT_SECONDS = 10.0  # the limit for problems that may pass, such as a new leader or stale metadata


@dataclass(frozen=True, slots=True)
class RangeRequest:
    """A range to read for a table."""

    table: str
    range: OffsetRange


@dataclass(frozen=True, slots=True)
class TableRead:
    """All of a table's ranges in this fetch have been read; the table's last chunk came before this event."""

    table: str


@dataclass(frozen=True, slots=True)
class TableUnreadable:
    """A range of the table cannot be read; no further chunks of the table follow."""

    table: str
    failure: TableFailure


Event = Chunk | TableRead | TableUnreadable


@dataclass(slots=True)
class _Reading:
    """A range in progress.

    `position` is the lowest offset that may come next; `problem` is a suspected failure and the time of its start.
    """

    table: str
    range: OffsetRange
    position: int
    problem: tuple[float, TableFailure] | None = None


@dataclass(slots=True)
class _Held:
    """The records of a table that wait for a full chunk."""

    segments: list[Segment] = field(default_factory=list)
    records: list[Records] = field(default_factory=list)
    count: int = 0
    bytes: int = 0
    compact: int = 0

    def compact_new(self) -> None:
        """Join the records that came since the last call, and free deliveries that are much larger than these records.

        `compact` is how many items of `records` earlier calls have joined.
        """
        if new := self.records[self.compact :]:
            self.records[self.compact :] = [new[0].joined(new[1:]).compact()]
            self.compact = len(self.records)


class Fetch:
    """The read of one wave. Iterate over it for events; call `drop` for a table whose records are no longer needed."""

    def __init__(
        self,
        consumer: CountedConsumer,
        wave: Sequence[RangeRequest],
        stall_seconds: float,
        progress: Callable[[], None] = lambda: None,
    ) -> None:
        """`progress` is called at every poll, even an empty one: `stall_seconds` limits the waiting, not the watchdog."""
        self._consumer = consumer
        self._stall_seconds = stall_seconds
        self._progress = progress
        self._readings = {
            r.range.topic_partition.key: _Reading(r.table, r.range, r.range.start) for r in wave
        }
        self._open: dict[str, int] = {}
        for request in wave:
            self._open[request.table] = self._open.get(request.table, 0) + 1
        self._held: dict[str, _Held] = {table: _Held() for table in self._open}
        self._held_bytes = 0
        self._read_to_end: list[Key] = []  # ranges that `_sort` must still release
        self._mean_bytes = 4096.0

    def drop(self, table: str) -> None:
        """Yield no more events of this table, and release its ranges."""
        ended = [key for key, reading in self._readings.items() if reading.table == table]
        for key in ended:
            del self._readings[key]
        self._open.pop(table, None)
        self._held_bytes -= self._held.pop(table, _Held()).bytes
        self._release(ended)

    def __iter__(self) -> Iterator[Event]:
        """Yield events until all ranges are read or dropped.

        Raises ServiceUnavailable if Kafka delivers nothing for `stall_seconds` and the longest delay that a broker announces
        because of a quota, AccessRefused within seconds if brokers
        refuse this client, and FetchBug for a record that was not requested.
        """
        self._consumer.assign(
            [Assignment(topic, number, r.range.start) for (topic, number), r in self._readings.items()]
        )
        last = time.monotonic()
        while self._readings:
            batch = self._consumer.consume(self._batch_size(), _POLL_SECONDS)
            runs = batch.runs()
            self._progress()
            now = time.monotonic()
            if not runs and not batch.events:
                stalled = now - last > self._stall_seconds + self._consumer.longest_delay
                allowed = 0.0 if stalled else min(_TRANSIENT_SECONDS, self._stall_seconds / 2)
                lasting = now - last > min(_TRANSIENT_SECONDS, self._stall_seconds / 2)
                if lasting and (refusal := self._consumer.refusal(last, certain=not stalled)):
                    raise refusal
                failures = self._fail_lasting_problems(now, allowed)
                yield from failures
                if stalled and failures:
                    last = time.monotonic()  # the other tables get the full time
                elif stalled:
                    raise self._stall_error()
                continue
            yield from self._sort(runs, batch.events, now)
            del batch, runs  # frees a chunk's memory before the next delivery
            self._consumer.longest_delay = 0.0
            last = time.monotonic()  # not `now`: the caller may have taken long over the events
        self._consumer.unassign()

    def _batch_size(self) -> int:
        """Return how many messages to request: at most as many as can still come, or the client would wait for the others.

        A single table gets as many as its chunk lacks, so that no records are left over to be copied.
        """
        remaining = sum(r.range.end - r.position for r in self._readings.values()) + len(self._readings)
        held = next(iter(self._held.values())).count if len(self._held) == 1 else 0
        return max(1, min(CHUNK_RECORDS - held, remaining, int(CHUNK_BYTES / self._mean_bytes)))

    def _sort(self, runs: Sequence[DeliveryRun], events: Sequence[Any], now: float) -> Iterator[Event]:
        """Release the ranges that ended with this delivery, then yield its events.

        The ranges are released together, because each release takes a round trip to the client's thread. They are released
        first, because the client keeps fetching until then.
        """
        produced: list[Event] = []
        tables = {self._readings[run.key].table for run in runs if run.key in self._readings}
        for run in runs:
            produced += self._take(run.key, run.records)
        for event in events:
            produced += self._on_event(event, now)
        for table in tables & self._held.keys():
            self._held[table].compact_new()
        ended, self._read_to_end = self._read_to_end, []
        self._release(ended)
        yield from produced

    def _take(self, key: Key, run: Records) -> Iterator[Event]:
        reading = self._readings.get(key)
        if reading is None:
            return  # the records are beyond the end of a finished range, or belong to a dropped table
        end, last = reading.range.end, run.last()[0]
        reading.position = last + 1
        reading.problem = None
        if last >= end:
            run = run.slice(0, run.count_below(end))
        if count := len(run):
            size = run.value_bytes()
            self._mean_bytes = max(1.0, size / count)
            held = self._held[reading.table]
            held.segments.append(Segment(reading.range, count, size, run.last()[1]))
            held.records.append(run)
            held.count += count
            held.bytes += size
            self._held_bytes += size
            if held.count >= CHUNK_RECORDS or held.bytes >= CHUNK_BYTES:
                yield from self._emit(reading.table)
            elif self._held_bytes >= _HELD_BYTES:
                yield from self._emit(max(self._held, key=lambda table: self._held[table].bytes))
        if reading.position >= end:
            yield from self._end(key)

    def _end(self, key: Key) -> Iterator[Event]:
        table = self._readings.pop(key).table
        self._read_to_end.append(key)
        self._open[table] -= 1
        if self._open[table] == 0:
            yield from self._emit(table)
            del self._open[table], self._held[table]
            yield TableRead(table)

    def _emit(self, table: str) -> Iterator[Event]:
        held = self._held[table]
        self._held[table] = _Held()
        self._held_bytes -= held.bytes
        if held.records:
            records = held.records[0].joined(held.records[1:])
            yield from Chunk(table, tuple(held.segments), records).split(2 * CHUNK_BYTES)

    def _release(self, keys: Sequence[Key]) -> None:
        if keys and self._readings:  # at the end, `unassign` releases the rest
            self._consumer.incremental_unassign([Assignment(topic, number) for topic, number in keys])

    def _on_event(self, message: Any, now: float) -> Iterator[Event]:
        error = message.error()
        if message.topic() is None or error.code() in TRANSIENT:
            self._consumer.last_error = str(error)
            return
        key = (message.topic(), message.partition())
        reading = self._readings.get(key)
        if reading is None:
            return
        if error.code() == KafkaError._PARTITION_EOF:
            if message.offset() >= reading.range.end:
                yield from self._end(key)
            else:
                text = f"{reading.range}: the log ends at {message.offset()}; truncated, or a transaction is still open"
                reading.problem = now, TableFailure("kafka.beyond_log_end", text)
            return
        self.drop(reading.table)
        yield TableUnreadable(reading.table, _failure(reading, error))

    def _fail_lasting_problems(self, now: float, allowed_seconds: float) -> list[Event]:
        """Fail the tables with a problem that has lasted for `allowed_seconds`, and return their events."""
        events: list[Event] = []
        for (topic, number), reading in list(self._readings.items()):
            complaint = self._consumer.complaints.get(f"{topic} [{number}]")
            if reading.problem is None and complaint is not None:
                reading.problem = now, _failure(reading, complaint)
            if reading.problem is None or reading.table not in self._open:
                continue
            since, failure = reading.problem
            if now - since >= allowed_seconds:
                self.drop(reading.table)
                events.append(TableUnreadable(reading.table, failure))
        return events

    def _stall_error(self) -> ServiceUnavailable:
        unread = ", ".join(f"{r.range} from {r.position}" for r in self._readings.values())
        if delay := self._consumer.longest_delay:
            return ServiceUnavailable(
                "kafka.throttled",
                f"no record for {self._stall_seconds:.0f} s, because a quota makes brokers delay their answers by up to"
                f" {delay:.1f} s; not read yet: {unread}",
                "raise the quota of the client (consumer_byte_rate): if a batch of the topic is larger than the quota allows"
                " within its window (11 s by default), brokers never send it",
            )
        return ServiceUnavailable(
            "kafka.stalled",
            f"no record for {self._stall_seconds:.0f} s; not read yet: {unread};"
            f" the client's last error: {self._consumer.last_error or 'none'}",
            "check the brokers that lead these topic partitions",
        )


def _failure(reading: _Reading, error: KafkaError) -> TableFailure:
    where = f"{reading.range}, at offset {reading.position}: {error.str()}"
    if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
        return TableFailure("kafka.offset_out_of_range", where)
    if error.code() in GONE:
        return TableFailure("kafka.unknown_topic_partition", where)
    if error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
        return TableFailure("kafka.denied", where)
    return TableFailure(f"kafka.{error.name().lstrip('_').lower()}", where)
