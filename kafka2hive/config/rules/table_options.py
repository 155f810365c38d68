"""A table's options with all defaults, which the rules and `config.build` use, and TableCheck, the argument of the rules."""

import re
from dataclasses import dataclass, replace
from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from kafka2hive.config.file_formats import with_codec
from kafka2hive.config.keys.bucketing import Bucketing, BucketTime
from kafka2hive.config.keys.column_rules import NO_RULES, ColumnRules
from kafka2hive.config.keys.columns import ColumnKeys, MetadataColumn, RecordPart
from kafka2hive.config.keys.declaration import UNSET, declared_keys
from kafka2hive.config.keys.json_path import parse_json_path
from kafka2hive.config.keys.leeway import PLAIN_WORDS, STRICT, BooleanWords, Leeway
from kafka2hive.config.keys.masks import Mask, mask_of
from kafka2hive.config.keys.source import (
    BEFORE,
    CHANGE_COLUMNS,
    UNAVAILABLE,
    UNAVAILABLE_TYPE,
    PluginOptions,
    change_log_of,
    keeps_before,
    marks_unavailable,
)
from kafka2hive.config.keys.table import TableKeys, TableOptions
from kafka2hive.config.yaml.problems import Path, Problems, closest
from kafka2hive.model.entry_points import PluginKind, fault_of, plugin_names

GROUP = re.compile(r"\{([^{}]*)\}")
"""`{1}` or `{name}` in a table's name, `{db}` or `{table}` in its location."""
METADATA_PREFIX = "kafka_"
OPTIONS = tuple(declared_keys(TableOptions))
"""The keys that `defaults` may have."""


def with_defaults(table: TableKeys, defaults: TableOptions) -> TableKeys:
    """Return the table with each option that it does not set taken from `defaults`."""
    complete = replace(
        table, **{name: getattr(defaults, name) for name in OPTIONS if name not in table.given}
    )
    return replace(complete, writer=with_codec(complete.writer))


def metadata_names(
    setting: tuple[MetadataColumn, ...] | dict[MetadataColumn, str],
) -> list[tuple[MetadataColumn, str]]:
    """Return `(kind, column name)` for both forms of `metadata`."""
    if isinstance(setting, dict):
        return list(setting.items())
    return [(kind, METADATA_PREFIX + kind.value) for kind in setting]


def bucket_time(bucket: Bucketing) -> BucketTime:
    """Return the map's `time`; by default `event` if the bucket has a field, `record` otherwise."""
    if bucket.time is not UNSET:
        return bucket.time
    return BucketTime.RECORD if bucket.field is None else BucketTime.EVENT


@dataclass(frozen=True, slots=True)
class DeclaredColumn:
    """A column of the map, declared in a mapping or in a list; `place` is its key or index there."""

    place: str | int
    name: str
    type: str
    path: str | None = None
    unit: str | None = None
    part: RecordPart = RecordPart.VALUE
    leeway: Leeway = STRICT
    other_paths: tuple[str, ...] = ()
    mask: Mask | None = None
    rules: ColumnRules = NO_RULES

    @property
    def full_leeway(self) -> Leeway:
        """The leeway, including the further paths of `from`. Raises ValueError if one of them is malformed."""
        if not self.other_paths:
            return self.leeway
        return replace(self.leeway, others=tuple(map(parse_json_path, self.other_paths)))

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys on the path to the value: by default only the column's name, empty for the whole key or value.

        Raises ValueError if the path is malformed.
        """
        if self.path is None:
            return (self.name,)
        if self.part is RecordPart.HEADER:
            return (self.path,)
        return () if self.is_whole else parse_json_path(self.path)

    @property
    def is_whole(self) -> bool:
        """Whether the column takes the record's whole key or value."""
        return self.part in (RecordPart.VALUE, RecordPart.KEY) and self.path == "$"


def declared_columns(table: TableKeys) -> list[DeclaredColumn]:
    """Return the map's columns, then those that a change log adds. A raw table without columns has `value binary`."""
    columns = _map_columns(table)
    if not table.columns or change_log_of(table.source) is None:
        return columns
    change_columns = dict(CHANGE_COLUMNS)
    if keeps_before(table.source):
        fields = (f"{c.name}:{c.type}" for c in columns if c.part is RecordPart.VALUE)
        change_columns[BEFORE] = f"struct<{','.join(fields)}>"
    if marks_unavailable(table.source):
        change_columns[UNAVAILABLE] = UNAVAILABLE_TYPE
    return [*columns, *(DeclaredColumn(name, name, kind) for name, kind in change_columns.items())]


def before_sql(table: TableKeys) -> TableKeys:
    """Return the table with the columns that are decoded from its records, before its SELECT."""
    return replace(table, columns=table.records or table.columns, records=(), sql=None)


def after_sql(table: TableKeys) -> TableKeys:
    """Return the table with the columns that its SELECT fills.

    No decoder fills them, so `format`, `key_format` and `source` get values that every rule accepts.
    """
    if not table.records:
        return table
    return replace(table, records=(), format="json", key_format="raw", source="events")


