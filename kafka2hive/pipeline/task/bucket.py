"""Which Hive partition each row belongs to, for whole batches: few distinct times and values are formatted, the rest is indices.

Every time becomes a wall clock of the bucketing zone (microseconds), is floored to what the template can tell apart,
and only the distinct results are formatted. Time zones:
- a `timestamp` column holds the wall clock of the table's zone. Where that is the bucketing zone it is used as it is.
  Otherwise it is converted: a wall clock that happened twice (clocks set back) counts as the first of the two,
  one that never happened (clocks set forward) as the moment of the change;
- a `date` column has no zone and is midnight of that day;
- a `bigint` column and the record's timestamp are instants.
"""

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.values import Bucketing, BucketTime
from kafka2hive.model.errors import TableError
from kafka2hive.model.layout import partition_path
from kafka2hive.pipeline.task.chunk import Positions
from kafka2hive.pipeline.task.template import parse_template
from kafka2hive.pipeline.wall_clock import wall_clock

BucketIds = npt.NDArray[np.int32]
NO_BUCKET = -1
LONGEST_NAME = (
    255  # bytes of one directory name: dfs.namenode.fs-limits.max-component-length, and NAME_MAX on disk
)

_EARLIEST = -62_135_596_800_000_000  # 0001-01-01T00:00:00, microseconds
_LATEST = 253_402_300_799_999_999  # 9999-12-31T23:59:59.999999
_A_DAY = 86_400_000_000
_REMEMBERED = 1_000_000  # distinct keys; then their memory is freed and they are formatted again
_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_NAIVE = pa.timestamp("us")


@dataclass(frozen=True, slots=True)
class Assigned:
    """`ids` index Bucketer.paths, one per row, NO_BUCKET for the rows of `refused`; `reasons` one per refused row."""

    ids: BucketIds
    refused: Positions
    reasons: list[str]


