"""Topic partitions, offset ranges and positions in Kafka."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

UNKNOWN_ID = "-"
"""The id of a topic or cluster if the broker does not provide one."""


@dataclass(frozen=True, slots=True, order=True)
class TopicPartition:
    """A partition of a Kafka topic."""

    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.number}"


@dataclass(frozen=True, slots=True, order=True)
class OffsetRange:
    """The offsets `[start, end)` of a topic partition, empty if `start == end`."""

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


def merge_ranges(ranges: Iterable[OffsetRange]) -> list[OffsetRange]:
    """Return the ranges in order, with adjacent ones merged."""
    merged: list[OffsetRange] = []
    for r in sorted(ranges):
        if merged and merged[-1].topic_partition == r.topic_partition and merged[-1].end == r.start:
            merged[-1] = OffsetRange(r.topic_partition, merged[-1].start, r.end)
        else:
            merged.append(r)
    return merged


@dataclass(frozen=True, slots=True)
class Position:
    """A table's position in a topic partition: an epoch took `[start, end)`, and the table resumes at `end`.

    `topic_id` is the broker's id of the topic, `-` if it provides none. `leader_epoch` is that of the last record read, -1 if
    unknown.
    """

    topic_partition: TopicPartition
    start: int
    end: int
    topic_id: str = UNKNOWN_ID
    leader_epoch: int = -1
