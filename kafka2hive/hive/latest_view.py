"""The SELECT of the view of a change log's newest states."""

from collections.abc import Sequence
from dataclasses import dataclass

from kafka2hive.config.keys import Column, RecordPart
from kafka2hive.config.keys.source import BEFORE, CHANGE_COLUMNS, OPERATION, UNAVAILABLE
from kafka2hive.hive import hiveql

_OPERATION = hiveql.identifier(OPERATION)
_MARKED_TYPES = ("string", "varchar", "char", "binary", "array", "map", "struct")


@dataclass(frozen=True, slots=True)
class LatestView:
    """The columns by which the view finds the newest change of a row.

    `key` identifies the row; the change with the greatest `order` is the newest. Among changes of equal `order`, the greatest
    `offset` decides, and if a message can have several rows, the greatest `ordinal`. `partition`, `offset` and `ordinal` are
    metadata columns. `marked` are the names that the column UNAVAILABLE may hold, if the table has it.
    """

    key: tuple[str, ...]
    order: str
    partition: str
    offset: str
    ordinal: str | None = None
    marked: tuple[str, ...] = ()

    @property
    def ties(self) -> tuple[str, ...]:
        return (self.offset,) if self.ordinal is None else (self.offset, self.ordinal)


def marked_columns(columns: Sequence[Column], key: Sequence[str], order: str) -> tuple[str, ...]:
    """Return the names that UNAVAILABLE may hold in a table with these columns; empty if the table lacks that column."""
    names = {column.name.lower() for column in columns}
    if UNAVAILABLE not in names:
        return ()
    others = {*CHANGE_COLUMNS, BEFORE, UNAVAILABLE, order.lower(), *(name.lower() for name in key)}
    of_row = [
        column.name
        for column in columns
        if column.part is RecordPart.VALUE
        and column.name.lower() not in others
        and column.type.strip().lower().startswith(_MARKED_TYPES)
    ]
    return (*of_row, *(f"{BEFORE}.{name}" for name in of_row if BEFORE in names))


def latest_select(table: str, columns: tuple[Column, ...], view: LatestView) -> str:
    """Return the SELECT of the view over these columns of the table, partition columns included.

    The newest change of each key is its state, unless it is a deletion or older than the newest truncation of the database's
    table. Changes with a null in the key are left out. Values that the newest change lacks are those of the newest change that
    has them since the row was created.

    Offsets are compared only within one topic partition. If a key has changes on two topic partitions, the query fails. It also
    fails if `order` does not decide between a change and a truncation, and they are on different topic partitions.
    """
    parts = _Parts(table, view)
    if view.marked:
        return parts.with_known_values(columns)
    changes = f"SELECT *, {parts.ranks} FROM {parts.table} WHERE {parts.has_key}"
    shown = ", ".join(f"r.{hiveql.identifier(column.name)}" for column in columns)
    return (
        f"SELECT {shown} FROM ({changes}) r CROSS JOIN ({parts.truncated}) t WHERE r.`__rank` = 1"
        f" AND assert_true(r.`__first` = r.`__last`) IS NULL AND r.{_OPERATION} <> 'd'"
        f" AND assert_true({parts.comparable('r', 't')}) IS NULL AND ({parts.survives('r', 't')})"
    )


