"""The bucket of one table: its path against the columns, and the column with the event time."""

import re

from kafka2hive.config.checks.bucketing.event_field import NoSuchField, event_field
from kafka2hive.config.checks.table_options import (
    CheckedTable,
    DeclaredColumn,
    bucket_time,
    columns_of,
    declared_columns,
    metadata_names,
)
from kafka2hive.config.grammars.bucket_path import BucketPath, read_bucket_path
from kafka2hive.config.problems import Path, closest
from kafka2hive.config.values.bucketing import Bucketing, BucketTime
from kafka2hive.config.values.key import LEFT_OUT
from kafka2hive.config.values.table import Tombstones

_EVENT_TYPES = re.compile(r"(timestamp|date|bigint)", re.IGNORECASE)
_FIELD_TYPES = re.compile(
    r"(string|bigint|int|integer|smallint|tinyint|boolean|date|varchar\(.*|char\(.*)", re.IGNORECASE
)


def check_bucket(checked: CheckedTable) -> None:
    bucket, path = checked.table.bucket, checked.path("bucket")
    template = read_bucket_path(bucket.path)
    for fault in template.faults[:1]:
        checked.add((*path, "path"), fault)
    if bucket.zone is not LEFT_OUT:
        checked.check_zone(bucket.zone, (*path, "zone"))
    _check_partition_names(checked, template, path)
    _check_bucket_fields(checked, template, path)
    _check_event_field(checked, bucket, template, path)
    from_value = bool(template.fields) or (bucket_time(bucket) is BucketTime.EVENT and bool(template.codes))
    if checked.table.tombstones is Tombstones.WRITE and from_value:
        message = (
            "a record without a value has no bucket of its value: use tombstones skip or bucket time record"
        )
        checked.add(checked.path("tombstones"), message)


def _check_partition_names(checked: CheckedTable, template: BucketPath, path: Path) -> None:
    columns = {name.lower() for name in columns_of(checked.table)}
    metadata = {name.lower() for _, name in metadata_names(checked.table.metadata)}
    for name in template.names:
        if name in columns | metadata:
            kind = "column" if name in columns else "metadata column"
            message = f"the partition column {name} is a {kind} of the table too: Hive does not allow both"
            checked.add((*path, "path"), message)


def _check_bucket_fields(checked: CheckedTable, template: BucketPath, path: Path) -> None:
    columns = columns_of(checked.table)
    if checked.table.bucket.plugin is not None:
        if not template.fields and not template.faults:
            checked.add((*path, "plugin"), "is not used: the path has no {field}")
        return
    for name in template.fields if columns else ():
        if name not in columns:
            checked.add((*path, "path"), f"{{{name}}} is no column of the table", closest(name, columns))
        elif not _FIELD_TYPES.fullmatch(columns[name]):
            message = f"{{{name}}} is {columns[name]}; a bucket can be named by text, whole numbers, booleans and dates"
            checked.add((*path, "path"), message)


def _check_event_field(checked: CheckedTable, bucket: Bucketing, template: BucketPath, path: Path) -> None:
    columns = declared_columns(checked.table)
    if bucket.field is None:
        if bucket.time is BucketTime.EVENT:
            checked.add(path, "time event needs a field: the column with the event time")
        elif bucket.unit is not LEFT_OUT:
            checked.add((*path, "unit"), "is used with a bigint field only")
    elif bucket.time in (BucketTime.RECORD, BucketTime.PROCESSING):
        checked.add((*path, "field"), f"is not used with time {bucket.time.value}: remove one of them")
    elif not template.codes and not template.faults:
        checked.add((*path, "field"), "is not used: the path has no time code such as %Y-%m-%d")
    else:
        _check_event_type(checked=checked, field=bucket.field, bucket=bucket, columns=columns, path=path)


def _check_event_type(
    checked: CheckedTable, field: str, bucket: Bucketing, columns: list[DeclaredColumn], path: Path
) -> None:
    try:
        event = event_field(field, columns)
    except NoSuchField as error:
        checked.add((*path, "field"), str(error), error.near)
        return
    if event.type is None:
        return  # the columns are Hive's, or a type of theirs is wrong and told already
    if not _EVENT_TYPES.fullmatch(event.type):
        message = f"{field} is {event.type}; an event time is a timestamp, a date or a bigint"
        checked.add((*path, "field"), message)
    elif bucket.unit is not LEFT_OUT and event.type.lower() != "bigint":
        checked.add((*path, "unit"), f"is used with a bigint field only, {field} is not")
