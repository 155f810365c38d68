"""What must hold between the keys of one table, with the map's defaults in place."""

import json
import re
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from kafka2hive.config import schema
from kafka2hive.config.bucket_path import BucketPath, read_bucket_path
from kafka2hive.config.check_service import check_location, fault_of_table
from kafka2hive.config.event_field import NoSuchField, event_field
from kafka2hive.config.json_path import path_text
from kafka2hive.config.problems import Path, Problems
from kafka2hive.config.structure import closest
from kafka2hive.config.table_options import (
    GROUP,
    DeclaredColumn,
    bucket_time,
    columns_of,
    declared_columns,
    epoch_milliseconds,
    metadata_names,
    with_defaults,
)
from kafka2hive.model.errors import ConfigError

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_COLUMN = re.compile(r"[A-Za-z0-9_]{1,128}")
_PLAIN_TYPES = re.compile(
    r"string|bigint|int|smallint|tinyint|double|float|boolean|binary|date|timestamp|decimal\(10,\s?2\)"
)
_EVENT_TYPES = re.compile(r"(timestamp|date|bigint)", re.IGNORECASE)
_FIELD_TYPES = re.compile(
    r"(string|bigint|int|integer|smallint|tinyint|boolean|date|varchar\(.*|char\(.*)", re.IGNORECASE
)
_LEVELS = {"zstd": (1, 22), "gzip": (1, 9)}