class _Parts:
    """The parts of the SELECT."""

    def __init__(self, table: str, view: LatestView) -> None:
        self.table = hiveql.table_name(table)
        self._view = view
        keys = [hiveql.identifier(column) for column in view.key]
        self._key = ", ".join(keys)
        self.has_key = " AND ".join(f"{key} IS NOT NULL" for key in keys)
        self._newest = ", ".join(f"{hiveql.identifier(column)} DESC" for column in (view.order, *view.ties))
        self._order, self._offset = hiveql.identifier(view.order), hiveql.identifier(view.offset)
        self._partition = hiveql.identifier(view.partition)

    @property
    def ranks(self) -> str:
        """The columns that rank the changes of a key, and the least and the greatest topic partition of the key."""
        return (
            f"row_number() OVER (PARTITION BY {self._key} ORDER BY {self._newest}) AS `__rank`,"
            f" min({self._partition}) OVER (PARTITION BY {self._key}) AS `__first`,"
            f" max({self._partition}) OVER (PARTITION BY {self._key}) AS `__last`"
        )

    @property
    def truncated(self) -> str:
        """The SELECT of the newest truncation."""
        order, offset, partition = self._order, self._offset, self._partition
        return (
            f"SELECT max({order}) AS `__cut`, max({offset}) AS `__cut_offset`,"
            f" min({partition}) AS `__first_cut`, max({partition}) AS `__last_cut`"
            f" FROM (SELECT {order}, {offset}, {partition}, rank() OVER (ORDER BY {order} DESC) AS `__age`"
            f" FROM {self.table} WHERE {_OPERATION} = 't') c WHERE `__age` = 1"
        )

    def comparable(self, r: str, t: str) -> str:
        """The condition that a change of `r` is known to be older or newer than the truncation of `t`."""
        return (
            f"{t}.`__cut_offset` IS NULL OR {r}.{self._order} <> {t}.`__cut`"
            f" OR ({r}.{self._partition} = {t}.`__first_cut` AND {r}.{self._partition} = {t}.`__last_cut`)"
        )

    def survives(self, r: str, t: str) -> str:
        """The condition that a change of `r` is newer than the truncation of `t`."""
        return (
            f"{t}.`__cut_offset` IS NULL OR {r}.{self._order} > {t}.`__cut`"
            f" OR (coalesce({r}.{self._order} = {t}.`__cut`, true) AND {r}.{self._offset} > {t}.`__cut_offset`)"
        )

    def with_known_values(self, columns: tuple[Column, ...]) -> str:
        """Return the SELECT that takes each marked column from the newest change that has it.

        Only changes since the key's newest creation, and since the newest truncation, may give a value; a change that may be
        older than that truncation does not. A column without such a change stays NULL, and stays named.
        """
        of_row = [name for name in self._view.marked if not name.startswith(f"{BEFORE}.")]
        changes = f"SELECT c.*, t.* FROM (SELECT * FROM {self.table} WHERE {self.has_key}) c CROSS JOIN ({self.truncated}) t"
        over = f"OVER (PARTITION BY {self._key}"
        ranked = (
            f"SELECT j.*, {self.ranks}, sum(CASE WHEN {_OPERATION} IN ('c', 'r', 'd') THEN 1 ELSE 0 END) {over}"
            f" ORDER BY {self._newest} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS `__lives` FROM ({changes}) j"
        )
        usable = (
            f"coalesce(r.`__lives`, 0) = 0 AND r.{_OPERATION} <> 'd'"
            f" AND ({self.comparable('r', 'r')}) AND ({self.survives('r', 'r')})"
        )
        known = ", ".join(
            f"min(CASE WHEN {usable} AND NOT {_is_marked('r', name)} THEN r.`__rank` END) {over}) AS `__known_{number}`"
            for number, name in enumerate(of_row)
        )
        everywhere = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
        values = ", ".join(
            f"first_value(CASE WHEN k.`__rank` = k.`__known_{number}` THEN k.{hiveql.identifier(name)} END, true)"
            f" {over} ORDER BY k.`__rank` {everywhere}) AS `__value_{number}`"
            for number, name in enumerate(of_row)
        )
        taken = {name: f"r.`__value_{number}`" for number, name in enumerate(of_row)}
        taken[UNAVAILABLE] = self._names(of_row)
        shown = ", ".join(
            f"{taken.get(column.name, f'r.{hiveql.identifier(column.name)}')} AS {hiveql.identifier(column.name)}"
            for column in columns
        )
        return (
            f"SELECT {shown} FROM (SELECT k.*, {values} FROM (SELECT r.*, {known} FROM ({ranked}) r) k) r"
            f" WHERE r.`__rank` = 1 AND assert_true(r.`__first` = r.`__last`) IS NULL AND r.{_OPERATION} <> 'd'"
            f" AND assert_true({self.comparable('r', 'r')}) IS NULL AND ({self.survives('r', 'r')})"
        )

    def _names(self, of_row: Sequence[str]) -> str:
        """Return the expression of the names that stay marked: no change gives the column a value."""
        names = [
            f"CASE WHEN r.`__known_{number}` IS NULL THEN {hiveql.literal(name)} END"
            for number, name in enumerate(of_row)
        ]
        of_before = [name for name in self._view.marked if name not in of_row]
        names += [f"CASE WHEN {_is_marked('r', name)} THEN {hiveql.literal(name)} END" for name in of_before]
        joined = f"concat_ws(',', {', '.join(names)})"
        return f"CASE WHEN {joined} <> '' THEN split({joined}, ',') END"


def _is_marked(r: str, name: str) -> str:
    return f"coalesce(array_contains({r}.{hiveql.identifier(UNAVAILABLE)}, {hiveql.literal(name)}), false)"
