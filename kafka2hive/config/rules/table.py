"""The rules of a table, with the map's defaults in place."""

import re
from dataclasses import replace

from kafka2hive.config.keys.columns import COORDINATES, RecordPart
from kafka2hive.config.keys.connections import StorageOptions
from kafka2hive.config.keys.declaration import UNSET
from kafka2hive.config.keys.source import ArrayRows, Start, Tombstones, array_path, change_log_of, rows_form
from kafka2hive.config.keys.units import duration_text, size_text
from kafka2hive.config.keys.writer import AUTO, Flush
from kafka2hive.config.rules.bucket import (
    check_bounds,
    check_bucket,
    check_compact,
    check_completion,
    check_late,
    check_register,
    check_retain,
)
from kafka2hive.config.rules.column_rules import check_no_rules, check_rules
from kafka2hive.config.rules.columns import check_columns, check_metadata
from kafka2hive.config.rules.service import check_location
from kafka2hive.config.rules.source import (
    check_csv,
    check_decoder,
    check_encoding,
    check_latest,
    check_source,
)
from kafka2hive.config.rules.table_options import (
    GROUP,
    TableCheck,
    after_sql,
    declared_columns,
    epoch_milliseconds,
)
from kafka2hive.config.rules.writer import check_writer
from kafka2hive.config.yaml.problems import closest
from kafka2hive.model.paths.ledger import fault_of_table
from kafka2hive.model.window_counts import is_window_length

