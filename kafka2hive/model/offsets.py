"""Topic partitions, offset ranges and positions in Kafka, and the account of each range."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

UNKNOWN_ID = "-"
"""The id of a topic or cluster if the broker does not provide one."""


CLUSTER_END = "/"
"""Ends the name of a cluster before a topic's name; no topic's name in Kafka has it."""


def cluster_of(topic: str) -> str:
    """Return the name in the map of the topic's cluster, "" for the cluster of the section `kafka`."""
    return topic.partition(CLUSTER_END)[0] if CLUSTER_END in topic else ""


def name_in_kafka(topic: str) -> str:
    """Return the topic's name in its cluster."""
    return topic.rpartition(CLUSTER_END)[2]


def topic_of(cluster: str, name: str) -> str:
    """Return the name of a cluster's topic in a map with several clusters: `east/orders`, or `orders` if `cluster` is ""."""
    return f"{cluster}{CLUSTER_END}{name}" if cluster else name


def shown_cluster(cluster: str) -> str:
    """Return how messages name the cluster: `Kafka`, or `Kafka east`."""
    return f"Kafka {cluster}" if cluster else "Kafka"


class TopicPartition(NamedTuple):
    """A partition of a Kafka topic. It is a tuple, because an epoch hashes and compares tens of thousands of them.

    A topic of one of the map's `kafka_clusters` is named with its cluster, `east/orders`, so topics of different clusters are
    never equal.
    """

    topic: str
    number: int

    @property
    def key(self) -> tuple[str, int]:
        """The topic's name in its cluster, and the number, as Kafka's clients know the topic partition."""
        return name_in_kafka(self.topic), self.number

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

    def is_within(self, whole: "OffsetRange") -> bool:
        """Return whether every offset of this range is in `whole`."""
        return (
            self.topic_partition == whole.topic_partition
            and whole.start <= self.start
            and self.end <= whole.end
        )


in_order = attrgetter("topic_partition.topic", "topic_partition.number", "start", "end")
"""The sort key of an OffsetRange: the same order as its own, in a third of the time."""


def first_ranges(ranges: Collection[OffsetRange]) -> str:
    """Return the first ten ranges as text, for a message."""
    return ", ".join(map(str, sorted(ranges)[:10])) + (" .." if len(ranges) > 10 else "")


def merge_ranges(ranges: Iterable[OffsetRange]) -> list[OffsetRange]:
    """Return the ranges in order, with adjacent ones merged."""
    merged: list[OffsetRange] = []
    for r in sorted(ranges, key=in_order):
        if merged and merged[-1].topic_partition == r.topic_partition and merged[-1].end == r.start:
            merged[-1] = OffsetRange(r.topic_partition, merged[-1].start, r.end)
        else:
            merged.append(r)
    return merged


@dataclass(frozen=True, slots=True)
class Position:
    """A table's position in a topic partition: its last epoch there read `[start, end)`, and the table resumes at `end`.

    `topic_id` is the broker's id of the topic, `-` if the broker provides none. `leader_epoch` is the leader epoch of the last
    record read, -1 if unknown.
    """

    topic_partition: TopicPartition
    start: int
    end: int
    topic_id: str = UNKNOWN_ID
    leader_epoch: int = -1


class AccountingMismatch(ValueError):
    """The counts of a range do not add up, which is a bug in a task: the range must not be committed."""


@dataclass(frozen=True, slots=True)
class OffsetAccounting:
    """The counts of a range: `end - start = read + absent`, `read = written + filtered + tombstones + dead_lettered`.

    - `written`: records that became rows. `more_rows`: their rows beyond the first of each record.
    - `filtered`: records without a row for the table, because they hold none or because a refetch wants other buckets.
    - `absent`: offsets without a record (compacted away, transaction markers, aborted). The reader knows that, because it
      received a later record or the end of the log.
    - `bytes`: the size of the values read.
    - `out_of_range`, `late`: dead letters whose event time the map's bounds refuse. They do not count towards
      `dead_letter_share`.
    """

    read: int = 0
    written: int = 0
    filtered: int = 0
    tombstones: int = 0
    dead_lettered: int = 0
    absent: int = 0
    bytes: int = 0
    more_rows: int = 0
    out_of_range: int = 0
    late: int = 0

    @property
    def rows(self) -> int:
        """The number of rows of the written records."""
        return self.written + self.more_rows

    @property
    def bad(self) -> int:
        """The number of dead letters that count towards `dead_letter_share`: all but those refused by their event time."""
        return self.dead_lettered - self.out_of_range - self.late

    def __add__(self, other: "OffsetAccounting") -> "OffsetAccounting":
        return OffsetAccounting(
            read=self.read + other.read,
            written=self.written + other.written,
            filtered=self.filtered + other.filtered,
            tombstones=self.tombstones + other.tombstones,
            dead_lettered=self.dead_lettered + other.dead_lettered,
            absent=self.absent + other.absent,
            bytes=self.bytes + other.bytes,
            more_rows=self.more_rows + other.more_rows,
            out_of_range=self.out_of_range + other.out_of_range,
            late=self.late + other.late,
        )

    def check(self, what: str) -> None:
        """Raise AccountingMismatch if a count is negative, or if the counts of outcomes do not add up to `read`."""
        if min(self.counts()) < 0:
            raise AccountingMismatch(f"{what}: negative count in {self}")
        if self.read != self.written + self.filtered + self.tombstones + self.dead_lettered:
            raise AccountingMismatch(
                f"{what}: {self.read} read, but {self.written} written + {self.filtered} filtered"
                f" + {self.tombstones} tombstones + {self.dead_lettered} dead-lettered"
            )
        if self.more_rows and not self.written:
            raise AccountingMismatch(f"{what}: {self.more_rows} more rows, but 0 written records")

    def counts(self) -> tuple[int, ...]:
        """Return the counts in the order of their declaration."""
        return tuple([getattr(self, name) for name in self.__slots__])


@dataclass(frozen=True, slots=True)
class RangeAccounting:
    """One task's account of one range."""

    task: int
    range: OffsetRange
    account: OffsetAccounting

    def check(self) -> None:
        """Raise AccountingMismatch if a count is negative or an identity does not hold."""
        a = self.account
        a.check(str(self.range))
        if len(self.range) != a.read + a.absent:
            raise AccountingMismatch(
                f"{self.range}: {len(self.range)} offsets, but {a.read} read + {a.absent} absent"
            )
        if a.bad < 0:
            raise AccountingMismatch(
                f"{self.range}: {a.dead_lettered} dead-lettered, but {a.out_of_range} out of range + {a.late} late"
            )
