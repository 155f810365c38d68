"""A consumer that counts its deliveries before any other code handles them.

`Fetch` decides what becomes of a record and when a range has been read. If `Fetch` loses or duplicates a record, or ends a
range too early, its counts differ from the counts here (plan/contract.py compares them).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from confluent_kafka import KafkaError
from confluent_kafka import TopicPartition as Assignment

from kafka2hive.model.errors import AccessRefused, Kafka2HiveError
from kafka2hive.model.offsets import OffsetRange
from kafka2hive.plan.contract import NEVER, ClientCounts
from kafka2hive.task.fetch.consumer import ConsumerPort
from kafka2hive.task.fetch.records import Batch, Key, Offsets


class FetchBug(Kafka2HiveError):
    """Kafka's client delivered a record that was not requested; the attempt must end without a manifest."""


def _wrong_record(what: str) -> FetchBug:
    return FetchBug(
        "task.wrong_record", what, "please report this bug; the attempt was abandoned, and Spark tries again"
    )


@dataclass(slots=True)
class _Count:
    """The count of one range, as in ClientCounts; `next` is the lowest offset that may be delivered next."""

    range: OffsetRange
    next: int
    begun: int = NEVER
    records: int = 0
    absent: int = 0
    position: int = NEVER
    log_end: int = NEVER
    is_released: bool = False

    def advance_to(self, offset: int, records: int = 0) -> None:
        """Note that every offset below `offset` was delivered or is absent; `records` of them lie inside the range."""
        if offset > self.next:  # otherwise the client reported the same end of the log before
            end = self.range.end
            self.absent += min(offset, end) - min(self.next, end) - records
            self.records += records
            self.next = offset


class CountedConsumer:
    """A consumer that counts the deliveries of a wave's ranges. `expect` must be called before each `assign`."""

    def __init__(self, consumer: ConsumerPort) -> None:
        self._consumer = consumer
        self._counts: dict[Key, _Count] = {}

    @property
    def last_error(self) -> str:
        return self._consumer.last_error

    @last_error.setter
    def last_error(self, text: str) -> None:
        self._consumer.last_error = text

    @property
    def complaints(self) -> dict[str, KafkaError]:
        return self._consumer.complaints

    @property
    def longest_delay(self) -> float:
        return self._consumer.longest_delay

    @longest_delay.setter
    def longest_delay(self, seconds: float) -> None:
        self._consumer.longest_delay = seconds

    def refusal(self, since: float, *, certain: bool) -> AccessRefused | None:
        return self._consumer.refusal(since, certain=certain)

    def expect(self, ranges: Sequence[OffsetRange]) -> None:
        """Start counts for the ranges of the next assignment, one per topic partition, and discard earlier counts."""
        self._counts = {r.topic_partition.key: _Count(r, r.start) for r in ranges}

    def assign(self, assignments: list[Assignment]) -> None:
        self._consumer.assign(assignments)
        for assigned in self._consumer.assignment():
            count = self._counts.get((assigned.topic, assigned.partition))
            if count is not None:
                count.begun = assigned.offset

    def incremental_unassign(self, assignments: list[Assignment]) -> None:
        self._note_positions([(a.topic, a.partition) for a in assignments])
        self._consumer.incremental_unassign(assignments)

    def unassign(self) -> None:
        self._note_positions(list(self._counts))
        self._consumer.unassign()

    def _note_positions(self, keys: Sequence[Key]) -> None:
        """Note the client's positions, because it forgets them when the topic partitions are unassigned."""
        released = [key for key in keys if key in self._counts and not self._counts[key].is_released]
        if not released:
            return
        for answer in self._consumer.position([Assignment(topic, number) for topic, number in released]):
            self._counts[answer.topic, answer.partition].position = max(NEVER, answer.offset)
        for key in released:
            self._counts[key].is_released = True

    def consume(self, count: int, seconds: float) -> Batch:
        """Return at most `count` records and events, after at most `seconds`.

        Raises FetchBug for a record of a topic partition that was not requested, or with an offset that is out of order.
        """
        batch = self._consumer.consume(count, seconds)
        for key, offsets in batch.tally():
            self._count_records(key, offsets)
        for event in batch.events:
            self._count_log_end(event)
        return batch

    def _count_records(self, key: Key, offsets: Offsets) -> None:
        count = self._counts.get(key)
        if count is None:
            raise _wrong_record(
                f"offset {offsets[0]} of {key[0]}-{key[1]} was delivered, which was not requested"
            )
        first, last = int(offsets[0]), int(offsets[-1])
        if first < count.next or (len(offsets) > 1 and int(np.diff(offsets).min()) < 1):
            raise _wrong_record(
                f"{count.range}: expected offset {count.next} or later, each once and in order,"
                f" got {len(offsets)} records {first}..{last}"
            )
        count.advance_to(last + 1, int(np.searchsorted(offsets, count.range.end)))

    def _count_log_end(self, event: Any) -> None:
        if event.error().code() != KafkaError._PARTITION_EOF:
            return
        count = self._counts.get((event.topic(), event.partition()))
        if count is not None:
            count.log_end = event.offset()
            count.advance_to(count.log_end)

    def delivered(self, ranges: Sequence[OffsetRange]) -> tuple[ClientCounts, ...]:
        """Return the counts of these ranges. They must be expected ranges that have been read to their ends."""
        keys = [r.topic_partition.key for r in ranges]
        self._note_positions(keys)
        counts = [self._counts[key] for key in keys]
        return tuple(
            ClientCounts(
                range=c.range,
                begun=c.begun,
                records=c.records,
                absent=c.absent,
                position=c.position,
                log_end=c.log_end,
            )
            for c in counts
        )
