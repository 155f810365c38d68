"""Positions in Kafka. All ranges are half-open, `[start, end)`."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

# Stands for the ID of a topic or cluster if the broker does not provide one.
UNKNOWN_ID = "-"


@dataclass(frozen=True, slots=True, order=True)
class TopicPartition:
    """One numbered partition of a Kafka topic."""

    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.number}"


@dataclass(frozen=True, slots=True, order=True)
class OffsetRange:
    """Offsets `[start, end)` of one topic partition; `start == end` is an empty range."""

    topic_partition: TopicPartition
    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"not a half-open range: {self.topic_partition} [{self.start}, {self.end})")

    def __len__(self) -> int:
        return self.end - self.start

    def __str__(self) -> str:
        return f"{self.topic_partition}@[{self.start}, {self.end})"


def first_ranges(ranges: Collection[OffsetRange]) -> str:
    """Return the first ten ranges as text, for a message."""
    return ", ".join(map(str, sorted(ranges)[:10])) + (" .." if len(ranges) > 10 else "")


def joined(ranges: Iterable[OffsetRange]) -> list[OffsetRange]:
    """Return the ranges in order, with adjacent ones merged."""
    found: list[OffsetRange] = []
    for r in sorted(ranges):
        if found and found[-1].topic_partition == r.topic_partition and found[-1].end == r.start:
            found[-1] = OffsetRange(r.topic_partition, found[-1].start, r.end)
        else:
            found.append(r)
    return found


@dataclass(frozen=True, slots=True)
class Position:
    """Where a table stands in one topic partition: this epoch took `[start, end)`.

    `topic_id` is the broker's id of the topic, `-` where the broker gives none; `leader_epoch` is the leader
    epoch of the last record read, -1 when unknown.
    """

    topic_partition: TopicPartition
    start: int
    end: int
    topic_id: str = UNKNOWN_ID
    leader_epoch: int = -1