class TableCheck:
    """Checks one table; `index` is its place in the map."""

    def __init__(
        self, index: int, table: schema.Table, defaults: schema.TableOptions, problems: Problems
    ) -> None:
        self._own = table
        self._table = with_defaults(table, defaults)
        self._index = index
        self._problems = problems

    def _path(self, key: str, *deeper: str | int) -> Path:
        """Where a key stands: in the table, or in `defaults` when the table has it from there."""
        inherited = key in schema.TableOptions.model_fields and key not in self._own.model_fields_set
        base: Path = ("defaults", key) if inherited else ("tables", self._index, key)
        return (*base, *deeper)

    def run(self, storage: schema.Storage | None, has_hive: bool) -> None:
        self._check_topics()
        self._check_name()
        self._check_start()
        self._check_columns(has_hive)
        self._check_metadata()
        self._check_bucket()
        self._check_writer()
        self._check_location(storage)
        self._check_zone(self._table.zone, self._path("zone"))

    def _check_topics(self) -> None:
        table = self._table
        if (table.topics is None) == (table.pattern is None):
            message = (
                "needs topics or pattern" if table.topics is None else "has topics and pattern: keep one"
            )
            self._problems.add(("tables", self._index), message)
        seen: set[str] = set()
        for position, topic in enumerate(table.topics or []):
            path = self._path("topics", position)
            if not _TOPIC.fullmatch(topic):
                message = "a topic's name has letters, digits, ., _ and -, at most 249; regular expressions go to `pattern`"
                self._problems.add(path, message)
            elif topic in seen:
                self._problems.add(path, f"the topic {topic} stands here twice")
            seen.add(topic)

    def _pattern(self) -> re.Pattern[str] | None:
        if self._table.pattern is None:
            return None
        try:
            return re.compile(self._table.pattern)
        except re.error as error:
            self._problems.add(self._path("pattern"), f"no regular expression: {error}")
            return None

    def _check_name(self) -> None:
        table, path = self._table, self._path("table")
        groups = GROUP.findall(table.table)
        if groups and table.topics is not None:
            self._problems.add(path, "{..} takes a group of a pattern, but the table has topics")
            return
        pattern = self._pattern()
        if pattern is not None:
            known = {*map(str, range(pattern.groups + 1)), *pattern.groupindex}
            for group in groups:
                if group not in known:
                    there = ", ".join(sorted(known - {"0"})) or "none"
                    near = closest(group, pattern.groupindex)
                    self._problems.add(path, f"the pattern has no group {group}; there are: {there}", near)
                    return
        if fault := fault_of_table(GROUP.sub("x", table.table)):
            self._problems.add(path, fault)

    def _check_start(self) -> None:
        start = self._table.start
        if not isinstance(start, schema.Start):
            return
        path = self._path("start")
        if (start.timestamp is None) == (start.offsets is None):
            self._problems.add(path, "needs exactly one of timestamp and offsets")
        if start.timestamp is not None:
            try:
                epoch_milliseconds(start.timestamp)
            except ValueError:
                message = "expected a time with its zone, such as 2013-01-01T00:00:00Z"
                self._problems.add((*path, "timestamp"), message)
        pattern = self._pattern()
        for topic in start.offsets or {}:
            if self._table.topics is not None and topic not in self._table.topics:
                message = f"the table has no topic {topic}"
                self._problems.add((*path, "offsets", topic), message, closest(topic, self._table.topics))
            elif pattern is not None and not pattern.fullmatch(topic):
                self._problems.add((*path, "offsets", topic), f"the pattern does not match the topic {topic}")

    def _check_columns(self, has_hive: bool) -> None:
        table = self._table
        lower: set[str] = set()
        for column in declared_columns(table) if table.columns else ():
            name, path = column.name, self._path("columns", column.place)
            if not _COLUMN.fullmatch(name):
                self._problems.add(
                    path, f"a column's name has letters, digits and _, at most 128{self._renamed(column)}"
                )
            elif name.lower() in lower:
                self._problems.add(path, "the column stands here twice (Hive ignores case)")
            else:
                self._check_type(path, column.type)
                self._check_source(path, column)
            lower.add(name.lower())
        if table.format == "raw" and not (
            len(columns_of(table)) == 1
            and all(kind.lower() in ("binary", "string") for kind in columns_of(table).values())
        ):
            message = "a raw table has exactly one column, binary or string (default: value: binary)"
            self._problems.add(self._path("columns"), message)
        if not columns_of(table) and (table.create or not has_hive):
            why = "to create it" if table.create else "because there is no hive section to read them from"
            self._problems.add(("tables", self._index), f"columns are required {why}")

    def _renamed(self, column: DeclaredColumn) -> str:
        """How a key of the JSON that is no column's name is taken into a column."""
        own = re.sub(r"[^a-z0-9]+", "_", column.name.lower()).strip("_")
        if self._table.format != "json" or column.path is not None or not _COLUMN.fullmatch(own):
            return ""
        kind = json.dumps(column.type) if "," in column.type else column.type
        value = f"type: {kind}, from: {json.dumps(path_text((column.name,)), ensure_ascii=False)}"
        is_list = isinstance(column.place, int)
        return f"; write {f'{{name: {own}, {value}}}' if is_list else f'{own}: {{{value}}}'}"

    def _check_source(self, path: Path, column: DeclaredColumn) -> None:
        """Where its value comes from, and the unit of its numbers."""
        if (column.path is not None or column.unit is not None) and self._table.format == "raw":
            self._problems.add(path, "from and unit are for format json: a raw column is the whole value")
            return
        try:
            column.keys  # noqa: B018  for what it raises
        except ValueError as error:
            self._problems.add((*path, "from"), str(error))
        if column.unit is not None and column.type.strip().lower() not in ("timestamp", "date"):
            message = f"is used with a timestamp or a date, {column.name} is {column.type}"
            self._problems.add((*path, "unit"), message)

    def _check_type(self, path: Path, text: str) -> None:
        if _PLAIN_TYPES.fullmatch(text):
            return  # spares most maps the import of Arrow
        from kafka2hive.model.hive_types import parse_hive_type

        try:
            parse_hive_type(text)
        except ConfigError as error:
            near = error.remedy.removeprefix("did you mean ").removesuffix("?")
            if near != error.remedy:
                self._problems.add(path, error.message, near)
            else:
                self._problems.add(path, f"{error.message}{'; ' if near else ''}{near}")

    def _check_metadata(self) -> None:
        columns = {name.lower() for name in columns_of(self._table)}
        seen: set[str] = set()
        for position, (kind, name) in enumerate(metadata_names(self._table.metadata)):
            path = self._path("metadata", kind if isinstance(self._table.metadata, dict) else position)
            if not _COLUMN.fullmatch(name):
                self._problems.add(path, "a column's name has letters, digits and _, at most 128")
            elif name.lower() in columns:
                self._problems.add(
                    path, f"the table has a column {name} already: give it another name, {{{kind}: ..}}"
                )
            elif name.lower() in seen:
                self._problems.add(path, f"the name {name} stands here twice")
            seen.add(name.lower())

    def _check_bucket(self) -> None:
        bucket, path = self._table.bucket, self._path("bucket")
        template = read_bucket_path(bucket.path)
        for fault in template.faults[:1]:
            self._problems.add((*path, "path"), fault)
        if bucket.zone is not None:
            self._check_zone(bucket.zone, (*path, "zone"))
        self._check_partition_names(template, path)
        self._check_bucket_fields(template, path)
        self._check_event_field(bucket, template, path)
        from_value = bool(template.fields) or (bucket_time(bucket) == "event" and bool(template.codes))
        if self._table.tombstones == "write" and from_value:
            message = "a record without a value has no bucket of its value: use tombstones skip or bucket time record"
            self._problems.add(self._path("tombstones"), message)

    def _check_partition_names(self, template: BucketPath, path: Path) -> None:
        columns = {name.lower() for name in columns_of(self._table)}
        metadata = {name.lower() for _, name in metadata_names(self._table.metadata)}
        for name in template.names:
            if name in columns | metadata:
                kind = "column" if name in columns else "metadata column"
                message = (
                    f"the partition column {name} is a {kind} of the table too: Hive does not allow both"
                )
                self._problems.add((*path, "path"), message)

    def _check_bucket_fields(self, template: BucketPath, path: Path) -> None:
        columns = columns_of(self._table)
        for name in template.fields if columns else ():
            if name not in columns:
                self._problems.add(
                    (*path, "path"), f"{{{name}}} is no column of the table", closest(name, columns)
                )
            elif not _FIELD_TYPES.fullmatch(columns[name]):
                message = f"{{{name}}} is {columns[name]}; a bucket can be named by text, whole numbers, booleans and dates"
                self._problems.add((*path, "path"), message)

    def _check_event_field(self, bucket: schema.Bucket, template: BucketPath, path: Path) -> None:
        columns = declared_columns(self._table)
        if bucket.field is None:
            if bucket.time == "event":
                self._problems.add(path, "time event needs a field: the column with the event time")
            elif bucket.unit is not None:
                self._problems.add((*path, "unit"), "is used with a bigint field only")
        elif bucket.time in ("record", "processing"):
            self._problems.add((*path, "field"), f"is not used with time {bucket.time}: remove one of them")
        elif not template.codes and not template.faults:
            self._problems.add((*path, "field"), "is not used: the path has no time code such as %Y-%m-%d")
        else:
            self._check_event_type(bucket.field, bucket, columns, path)

    def _check_event_type(
        self, field: str, bucket: schema.Bucket, columns: list[DeclaredColumn], path: Path
    ) -> None:
        try:
            event = event_field(field, columns)
        except NoSuchField as error:
            self._problems.add((*path, "field"), str(error), error.near)
            return
        if event.type is None:
            return  # the columns are Hive's, or a type of theirs is wrong and told already
        if not _EVENT_TYPES.fullmatch(event.type):
            message = f"{field} is {event.type}; an event time is a timestamp, a date or a bigint"
            self._problems.add((*path, "field"), message)
        elif bucket.unit is not None and event.type.lower() != "bigint":
            self._problems.add((*path, "unit"), f"is used with a bigint field only, {field} is not")

    def _check_writer(self) -> None:
        writer = self._table.writer
        if writer.level is None:
            return
        low, high = _LEVELS.get(writer.compression, (0, -1))
        if high < low:
            self._problems.add(self._path("writer", "level"), f"{writer.compression} has no levels")
        elif not low <= writer.level <= high:
            self._problems.add(
                self._path("writer", "level"), f"{writer.compression} has levels {low} to {high}"
            )

    def _check_location(self, storage: schema.Storage | None) -> None:
        location, path = self._table.location, self._path("location")
        if location is None:
            return
        unknown = [name for name in GROUP.findall(location) if name not in ("db", "table")]
        if unknown:
            self._problems.add(path, f"{{{unknown[0]}}} is unknown here; there are {{db}} and {{table}}")
        else:
            check_location(path, GROUP.sub("x", location), storage, self._problems)
        inherited = path[0] == "defaults"
        if "{table}" not in location and (inherited or GROUP.search(self._table.table)):
            self._problems.add(path, "must hold {table}: several tables take their place from it")

    def _check_zone(self, zone: str, path: Path) -> None:
        try:
            ZoneInfo(zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            self._problems.add(path, f"unknown time zone {zone}", closest(zone, available_timezones()))
