"""The rules of a column's keys for texts of times: `time_pattern`, `pivot`, `time_of_day` and `epoch`."""

from kafka2hive.config.keys.columns import RecordPart
from kafka2hive.config.rules.table_options import DeclaredColumn, TableCheck
from kafka2hive.config.yaml.problems import Path
from kafka2hive.model.time_patterns import ARRAY, ISO, PatternError, TimePattern, parse_pattern

_OF_TEXTS = ("json", "json_schema", "csv", "raw", "avro", "protobuf")
"""Formats of values and keys whose times may be texts."""
_OF_SCHEMAS = ("avro", "protobuf")
"""Formats whose schemas say which values are numbers."""


def check_times(check: TableCheck, path: Path, column: DeclaredColumn) -> None:
    """Check the column's keys for texts of times."""
    leeway = column.leeway
    kind = column.type.strip().lower()
    given = {
        "time_pattern": bool(leeway.time_pattern),
        "pivot": leeway.pivot is not None,
        "time_of_day": leeway.time_of_day != "refuse",
        "epoch": leeway.epoch != "whole",
    }
    keys = [key for key, is_given in given.items() if is_given]
    if not keys:
        return
    first = (*path, keys[0])
    if kind not in ("timestamp", "date"):
        check.add(first, f"is used only with a timestamp or a date; {column.name} is {column.type}")
    elif _format(check, column) not in _OF_TEXTS:
        check.add(first, "a plug-in's decoder reads its own texts")
    elif given["epoch"] and _format(check, column) in _OF_SCHEMAS:
        check.add((*path, "epoch"), "applies only to JSON, CSV, headers and raw keys")
    elif ARRAY in leeway.time_pattern and _format(check, column) in _OF_SCHEMAS:
        check.add((*path, "time_pattern"), "array applies only to JSON, CSV, headers and raw keys")
    elif given["epoch"] and column.unit in (None, "d"):
        check.add((*path, "epoch"), "needs a unit of s, ms, us or ns")
    elif column.unit is not None and keys != ["epoch"]:
        check.add(first, "cannot be used with a unit, which is of numbers since 1970")
    elif leeway.beyond != "refuse":
        check.add((*path, "beyond"), f"cannot be used with {keys[0]}")
    elif leeway.whole != "refuse":
        check.add((*path, "whole"), f"cannot be used with {keys[0]}")
    else:
        _check_forms(check, path, column, kind)


def _format(check: TableCheck, column: DeclaredColumn) -> str:
    """Return the format of the part of the record that the column comes from."""
    table = check.table
    formats = {RecordPart.KEY: table.key_format, RecordPart.HEADER: "raw"}
    return formats.get(column.part, table.format)


def _check_forms(check: TableCheck, path: Path, column: DeclaredColumn, kind: str) -> None:
    leeway = column.leeway
    wanted = "midnight" if kind == "timestamp" else "drop"
    if leeway.time_of_day not in ("refuse", wanted):
        check.add((*path, "time_of_day"), f"{leeway.time_of_day} is not used with a {kind}: write {wanted}")
        return
    patterns: list[TimePattern] = []
    for number, text in enumerate(leeway.time_pattern):
        if text in (ISO, ARRAY):
            continue
        place = (*path, "time_pattern") if len(leeway.time_pattern) == 1 else (*path, "time_pattern", number)
        try:
            pattern = parse_pattern(text)
        except PatternError as error:
            check.add(place, f"{text}: {error}")
            continue
        patterns.append(pattern)
        if pattern.has_short_year and leeway.pivot is None:
            check.add(place, f"{text}: years of two digits need pivot, the first of their hundred years")
        elif leeway.time_of_day == "refuse" and kind == "date" and pattern.may_have_time:
            check.add(place, f"{text}: a date has no time of day: write time_of_day: drop, or leave it out")
        elif leeway.time_of_day == "refuse" and kind == "timestamp" and pattern.may_lack_time:
            check.add(place, f"{text}: the time of day is missing: write time_of_day: midnight, or add it")
    if leeway.pivot is not None and not any(pattern.has_short_year for pattern in patterns):
        check.add((*path, "pivot"), "is used only with a time_pattern that has yy")
    if len(set(leeway.time_pattern)) < len(leeway.time_pattern):
        check.add((*path, "time_pattern"), "a pattern is repeated")
