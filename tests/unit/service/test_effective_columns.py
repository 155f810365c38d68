"""A table's columns are those of the map or of Hive, and those that were added according to its ledger."""

from dataclasses import replace
from typing import Any

from kafka2hive.config.keys import Column, TableRule
from kafka2hive.model.snapshot import AddedColumn
from kafka2hive.service.hive.schema_columns import EffectiveColumns, effective_columns, watches_schemas
from tests.simulation.service.maps import rule_of


def rule(*columns: Column, **more: Any) -> TableRule:
    return replace(rule_of("db.t", ("t",)), columns=columns, format="avro", **more)


def added(name: str, kind: str, epoch: int = 1) -> AddedColumn:
    return AddedColumn(name=name, type=kind, schema="id 1", added_at="", epoch=epoch)


ID = Column("id", "bigint")


def test_added_columns_follow_the_maps_and_the_last_type_of_a_name_holds() -> None:
    log = (added("x", "int"), added("y", "string"), added("x", "bigint", 2))
    assert effective_columns(rule(ID), (ID,), log) == EffectiveColumns(
        (ID, Column("x", "bigint"), Column("y", "string")), frozenset({"x", "y"})
    )


def test_a_column_of_the_map_takes_the_place_of_an_added_one() -> None:
    own = Column("X", "string", ("other",))
    assert effective_columns(rule(ID, own), (ID, own), (added("x", "int"),)) == EffectiveColumns(
        (ID, own), frozenset()
    )


def test_an_ignored_field_is_no_column_any_more() -> None:
    known = effective_columns(rule(ID, ignored_fields=("x",)), (ID,), (added("x", "int"),))
    assert known == EffectiveColumns((ID,), frozenset())


def test_where_the_columns_are_hives_an_added_one_keeps_the_fields_name_and_the_wider_type() -> None:
    log = (added("tailNum", "int"), added("later", "string"))
    for in_hive, kind in (("int", "int"), ("bigint", "bigint"), ("smallint", "int")):
        known = effective_columns(rule(), (ID, Column("tailnum", in_hive)), log)
        assert known.columns == (ID, Column("tailNum", kind), Column("later", "string"))
        assert known.added == {"tailnum", "later"}


def test_only_schemas_that_records_name_by_id_are_watched() -> None:
    watching = rule(ID, schema_evolution="add")
    assert watches_schemas(watching, has_registry=True)
    assert not watches_schemas(watching, has_registry=False)
    assert not watches_schemas(rule(ID), has_registry=True)
    assert not watches_schemas(replace(watching, avro_schema="{}"), has_registry=True)
    assert not watches_schemas(replace(watching, format="json"), has_registry=True)
