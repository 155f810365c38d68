"""The rules of a table's rows: which rows break one, and which messages become dead letters for it.

Rules see the values as they were decoded, before anything hides or writes them.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys import Column, TableSettings
from kafka2hive.config.keys.column_rules import (
    MAX,
    MIN,
    PATTERN,
    REQUIRED,
    RULE_CODE,
    UNIQUE,
    VALUES,
    OnBreak,
    whole_match,
)
from kafka2hive.config.keys.source import OPERATION, change_log_of
from kafka2hive.decode.rows.decoder import with_ordinal
from kafka2hive.decode.values.batch import Mask, mask_of
from kafka2hive.decode.values.json_values import SHOWN
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.model.literals import literal
from kafka2hive.plan.contract import BrokenRule
from kafka2hive.plugins import Reason
from kafka2hive.task.fetch.records import Indices
from kafka2hive.task.rejections import Rejections, without_rejections

_NOT_JUDGED = ("d", "t")
"""The operations of change logs whose rows are deletions and truncations: their images lack values."""
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class RowRule:
    """One rule. `broken` returns the mask of the rows that break it, None if there is none; `fault` describes such a value."""

    name: str
    column: str
    on_break: OnBreak
    broken: Callable[[pa.RecordBatch, Indices | None], Mask | None]
    fault: Callable[[str], str]

    def reason(self, rows: pa.RecordBatch, row: int) -> Reason:
        shown = self.fault(shown_value(rows.column(self.column)[row].as_py()))
        return Reason(f"{RULE_CODE}{self.name}", f"column {self.column}{shown}", self.column)


def shown_value(value: Any) -> str:
    """Return a value as the text of a reason shows it."""
    text = (
        repr(value)
        if isinstance(value, str)
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
    )
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}.."


@lru_cache(1_000)
def rules_of(table: TableSettings) -> tuple[RowRule, ...]:
    """Return the rules of the table, by column in the map's order and the table's last."""
    rules = [rule for column in table.columns for rule in _column_rules(column, table.on_break)]
    if table.unique_within_message:
        rules.append(_unique_rule(table.unique_within_message, table.on_break))
    return tuple(rules)


class RowRules:
    """Checks the rows of one table, and counts those that break a rule until the caller takes the counts."""

    def __init__(self, table: TableSettings) -> None:
        self._rules = rules_of(table)
        self._of_log = change_log_of(table.source) is not None
        self._has_ordinals = table.may_hold_several
        self._counts: Counter[tuple[str, str, OnBreak]] = Counter()

    def apply(
        self, rows: pa.RecordBatch, indices: Indices | None
    ) -> tuple[pa.RecordBatch, Indices | None, Rejections | None]:
        """Return the rows to write with the indices of their messages (None: one row for each message), and the rejections.

        A message is rejected as a whole if one of its rows breaks a rule that makes dead letters.
        """
        if not self._rules:
            return rows, indices, None
        reasons: dict[int, Reason] = {}
        for rule, broken in self._broken(rows, indices):
            places = np.flatnonzero(broken).tolist()
            self._counts[rule.column, rule.name, rule.on_break] += len(places)
            if rule.on_break == "dead_letter":
                for row in places:
                    if row not in reasons:
                        reasons[row] = rule.reason(rows, row)
        if not reasons:
            return rows, indices, None
        every = np.arange(len(rows)) if indices is None else indices
        bad = np.array(sorted(reasons), np.int64)
        return without_rejections(rows, every, bad, self._in_order(every, bad, reasons))

    def take(self) -> tuple[BrokenRule, ...]:
        """Return how many rows broke each rule since the last call, and reset the counts."""
        counts, self._counts = self._counts, Counter()
        return tuple(
            BrokenRule(column=column, rule=name, on_break=on_break, rows=rows)
            for (column, name, on_break), rows in counts.items()
        )

    def _broken(self, rows: pa.RecordBatch, indices: Indices | None) -> Iterator[tuple[RowRule, Mask]]:
        judged: Mask | None = None
        for rule in self._rules:
            broken = rule.broken(rows, indices)
            if broken is None:
                continue
            if self._of_log:
                if judged is None:
                    ends = pc.is_in(rows.column(OPERATION), value_set=pa.array(_NOT_JUDGED))
                    judged = ~mask_of(ends)
                broken = broken & judged
            if broken.any():
                yield rule, broken

    def _in_order(self, indices: Indices, bad: Indices, reasons: dict[int, Reason]) -> list[Reason]:
        """Return the reasons of the rows `bad`, with their places in messages that may hold several rows."""
        if not self._has_ordinals:
            return [reasons[row] for row in bad.tolist()]
        ordinals = bad - np.searchsorted(indices, indices[bad])
        return [
            with_ordinal(reasons[row], ordinal)
            for row, ordinal in zip(bad.tolist(), ordinals.tolist(), strict=True)
        ]


def _column_rules(column: Column, on_break: OnBreak) -> Iterator[RowRule]:
    rules, name, dtype = column.rules, column.name, parse_hive_type(column.type)
    outcome = rules.on_break or on_break

    def rule(
        rule_name: str, broken: Callable[[pa.Array], Mask | None], fault: Callable[[str], str]
    ) -> RowRule:
        return RowRule(
            name=rule_name,
            column=name,
            on_break=outcome,
            broken=lambda rows, _: broken(rows.column(name)),
            fault=fault,
        )

    if rules.required:
        yield rule(REQUIRED, _nulls, lambda _: " has no value, and is required: true")
    if rules.least is not None:
        least = rules.least
        yield rule(MIN, _Below(_scalar(column, least, dtype)), lambda v: f": {v} is less than min: {least}")
    if rules.most is not None:
        most = rules.most
        yield rule(MAX, _Above(_scalar(column, most, dtype)), lambda v: f": {v} is more than max: {most}")
    if rules.pattern is not None:
        pattern = rules.pattern
        yield rule(PATTERN, _Mismatch(pattern), lambda v: f": {v} does not match pattern: {pattern}")
    if rules.values:
        allowed = pa.array([literal(column.type, text) for text in rules.values], dtype)
        named = _list(rules.values)
        yield rule(VALUES, _Other(allowed), lambda v: f": {v} is not one of values: {named}")


def _scalar(column: Column, text: str, dtype: pa.DataType) -> pa.Scalar:
    return pa.scalar(literal(column.type, text), dtype)


def _list(texts: Sequence[str]) -> str:
    more = len(texts) - _MOST_NAMED
    return ", ".join(texts[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _nulls(column: pa.Array) -> Mask | None:
    return mask_of(column.is_null()) if column.null_count else None


@dataclass(frozen=True, slots=True)
class _Below:
    """Finds values that are not at least `least`, NaN among them."""

    least: pa.Scalar

    def __call__(self, column: pa.Array) -> Mask | None:
        if pa.types.is_floating(column.type):
            return _some(pc.invert(pc.greater_equal(column, self.least)))
        smallest = pc.min(column)
        if not smallest.is_valid or not pc.less(smallest, self.least).as_py():
            return None
        return _some(pc.less(column, self.least))


@dataclass(frozen=True, slots=True)
class _Above:
    """Finds values that are not at most `most`, NaN among them."""

    most: pa.Scalar

    def __call__(self, column: pa.Array) -> Mask | None:
        if pa.types.is_floating(column.type):
            return _some(pc.invert(pc.less_equal(column, self.most)))
        greatest = pc.max(column)
        if not greatest.is_valid or not pc.greater(greatest, self.most).as_py():
            return None
        return _some(pc.greater(column, self.most))


@dataclass(frozen=True, slots=True)
class _Mismatch:
    """Finds strings that the pattern does not match as a whole."""

    pattern: str

    def __call__(self, column: pa.Array) -> Mask | None:
        return _some(pc.invert(pc.match_substring_regex(column, whole_match(self.pattern))))


@dataclass(frozen=True, slots=True)
class _Other:
    """Finds values that are not among `allowed`."""

    allowed: pa.Array

    def __call__(self, column: pa.Array) -> Mask | None:
        known = pc.is_in(_without_negative_zero(column), value_set=_without_negative_zero(self.allowed))
        if pc.sum(known).as_py() == len(column) - column.null_count:
            return None
        return _some(pc.and_not(column.is_valid(), known))


def _without_negative_zero(column: pa.Array) -> pa.Array:
    return pc.add(column, pa.scalar(0.0, column.type)) if pa.types.is_floating(column.type) else column


def _some(flags: pa.BooleanArray) -> Mask | None:
    """Return the mask of the flags that are true; None if there is none. Null counts as false."""
    return mask_of(flags) if pc.any(flags).as_py() else None


def _unique_rule(names: tuple[str, ...], on_break: OnBreak) -> RowRule:
    def broken(rows: pa.RecordBatch, indices: Indices | None) -> Mask | None:
        return None if indices is None else _repeated(rows, names, indices)

    named = "" if len(names) == 1 else f" (with {', '.join(names[1:])})"
    return RowRule(
        name=UNIQUE,
        column=names[0],
        on_break=on_break,
        broken=broken,
        fault=lambda value: f"{named}: {value} repeats in its message",
    )


def _repeated(rows: pa.RecordBatch, names: tuple[str, ...], indices: Indices) -> Mask | None:
    """Return the mask of the rows whose values are also in an earlier row of their message.

    A row with NULL in one of the columns repeats nothing.
    """
    compared = np.ones(len(rows), np.bool_)
    for name in names:
        if rows.column(name).null_count:
            compared &= mask_of(rows.column(name).is_valid())
    places = np.flatnonzero(compared)
    keys = indices[places]
    for name in names:
        codes = rows.column(name).take(pa.array(places)).dictionary_encode().indices.to_numpy()
        _, keys = np.unique(keys * (len(places) + 1) + codes, return_inverse=True)
    _, firsts = np.unique(keys, return_index=True)
    if len(firsts) == len(places):
        return None
    repeated: Mask = np.zeros(len(rows), np.bool_)
    repeated[np.delete(places, firsts)] = True
    return repeated