def _map_columns(table: TableKeys) -> list[DeclaredColumn]:
    if not table.columns:
        return [DeclaredColumn("value", "value", "binary")] if table.format == "raw" else []
    if isinstance(table.columns, tuple):
        return [_declared_column(number, column.name, column) for number, column in enumerate(table.columns)]
    return [
        DeclaredColumn(name, name, column)
        if isinstance(column, str)
        else _declared_column(name, name, column)
        for name, column in table.columns.items()
    ]


def _declared_column(place: str | int, name: str, keys: ColumnKeys) -> DeclaredColumn:
    part, path, other_paths = _source(keys)
    return DeclaredColumn(
        place=place,
        name=name,
        type=keys.type,
        path=path,
        unit=keys.unit,
        part=part,
        leeway=Leeway(
            keys.fraction,
            default=keys.default,
            decimals=keys.decimals,
            unknown_enum=keys.unknown_enum or "null",
            json=keys.json,
            quoted=keys.quoted,
            empty=keys.empty or "null",
            whole=keys.whole,
            booleans=_boolean_words(keys.booleans),
            numbers=keys.numbers,
            non_finite=keys.non_finite or "null",
            beyond=keys.beyond or "null",
            time_pattern=(keys.time_pattern,)
            if isinstance(keys.time_pattern, str)
            else keys.time_pattern or (),
            pivot=keys.pivot,
            time_of_day=keys.time_of_day,
            epoch=keys.epoch,
        ),
        other_paths=other_paths,
        mask=mask_of(keys.mask),
        rules=ColumnRules(
            required=keys.required,
            least=keys.least,
            most=keys.most,
            pattern=keys.pattern,
            values=keys.values,
            on_break=keys.on_break,
        ),
    )


def _boolean_words(given: str | BooleanWords) -> BooleanWords | None:
    if isinstance(given, BooleanWords):
        return given
    return PLAIN_WORDS if given == "words" else None


def _source(keys: ColumnKeys) -> tuple[RecordPart, str | None, tuple[str, ...]]:
    """Return the part of the record that fills the column, the path within it, and alternative paths."""
    if keys.header is not None:
        return RecordPart.HEADER, keys.header, ()
    if keys.key is not None:
        return RecordPart.KEY, keys.key, ()
    if keys.message is not None:
        return RecordPart.MESSAGE, keys.message, ()
    if keys.path is None or isinstance(keys.path, str):
        return RecordPart.VALUE, keys.path, ()
    return RecordPart.VALUE, keys.path[0], keys.path[1:]


def columns_of(table: TableKeys) -> dict[str, str]:
    """Return the Hive types of the declared columns by name."""
    return {column.name: column.type for column in declared_columns(table)}


def epoch_milliseconds(text: str) -> int:
    """Return the milliseconds since 1970 of an ISO 8601 time. Raises ValueError if it is malformed or has no zone."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("the zone is missing")
    return round(moment.timestamp() * 1000)


@dataclass(frozen=True, slots=True)
class TableCheck:
    """One table as the rules check it: `map_keys` has only the keys that the map gives at `index`, `table` also the defaults.

    `columns_key` is the key whose columns are checked: `columns`, or `records` before a SELECT.
    """

    map_keys: TableKeys
    table: TableKeys
    index: int
    problems: Problems
    columns_key: str = "columns"

    @classmethod
    def of(cls, map_keys: TableKeys, defaults: TableOptions, index: int, problems: Problems) -> "TableCheck":
        return cls(map_keys, with_defaults(map_keys, defaults), index, problems)

    def path(self, key: str, *deeper: str | int) -> Path:
        """Return the place of a key: in the table, or in `defaults` if the table inherits it."""
        key = self.columns_key if key == "columns" else key
        is_inherited = key in OPTIONS and key not in self.map_keys.given
        base: Path = ("defaults", key) if is_inherited else ("tables", self.index, key)
        return (*base, *deeper)

    def before_sql(self) -> "TableCheck":
        """Return the check of the columns that are decoded from the table's records, before its SELECT."""
        if not self.table.records:
            return self
        return replace(self, table=before_sql(self.table), columns_key="records")

    def add(self, path: Path, message: str, suggestion: str = "") -> None:
        self.problems.add(path, message, suggestion)

    def require_zone(self, zone: str, path: Path) -> None:
        """Add a problem if the time zone is unknown."""
        try:
            ZoneInfo(zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            self.add(path, f"unknown time zone {zone}", closest(zone, available_timezones()))

    def require_plugin(self, kind: PluginKind, plugin: PluginOptions, path: Path) -> None:
        """Add a problem if the plug-in is not installed."""
        if (fault := fault_of(kind, plugin.name)) is not None:
            self.add((*path, "name"), fault, closest(plugin.name, plugin_names(kind)))
