"""Rows that the SELECT made and that cannot be written: their records are read from Kafka again, and become dead letters.

What went through the SELECT is not the record any more; a dead letter holds every byte of it.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from kafka2hive.model.errors import TableError
from kafka2hive.model.offsets import OffsetRange
from kafka2hive.pipeline.task.chunk import Chunk, Positions
from kafka2hive.pipeline.task.fetch.consumer import ConsumerPort
from kafka2hive.pipeline.task.fetch.counted import CountedConsumer
from kafka2hive.pipeline.task.fetch.fetch import Fetch, TableUnreadable
from kafka2hive.pipeline.task.fetch.requests import RangeRequest, waves

MOST = 100_000
"""Of one task: more are no bad records, but a wrong SELECT."""


class LateLetters:
    """Of one table in one task: `add` what cannot be written, then read `records` once."""

    def __init__(self, table: str, ranges: Sequence[OffsetRange]) -> None:
        self._table = table
        self._ranges = ranges
        self._reasons: list[dict[int, str]] = [{} for _ in ranges]

    def add(self, number: int, offset: int, reason: str) -> None:
        """Of the range with this number. Raises TableError (`sql.no_bucket`) when there are too many."""
        self._reasons[number][offset] = reason
        if len(self) > MOST:
            source = self._ranges[number].topic_partition
            raise TableError(
                "sql.no_bucket",
                f"{self._table}: more than {MOST} rows of the SELECT cannot be written, {source}@{offset} is one: {reason}",
                "let the SELECT mend such rows (coalesce), or leave them out (WHERE .. IS NOT NULL)",
            )

    def __len__(self) -> int:
        return sum(map(len, self._reasons))

    def counts(self) -> tuple[int, ...]:
        """By range."""
        return tuple(map(len, self._reasons))

    def records(
        self, consumer: ConsumerPort, stall_seconds: float, progress: Callable[[], None]
    ) -> Iterator[tuple[Chunk, Positions, list[str]]]:
        """Chunks with the positions of these records in them, and their reasons.

        Raises TableError where Kafka does not give all of them any more.
        """
        spans = {
            OffsetRange(source.topic_partition, min(wanted), max(wanted) + 1): wanted
            for source, wanted in zip(self._ranges, self._reasons, strict=True)
            if wanted
        }
        counted = CountedConsumer(consumer)
        found = 0
        for wave in waves([RangeRequest(self._table, span) for span in spans]):
            counted.expect([item.range for item in wave])
            for event in Fetch(counted, wave, stall_seconds, progress):
                match event:
                    case TableUnreadable(_, failure):
                        raise TableError(failure.code, failure.message, failure.remedy)
                    case Chunk():
                        positions, reasons = _wanted(event, spans)
                        found += len(reasons)
                        if reasons:
                            yield event, positions, reasons
        if found != len(self):
            raise TableError(
                "sql.no_bucket",
                f"{self._table}: {len(self)} rows of the SELECT cannot be written, and {len(self) - found} of their records"
                " have gone from Kafka since they were read",
                "nothing was committed; the table is tried again by itself",
            )


def _wanted(chunk: Chunk, spans: dict[OffsetRange, dict[int, str]]) -> tuple[Positions, list[str]]:
    offsets = chunk.offsets().to_pylist()
    positions: list[int] = []
    reasons: list[str] = []
    start = 0
    for segment in chunk.segments:
        wanted = spans[segment.range]
        for position in range(start, start + segment.count):
            reason = wanted.get(offsets[position])
            if reason is not None:
                positions.append(position)
                reasons.append(reason)
        start += segment.count
    return np.array(positions, np.int64), reasons
