"""Advice from sampled records: the event time, the flush interval, and columns with personal data. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.model.wall_clock import NAIVE
from kafka2hive.service.draft.columns import words
from kafka2hive.service.draft.map_text import DraftColumn

_MOST_NULLS = 0.01
"""The largest share of nulls in a column that counts as filled."""
_FILE_BYTES = 128 * 2**20
_INTERVALS = (60, 120, 300, 600, 900, 1_800, 3_600)
_PERSONAL = frozenset(
    (
        *("email", "mail", "phone", "mobile", "fax", "ip", "address", "street", "zip", "postcode"),
        *("ssn", "passport", "iban", "card", "cvv", "birth", "birthday", "dob"),
        *("surname", "lastname", "firstname", "latitude", "longitude", "lat", "lon"),
        *("password", "passwd", "secret", "token"),
    )
)


@dataclass(frozen=True, slots=True)
class EventTime:
    """A column that can be the event time; `seconds` is the median of its distance from Kafka's timestamp."""

    column: DraftColumn
    seconds: float


def event_times(
    columns: Sequence[DraftColumn], rows: pa.RecordBatch, times_ms: pa.Int64Array
) -> list[EventTime]:
    """Return the candidates, the best first: filled in nearly all records, a time rather than a day, nearest to Kafka's.

    `times_ms` has Kafka's timestamp of each row.
    """
    candidates = []
    for column in columns:
        if column.type in ("timestamp", "date"):
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


def personal_names(columns: Sequence[DraftColumn]) -> Iterator[str]:
    """Yield the columns whose names, or whose fields' names, suggest personal data or secrets."""
    for column in columns:
        if _PERSONAL & set(words(f"{column.name} {' '.join(column.keys)} {column.type}")):
            yield column.name
