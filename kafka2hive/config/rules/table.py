"""The rules of a table, with the map's defaults in place."""

import re
from dataclasses import replace

from kafka2hive.config.keys.columns import COORDINATES, RecordPart
from kafka2hive.config.keys.connections import StorageOptions
from kafka2hive.config.keys.source import Start, Tombstones, change_log_of
from kafka2hive.config.rules.bucket import (
    check_bounds,
    check_bucket,
    check_compact,
    check_completion,
    check_late,
)
from kafka2hive.config.rules.columns import check_columns, check_metadata
from kafka2hive.config.rules.service import check_location
from kafka2hive.config.rules.source import check_csv, check_decoder, check_latest, check_source
from kafka2hive.config.rules.table_options import (
    GROUP,
    CheckedTable,
    after_sql,
    declared_columns,
    epoch_milliseconds,
)
from kafka2hive.config.rules.writer import check_writer
from kafka2hive.config.yaml.problems import closest
from kafka2hive.model.paths.ledger import fault_of_table

_SELECT = re.compile(r"\s*(select|from)\b", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FULL_PATH = re.compile(r"[a-z][a-z0-9+.-]*://")
_RECORDS = re.compile(r"\brecords\b", re.IGNORECASE)
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_FORMATS_OF_ROWS = {"lines": ("json", "csv"), "array": ("json", "json_schema")}
"""The formats whose messages may hold several rows, by the value of `rows`."""


def check_table(checked: CheckedTable, storage: StorageOptions | None, has_hive: bool) -> None:
    """Check a table with its defaults. `storage` is None if that section is malformed."""
    _check_topics(checked)
    _check_name(checked)
    _check_start(checked)
    decoded, filled = _decoded_and_filled(checked)
    check_source(decoded)
    check_latest(checked, has_hive)
    check_csv(decoded)
    _check_rows(checked)
    check_decoder(checked)
    check_columns(decoded, has_hive)
    if filled is not decoded:
        check_columns(filled, has_hive)
    check_metadata(filled)
    check_bucket(filled)
    check_writer(filled)
    check_bounds(filled)
    check_completion(filled)
    check_late(filled)
    check_compact(filled, has_hive)
    _check_location(checked, storage)
    checked.check_zone(checked.table.zone, checked.path("zone"))


def _check_topics(checked: CheckedTable) -> None:
    table = checked.table
    if (table.topics is None) == (table.pattern is None):
        message = "needs topics or pattern" if table.topics is None else "has topics and pattern: keep one"
        checked.add(("tables", checked.index), message)
    seen: set[str] = set()
    for position, topic in enumerate(table.topics or []):
        path = checked.path("topics", position)
        if not _TOPIC.fullmatch(topic):
            message = "a topic's name has letters, digits, ., _ and -, at most 249; regular expressions go to `pattern`"
            checked.add(path, message)
        elif topic in seen:
            checked.add(path, f"the topic {topic} is repeated")
        seen.add(topic)


def _pattern(checked: CheckedTable) -> re.Pattern[str] | None:
    if checked.table.pattern is None:
        return None
    try:
        return re.compile(checked.table.pattern)
    except re.error as error:
        checked.add(checked.path("pattern"), f"not a regular expression: {error}")
        return None


def _check_name(checked: CheckedTable) -> None:
    table, path = checked.table, checked.path("table")
    groups = GROUP.findall(table.table)
    if groups and table.topics is not None:
        checked.add(path, "{..} takes a group of a pattern, but the table has topics")
        return
    pattern = _pattern(checked)
    if pattern is not None:
        known = {*map(str, range(pattern.groups + 1)), *pattern.groupindex}
        for group in groups:
            if group not in known:
                groups_text = ", ".join(sorted(known - {"0"})) or "none"
                near = closest(group, pattern.groupindex)
                checked.add(path, f"the pattern has no group {group}; its groups: {groups_text}", near)
                return
    if fault := fault_of_table(GROUP.sub("x", table.table)):
        checked.add(path, fault)


def _check_start(checked: CheckedTable) -> None:
    start = checked.table.start
    if not isinstance(start, Start):
        return
    path = checked.path("start")
    if (start.timestamp is None) == (start.offsets is None):
        checked.add(path, "needs exactly one of timestamp and offsets")
    if start.timestamp is not None:
        try:
            epoch_milliseconds(start.timestamp)
        except ValueError:
            message = "expected a time with a time zone, such as 2013-01-01T00:00:00Z"
            checked.add((*path, "timestamp"), message)
    pattern = _pattern(checked)
    for topic in start.offsets or {}:
        if checked.table.topics is not None and topic not in checked.table.topics:
            message = f"the table has no topic {topic}"
            checked.add((*path, "offsets", topic), message, closest(topic, checked.table.topics))
        elif pattern is not None and not pattern.fullmatch(topic):
            checked.add((*path, "offsets", topic), f"the pattern does not match the topic {topic}")


def _decoded_and_filled(checked: CheckedTable) -> tuple[CheckedTable, CheckedTable]:
    """Check the options for SQL. Return the table with the columns that are decoded, and with those that the SELECT fills.

    Without `records` both are the table itself.
    """
    table = checked.table
    if table.sql is None:
        for key in ("records", "lookups", "udfs"):
            if getattr(table, key):
                checked.add(checked.path(key), "is used only with sql")
        if table.shuffle != "none":
            checked.add(checked.path("shuffle"), "is used only with sql: write sql: SELECT * FROM records")
        return checked, checked
    _check_statement(checked, table.sql)
    _check_lookups(checked)
    if table.tombstones is Tombstones.WRITE:
        checked.add(
            checked.path("tombstones"), "sql gets no row for a record without a value: use tombstones skip"
        )
    if not table.records:
        return checked, checked
    if not table.columns:
        checked.add(checked.path("columns"), "are required with records: they are the result of sql")
    decoded = checked.decoded()
    filled = replace(checked, table=after_sql(table))
    for column in declared_columns(filled.table):
        if column.path is not None or column.unit is not None or column.part is not RecordPart.VALUE:
            checked.add(
                checked.path("columns", column.place),
                "sql fills it: from, header, key and unit belong to records",
            )
    check_metadata(decoded)
    return decoded, filled


def _check_lookups(checked: CheckedTable) -> None:
    for name, location in checked.table.lookups:
        path = checked.path("lookups", name)
        if not _NAME.fullmatch(name) or name.lower() == "records":
            checked.add(path, "a lookup's name has letters, digits and _, and is not records")
        elif not _FULL_PATH.match(location):
            checked.add(path, "expected a full path, such as hdfs://namenode:8020/dimensions/airlines")


def _check_statement(checked: CheckedTable, text: str) -> None:
    path = checked.path("sql")
    if not _SELECT.match(text):
        checked.add(path, "expected one SELECT .. FROM records")
    elif not _RECORDS.search(text):
        checked.add(path, "the SELECT must read the table records, which holds the decoded records")
    if COORDINATES in text.lower():
        checked.add(path, f"{COORDINATES} is a name that kafka2hive uses itself")


def _check_rows(checked: CheckedTable) -> None:
    table = checked.table
    if table.sql is not None and table.may_hold_several:
        message = "requires messages of one row: several rows of one message have the same offset and cannot be counted"
        checked.add(checked.path("sql"), message)
    if table.rows == "one" or "rows" not in checked.map_keys.given:
        return
    path = checked.path("rows")
    if change_log_of(table.source):
        checked.add(
            path, f"{table.rows} requires source: events, because a message of a change log has one envelope"
        )
    elif table.format not in _FORMATS_OF_ROWS[table.rows]:
        known = " or ".join(_FORMATS_OF_ROWS[table.rows])
        checked.add(
            path, f"{table.rows} is used only with format {known}; the table's format is {table.format}"
        )


def _check_location(checked: CheckedTable, storage: StorageOptions | None) -> None:
    location, path = checked.table.location, checked.path("location")
    if location is None:
        return
    unknown = [name for name in GROUP.findall(location) if name not in ("db", "table")]
    if unknown:
        checked.add(path, f"{{{unknown[0]}}} is unknown here; expected {{db}} or {{table}}")
    else:
        check_location(path, GROUP.sub("x", location), storage, checked.problems)
    is_inherited = path[0] == "defaults"
    if "{table}" not in location and (is_inherited or GROUP.search(checked.table.table)):
        checked.add(path, "must contain {table}: several tables use it")