class Bucketer:
    """Buckets of one table; keeps the paths it has met, so `ids` mean the same for the whole task."""

    def __init__(self, bucketing: Bucketing, table_zone: str, schema: pa.Schema, planned_at_ms: int) -> None:
        """Raises TableError for a template or a column that cannot bucket."""
        self._bucketing = bucketing
        self._table_zone = table_zone
        self._planned_at_ms = planned_at_ms
        self.template = parse_template(bucketing.path)
        self._span = self.template.span
        self.paths: list[str] = []
        self._ids: dict[str, int] = {}
        self._known: dict[tuple[Any, ...], int | str] = {}
        self._moments: dict[int, int] = {}
        self._moment_of_texts: dict[tuple[str, ...], int] = {}
        self._fields = self.template.fields
        for name in self._fields:
            _check_field(name, schema)
        if self._span is not None and bucketing.time is BucketTime.EVENT:
            _check_event(bucketing, schema)

    def assign(self, rows: pa.RecordBatch, record_times: Callable[[], pa.Int64Array]) -> Assigned:
        """`record_times` gives the rows' record timestamps (epoch milliseconds) and is asked only if they count."""
        keys: list[tuple[npt.NDArray[np.int64], list[Any]]] = []
        refused = np.zeros(len(rows), dtype=np.bool_)
        reasons: dict[int, str] = {}
        if self._span is not None:
            walls = self._walls(rows, record_times)
            refused = self._judge_times(walls, reasons)
            micros = pc.fill_null(walls.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
            codes, floored = _encode(pa.array(micros // self._span * self._span))
            moments, distinct = _encode(pa.array([self._moment(time) for time in floored], pa.int64()))
            keys.append((moments[codes], distinct))
        for name in self._fields:
            keys.append(_encode(rows.column(name)))
        codes, tuples = _combine(keys, len(rows))
        found = [self._bucket(key) for key in tuples]
        table = np.array([item if isinstance(item, int) else NO_BUCKET for item in found], dtype=np.int32)
        ids = table[codes]
        ids[refused] = NO_BUCKET
        for position in np.flatnonzero((ids == NO_BUCKET) & ~refused).tolist():
            reasons[position] = str(found[codes[position]])
        places = sorted(reasons)
        return Assigned(ids, np.array(places, dtype=np.int64), [reasons[place] for place in places])

    def _bucket(self, key: tuple[Any, ...]) -> int | str:
        """The id of the bucket of one distinct (time, field values), or why there can be none."""
        known = self._known.get(key)
        if known is not None:
            return known
        timed = self._span is not None
        # a refused row stands in `key` with time 0, and is overruled by the caller
        wall = (
            _EPOCH + datetime.timedelta(microseconds=min(max(key[0], _EARLIEST), _LATEST)) if timed else None
        )
        texts = dict(zip(self.template.fields, map(_text, key[1:] if timed else key), strict=True))
        path = partition_path(self.template.fill(wall, texts))
        longest = max((len(name.encode()) for name in path.split("/")), default=0)
        result: int | str
        if longest > LONGEST_NAME:
            result = (
                f"bucket.name_too_long: {longest} bytes in one directory name, {LONGEST_NAME} are allowed"
            )
        else:
            result = self._ids.setdefault(path, len(self.paths))
            if result == len(self.paths):
                self.paths.append(path)
        if len(self._known) > _REMEMBERED:
            self._known.clear()
        self._known[key] = result
        return result

    def _moment(self, micros: int) -> int:
        """One wall clock for all whose codes have the same texts: with `hr=%H` alone every day has the same 24."""
        moment = self._moments.get(micros)
        if moment is None:
            if len(self._moments) > _REMEMBERED:
                self._moments.clear()
            texts = self.template.time_texts(_datetime(micros))
            moment = self._moments[micros] = self._moment_of_texts.setdefault(texts, micros)
        return moment

    def _judge_times(self, walls: pa.TimestampArray, reasons: dict[int, str]) -> npt.NDArray[np.bool_]:
        if not walls.null_count:
            return np.zeros(len(walls), dtype=np.bool_)
        refused: npt.NDArray[np.bool_] = walls.is_null().to_numpy(zero_copy_only=False)
        what = {
            BucketTime.EVENT: f"column {self._bucketing.field_text}",
            BucketTime.RECORD: "the record's timestamp",
            BucketTime.PROCESSING: "the time of planning",
        }[self._bucketing.time]
        for position in np.flatnonzero(refused).tolist():
            reasons[position] = f"bucket.no_time: {what} is null or outside the years 1 to 9999"
        return refused

    def _walls(self, rows: pa.RecordBatch, record_times: Callable[[], pa.Int64Array]) -> pa.TimestampArray:
        """Wall clock of the bucketing zone per row, null where there is no usable time."""
        zone = self._bucketing.zone
        match self._bucketing.time:
            case BucketTime.PROCESSING:
                instant = pa.array([self._planned_at_ms], pa.int64())
                return _wall_clock(_micros(instant, 1_000), zone).take(
                    pa.array(np.zeros(len(rows), np.int64))
                )
            case BucketTime.RECORD:
                return _wall_clock(_micros(record_times(), 1_000), zone)
            case BucketTime.EVENT:
                column = rows.column(self._bucketing.field)
                for name in self._bucketing.inner:  # a null struct has null fields
                    column = pc.struct_field(column, [column.type.get_field_index(name)])
                if pa.types.is_date(column.type):
                    return _within(_micros(column.cast(pa.int32()).cast(pa.int64()), _A_DAY))
                if pa.types.is_integer(column.type):
                    micros = _micros(column.cast(pa.int64()), _MICROSECONDS[self._bucketing.unit])
                    return _wall_clock(micros, zone)
                if zone == self._table_zone:
                    return _within(column.cast(pa.int64()))
                instants = pc.assume_timezone(
                    _within(column.cast(pa.int64()), margin=_A_DAY),
                    self._table_zone,
                    ambiguous="earliest",
                    nonexistent="latest",
                )
                return _wall_clock(instants.cast(pa.int64()), zone)


def _datetime(micros: int) -> datetime.datetime:
    return _EPOCH + datetime.timedelta(microseconds=micros)


def _micros(column: pa.Int64Array, factor: int) -> pa.Int64Array:
    """`column * factor`, null where that is beyond the years 1 to 9999 by more than a day."""
    low, high = (_EARLIEST - _A_DAY) // factor, (_LATEST + _A_DAY) // factor
    return pc.multiply(_keep(column, low, high), factor)


def _within(micros: pa.Int64Array, margin: int = 0) -> pa.TimestampArray:
    return _keep(micros, _EARLIEST + margin, _LATEST - margin).cast(_NAIVE)


def _keep(column: pa.Int64Array, low: int, high: int) -> pa.Int64Array:
    bounds = pc.min_max(column).as_py()
    if bounds["min"] is None or (low <= bounds["min"] and bounds["max"] <= high):
        return column
    inside = pc.and_(pc.greater_equal(column, low), pc.less_equal(column, high))
    return pc.if_else(inside, column, pa.scalar(None, pa.int64()))


def _wall_clock(instants: pa.Int64Array, zone: str) -> pa.TimestampArray:
    """Instants (microseconds) as the wall clock of `zone`."""
    if zone == "UTC":
        return _within(instants)
    return _within(wall_clock(instants.cast(_NAIVE), zone).cast(pa.int64()))


def _encode(column: pa.Array) -> tuple[npt.NDArray[np.int64], list[Any]]:
    encoded = column.dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy().astype(np.int64), encoded.dictionary.to_pylist()


def _combine(
    keys: list[tuple[npt.NDArray[np.int64], list[Any]]], rows: int
) -> tuple[npt.NDArray[np.int64], list[tuple[Any, ...]]]:
    """One code per row for its combination of keys, and the combinations that occur."""
    codes = np.zeros(rows, dtype=np.int64)
    tuples: list[tuple[Any, ...]] = [()]
    for further, values in keys:
        width = max(1, len(values))
        codes, distinct = _encode(pa.array(codes * width + further))
        tuples = [(*tuples[pair // width], values[pair % width]) for pair in distinct]
    return codes, tuples


def _text(value: Any) -> str | None:
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case datetime.datetime():
            return value.isoformat(sep=" ")
        case _:
            return str(value)


def _check_field(name: str, schema: pa.Schema) -> None:
    index = schema.get_field_index(name)
    if index < 0:
        raise TableError(
            "bucket.field", f"bucket field {name!r} is not a column; columns: {', '.join(schema.names)}"
        )
    dtype = schema.field(index).type
    fine = (pa.types.is_integer, pa.types.is_string, pa.types.is_boolean, pa.types.is_date)
    if not any(check(dtype) for check in (*fine, pa.types.is_decimal, pa.types.is_timestamp)):
        raise TableError("bucket.field", f"bucket field {name!r} of type {dtype} has no one text form")


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
    if dtype not in (_NAIVE, pa.date32(), pa.int64()):
        raise TableError(
            "bucket.field",
            f"event time {bucketing.field_text!r} is {dtype}, not timestamp, date or bigint",
        )
