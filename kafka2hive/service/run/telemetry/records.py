"""Watches over a run's records: changed values, decoding in Python, unmapped fields, partitions far in the future."""

import logging
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import lru_cache

from kafka2hive.config.keys.bucket_path import BucketEnds, period_of, read_bucket_path
from kafka2hive.config.native_library import SLOWER, DecoderInUse
from kafka2hive.model.files import FileKind
from kafka2hive.model.marks import MARK_WORDS, ROWS_ARE_GONE
from kafka2hive.model.text import counted, printable
from kafka2hive.observe.metrics import ServiceMetrics
from kafka2hive.plan.contract import BrokenRule, UnmappedField, UnmappedFields
from kafka2hive.service.tables.report import EpochReport, TableReport
from kafka2hive.service.tables.table_state import Table
from kafka2hive.storage.port import Clock

log = logging.getLogger(__name__)

MOST_FIELDS = 100
_MOST_NAMED = 5
WARNED_BY = "decoder"
_FAR_DAYS = 366
_LONGEST_DAYS = {"year": 366, "month": 31, "week": 7}
"""Maximum length of a period in days; shorter periods are not listed and count as one day."""
WORDS = {
    "default": "missing or null, so the column's default",
    "unknown_enum": "numbers without a name in their enum (unknown_enum)",
    "json": "other JSON than strings, as its text (json: text)",
    "quoted": "numbers and booleans in quotes (quoted: accept)",
    "empty": "empty strings, so NULL (empty: null)",
    "whole": "whole numbers with a point or an exponent (whole: accept)",
    "booleans": "words or numbers as booleans (booleans)",
    "numbers": "numbers with marks in strings (numbers)",
    "non_finite": "NaN or infinities (non_finite)",
    "beyond": "times outside the years 1 to 9999 (beyond)",
    "time_of_day": "times without their time of day, or days as their midnight (time_of_day)",
    "unavailable": "not logged by the database, so NULL and named in __unavailable",
    "fraction": "times cut to microseconds (fraction: truncate)",
}


class ChangedValuesWatch:
    """Counts values that were changed because the map's columns allow it, and marks of change logs.

    Each kind is logged once. Kinds after which the database lacks rows without a deletion for each are warnings.
    """

    def __init__(self, metrics: ServiceMetrics) -> None:
        self._metrics = metrics
        self._changed: dict[str, Counter[str]] = {}

    def __call__(self, report: EpochReport) -> None:
        tables = {table.name: table for table in report.tables}
        for part in report.reports:
            if not part.outcome.changed:
                continue
            so_far = self._changed.setdefault(part.table, Counter())
            for kind, count in part.outcome.changed.items():
                observe = self._metrics.observe_marks if kind in MARK_WORDS else self._metrics.observe_changed
                observe(part.table, kind, count)
                if kind not in so_far:
                    level = logging.WARNING if kind in ROWS_ARE_GONE else logging.INFO
                    log.log(level, "%s: %s", part.table, _count_text(kind, count, "in this epoch"))
            so_far.update(part.outcome.changed)
            texts = {
                kind: _count_text(kind, count, "since the start") for kind, count in sorted(so_far.items())
            }
            warnings = tables[part.table].warnings
            warnings["changed"] = tuple(text for kind, text in texts.items() if kind in WORDS)
            warnings["rows gone"] = tuple(text for kind, text in texts.items() if kind in ROWS_ARE_GONE)


def _count_text(kind: str, count: int, when: str) -> str:
    if kind in MARK_WORDS:
        return f"{when} {counted(count, 'message')} of the change log: {MARK_WORDS[kind]}"
    return f"{when} {counted(count, 'value')}: {WORDS[kind]}"


class BrokenRulesWatch:
    """Counts rows that broke a rule of the map. The first of each rule is logged; rows that were only counted are a warning."""

    def __init__(self, metrics: ServiceMetrics) -> None:
        self._metrics = metrics
        self._broken: dict[str, Counter[BrokenRule]] = {}

    def __call__(self, report: EpochReport) -> None:
        tables = {table.name: table for table in report.tables}
        for part in report.reports:
            if not part.outcome.broken:
                continue
            so_far = self._broken.setdefault(part.table, Counter())
            for broken in part.outcome.broken:
                self._metrics.observe_broken(
                    part.table, broken.column, rule=broken.rule, on_break=broken.on_break, rows=broken.rows
                )
                rule = replace(broken, rows=0)
                if rule not in so_far:
                    log.warning("%s: in this epoch %s", part.table, _rule_text(rule, broken.rows))
                so_far[rule] += broken.rows
            tables[part.table].warnings["rules"] = tuple(
                f"since the start {_rule_text(rule, rows)}" for rule, rows in so_far.most_common()
            )


def _rule_text(rule: BrokenRule, rows: int) -> str:
    outcome = "their messages are dead letters" if rule.on_break == "dead_letter" else "written and counted"
    return f"{counted(rows, 'row')} broke the rule {rule.rule} of column {rule.column}: {outcome}"


