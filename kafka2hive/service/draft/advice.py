"""What the sampled records say beyond their columns: the event time, how much comes, what is better not dumped. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.model.wall_clock import NAIVE
from kafka2hive.service.draft.columns import words
from kafka2hive.service.draft.map_text import DraftColumn

_MOSTLY_FILLED = 0.01
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
    """A column that can be the event time; `seconds`: between it and Kafka's timestamp, in the middle of the sample."""

    column: DraftColumn
    seconds: float


def event_times(
    columns: Sequence[DraftColumn], rows: pa.RecordBatch, times_ms: pa.Int64Array
) -> list[EventTime]:
    """The best first: filled in nearly all records, then a time rather than a day, then the one nearest to Kafka's."""
    found = []
    for column in columns:
        if column.type in ("timestamp", "date"):
            values = pc.divide(rows.column(column.name).cast(NAIVE).cast(pa.int64()), 1000)
            apart = pc.drop_null(pc.abs(pc.subtract(values, times_ms)))
            if len(apart):
                found.append(EventTime(column, float(np.median(apart.to_numpy())) / 1000))
    return sorted(found, key=lambda e: (e.column.empty > _MOSTLY_FILLED, e.column.type == "date", e.seconds))


@dataclass(frozen=True, slots=True)
class Rate:
    """How much comes to the topic."""

    records_per_second: float
    bytes_per_second: float

    @property
    def interval_seconds(self) -> int:
        """A flush interval by which a file has about 128 MB, a minute at least and an hour at most."""
        enough = (i for i in _INTERVALS if i * self.bytes_per_second >= _FILE_BYTES)
        return next(enough, _INTERVALS[-1])


def rate_of(times_by_partition: Sequence[Sequence[int]], bytes_per_record: float) -> Rate | None:
    """By the sampled records' timestamps, milliseconds, topic partition by topic partition; None where they do not tell."""
    per_second = 0.0
    for times in times_by_partition:
        if len(times) > 1 and max(times) > min(times):
            per_second += (len(times) - 1) * 1000 / (max(times) - min(times))
    return Rate(per_second, per_second * bytes_per_record) if per_second else None


def personal_names(columns: Sequence[DraftColumn]) -> Iterator[str]:
    """Columns and fields whose names let expect personal data or secrets."""
    for column in columns:
        if _PERSONAL & set(words(f"{column.name} {' '.join(column.keys)} {column.type}")):
            yield column.name
