"""The time that determines a row's bucket, as a wall clock of the bucketing zone in microseconds, for whole batches.

- A `timestamp` column holds the wall clock of the table's zone. If that is the bucketing zone, it is used unchanged.
  Otherwise it is converted. A wall clock that occurred twice (clocks set back) means the first occurrence.
  A wall clock that never occurred (clocks set forward) means the moment of the change.
- A `date` column is not converted: it means midnight of that day in the bucketing zone.
- A `bigint` column and the record's timestamp are instants.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys import Bucketing, BucketTime
from kafka2hive.model.errors import TableError
from kafka2hive.model.snapshot import EventBounds
from kafka2hive.model.wall_clock import DAY, EARLIEST, LATEST, NAIVE, wall_clock, wall_clock_of

_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_LONGEST = LATEST - EARLIEST  # a longer bound would not refuse more rows, and could exceed 64 bits


@dataclass(frozen=True, slots=True)
class BucketTimes:
    """The bucket times of one table; `planned_at_ms` is the epoch's processing time (epoch milliseconds)."""

    bucketing: Bucketing
    table_zone: str
    planned_at_ms: int

    def of_rows(self, rows: pa.RecordBatch, record_times: Callable[[], pa.Int64Array]) -> pa.TimestampArray:
        """Return the wall clock of the bucketing zone per row, null for a row without a valid time."""
        zone = self.bucketing.zone
        match self.bucketing.time:
            case BucketTime.PROCESSING:
                instant = pa.array([self.planned_at_ms], pa.int64())
                return _wall_clock(_micros(instant, 1_000), zone).take(
                    pa.array(np.zeros(len(rows), np.int64))
                )
            case BucketTime.RECORD:
                return _wall_clock(_micros(record_times(), 1_000), zone)
            case BucketTime.EVENT:
                return self._event(rows)

    def _event(self, rows: pa.RecordBatch) -> pa.TimestampArray:
        zone = self.bucketing.zone
        column = rows.column(self.bucketing.field)
        for name in self.bucketing.inner:  # a null struct has null fields
            column = pc.struct_field(column, [column.type.get_field_index(name)])
        if pa.types.is_date(column.type):
            return _within(_micros(column.cast(pa.int32()).cast(pa.int64()), DAY))
        if pa.types.is_integer(column.type):
            return _wall_clock(_micros(column.cast(pa.int64()), _MICROSECONDS[self.bucketing.unit]), zone)
        if zone == self.table_zone:
            return _within(column.view(pa.int64()))
        instants = pc.assume_timezone(
            _within(column.view(pa.int64()), margin=DAY),
            self.table_zone,
            ambiguous="earliest",
            nonexistent="latest",
        )
        return _wall_clock(instants.view(pa.int64()), zone)

    @property
    def source(self) -> str:
        """The source of the time, as a string for messages."""
        match self.bucketing.time:
            case BucketTime.EVENT:
                return f"column {self.bucketing.field_text}"
            case BucketTime.RECORD:
                return "the record's timestamp"
            case BucketTime.PROCESSING:
                return "the time of planning"

    @property
    def column(self) -> str:
        """The column of the time, empty if the time is not from a column."""
        return (self.bucketing.field or "") if self.bucketing.time is BucketTime.EVENT else ""

    def check(self, schema: pa.Schema) -> None:
        """Raise TableError if the event time is not a column of `schema`, or is not a timestamp, date or bigint."""
        if self.bucketing.time is BucketTime.EVENT:
            _check_event(self.bucketing, schema)


class TimeBounds:
    """The check of event times against `max_future_ms` and `max_past_ms`. The times are wall clocks of `zone`.

    A time is compared with the timestamp of its record. The time of planning replaces a timestamp that is missing, or later
    than the planning because of a wrong clock. So for a record with a sound timestamp the result depends on the record alone:
    it is the same however late the record is read.
    """

    def __init__(self, bounds: EventBounds, zone: str) -> None:
        self._zone = zone
        self._planned = wall_clock_of(bounds.planned_ms * 1_000, zone)
        self._future, self._past = (
            _LONGEST if ms is None else min(ms * 1_000, _LONGEST)
            for ms in (bounds.max_future_ms, bounds.max_past_ms)
        )

    def outside(self, micros: npt.NDArray[np.int64], record_times: pa.Int64Array) -> npt.NDArray[np.bool_]:
        """Return a mask of the rows whose times (microseconds) are out of bounds; `record_times` as in Bucketer.assign."""
        written = record_wall_clock(record_times, self._zone).view(pa.int64())
        reference = pc.fill_null(written, self._planned).to_numpy(zero_copy_only=False)
        reference = np.minimum(reference, self._planned)
        mask: npt.NDArray[np.bool_] = (micros - reference > self._future) | (reference - micros > self._past)
        return mask


def record_wall_clock(times: pa.Int64Array, zone: str) -> pa.TimestampArray:
    """Return Kafka's record timestamps as the wall clock of `zone`, null outside the years 1 to 9999."""
    return _wall_clock(_micros(times, 1_000), zone)


def _micros(column: pa.Int64Array, factor: int) -> pa.Int64Array:
    """Return `column * factor`, null if the result is more than a day outside the years 1 to 9999."""
    low, high = (EARLIEST - DAY) // factor, (LATEST + DAY) // factor
    return pc.multiply(_keep(column, low, high), factor)


def _within(micros: pa.Int64Array, margin: int = 0) -> pa.TimestampArray:
    return _keep(micros, EARLIEST + margin, LATEST - margin).view(NAIVE)


def _keep(column: pa.Int64Array, low: int, high: int) -> pa.Int64Array:
    """Return the column with null for values outside of `low` to `high`."""
    bounds = pc.min_max(column).as_py()
    if bounds["min"] is None or (low <= bounds["min"] and bounds["max"] <= high):
        return column
    inside = pc.and_(pc.greater_equal(column, low), pc.less_equal(column, high))
    return pc.if_else(inside, column, pa.scalar(None, pa.int64()))


def _wall_clock(instants: pa.Int64Array, zone: str) -> pa.TimestampArray:
    """Return instants (microseconds) as the wall clock of `zone`."""
    if zone == "UTC":
        return _within(instants)
    return _within(wall_clock(instants.view(NAIVE), zone).view(pa.int64()))


def _check_event(bucketing: Bucketing, schema: pa.Schema) -> None:
    index = -1 if bucketing.field is None else schema.get_field_index(bucketing.field)
    if index < 0:
        raise TableError(
            "bucket.field",
            f"event time {bucketing.field!r} is not a column; columns: {', '.join(schema.names)}",
        )
    dtype = schema.field(index).type
    for name in bucketing.inner:
        place = dtype.get_field_index(name) if pa.types.is_struct(dtype) else -1
        if place < 0:
            raise TableError(
                "bucket.field", f"event time {bucketing.field_text}: no field {name!r} in {dtype}"
            )
        dtype = dtype.field(place).type
    if dtype not in (NAIVE, pa.date32(), pa.int64()):
        raise TableError(
            "bucket.field", f"event time {bucketing.field_text!r} is {dtype}, not timestamp, date or bigint"
        )
