"""What must hold between the keys of one table, with the map's defaults in place."""

import re

from kafka2hive.config.checks.bucketing.bucket import check_bucket
from kafka2hive.config.checks.columns import check_columns, check_metadata
from kafka2hive.config.checks.completion import check_completion
from kafka2hive.config.checks.csv import check_csv
from kafka2hive.config.checks.plugin import check_plugins
from kafka2hive.config.checks.services.service import check_location, fault_of_table
from kafka2hive.config.checks.source import check_source
from kafka2hive.config.checks.sql import sides_of_sql
from kafka2hive.config.checks.table_options import GROUP, CheckedTable, epoch_milliseconds
from kafka2hive.config.checks.writer import check_writer
from kafka2hive.config.problems import closest
from kafka2hive.config.values.change_log import change_log_of
from kafka2hive.config.values.service import StorageOptions
from kafka2hive.config.values.start import Start

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_SEVERAL = {"lines": ("json", "csv"), "array": ("json", "json_schema")}
"""By `rows`: the formats whose messages may hold several."""


def check_table(checked: CheckedTable, storage: StorageOptions | None, has_hive: bool) -> None:
    _check_topics(checked)
    _check_name(checked)
    _check_start(checked)
    decoded, filled = sides_of_sql(checked)
    check_source(decoded)
    check_csv(decoded)
    _check_rows(checked)
    check_plugins(checked)
    check_columns(decoded, has_hive)
    if filled is not decoded:
        check_columns(filled, has_hive)
    check_metadata(filled)
    check_bucket(filled)
    check_writer(filled)
    check_completion(filled)
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
            checked.add(path, f"the topic {topic} stands here twice")
        seen.add(topic)


def _pattern(checked: CheckedTable) -> re.Pattern[str] | None:
    if checked.table.pattern is None:
        return None
    try:
        return re.compile(checked.table.pattern)
    except re.error as error:
        checked.add(checked.path("pattern"), f"no regular expression: {error}")
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
                there = ", ".join(sorted(known - {"0"})) or "none"
                near = closest(group, pattern.groupindex)
                checked.add(path, f"the pattern has no group {group}; there are: {there}", near)
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
            message = "expected a time with its zone, such as 2013-01-01T00:00:00Z"
            checked.add((*path, "timestamp"), message)
    pattern = _pattern(checked)
    for topic in start.offsets or {}:
        if checked.table.topics is not None and topic not in checked.table.topics:
            message = f"the table has no topic {topic}"
            checked.add((*path, "offsets", topic), message, closest(topic, checked.table.topics))
        elif pattern is not None and not pattern.fullmatch(topic):
            checked.add((*path, "offsets", topic), f"the pattern does not match the topic {topic}")


def _check_rows(checked: CheckedTable) -> None:
    table = checked.table
    if table.sql is not None and table.may_hold_several:
        told = "is for messages of one row each: a row of several has no place of its own to be counted by"
        checked.add(checked.path("sql"), told)
    if table.rows == "one" or "rows" not in checked.own.given:
        return
    path = checked.path("rows")
    if change_log_of(table.source):
        checked.add(path, f"{table.rows} is for events: a change log has an envelope a message")
    elif table.format not in _SEVERAL[table.rows]:
        known = " and ".join(_SEVERAL[table.rows])
        checked.add(path, f"{table.rows} is for format {known}: the table's is {table.format}")


def _check_location(checked: CheckedTable, storage: StorageOptions | None) -> None:
    location, path = checked.table.location, checked.path("location")
    if location is None:
        return
    unknown = [name for name in GROUP.findall(location) if name not in ("db", "table")]
    if unknown:
        checked.add(path, f"{{{unknown[0]}}} is unknown here; there are {{db}} and {{table}}")
    else:
        check_location(path, GROUP.sub("x", location), storage, checked.problems)
    inherited = path[0] == "defaults"
    if "{table}" not in location and (inherited or GROUP.search(checked.table.table)):
        checked.add(path, "must hold {table}: several tables take their place from it")
