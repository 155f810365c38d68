"""A table's columns: those of the map, or of Hive, and those that its ledger says were added. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from kafka2hive.config.values import Column, TableRule
from kafka2hive.config.wider_types import is_wider
from kafka2hive.model.snapshot import AddedColumn


@dataclass(frozen=True, slots=True)
class EffectiveColumns:
    """`added`: names, in small letters, of those that are not the map's."""

    columns: tuple[Column, ...]
    added: frozenset[str]


def effective_columns(
    rule: TableRule, known: Sequence[Column], added: Sequence[AddedColumn]
) -> EffectiveColumns:
    """`known`: the map's columns or, where the map has none, Hive's. What the map says of a column or a field counts."""
    newest = {a.name.lower(): a for a in added if a.name not in rule.ignored_fields}
    columns: list[Column] = []
    names: set[str] = set()
    for column in known:
        own = None if rule.columns else newest.get(column.name.lower())
        if own is None:
            columns.append(column)
        else:  # Hive's, which may have been altered further by hand
            kind = own.type if is_wider(own.type, column.type) else column.type
            columns.append(Column(own.name, kind))
            names.add(own.name.lower())
    there = {column.name.lower() for column in known}
    for name, own in newest.items():
        if name not in there:
            columns.append(Column(own.name, own.type))
            names.add(name)
    return EffectiveColumns(tuple(columns), frozenset(names))


def watches_schemas(rule: TableRule, *, has_registry: bool) -> bool:
    """Whether the schemas that its records name by id say something about the table's columns."""
    own_schema = {"avro": rule.avro_schema, "protobuf": rule.protobuf_schema}
    return (
        rule.schema_evolution != "ignore"
        and rule.sql is None  # its columns are the SELECT's
        and has_registry
        and rule.format in own_schema
        and own_schema[rule.format] is None
    )
