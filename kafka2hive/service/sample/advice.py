"""What the sampled records say beyond their columns: the event time, how much comes, what is better not dumped. Pure."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kafka2hive.pipeline.decode.epochs import UNITS
from kafka2hive.pipeline.decode.exact.json_values import Refused
from kafka2hive.pipeline.decode.exact.takers import taker
from kafka2hive.pipeline.wall_clock import NAIVE
from kafka2hive.service.sample.columns import DraftColumn, words

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
_TIME = taker(NAIVE, "UTC")


@dataclass(frozen=True, slots=True)
class EventTime:
    """A column that can be the event time; `seconds`: between it and Kafka's timestamp, in the middle of the sample."""

    column: DraftColumn
    seconds: float


def event_times(
    columns: Sequence[DraftColumn], documents: Sequence[dict[str, Any]], times_ms: Sequence[int | None]
) -> list[EventTime]:
    """The best first: filled in nearly all records, then a time rather than a day, then the one nearest to Kafka's."""
    found = []
    for column in columns:
        if column.type not in ("timestamp", "date"):
            continue
        values = (_milliseconds(column, document) for document in documents)
        apart = [
            abs(value - time) / 1000
            for value, time in zip(values, times_ms, strict=True)
            if value is not None and time is not None
        ]
        if apart:
            found.append(EventTime(column, statistics.median(apart)))
    return sorted(found, key=lambda e: (e.column.empty > _MOSTLY_FILLED, e.column.type == "date", e.seconds))


def _milliseconds(column: DraftColumn, document: dict[str, Any]) -> float | None:
    value: Any = document
    for key in column.keys:
        value = value.get(key) if isinstance(value, dict) else None
    if column.unit is not None and isinstance(value, int):
        factor, divisor = UNITS[column.unit]
        return value * factor / divisor / 1000
    if not isinstance(value, str):
        return None
    if column.type == "date":
        value = f"{value}T00:00:00"
    try:
        return float(_TIME(value, "")) / 1000
    except Refused:
        return None


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
