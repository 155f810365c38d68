"""Assign the rows of a batch to their buckets. Only distinct times and values are formatted; rows hold indexes.

Every time is a wall clock of the bucketing zone in microseconds (times.py). It is floored to the resolution of the bucket
path, and only the distinct results are formatted.
"""

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.dead_letters import EXPIRED, LATE, OUT_OF_RANGE
from kafka2hive.config.keys import Bucketing
from kafka2hive.config.keys.bucket_path import (
    BucketEnds,
    BucketPath,
    Code,
    Part,
    PathField,
    period_of,
    read_bucket_path,
)
from kafka2hive.model.entry_points import PluginKind, foreign_code, load
from kafka2hive.model.errors import TableError
from kafka2hive.model.paths.path import partition_path
from kafka2hive.model.snapshot import EventBounds
from kafka2hive.model.text import utc_text
from kafka2hive.model.wall_clock import DAY, EARLIEST, LATEST
from kafka2hive.plugins import BucketerContext, FieldBucketer, Reason
from kafka2hive.task.fetch.records import Indices
from kafka2hive.task.write.bucket_times import BucketTimes, TimeBounds

BucketIds = npt.NDArray[np.int32]
NO_BUCKET = -1
LONGEST_NAME = 255
"""The limit of one directory name in bytes: dfs.namenode.fs-limits.max-component-length, and NAME_MAX on disks."""

_SPAN = {"H": 3_600_000_000, "M": 60_000_000}
"""The microseconds within which the text of a time code is constant; for codes that are not listed it is a day."""

_MOST_CACHED = 1_000_000
"""Distinct keys in a cache; it is cleared when it exceeds this."""
_EPOCH = datetime.datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class BucketAssignment:
    """The buckets of a batch.

    `ids` has an index into Bucketer.paths per row. It is NO_BUCKET for the rows in `refused`; `reasons` has a reason for each.
    """

    ids: BucketIds
    refused: Indices
    reasons: list[Reason]


