"""The rules of a table's bucket and of the keys that depend on it: bounds, completion, late rows, compaction, retention."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kafka2hive.config.keys.bucket_path import BucketPath, period_of, read_bucket_path
from kafka2hive.config.keys.bucketing import Bucketing, BucketTime
from kafka2hive.config.keys.columns import RecordPart
from kafka2hive.config.keys.declaration import UNSET
from kafka2hive.config.keys.json_path import parse_json_path
from kafka2hive.config.keys.source import Tombstones
from kafka2hive.config.rules.table_options import (
    DeclaredColumn,
    TableCheck,
    bucket_time,
    columns_of,
    declared_columns,
    metadata_names,
)
from kafka2hive.config.yaml.problems import Path, closest
from kafka2hive.model.entry_points import PluginKind
from kafka2hive.model.errors import ConfigError
from kafka2hive.model.paths.table_directory import EARLY_PLACES

_EVENT_TYPES = re.compile(r"(timestamp|date|bigint)", re.IGNORECASE)
_FIELD_TYPES = re.compile(
    r"(string|bigint|int|integer|smallint|tinyint|boolean|date|varchar\(.*|char\(.*)", re.IGNORECASE
)
_DAY_SECONDS = 86_400
_SHORTEST_BOUND_SECONDS = 60
"""The shortest `max_future` or `max_past`: a record needs some time to reach Kafka, and clocks differ."""


@dataclass(frozen=True, slots=True)
class EventField:
    """The event time: a column, or the field of a struct column that `inner` names. `type` is its Hive type, None if unknown."""

    column: str
    inner: tuple[str, ...] = ()
    type: str | None = None


class NoSuchField(ValueError):
    """The table has no such field. `near` is the most similar name or path, empty if there is none."""

    def __init__(self, message: str, near: str = "") -> None:
        super().__init__(message)
        self.near = near


def event_field(field: str, columns: Sequence[DeclaredColumn]) -> EventField:
    """Return the event time that `field` names: `at`, `props.at` or `$.props.at`. Raises NoSuchField.

    `columns` is empty if the map declares no columns; names are then not checked, because Hive's table decides them.
    """
    if field.startswith("$"):
        return _by_path(field, columns)
    name, *inner = field.split(".")
    if not columns:
        return EventField(name, tuple(inner))
    known = {column.name: column for column in columns}
    if name not in known:
        raise NoSuchField(f"{field} is not a column of the table", closest(field, known))
    return _within(known[name], tuple(inner), field)


def _by_path(field: str, columns: Sequence[DeclaredColumn]) -> EventField:
    try:
        keys = parse_json_path(field)
    except ValueError as error:
        raise NoSuchField(str(error)) from error
    if not columns:
        raise NoSuchField(
            "a path needs columns in the map, which declares none: write the name of one of Hive's columns"
        )
    candidates: list[EventField] = []
    of_value = [column for column in columns if column.part is RecordPart.VALUE]
    for column in of_value:
        try:
            prefix = column.keys
            if keys[: len(prefix)] == prefix:
                candidates.append(_within(column, keys[len(prefix) :], field))
        except ValueError:
            continue  # the rule of columns reports a malformed path; a struct without the field is no candidate
    if candidates:  # several columns may have the same path
        return next((one for one in candidates if one.type in ("timestamp", "date", "bigint")), candidates[0])
    raise NoSuchField(
        f"no column takes {field}: add one, {{type: timestamp, from: {field!r}, unit: ms}}",
        closest(field, [column.path for column in of_value if column.path]),
    )


def _within(column: DeclaredColumn, inner: tuple[str, ...], field: str) -> EventField:
    if not inner:
        return EventField(column.name, (), column.type.strip())
    import pyarrow as pa

    from kafka2hive.model.hive_types import hive_type_of, parse_hive_type

    try:
        dtype = parse_hive_type(column.type)
    except ConfigError:
        return EventField(column.name, inner)
    for name in inner:
        fields = [child.name for child in dtype] if pa.types.is_struct(dtype) else []
        if name not in fields:
            what = (
                f"{column.name} has no field {name}"
                if fields
                else f"{column.name} is {column.type}, not a struct"
            )
            raise NoSuchField(f"{field}: {what}", closest(name, fields))
        dtype = dtype.field(name).type
    return EventField(column.name, inner, hive_type_of(dtype))


def check_bucket(check: TableCheck) -> None:
    """Check the path, the zone, the columns and the event time of the bucket."""
    bucket, path = check.table.bucket, check.path("bucket")
    template = read_bucket_path(bucket.path)
    for fault in template.faults[:1]:
        check.add((*path, "path"), fault)
    if bucket.zone is not UNSET:
        check.require_zone(bucket.zone, (*path, "zone"))
    _check_partition_names(check, template, path)
    _check_bucket_fields(check, template, path)
    _check_event_field(check, bucket, template, path)
    if check.table.tombstones is Tombstones.WRITE:
        _check_tombstones(check, bucket, template)


def _check_tombstones(check: TableCheck, bucket: Bucketing, template: BucketPath) -> None:
    """Check that a tombstone has a bucket: its row has nulls in all columns except those of the key, headers and metadata."""
    columns = declared_columns(check.table)
    of_value = (RecordPart.VALUE, RecordPart.MESSAGE)
    others = {column.name for column in columns if column.part not in of_value}
    taken = [f"{{{name}}}" for name in template.fields if bucket.plugin is not None or name not in others]
    if taken:
        message = f"bucket.path takes {', '.join(taken)} from the value, which a tombstone lacks: use tombstones skip"
        check.add(check.path("tombstones"), message)
    elif bucket_time(bucket) is BucketTime.EVENT and template.codes and bucket.field not in others:
        message = "the event time comes from the value, which a tombstone lacks: use tombstones skip or bucket time record"
        check.add(check.path("tombstones"), message)


def _check_partition_names(check: TableCheck, template: BucketPath, path: Path) -> None:
    columns = {name.lower() for name in columns_of(check.table)}
    metadata = {name.lower() for _, name in metadata_names(check.table.metadata)}
    for name in template.names:
        if name in columns | metadata:
            kind = "column" if name in columns else "metadata column"
            message = f"the partition column {name} is also a {kind} of the table, which Hive does not allow"
            check.add((*path, "path"), message)


def _check_bucket_fields(check: TableCheck, template: BucketPath, path: Path) -> None:
    columns = columns_of(check.table)
    if (plugin := check.table.bucket.plugin) is not None:
        check.require_plugin(PluginKind.BUCKETER, plugin, (*path, "plugin"))
        if not template.fields and not template.faults:
            check.add((*path, "plugin"), "is not used: the path has no {field}")
        return
    for name in template.fields if columns else ():
        if name not in columns:
            check.add((*path, "path"), f"{{{name}}} is not a column of the table", closest(name, columns))
        elif not _FIELD_TYPES.fullmatch(columns[name]):
            message = f"{{{name}}} is {columns[name]}; a bucket's path takes texts, whole numbers, booleans and dates"
            check.add((*path, "path"), message)


def _check_event_field(check: TableCheck, bucket: Bucketing, template: BucketPath, path: Path) -> None:
    columns = declared_columns(check.table)
    if bucket.field is None:
        if bucket.time is BucketTime.EVENT:
            check.add(path, "time event needs a field: the column with the event time")
        elif bucket.unit is not UNSET:
            check.add((*path, "unit"), "is used only with a bigint field")
    elif bucket.time in (BucketTime.RECORD, BucketTime.PROCESSING):
        check.add((*path, "field"), f"is not used with time {bucket.time.value}: remove one of them")
    elif not template.codes and not template.faults:
        check.add((*path, "field"), "is not used: the path has no time code such as %Y-%m-%d")
    else:
        _check_event_type(check=check, field=bucket.field, bucket=bucket, columns=columns, path=path)


def _check_event_type(
    check: TableCheck, field: str, bucket: Bucketing, columns: list[DeclaredColumn], path: Path
) -> None:
    try:
        event = event_field(field, columns)
    except NoSuchField as error:
        check.add((*path, "field"), str(error), error.near)
        return
    if event.type is None:
        return  # the columns are Hive's, or the rule of columns reports the type
    if not _EVENT_TYPES.fullmatch(event.type):
        message = f"{field} is {event.type}; an event time is a timestamp, a date or a bigint"
        check.add((*path, "field"), message)
    elif bucket.unit is not UNSET and event.type.lower() != "bigint":
        check.add((*path, "unit"), f"is used only with a bigint field, but {field} is {event.type}")


def check_compact(check: TableCheck, has_hive: bool) -> None:
    """Check that partitions can be compacted: they must be periods, become complete, and be registered in Hive."""
    if check.table.compact is None:
        return
    path = check.path("compact")
    if check.table.completion is None:
        check.add(path, "needs completion: only complete partitions are compacted")
    if not has_hive:
        check.add(path, "needs the hive section: compaction changes the location of a partition in Hive")
    _check_periods(check, path)
    if check.table.compact.keep_seconds < _DAY_SECONDS:
        check.add(
            (*path, "keep"),
            "must be at least 1d: queries that began before the compaction still read the early files",
        )
    location, name = check.table.location or "{table}", check.table.table.rpartition(".")[2]
    if location.rstrip("/").rpartition("/")[2].replace("{table}", name) == EARLY_PLACES:
        check.add(
            path,
            f"the table's directory must not be named {EARLY_PLACES}, like the directory of early partitions in it",
        )


def _check_periods(check: TableCheck, path: Path) -> None:
    """Check that the table's partitions are whole periods, as the key at `path` requires."""
    bucket = read_bucket_path(check.table.bucket.path)
    if not bucket.faults and (not bucket.levels or period_of(bucket) is None):
        is_now = (
            f"bucket.path {check.table.bucket.path}"
            if check.table.bucket.path
            else "bucket.path is empty; it"
        )
        message = f"{is_now} must name whole periods, such as %Y-%m-%d"
        check.add(path, message)


