"""Judge the rows of files by the map's rules, with a reading of the rules that tasks do not share.

It judges `required`, `min`, `max` and `values` whose breaks make dead letters: no row in a file may break one.
"""

import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys import Column, TableSettings, Tombstones
from kafka2hive.config.keys.source import change_log_of

_DELETIONS = ["d", "t"]
_OPERATION = "__op"


class RuleJudge:
    """Judges rows of one table. `columns` are the names that it must see of each row, as far as a file has them."""

    def __init__(self, table: TableSettings) -> None:
        self._of_log = change_log_of(table.source) is not None
        self._skips_nulls = table.tombstones is Tombstones.WRITE
        self._is_judged = table.sql is None
        judged = [column for column in table.columns if self._is_judged and _has_letters(column, table)]
        self._judged = [column for column in judged if column.mask is None]
        self._unjudged = list(self._rules_not_judged(table))
        names = [column.name for column in self._judged]
        self.columns = (*names, *([_OPERATION] if names and self._of_log else []))

    def not_judged(self, names_in_files: Iterable[str]) -> list[str]:
        """Return the rules that are not judged, as texts; `names_in_files` are the columns that files have."""
        known = set(names_in_files)
        in_path = [
            f"rules of column {c.name}: its values are in the paths"
            for c in self._judged
            if c.name not in known
        ]
        return [*self._unjudged, *in_path]

    def _rules_not_judged(self, table: TableSettings) -> Iterator[str]:
        columns = [column for column in table.decoded_columns if _has_letters(column, table)]
        if not self._is_judged:
            if columns:
                yield "rules: they concern the records before the SELECT"
            return
        for column in columns:
            if column.mask is not None:
                yield f"rules of column {column.name}: its values are masked"
        columns = [column for column in columns if column.mask is None]
        if named := [column.name for column in columns if column.rules.pattern is not None]:
            yield f"pattern of {', '.join(named)}"
        required = [column.name for column in columns if column.rules.required]
        if required and self._skips_nulls:
            yield f"required of {', '.join(required)}: tombstones are rows of NULLs"
        if table.unique_within_message and table.on_break == "dead_letter":
            yield "unique_within_message"

    def broken(self, batch: pa.RecordBatch) -> Counter[str]:
        """Return what is wrong with rows of a file, each with its number of rows."""
        wrong: Counter[str] = Counter()
        if self._of_log and _OPERATION in batch.schema.names:
            ends = pc.is_in(_plain(batch.column(_OPERATION)), value_set=pa.array(_DELETIONS))
            batch = batch.filter(pc.invert(ends))
        for column in self._judged:
            if column.name not in batch.schema.names:
                continue
            values = _plain(batch.column(column.name))
            if column.rules.required and not self._skips_nulls and values.null_count:
                wrong[f"without a value in column {column.name}, which is required"] += values.null_count
            for condition in _conditions(column):
                if count := _rows_with(values, condition):
                    wrong[f"with a value in column {column.name} that is {condition.text}"] += count
        return wrong


def _has_letters(column: Column, table: TableSettings) -> bool:
    """Return whether a row that breaks a rule of the column must be a dead letter."""
    return any(column.rules.names()) and (column.rules.on_break or table.on_break) == "dead_letter"


@dataclass(frozen=True, slots=True)
class _Condition:
    """What is wrong with a value: its `text`, and whether it holds. The extremes decide a bound for all values."""

    text: str
    is_wrong: Callable[[Any], bool]
    is_bound: bool


def _conditions(column: Column) -> Iterator[_Condition]:
    rules, kind = column.rules, column.type.strip().lower()
    if rules.least is not None:
        least = _value(kind, rules.least)
        yield _Condition(f"less than min, {rules.least}", lambda value: not value >= least, True)
    if rules.most is not None:
        most = _value(kind, rules.most)
        yield _Condition(f"more than max, {rules.most}", lambda value: not value <= most, True)
    if rules.values:
        allowed = {_value(kind, text) for text in rules.values}
        yield _Condition("none of its values", lambda value: value not in allowed, False)


def _rows_with(column: pa.Array, condition: _Condition) -> int:
    """Return how many values are wrong; NULL is not. Each distinct value is judged once."""
    column = column.drop_null()
    if not len(column):
        return 0
    if condition.is_bound and not pa.types.is_floating(column.type):
        extremes = pc.min_max(column).as_py()
        if not any(condition.is_wrong(_naive(value)) for value in extremes.values()):
            return 0
    counts = pc.value_counts(column)
    distinct = counts.field("values").to_pylist()
    rows = counts.field("counts").to_pylist()
    return sum(
        count for value, count in zip(distinct, rows, strict=True) if condition.is_wrong(_naive(value))
    )


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _naive(value: Any) -> Any:
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def _value(kind: str, text: str) -> Any:
    """Return the value of Hive's type that the map's text is; `validate` has checked that it is one."""
    if kind.startswith(("decimal", "dec", "numeric")):
        return Decimal(text)
    if kind == "date":
        return date.fromisoformat(text)
    if kind == "timestamp":
        return datetime.fromisoformat(text)
    if kind == "double":
        return float(text)
    if kind == "float":
        return struct.unpack("<f", struct.pack("<f", float(text)))[0]
    if kind == "boolean":
        return text == "true"
    return int(text) if kind.endswith("int") or kind == "integer" else text