class DecoderWatch:
    """Warns about tables whose tasks lack the compiled decoder, unless the driver lacks it, too, which the run has logged."""

    def __init__(self, driver: DecoderInUse) -> None:
        self._driver = driver

    def __call__(self, report: EpochReport) -> None:
        if not self._driver.is_compiled:
            return
        tables = {table.name: table for table in report.tables}
        for part in report.reports:
            warnings, slow = tables[part.table].warnings, part.outcome.fallback_tasks
            if slow and not warnings.get(WARNED_BY):
                text = (
                    "workers lack the compiled library that the driver has (kafka2hive-native) and decode in Python:"
                    f" {SLOWER}"
                )
                log.warning("%s: in %s %s", part.table, counted(slow, "task"), text)
                warnings[WARNED_BY] = (text,)
            elif not slow:
                warnings[WARNED_BY] = ()


@dataclass(slots=True)
class _Field:
    """A field that the columns do not take: met first at `since` (ISO 8601 UTC), with an `example` of that epoch."""

    since: str
    example: UnmappedField
    records: int = 0


@dataclass(slots=True)
class _FieldsOfTable:
    looked_at: int = 0
    epochs: int = 0
    fields: dict[str, _Field] = field(default_factory=dict)

    def add(self, unmapped: UnmappedFields, now: str) -> list[str]:
        """Add an epoch's fields and return the names that are new."""
        new = []
        self.looked_at += unmapped.looked_at
        self.epochs += 1
        for field_seen in unmapped.fields:
            if field_seen.name not in self.fields:
                if len(self.fields) == MOST_FIELDS:
                    continue
                self.fields[field_seen.name] = _Field(now, field_seen)
                new.append(field_seen.name)
            self.fields[field_seen.name].records += field_seen.records
        return new

    def text(self) -> str:
        """Describe the fields, the newest first; of equally new fields, the most frequent first."""
        order = sorted(self.fields.values(), key=lambda field_seen: field_seen.records, reverse=True)
        order.sort(key=lambda field_seen: field_seen.since, reverse=True)
        named = "; ".join(map(self._text, order[:_MOST_NAMED]))
        more = f"; and {len(order) - _MOST_NAMED} more" if len(order) > _MOST_NAMED else ""
        return f"{counted(len(order), 'field')} of the records without a column: {named}{more}"

    def _text(self, field_seen: _Field) -> str:
        place = f"{field_seen.example.topic_partition}@{field_seen.example.offset}"
        name = printable(field_seen.example.name)
        return f"{name} (since {field_seen.since}, {self._share(field_seen)} of records, e.g. {place})"

    def _share(self, field_seen: _Field) -> str:
        percent = 100 * field_seen.records / max(self.looked_at, 1)
        return "under 1 %" if percent < 1 else f"{min(percent, 100):.0f} %"


class UnmappedFieldsWatch:
    """Counts the fields of records that the columns do not take, since the run began."""

    def __init__(self, metrics: ServiceMetrics, clock: Clock) -> None:
        self._metrics = metrics
        self._clock = clock
        self._seen: dict[str, _FieldsOfTable] = {}

    def __call__(self, report: EpochReport) -> None:
        tables = {table.name: table for table in report.tables}
        for part in report.reports:
            if part.outcome.unmapped.looked_at:
                self._report(tables[part.table], part.outcome.unmapped)

    def _report(self, table: Table, unmapped: UnmappedFields) -> None:
        seen = self._seen.setdefault(table.name, _FieldsOfTable())
        new = seen.add(unmapped, self._clock.now())
        self._metrics.observe_unmapped(table.name, len(seen.fields))
        if not seen.fields:
            return
        table.warnings["unmapped fields"] = (seen.text(),)
        if new:
            # fields of the first epoch are mostly left out of the map on purpose
            level = logging.INFO if seen.epochs == 1 else logging.WARNING
            log.log(level, "%s: %s", table.name, seen.text())


class FutureWatch:
    """Warns about files in partitions more than a leap year ahead of the newest record of their epoch.

    The cause is mostly a wrong clock or a wrong unit; `bucket.max_future` refuses such records. A warning stays until the run
    ends.
    """

    def __call__(self, report: EpochReport) -> None:
        tables = {table.name: table for table in report.tables}
        for part in report.reports:
            table = tables[part.table]
            if table.rule.bucketing.max_future_seconds is not None or not (ahead := _far_ahead(table, part)):
                continue
            text = (
                f"epoch {part.state.epoch} wrote to {counted(len(ahead), 'partition')} more than {_FAR_DAYS} days ahead of"
                f" its records' Kafka timestamps, such as {max(ahead)}: bucket.max_future makes such records dead letters"
            )
            log.warning("%s: %s", part.table, text)
            table.warnings["future"] = (text,)


def _far_ahead(table: Table, part: TableReport) -> set[str]:
    """Return the partitions of the epoch's data files that are too far ahead; paths without a period are left out."""
    bucketing, newest_ms = table.rule.bucketing, part.outcome.change.newest_ms
    periods = _periods(bucketing.path, bucketing.zone)
    if periods is None or newest_ms is None:
        return set()
    ends, days = periods
    latest_ms = newest_ms + (_FAR_DAYS + days) * 86_400_000
    paths = {file.hive_partition.path for file in part.state.files if file.kind is FileKind.DATA}
    return {name for name in paths if (end_ms := ends.end_ms(name)) is not None and end_ms > latest_ms}


@lru_cache(1_000)
def _periods(bucket_path: str, zone: str) -> tuple[BucketEnds, int] | None:
    """Return the ends of the path's periods, and the maximum length of a period in days; None if the path names no period."""
    path = read_bucket_path(bucket_path)
    period = period_of(path)
    return None if period is None else (BucketEnds(path, zone), _LONGEST_DAYS.get(period, 1))
