"""The reader of all ranges of several tables: it yields each record once, then the counts of Kafka's client.

A consumer has one position per topic partition, so several ranges of one topic partition are read in separate waves.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.plan.contract import ClientCounts
from kafka2hive.task.fetch.chunk import Chunk
from kafka2hive.task.fetch.consumer import ConsumerPort
from kafka2hive.task.fetch.delivery_count import CountedConsumer
from kafka2hive.task.fetch.fetch import Fetch, RangeRequest, TableRead, TableUnreadable


@dataclass(frozen=True, slots=True)
class TableDelivered:
    """All of a table's ranges have been read; `delivered` has the client's counts of each range that is not empty."""

    table: str
    delivered: tuple[ClientCounts, ...]


Event = Chunk | TableDelivered | TableUnreadable


class RangeReader:
    """Reads the ranges wave by wave. Iterate over it once; call `drop` for a table whose records are no longer needed.

    The chunks of a table end with one TableDelivered or one TableUnreadable. The caller must compare the chunks' counts with
    the counts of TableDelivered (plan/contract.py).
    """

    def __init__(
        self,
        consumer: ConsumerPort,
        ranges: Mapping[str, Sequence[OffsetRange]],
        stall_seconds: float,
        progress: Callable[[], None],
        open_fetch: type[Fetch] = Fetch,
    ) -> None:
        """`ranges` are by table. `open_fetch` makes the fetch of a wave."""
        self._consumer = CountedConsumer(consumer)
        self._stall_seconds = stall_seconds
        self._progress = progress
        self._open_fetch = open_fetch
        self._waves = waves(
            [RangeRequest(table, r) for table, its_ranges in ranges.items() for r in its_ranges]
        )
        self._waves_left = dict.fromkeys(ranges, 0)
        for wave in self._waves:
            for table in {request.table for request in wave}:
                self._waves_left[table] += 1
        self._delivered: dict[str, tuple[ClientCounts, ...]] = {}
        self._fetch: Fetch | None = None

    def __iter__(self) -> Iterator[Event]:
        """Yield events. Raises ServiceUnavailable, AccessRefused and FetchBug as Fetch does."""
        for table in [table for table, waves_left in self._waves_left.items() if not waves_left]:
            yield from self._end(table)
        for wave in self._waves:
            if requests := [request for request in wave if request.table in self._waves_left]:
                yield from self._read(requests)

    def drop(self, table: str) -> None:
        """Yield no more events of this table."""
        self._waves_left.pop(table, None)
        if self._fetch is not None:
            self._fetch.drop(table)

    def _read(self, wave: Sequence[RangeRequest]) -> Iterator[Event]:
        ranges: dict[str, list[OffsetRange]] = {}
        for request in wave:
            ranges.setdefault(request.table, []).append(request.range)
        self._consumer.expect([request.range for request in wave])
        self._fetch = self._open_fetch(self._consumer, wave, self._stall_seconds, self._progress)
        for event in self._fetch:
            if event.table not in self._waves_left:
                continue  # the table was dropped after this event was made
            match event:
                case TableRead(table):
                    known = self._delivered.get(table, ())
                    self._delivered[table] = (*known, *self._consumer.delivered(ranges[table]))
                    self._waves_left[table] -= 1
                    if not self._waves_left[table]:
                        yield from self._end(table)
                case TableUnreadable(table):
                    del self._waves_left[table]
                    yield event
                case _:
                    yield event
            del event  # frees a chunk's memory before the next delivery

    def _end(self, table: str) -> Iterator[Event]:
        del self._waves_left[table]
        yield TableDelivered(table, self._delivered.pop(table, ()))


def waves(requests: Sequence[RangeRequest]) -> list[list[RangeRequest]]:
    """Return the requests in waves, in their order. A wave has one range per topic partition; empty ranges are left out."""
    result: list[list[RangeRequest]] = []
    used: list[set[TopicPartition]] = []
    for request in requests:
        topic_partition = request.range.topic_partition
        if not len(request.range):
            continue
        number = next((n for n, seen in enumerate(used) if topic_partition not in seen), len(used))
        if number == len(used):
            result.append([])
            used.append(set())
        result[number].append(request)
        used[number].add(topic_partition)
    return result
