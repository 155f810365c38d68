"""How Hive's table becomes the one of the map where columns were only added or became wider. Pure."""

from dataclasses import dataclass, replace

from kafka2hive.config.values import Column
from kafka2hive.hive import text
from kafka2hive.hive.check import can_widen, check_table, same_type
from kafka2hive.hive.description import TableDescription
from kafka2hive.hive.tables import TableSpec, declared


@dataclass(frozen=True, slots=True)
class Alterations:
    """`added` become the last columns; `widened` get these types. Empty: the table is the map's."""

    added: tuple[Column, ...]
    widened: tuple[Column, ...]


def alterations(spec: TableSpec, found: TableDescription) -> Alterations:
    """What Hive's table lacks. Raises TableError where it would be another table than the map's with these, too."""
    there = {column.name.lower(): column for column in found.columns}
    added = tuple(column for column in spec.columns if column.name.lower() not in there)
    widened = tuple(
        column
        for column in spec.columns
        if (other := there.get(column.name.lower())) is not None
        and not same_type(column.type, other.type)
        and can_widen(spec, column.type, other.type)
    )
    new = {column.name.lower(): column for column in widened}
    kept = tuple(new.get(column.name.lower(), column) for column in found.columns)
    check_table(spec, replace(found, columns=kept + added))
    return Alterations(added, widened)


def alter_statements(spec: TableSpec, changes: Alterations) -> tuple[str, ...]:
    """In their order; each leaves a table that holds all its rows. Doing one twice is refused by Hive and changes nothing.

    Partitions get the columns, too (CASCADE): else Hive reads them by the columns they were made with.
    """
    table = f"ALTER TABLE {text.table_name(spec.table)}"
    cascade = (
        " CASCADE" if spec.partition_columns else ""
    )  # Hive refuses the word where there are no partitions
    statements = [
        f"{table} CHANGE COLUMN {text.identifier(column.name)} {declared([column])}{cascade}"
        for column in changes.widened
    ]
    if changes.added:
        statements.append(f"{table} ADD COLUMNS ({declared(changes.added)}){cascade}")
    return tuple(statements)
