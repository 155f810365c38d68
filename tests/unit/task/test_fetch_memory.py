"""What waits for a full chunk does not keep the deliveries in which it came, also when its range has ended."""

from collections.abc import Sequence
from dataclasses import dataclass

from kafka2hive.task.fetch.chunk import Chunk
from kafka2hive.task.fetch.delivery_count import CountedConsumer
from kafka2hive.task.fetch.fetch import CHUNK_RECORDS, Fetch, RangeRequest
from kafka2hive.task.fetch.records import DeliveryRun, MessageBatch, MessageRecords
from tests.harness.fake_consumer import FakeConsumer, log_of
from tests.harness.task_files import offsets

DELIVERY = 5
"""Records of each: those of one range."""


@dataclass(frozen=True)
class TrackedRecords(MessageRecords):
    """Records that know how many of them were copied out of their delivery."""

    copied: int = 0

    def slice(self, start: int, end: int) -> "TrackedRecords":
        return TrackedRecords(self.messages[start:end])

    def joined(self, others: Sequence[MessageRecords]) -> "TrackedRecords":
        parts = [self, *(other for other in others if isinstance(other, TrackedRecords))]
        messages = [message for part in parts for message in part.messages]
        return TrackedRecords(messages, copied=sum(part.copied for part in parts))

    def compact(self) -> "TrackedRecords":
        return TrackedRecords(self.messages, copied=len(self))


class TrackedBatch(MessageBatch):
    def runs(self) -> list[DeliveryRun]:
        return [DeliveryRun(key, TrackedRecords(messages)) for key, messages in self._runs]


class TrackingConsumer(FakeConsumer):
    def consume(self, count: int, seconds: float) -> MessageBatch:
        batch = super().consume(min(count, DELIVERY), seconds)
        return TrackedBatch([m for _, run in batch._runs for m in run] + list(batch.events))


def test_only_the_newest_delivery_is_not_copied() -> None:
    """Each of the three ranges ends in another delivery; the chunk comes when the last one has ended."""
    logs = {("t", number): log_of(*range(5)) for number in range(3)}
    wave = [RangeRequest("air.t", offsets("t", number, 0, 5)) for number in range(3)]
    consumer = CountedConsumer(TrackingConsumer(logs, at_once=DELIVERY))
    consumer.expect([request.range for request in wave])
    chunks = [event for event in Fetch(consumer, wave, 10.0) if isinstance(event, Chunk)]
    (records,) = [chunk.records for chunk in chunks]
    assert isinstance(records, TrackedRecords)
    assert len(records) == 15
    assert records.copied >= 10


class HesitantConsumer(FakeConsumer):
    """Its deliveries are never as large as what was asked for."""

    def consume(self, count: int, seconds: float) -> MessageBatch:
        return super().consume(min(count, 9_000), seconds)


def test_a_single_tables_deliveries_end_with_its_chunks() -> None:
    """So no part of a delivery waits for the next chunk and is copied."""
    records = 2 * CHUNK_RECORDS
    wave = [RangeRequest("air.t", offsets("t", 0, 0, records))]
    consumer = CountedConsumer(HesitantConsumer({("t", 0): log_of(*range(records))}, at_once=records))
    consumer.expect([request.range for request in wave])
    chunks = [event for event in Fetch(consumer, wave, 10.0) if isinstance(event, Chunk)]
    assert [len(chunk) for chunk in chunks] == [CHUNK_RECORDS] * 2
