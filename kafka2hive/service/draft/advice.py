"""Advice from sampled records: the event time and the flush interval. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys.source import TIME
from kafka2hive.model.text import counted, duration, size
from kafka2hive.model.wall_clock import NAIVE
from kafka2hive.service.draft.map_text import Draft, DraftColumn, key_text

_MOST_NULLS = 0.01
"""The largest share of nulls in a column that counts as filled."""
_FILE_BYTES = 128 * 2**20
_INTERVALS = (60, 120, 300, 600, 900, 1_800, 3_600)


@dataclass(frozen=True, slots=True)
class EventTime:
    """A column that can be the event time; `seconds` is the median of its distance from Kafka's timestamp."""

    column: DraftColumn
    seconds: float


def event_times(
    columns: Sequence[DraftColumn], rows: pa.RecordBatch, times_ms: pa.Int64Array
) -> list[EventTime]:
    """Return the candidates, the best first: filled in nearly all records, a time rather than a day, nearest to Kafka's.

    `times_ms` has Kafka's timestamp of each row. Columns with infinite times are none: they would make buckets of the year 9999.
    """
    candidates = []
    for column in columns:
        if column.type in ("timestamp", "date") and not any(
            key.startswith("beyond:") for key in column.leeway
        ):
            values = pc.divide(rows.column(column.name).cast(NAIVE).cast(pa.int64()), 1000)
            distances = pc.drop_null(pc.abs(pc.subtract(values, times_ms)))
            if len(distances):
                candidates.append(EventTime(column, float(np.median(distances.to_numpy())) / 1000))
    return sorted(
        candidates, key=lambda e: (e.column.empty > _MOST_NULLS, e.column.type == "date", e.seconds)
    )


@dataclass(frozen=True, slots=True)
class Rate:
    """The topic's throughput."""

    records_per_second: float
    bytes_per_second: float

    @property
    def interval_seconds(self) -> int:
        """The flush interval after which a file has about 128 MB: at least a minute, at most an hour."""
        long_enough = (i for i in _INTERVALS if i * self.bytes_per_second >= _FILE_BYTES)
        return next(long_enough, _INTERVALS[-1])


def rate_of(times_by_partition: Sequence[Sequence[int]], bytes_per_record: float) -> Rate | None:
    """Estimate the rate from the records' timestamps (ms) of each topic partition; None if there are too few."""
    per_second = 0.0
    for times in times_by_partition:
        if len(times) > 1 and max(times) > min(times):
            per_second += (len(times) - 1) * 1000 / (max(times) - min(times))
    return Rate(per_second, per_second * bytes_per_record) if per_second else None


def event_keys(draft: Draft, events: Sequence[EventTime], rows: pa.RecordBatch) -> str:
    """Return the keys of `bucket` that name the event time; for a change log it is the time of the change, if rows have it."""
    if draft.source != "events":
        has_times = rows.column(TIME).null_count <= _MOST_NULLS * len(rows)
        return f"field: {TIME}, unit: ms" if has_times else "time: record"
    return f"field: {key_text(events[0].column.name)}" if _can_be_bucket(events) else ""


def advice_on(draft: Draft, event: str, events: Sequence[EventTime], rate: Rate | None) -> list[str]:
    """Return notes on the event time (`event`, the best of `events`) and the flush interval."""
    notes = []
    times = [f"{e.column.name} ({duration(e.seconds)} from Kafka's timestamp{_null(e)})" for e in events[:4]]
    if draft.source != "events" and TIME not in event:
        notes.append(f"changes of {draft.source} without {TIME}: buckets are by Kafka's own timestamps")
    elif draft.source != "events":
        notes.append(f"changes of {draft.source}: buckets are by {TIME}, when each was captured")
    elif _can_be_bucket(events):
        notes.append(f"event time: {times[0]}" + (f"; others: {', '.join(times[1:])}" if times[1:] else ""))
    elif times:
        notes.append(
            f"rows without the event time would be dead letters, so buckets are by Kafka's own timestamps: {', '.join(times)}"
        )
    else:
        notes.append("no column can be the event time: buckets are by Kafka's own timestamps")
    if rate is not None:
        files = math.ceil(3600 / rate.interval_seconds)
        per, seconds = ("a second", 1) if rate.records_per_second >= 1 else ("an hour", 3600)
        amount = (
            f"{rate.records_per_second * seconds:,.1f} records and {size(rate.bytes_per_second * seconds)}"
        )
        notes.append(
            f"about {amount} {per}, by Kafka's timestamps: with a flush interval of {duration(rate.interval_seconds)}"
            f" at least {counted(files, 'file')} an hour"
        )
    return notes


def _can_be_bucket(events: Sequence[EventTime]) -> bool:
    """Return whether the best of them is filled in nearly all rows: a row without it has no bucket."""
    return bool(events) and events[0].column.empty <= _MOST_NULLS


def _null(event: EventTime) -> str:
    return f", {event.column.empty:.0%} null" if event.column.empty >= 0.005 else ""