def check_completion(check: TableCheck) -> None:
    """Check that each bucket is a whole period, or that a plug-in decides."""
    completion = check.table.completion
    if completion is None:
        return
    path = check.path("completion")
    bucket = read_bucket_path(check.table.bucket.path)
    if completion.plugin is not None:
        check.require_plugin(PluginKind.COMPLETION_POLICY, completion.plugin, (*path, "plugin"))
    if bucket.faults:
        return
    if not bucket.levels:
        check.add(path, "is for tables with partitions: bucket.path is empty")
    elif completion.plugin is None and period_of(bucket) is None:
        message = f"bucket.path {check.table.bucket.path} must name whole periods, such as %Y-%m-%d, unless a plugin decides"
        check.add(path, message)


def check_bounds(check: TableCheck) -> None:
    """Check that `max_future` and `max_past` can bound the bucket's time, and that they allow the present."""
    bucket, path = check.table.bucket, check.path("bucket")
    template, time = read_bucket_path(bucket.path), bucket_time(bucket)
    for name, seconds in (("max_future", bucket.max_future_seconds), ("max_past", bucket.max_past_seconds)):
        if seconds is None:
            continue
        place = (*path, name)
        if not template.codes and not template.faults:
            check.add(place, "is not used: the path has no time code such as %Y-%m-%d")
        elif time is BucketTime.PROCESSING:
            check.add(place, "is not used with time processing, which is always now")
        elif name == "max_past" and time is BucketTime.RECORD:
            check.add(
                place, "is measured from the record's timestamp, which is also the bucket's time: set field"
            )
        elif seconds < _SHORTEST_BOUND_SECONDS:
            check.add(
                place,
                f"must be at least {_SHORTEST_BOUND_SECONDS}s: clocks differ, so a shorter bound would reject current records",
            )
        elif name == "max_past" and seconds < _DAY_SECONDS and _is_date(check):
            check.add(
                place,
                "must be at least 1d: a date means its midnight, so a shorter bound would reject current records",
            )


