"""Columns that no record has filled since the run began, usually because the JSON spells their names differently."""

import difflib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kafka2hive.config.keys import Column
from kafka2hive.config.keys.json_path import path_text
from kafka2hive.model.text import counted
from kafka2hive.observe.metrics import ServiceMetrics
from kafka2hive.plan.contract import ColumnsSeen
from kafka2hive.service.tables.report import EpochReport
from kafka2hive.service.tables.table_state import Owned, Table
from kafka2hive.storage.port import FileSystem

log = logging.getLogger(__name__)

FIRST_RECORDS = 1_000
FIRST_EPOCHS = 3
_MOST_NAMED = 20
_MOST_KEYS = 200
_ALIKE, _NEARLY_EQUAL = 0.6, 0.8
"""Ratios of difflib: from the first, a key is named with an empty column; from the second, the column is reported at once."""


@dataclass(frozen=True, slots=True)
class NeverFilledColumn:
    """A column that is NULL in every row so far; `nearest` is the path of the most similar key that no column takes."""

    column: str
    nearest: str = ""

    def __str__(self) -> str:
        return f"{self.column} (did you mean {self.nearest}?)" if self.nearest else self.column


@dataclass(slots=True)
class _ColumnsOfTable:
    """What one table's records have left empty since the run began.

    `unmapped`: paths that no column takes, as an ordered set. `enough`: no more records come, so the records read so far decide.
    `first_epoch`: the first epoch of this run that read records. `filled_before`: the columns that earlier epochs filled, of
    those in `looked_up`.
    """

    first_epoch: int
    rows: int = 0
    epochs: int = 0
    empty: tuple[str, ...] | None = None
    unmapped: dict[str, None] = field(default_factory=dict)
    reported: tuple[str, ...] = ()
    enough: bool = False
    columns: tuple[Column, ...] = ()
    looked_up: set[str] = field(default_factory=set)
    filled_before: set[str] = field(default_factory=set)

    def add(self, seen: ColumnsSeen) -> None:
        before = seen.empty if self.empty is None else self.empty
        self.empty = tuple(name for name in before if name in seen.empty)
        self.rows += seen.rows
        self.epochs += 1
        self.unmapped.update(dict.fromkeys(seen.unmapped[: _MOST_KEYS - len(self.unmapped)]))

    @property
    def never_filled(self) -> tuple[str, ...]:
        """The empty columns; until enough records were seen, only those whose name nearly equals a key that no column takes."""
        empty = self.empty or ()
        return (
            empty if self.enough or self.rows >= FIRST_RECORDS or self.epochs >= FIRST_EPOCHS else self.likely
        )

    @property
    def likely(self) -> tuple[str, ...]:
        """The empty columns whose name nearly equals a key that no column takes."""
        named = never_filled(self.empty or (), self.columns, self.unmapped, _NEARLY_EQUAL)
        return tuple(entry.column for entry in named if entry.nearest)


class ColumnWatch:
    """Shows in metrics and `status` which columns no record has filled, after each epoch; logs one warning for each table.

    A column that has values in files of earlier epochs is left out, unless a key nearly equals its name, or rows get its default.
    """

    def __init__(self, metrics: ServiceMetrics, files: FileSystem) -> None:
        self._metrics = metrics
        self._files = files
        self._seen: dict[str, _ColumnsOfTable] = {}

    def __call__(self, report: EpochReport) -> None:
        tables = {table.name: table for table in report.tables}
        for part in report.reports:
            if part.outcome.columns.rows:
                table = tables[part.table]
                seen_so_far = self._seen.setdefault(part.table, _ColumnsOfTable(part.state.epoch))
                seen_so_far.columns = table.owned.settings.decoded_columns
                seen_so_far.add(part.outcome.columns)
                self._report(table, seen_so_far)

    def end(self, tables: Iterable[Table]) -> None:
        """Report at the end of a `--once` run: no more records come, so those that were read decide, however few."""
        for table in tables:
            if seen_so_far := self._seen.get(table.name):
                seen_so_far.enough = True
                self._report(table, seen_so_far)

    def _report(self, table: Table, seen_so_far: _ColumnsOfTable) -> None:
        now, before = self._without_refuted(table, seen_so_far), seen_so_far.reported
        if now == before:
            return
        self._metrics.observe_never_filled(table.name, before, now)
        text = _text(never_filled(now, seen_so_far.columns, seen_so_far.unmapped), seen_so_far.rows)
        table.warnings["columns"] = (text,) if now else ()
        seen_so_far.reported = now
        if not before:
            log.warning("%s: %s", table.name, text)

    def _without_refuted(self, table: Table, seen_so_far: _ColumnsOfTable) -> tuple[str, ...]:
        """Return the columns that stay empty, without those that earlier epochs filled; each is looked up once."""
        never, likely = seen_so_far.never_filled, seen_so_far.likely
        with_default = {column.name for column in seen_so_far.columns if column.leeway.default is not None}
        doubtful = set(never) - seen_so_far.looked_up - with_default
        if doubtful and isinstance(owned := table.ownership, Owned):
            from kafka2hive.service.tables.earlier_rows import filled_before  # loads pyarrow

            seen_so_far.looked_up |= doubtful
            seen_so_far.filled_before |= filled_before(
                files=self._files,
                ledger=owned.ledger,
                settings=owned.settings,
                columns=doubtful,
                epoch=seen_so_far.first_epoch,
            )
        return tuple(name for name in never if name in likely or name not in seen_so_far.filled_before)


def _text(columns: Sequence[NeverFilledColumn], rows: int) -> str:
    named = ", ".join(map(str, columns[:_MOST_NAMED]))
    more = f" and {len(columns) - _MOST_NAMED} more" if len(columns) > _MOST_NAMED else ""
    return (
        f"no value in any of the first {counted(rows, 'record')}: {named}{more}; write a column's name as the JSON spells it, "
        'or say where its value stands (from: "$.key")'
    )


def never_filled(
    empty: Iterable[str], columns: Sequence[Column], unmapped: Iterable[str], alike: float = _ALIKE
) -> list[NeverFilledColumn]:
    """Return the empty columns, each with the most similar of the `unmapped` keys (paths that no column takes)."""
    paths = {column.name: path_text(column.keys) for column in columns}
    return [
        NeverFilledColumn(name, _nearest(paths.get(name, f"$.{name}"), unmapped, alike)) for name in empty
    ]


def _nearest(path: str, unmapped: Iterable[str], alike: float) -> str:
    """Return the most similar key without the `$.` that all paths begin with; empty if none is similar."""
    by_letters: Mapping[str, str] = {_letters(key): key for key in unmapped}
    similar = difflib.get_close_matches(_letters(path), by_letters, 1, alike)
    return by_letters[similar[0]].removeprefix("$.") if similar else ""


def _letters(path: str) -> str:
    return "".join(character for character in path.lower() if character.isalnum())