class Bucketer:
    """Assigns rows of one table to buckets. `paths` only grows, so an id means the same path throughout the task."""

    def __init__(
        self,
        bucketing: Bucketing,
        table_zone: str,
        schema: pa.Schema,
        planned_at_ms: int,
        table: str = "",
        bounds: EventBounds | None = None,
    ) -> None:
        """Raise TableError for an invalid path, an unsuitable column, or a missing plug-in."""
        self._path = parse_bucket_path(bucketing.path)
        self._span = span(self._path)
        self.paths: list[str] = []
        self._ids: dict[str, int] = {}
        self._known: dict[tuple[Any, ...], int | Reason] = {}
        self._moments: dict[int, int] = {}
        self._moment_of_texts: dict[tuple[str, ...], int] = {}
        self._fields = tuple(dict.fromkeys(self._path.fields))
        self._plugin = _plugin_of(
            bucketing=bucketing, table=table, fields=self._fields, schema=schema, zone=table_zone
        )
        for name in self._fields if self._plugin is None else ():
            _check_field(name, schema)
        self._times = BucketTimes(bucketing, table_zone, planned_at_ms)
        if self._span is not None:
            self._times.check(schema)
        self._bounds = _time_bounds(bounds, bucketing.zone)
        self._closed = _closed_periods(bounds, self._path, bucketing.zone)

    def assign(self, rows: pa.RecordBatch, record_times: Callable[[], pa.Int64Array]) -> BucketAssignment:
        """Assign each row to a bucket or a reason. `record_times` returns the rows' record timestamps (epoch milliseconds)."""
        keys: list[tuple[npt.NDArray[np.int64], list[Any]]] = []
        refusals = _Refusals(len(rows))
        if self._span is not None:
            walls = self._times.of_rows(rows, record_times)
            column = walls.view(pa.int64())
            if walls.null_count:
                refusals.note(walls.is_null().to_numpy(zero_copy_only=False), self._no_time())
                column = pc.fill_null(column, 0)
            micros = column.to_numpy(zero_copy_only=False)
            if self._bounds is not None:
                refusals.note(self._bounds.outside(micros, record_times()), self._out_of_range())
                # otherwise times out of bounds would fill the caches
                micros = np.where(refusals.mask, 0, micros)
            codes, floored = _encode_times(micros // self._span * self._span)
            moments, distinct = _encode_times(np.array([self._moment(time) for time in floored], np.int64))
            keys.append((moments[codes], distinct))
        fields = rows if self._plugin is None else self._plugin.fields(rows)
        for name in self._fields:
            keys.append(_encode(fields.column(name)))
        codes, tuples = _combine(keys, len(rows))
        buckets = [self._bucket(key) for key in tuples]
        ids_of_keys = np.array(
            [bucket if isinstance(bucket, int) else NO_BUCKET for bucket in buckets], np.int32
        )
        ids = ids_of_keys[codes]
        refusals.note_buckets(codes, buckets)
        ids[refusals.mask] = NO_BUCKET
        return BucketAssignment(ids, *refusals.rows())

    def _bucket(self, key: tuple[Any, ...]) -> int | Reason:
        """Return the id of the bucket for one distinct tuple of time and field values, or the reason to refuse it."""
        known = self._known.get(key)
        if known is not None:
            return known
        timed = self._span is not None
        # the key of a refused row has time 0; the caller ignores the result
        wall = _EPOCH + datetime.timedelta(microseconds=min(max(key[0], EARLIEST), LATEST)) if timed else None
        texts = dict(zip(self._fields, map(_text, key[1:] if timed else key), strict=True))
        path = partition_path(fill(self._path, wall, texts))
        longest = max((len(name.encode()) for name in path.split("/")), default=0)
        result: int | Reason
        if longest > LONGEST_NAME:
            result = Reason(
                "bucket.name_too_long",
                f"{longest} bytes in one directory name, {LONGEST_NAME} are allowed",
            )
        elif closed := next((periods for periods in self._closed if periods.has(path)), None):
            result = Reason(closed.code, f"{path} ended before {closed.text}", self._times.column)
        else:
            result = self._ids.setdefault(path, len(self.paths))
            if result == len(self.paths):
                self.paths.append(path)
        if len(self._known) > _MOST_CACHED:
            self._known.clear()
        self._known[key] = result
        return result

    def _no_time(self) -> Reason:
        text = f"{self._times.source} is null or outside the years 1 to 9999"
        return Reason("bucket.no_time", text, self._times.column)

    def _out_of_range(self) -> Reason:
        text = f"{self._times.source} is further from the record's timestamp than the map's max_future or max_past"
        return Reason(OUT_OF_RANGE, text, self._times.column)

    def _moment(self, micros: int) -> int:
        """Return the same wall clock for all times with the same strings, so that `hr=%H` alone gives 24 distinct keys."""
        moment = self._moments.get(micros)
        if moment is None:
            if len(self._moments) > _MOST_CACHED:
                self._moments.clear()
            texts = time_texts(self._path, _EPOCH + datetime.timedelta(microseconds=micros))
            moment = self._moments[micros] = self._moment_of_texts.setdefault(texts, micros)
        return moment


class _Refusals:
    """The refused rows of a batch, which get no bucket. If a row is refused several times, the first reason counts."""

    def __init__(self, rows: int) -> None:
        self._reasons: list[Reason] = []
        self._reason_numbers = np.zeros(rows, np.int32)  # per row: an index into `_reasons` plus 1, or 0

    @property
    def mask(self) -> npt.NDArray[np.bool_]:
        mask: npt.NDArray[np.bool_] = self._reason_numbers > 0
        return mask

    def note(self, rows: npt.NDArray[np.bool_], reason: Reason) -> None:
        self._reasons.append(reason)
        self._reason_numbers[rows & ~self.mask] = len(self._reasons)

    def note_buckets(self, codes: npt.NDArray[np.int64], buckets: Sequence[int | Reason]) -> None:
        """Note the rows whose entry in `buckets` is a reason; `codes` has the index into `buckets` per row."""
        numbers = np.zeros(len(buckets), np.int32)
        for index, bucket in enumerate(buckets):
            if isinstance(bucket, Reason):
                self._reasons.append(bucket)
                numbers[index] = len(self._reasons)
        if self._reasons:
            self._reason_numbers = np.where(self.mask, self._reason_numbers, numbers[codes])

    def rows(self) -> tuple[Indices, list[Reason]]:
        """Return the refused rows, ascending, and the reason of each."""
        refused = np.flatnonzero(self._reason_numbers)
        return refused, [self._reasons[number - 1] for number in self._reason_numbers[refused].tolist()]


class _ClosedPeriods:
    """The Hive partitions of periods that ended at or before `before_ms` (epoch milliseconds); `code` is the reason's."""

    def __init__(self, code: str, path: BucketPath, zone: str, before_ms: int) -> None:
        self.code = code
        self._ends = BucketEnds(path, zone)
        self._before_ms = before_ms
        self.text = utc_text(before_ms // 1000)

    def has(self, path: str) -> bool:
        end_ms = self._ends.end_ms(path)
        return end_ms is not None and end_ms <= self._before_ms


def _time_bounds(bounds: EventBounds | None, zone: str) -> TimeBounds | None:
    if bounds is None or (bounds.max_future_ms, bounds.max_past_ms) == (None, None):
        return None
    return TimeBounds(bounds, zone)


def _closed_periods(bounds: EventBounds | None, path: BucketPath, zone: str) -> list[_ClosedPeriods]:
    """Return the periods whose rows are refused; the first that has a row's partition says why.

    There are none if the map's path names no periods any more.
    """
    if bounds is None or period_of(path) is None:
        return []
    ends = ((EXPIRED, bounds.expired_before_ms or None), (LATE, bounds.late_before_ms))
    return [_ClosedPeriods(code, path, zone, end) for code, end in ends if end is not None]


def _encode(column: pa.Array) -> tuple[npt.NDArray[np.int64], list[Any]]:
    encoded = column.dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy().astype(np.int64), encoded.dictionary.to_pylist()


def _encode_times(times: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], list[Any]]:
    """Encode as `_encode` does, faster for equal times: all rows of a small epoch mostly have the same bucket time."""
    if len(times) and times.min() == times.max():
        return np.zeros(len(times), np.int64), [int(times[0])]
    return _encode(pa.array(times))


def _combine(
    keys: list[tuple[npt.NDArray[np.int64], list[Any]]], rows: int
) -> tuple[npt.NDArray[np.int64], list[tuple[Any, ...]]]:
    """Return one code per row for its combination of keys, and the combinations that occur."""
    if len(keys) == 1:
        codes, values = keys[0]
        return codes, [(value,) for value in values]
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


def _plugin_of(
    bucketing: Bucketing, table: str, fields: tuple[str, ...], schema: pa.Schema, zone: str
) -> FieldBucketer | None:
    if bucketing.plugin is None:
        return None
    options = dict(bucketing.plugin.options)
    context = BucketerContext(table=table, fields=fields, schema=schema, zone=zone, options=options)
    return PluginFields(bucketing.plugin.name, context)


def _check_field(name: str, schema: pa.Schema) -> None:
    index = schema.get_field_index(name)
    if index < 0:
        raise TableError(
            "bucket.field", f"bucket field {name!r} is not a column; columns: {', '.join(schema.names)}"
        )
    dtype = schema.field(index).type
    suitable = (pa.types.is_integer, pa.types.is_string, pa.types.is_boolean, pa.types.is_date)
    if not any(check(dtype) for check in (*suitable, pa.types.is_decimal, pa.types.is_timestamp)):
        raise TableError("bucket.field", f"bucket field {name!r} of type {dtype} cannot be part of a path")


def parse_bucket_path(text: str) -> BucketPath:
    """Parse a bucket path. Raises TableError with all of its faults."""
    path = read_bucket_path(text)
    if path.faults:
        raise TableError("bucket.template", f"bucket path {text!r}: {'; '.join(path.faults)}")
    return path


def span(path: BucketPath) -> int | None:
    """Return the microseconds of wall clock within which the path is constant, None for a path without time codes."""
    return min((_SPAN.get(code, DAY) for code in path.codes), default=None)


def time_texts(path: BucketPath, wall: datetime.datetime) -> tuple[str, ...]:
    return tuple(_time_text(code, wall) for code in path.codes)


def fill(
    path: BucketPath, wall: datetime.datetime | None, texts: Mapping[str, str | None]
) -> tuple[tuple[str, str], ...]:
    """Return the partition columns with their values. A null field gives an empty value: Hive's default partition."""
    return tuple((name, _value(parts, wall, texts)) for name, parts in path.levels)


def _time_text(code: str, wall: datetime.datetime) -> str:
    match code:
        case "Y":  # C libraries pad differently below year 1000
            return f"{wall.year:04d}"
        case "G":
            return f"{wall.isocalendar().year:04d}"
        case _:
            return wall.strftime(f"%{code}")


def _value(parts: tuple[Part, ...], wall: datetime.datetime | None, texts: Mapping[str, str | None]) -> str:
    texts_of_parts = []
    for part in parts:
        match part:
            case Code(letter):
                if wall is None:
                    raise ValueError("the template needs a time")
                texts_of_parts.append(_time_text(letter, wall))
            case PathField(column):
                text = texts[column]
                if text is None:
                    return ""
                texts_of_parts.append(text)
            case _:
                texts_of_parts.append(part)
    return "".join(texts_of_parts)


class PluginFields:
    """A bucketer plug-in (see FieldBucketer), whose results are checked.

    Raises TableError (`plugin.missing`, `plugin.failed`, `plugin.result`).
    """

    def __init__(self, name: str, context: BucketerContext) -> None:
        self._name = name
        self._schema = pa.schema([(field, pa.string()) for field in context.fields])
        make = load(PluginKind.BUCKETER, name)
        with foreign_code(PluginKind.BUCKETER, name):
            self._bucketer = make(context)

    def fields(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        with foreign_code(PluginKind.BUCKETER, self._name):
            fields = self._bucketer.fields(rows)
        if (fault := self._fault_of(fields, len(rows))) is not None:
            raise TableError(
                "plugin.result",
                f"{PluginKind.BUCKETER.value} {self._name}: {fault}",
                "correct the plug-in; the epoch was not committed for this table",
            )
        batch: pa.RecordBatch = fields
        return batch

    def _fault_of(self, fields: object, rows: int) -> str | None:
        if not isinstance(fields, pa.RecordBatch) or not fields.schema.equals(self._schema):
            names = ", ".join(self._schema.names)
            return f"fields() returned {type(fields).__name__} instead of a record batch of the string columns {names}"
        if len(fields) != rows:
            return f"fields() returned {len(fields)} rows for a batch of {rows} rows"
        try:
            fields.validate(full=True)
        except pa.ArrowInvalid as error:
            return f"fields() returned damaged Arrow data: {error}"
        return None