def _is_date(check: TableCheck) -> bool:
    field = check.table.bucket.field
    try:
        event = None if field is None else event_field(field, declared_columns(check.table))
    except NoSuchField:
        return False  # the rule of the field reports it
    return event is not None and event.type is not None and event.type.lower() == "date"


def check_retain(check: TableCheck) -> None:
    """Check that partitions can expire: the path must name periods, and `retain` must leave time for records to arrive."""
    seconds = check.table.retain
    if seconds is None:
        return
    path, table = check.path("retain"), check.table
    _check_periods(check, path)
    if seconds < _DAY_SECONDS:
        check.add(path, "must be at least 1d: otherwise records would expire before they are read")
    elif table.completion is not None and seconds <= table.completion.delay_seconds:
        check.add(path, "must be longer than completion.delay: only complete partitions are dropped")


def check_register(check: TableCheck, has_hive: bool) -> None:
    """Check that `register: complete` can end: partitions must become complete, and there must be a Hive to register them in."""
    if check.table.register == "first":
        return
    path = check.path("register")
    if check.table.completion is None:
        check.add(path, "complete needs completion, which says when a partition is complete: add completion")
    if not has_hive:
        check.add(path, "complete needs the hive section: without it no partition is registered")


def check_late(check: TableCheck) -> None:
    """Check that `late: dead_letter` can tell when a period is closed: by event or record time and `completion.delay`."""
    if check.table.late == "append":
        return
    completion, path = check.table.completion, check.path("late")
    if completion is None:
        check.add(path, "dead_letter needs completion, which says when a period is over: add completion")
    elif completion.plugin is not None:
        check.add(
            path, "dead_letter uses completion.delay, but completion.plugin decides instead: keep one of them"
        )
    elif bucket_time(check.table.bucket) is BucketTime.PROCESSING:
        check.add(path, "dead_letter is not used with bucket time processing: no record is late")
