"""The view `<table>_latest` of a change log: the newest state of each row of the database, as HiveQL text."""

import hashlib
from dataclasses import dataclass

from kafka2hive.config.keys import Column
from kafka2hive.config.keys.source import OPERATION
from kafka2hive.hive import hiveql
from kafka2hive.hive.description import LATEST_PROPERTY

SUFFIX = "_latest"


@dataclass(frozen=True, slots=True)
class LatestView:
    """How the newest change of a row is found: `key` identifies the row, the change with the greatest `order` is the newest.

    `offset` and, if a message can have several rows, `ordinal` decide among equal ones. They, and `partition`, are columns with
    metadata.
    """

    key: tuple[str, ...]
    order: str
    partition: str
    offset: str
    ordinal: str | None = None

    @property
    def ties(self) -> tuple[str, ...]:
        return (self.offset,) if self.ordinal is None else (self.offset, self.ordinal)


def view_name(table: str) -> str:
    return table + SUFFIX


def fingerprint(select: str) -> str:
    """Return what the view's properties hold, so that a changed map replaces the view."""
    return hashlib.sha256(select.encode()).hexdigest()[:32]


def create_view(table: str, select: str) -> str:
    """Return the statement that makes or replaces the view."""
    comment = hiveql.literal(f"newest state of each row of {table}")
    pair = f"{hiveql.literal(LATEST_PROPERTY)}={hiveql.literal(fingerprint(select))}"
    name = hiveql.table_name(view_name(table))
    return f"CREATE OR REPLACE VIEW {name} COMMENT {comment} TBLPROPERTIES ({pair}) AS {select}"


def latest_select(table: str, columns: tuple[Column, ...], view: LatestView) -> str:
    """Return the SELECT of the view over these columns of the table, partition columns included.

    The newest change of each key is its state, unless it is a deletion or older than the newest truncation of the database's
    table. Changes with a null in the key are no rows.

    Offsets are compared only within a topic partition. A key on two of them makes the query fail, and so does a truncation
    that is on another one than a row, unless `order` decides.
    """
    name, operation = hiveql.table_name(table), hiveql.identifier(OPERATION)
    keys = [hiveql.identifier(column) for column in view.key]
    order, offset = hiveql.identifier(view.order), hiveql.identifier(view.offset)
    partition, listed = hiveql.identifier(view.partition), ", ".join(keys)
    newest = ", ".join(f"{hiveql.identifier(column)} DESC" for column in (view.order, *view.ties))
    shown = ", ".join(f"r.{hiveql.identifier(column.name)}" for column in columns)
    named = " AND ".join(f"{key} IS NOT NULL" for key in keys)
    changes = (
        f"SELECT *, row_number() OVER (PARTITION BY {listed} ORDER BY {newest}) AS `__rank`,"
        f" min({partition}) OVER (PARTITION BY {listed}) AS `__first`,"
        f" max({partition}) OVER (PARTITION BY {listed}) AS `__last` FROM {name} WHERE {named}"
    )
    truncated = (
        f"SELECT max({order}) AS `__cut`, max({offset}) AS `__cut_offset`,"
        f" min({partition}) AS `__first_cut`, max({partition}) AS `__last_cut`"
        f" FROM (SELECT {order}, {offset}, {partition}, rank() OVER (ORDER BY {order} DESC) AS `__age`"
        f" FROM {name} WHERE {operation} = 't') c WHERE `__age` = 1"
    )
    comparable = (
        f"t.`__cut_offset` IS NULL OR r.{order} <> t.`__cut`"
        f" OR (r.{partition} = t.`__first_cut` AND r.{partition} = t.`__last_cut`)"
    )
    survives = (
        f"t.`__cut_offset` IS NULL OR r.{order} > t.`__cut`"
        f" OR (coalesce(r.{order} = t.`__cut`, true) AND r.{offset} > t.`__cut_offset`)"
    )
    return (
        f"SELECT {shown} FROM ({changes}) r CROSS JOIN ({truncated}) t WHERE r.`__rank` = 1"
        f" AND assert_true(r.`__first` = r.`__last`) IS NULL AND r.{operation} <> 'd'"
        f" AND assert_true({comparable}) IS NULL AND ({survives})"
    )