_SELECT = re.compile(r"\s*(select|from)\b", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FULL_PATH = re.compile(r"[a-z][a-z0-9+.-]*://")
_RECORDS = re.compile(r"\brecords\b", re.IGNORECASE)
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_FORMATS_OF_ROWS = {"lines": ("json", "csv"), "array": ("json", "json_schema")}
"""The formats whose messages may hold several rows, by the value of `rows`."""
_SCHEMAS = ("avro", "protobuf")
"""The formats whose messages may hold rows in an array within them, besides JSON."""


def check_table(check: TableCheck, storage: StorageOptions | None, has_hive: bool, has_server: bool) -> None:
    """Check a table with its defaults. `storage` is None if that section is malformed; `has_server`: Hive has a `url`."""
    _check_topics(check)
    _check_name(check)
    _check_start(check)
    _check_flush(check)
    _check_objective(check)
    _check_counts(check)
    before, after = _around_sql(check)
    check_source(before)
    check_latest(check, has_hive, has_server)
    check_csv(before)
    check_encoding(before)
    _check_rows(check)
    check_decoder(check)
    check_columns(before, has_hive)
    check_rules(before)
    if after is not before:
        check_columns(after, has_hive)
        check_no_rules(after)
    check_metadata(after)
    check_bucket(after)
    check_writer(after)
    check_bounds(after)
    check_completion(after)
    check_late(after)
    check_register(after, has_hive)
    check_compact(after, has_hive)
    check_retain(after)
    _check_location(check, storage)
    check.require_zone(check.table.zone, check.path("zone"))


def _check_topics(check: TableCheck) -> None:
    table = check.table
    if (table.topics is None) == (table.pattern is None):
        message = "needs topics or pattern" if table.topics is None else "has topics and pattern: keep one"
        check.add(("tables", check.index), message)
    seen: set[str] = set()
    for position, topic in enumerate(table.topics or []):
        path = check.path("topics", position)
        if not _TOPIC.fullmatch(topic):
            message = "a topic's name has at most 249 letters, digits, ., _ and -; a regular expression belongs in `pattern`"
            check.add(path, message)
        elif topic in seen:
            check.add(path, f"the topic {topic} is repeated")
        seen.add(topic)


def _pattern(check: TableCheck) -> re.Pattern[str] | None:
    if check.table.pattern is None:
        return None
    try:
        return re.compile(check.table.pattern)
    except re.error as error:
        check.add(check.path("pattern"), f"not a regular expression: {error}")
        return None


def _check_name(check: TableCheck) -> None:
    table, path = check.table, check.path("table")
    groups = GROUP.findall(table.table)
    if groups and table.topics is not None:
        check.add(path, "{..} stands for a group of a pattern, but the table has topics")
        return
    pattern = _pattern(check)
    if pattern is not None:
        known = {*map(str, range(pattern.groups + 1)), *pattern.groupindex}
        for group in groups:
            if group not in known:
                groups_text = ", ".join(sorted(known - {"0"})) or "none"
                near = closest(group, pattern.groupindex)
                check.add(path, f"the pattern has no group {group}; its groups: {groups_text}", near)
                return
    if fault := fault_of_table(GROUP.sub("x", table.table)):
        check.add(path, fault)


def _check_start(check: TableCheck) -> None:
    start = check.table.start
    if not isinstance(start, Start):
        return
    path = check.path("start")
    if (start.timestamp is None) == (start.offsets is None):
        check.add(path, "needs exactly one of timestamp and offsets")
    if start.timestamp is not None:
        try:
            epoch_milliseconds(start.timestamp)
        except ValueError:
            message = "expected a time with a time zone, such as 2013-01-01T00:00:00Z"
            check.add((*path, "timestamp"), message)
    pattern = _pattern(check)
    for topic in start.offsets or {}:
        if check.table.topics is not None and topic not in check.table.topics:
            message = f"the table has no topic {topic}"
            check.add((*path, "offsets", topic), message, closest(topic, check.table.topics))
        elif pattern is not None and not pattern.fullmatch(topic):
            check.add((*path, "offsets", topic), f"the pattern does not match the topic {topic}")


def _check_flush(check: TableCheck) -> None:
    flush = check.table.flush
    if not isinstance(flush, Flush):
        return
    path, is_given = check.path("flush"), flush.min_bytes is not UNSET
    if flush.max_interval_seconds is None:
        if is_given:
            check.add((*path, "min_bytes"), "is used only with max_interval")
        return
    if flush.max_interval_seconds < flush.interval_seconds:
        shortest = duration_text(flush.interval_seconds)
        check.add((*path, "max_interval"), f"is less than interval, which is {shortest}")
    if is_given and flush.min_bytes > flush.bytes:
        check.add((*path, "min_bytes"), f"is more than bytes, which is {size_text(flush.bytes)}")


def _check_objective(check: TableCheck) -> None:
    objective = check.table.objective
    if objective is None:
        return
    path = check.path("objective")
    if not 0.5 <= objective.share <= 0.9999:
        check.add((*path, "share"), "expected a number from 0.5 to 0.9999, such as 0.99")
    flush = AUTO if check.table.flush == "auto" else check.table.flush
    if objective.freshness_seconds <= flush.longest_seconds:
        check.add(
            (*path, "freshness"),
            f"records may wait for {duration_text(flush.longest_seconds)} before an epoch is due, so the objective must be"
            " longer: make it longer than twice that, or shorten the table's flush",
        )


def _check_counts(check: TableCheck) -> None:
    counts = check.table.counts
    if counts is None:
        return
    if not is_window_length(counts.window_seconds):
        check.add(
            (*check.path("counts"), "window"), "must divide a day and be at least 1m, such as 1m, 10m or 1h"
        )
    if check.table.sql is not None:
        check.add(
            check.path("counts"),
            "cannot be used with sql, because the window of a row that the SELECT returns is not known",
        )


def _around_sql(check: TableCheck) -> tuple[TableCheck, TableCheck]:
    """Check the options for SQL. Return the checks of the table's columns before and after its SELECT.

    Without `records`, both are `check`, because the SELECT returns the columns that it reads.
    """
    table = check.table
    if table.sql is None:
        for key in ("records", "lookups", "udfs"):
            if getattr(table, key):
                check.add(check.path(key), "is used only with sql")
        if table.shuffle != "none":
            check.add(check.path("shuffle"), "is used only with sql: write sql: SELECT * FROM records")
        return check, check
    _check_statement(check, table.sql)
    _check_lookups(check)
    if table.tombstones is Tombstones.WRITE:
        check.add(
            check.path("tombstones"), "sql gets no row for a record without a value: use tombstones skip"
        )
    if not table.records:
        return check, check
    if not table.columns:
        check.add(check.path("columns"), "are required with records: they declare the result of sql")
    before = check.before_sql()
    after = replace(check, table=after_sql(table))
    for column in declared_columns(after.table):
        is_decoded = column.path is not None or column.unit is not None or column.mask is not None
        if is_decoded or column.part is not RecordPart.VALUE:
            check.add(
                check.path("columns", column.place),
                "sql fills this column: move from, header, key, unit and mask to records",
            )
    check_metadata(before)
    return before, after


def _check_lookups(check: TableCheck) -> None:
    for name, location in check.table.lookups:
        path = check.path("lookups", name)
        if not _NAME.fullmatch(name) or name.lower() == "records":
            check.add(path, "a lookup's name has letters, digits and _, and is not records")
        elif not _FULL_PATH.match(location):
            check.add(path, "expected a full path, such as hdfs://namenode:8020/dimensions/airlines")


def _check_statement(check: TableCheck, text: str) -> None:
    path = check.path("sql")
    if not _SELECT.match(text):
        check.add(path, "expected one SELECT .. FROM records")
    elif not _RECORDS.search(text):
        check.add(path, "the SELECT must read the table records, which holds the decoded records")
    if COORDINATES in text.lower():
        check.add(path, f"{COORDINATES} is a name that kafka2hive uses itself")


def _check_rows(check: TableCheck) -> None:
    table = check.table
    if table.sql is not None and table.may_hold_several:
        message = (
            "requires messages of one row: rows of one message have the same offset and cannot be told apart"
        )
        check.add(check.path("sql"), message)
    form, path = rows_form(table.rows), check.path("rows")
    try:
        array_path(table.rows)
    except ValueError as error:
        check.add((*path, "array"), str(error))
    if form == "one" or "rows" not in check.map_keys.given:
        return
    if change_log_of(table.source):
        check.add(path, f"{form} requires source: events, because a message of a change log has one envelope")
        return
    known = (*_FORMATS_OF_ROWS[form], *(_SCHEMAS if isinstance(table.rows, ArrayRows) else ()))
    if table.format not in known:
        message = (
            f"{form} is used only with format {' or '.join(known)}; the table's format is {table.format}"
        )
        check.add(path, message)
    elif table.format in _SCHEMAS and table.schema_evolution != "ignore":
        check.add(
            check.path("schema_evolution"),
            "cannot be used with rows in an array of avro and protobuf: write ignore",
        )


def _check_location(check: TableCheck, storage: StorageOptions | None) -> None:
    location, path = check.table.location, check.path("location")
    if location is None:
        return
    unknown = [name for name in GROUP.findall(location) if name not in ("db", "table")]
    if unknown:
        check.add(path, f"{{{unknown[0]}}} is unknown here; expected {{db}} or {{table}}")
    else:
        check_location(path, GROUP.sub("x", location), storage, check.problems)
    is_inherited = path[0] == "defaults"
    if "{table}" not in location and (is_inherited or GROUP.search(check.table.table)):
        check.add(path, "must contain {table}: several tables use it")
