"""How many records of an offset range have their Kafka timestamp in each window of time."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from kafka2hive.model.offsets import (
    AccountingMismatch,
    OffsetAccounting,
    OffsetRange,
    RangeAccounting,
    TopicPartition,
    in_order,
)

DAY_SECONDS = 86_400
NO_WINDOW = ""
"""The `start` of a count of records without a window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowCount:
    """The counts of one offset range's records in one window of time.

    The window begins at `start` (ISO-8601 UTC, a multiple of `seconds` since 1970) and lasts `seconds`. `start` is NO_WINDOW for
    records without a timestamp, and for those of windows beyond the most that a task counts. `first` and `last` are the least
    and the greatest offset of the records. `dead_lettered` and `bytes` are as in OffsetAccounting.
    """

    topic_partition: TopicPartition
    start: str
    seconds: int
    records: int
    dead_lettered: int
    bytes: int
    first: int
    last: int


def is_window_length(seconds: float) -> bool:
    """Return whether windows may last so long: at least a minute, and a day has a whole number of them."""
    return seconds >= 60 and DAY_SECONDS % seconds == 0


def check_windows(accounts: Sequence[RangeAccounting], windows: Sequence[WindowCount]) -> None:
    """Raise AccountingMismatch unless the windows of each range add up to its account and have its offsets."""
    by_start = sorted((account.range for account in accounts if len(account.range)), key=in_order)
    starts = [(each.topic_partition, each.start) for each in by_start]
    sums = {each: OffsetAccounting() for each in by_start}
    seen: set[tuple[OffsetRange, str]] = set()
    for window in windows:
        place = bisect_right(starts, (window.topic_partition, window.first)) - 1
        source = by_start[place] if place >= 0 else None
        if (
            source is None
            or window.topic_partition != source.topic_partition
            or not source.start <= window.first <= window.last < source.end
            or (source, window.start) in seen
            or not 0 <= window.dead_lettered <= window.records
            or not 0 < window.records <= window.last - window.first + 1
        ):
            raise AccountingMismatch(f"{window} does not fit to the ranges of its epoch")
        seen.add((source, window.start))
        sums[source] += OffsetAccounting(
            read=window.records, dead_lettered=window.dead_lettered, bytes=window.bytes
        )
    for account in accounts:
        told, counted = account.account, sums.get(account.range, OffsetAccounting())
        if (counted.read, counted.dead_lettered, counted.bytes) != (
            told.read,
            told.dead_lettered,
            told.bytes,
        ):
            raise AccountingMismatch(
                f"{account.range}: the windows hold {counted.read} records, {counted.dead_lettered} of them dead-lettered, and"
                f" {counted.bytes} bytes, the account {told.read}, {told.dead_lettered} and {told.bytes}"
            )
