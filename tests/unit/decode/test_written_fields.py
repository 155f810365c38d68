"""The fields of a writer's schema against a table's columns: which become columns, which are in none."""

import json
from dataclasses import replace
from typing import Any

import pytest

from kafka2hive.config.keys import Bucketing, Column, MetadataColumn, TableSettings, WriterOptions
from kafka2hive.decode.schemas.avro import parse
from kafka2hive.model.errors import SchemaDiffers
from kafka2hive.model.hive_types import hive_type_of, parse_hive_type
from kafka2hive.model.writer_schema import AVRO, PROTOBUF, WriterId, WriterSchema
from kafka2hive.schema_evolution.differences import WriterFieldsCheck, merge
from kafka2hive.service.hive.schema_columns import MissingColumns, missing_columns, schema_fields
from tests.harness.task_files import table_settings


def table(*columns: tuple[str, str], **more: Any) -> TableSettings:
    return replace(table_settings("db.t", columns=list(columns)), format="avro", **more)


def avro(*fields: tuple[str, Any], name: str = "R") -> str:
    return json.dumps(
        {"type": "record", "name": name, "fields": [{"name": n, "type": kind} for n, kind in fields]}
    )


def found(settings: TableSettings, *schemas: str) -> MissingColumns:
    kind = AVRO if settings.format == "avro" else PROTOBUF
    read = [schema_fields(f"id {n}", WriterSchema(kind, s), None, settings) for n, s in enumerate(schemas)]
    return missing_columns(settings, [one for one in read if one is not None])


def columns(result: MissingColumns) -> list[tuple[str, str]]:
    return [(column.name, column.type) for column, _ in result.columns]


def record(*fields: tuple[str, Any], name: str) -> dict[str, Any]:
    return dict(json.loads(avro(*fields, name=name)))


def test_a_field_that_no_column_takes_becomes_a_column_of_its_name_and_type() -> None:
    schema = avro(
        ("id", "long"),
        ("Order", ["null", "int"]),
        ("at", {"type": "long", "logicalType": "timestamp-millis"}),
        ("spot", record(("gate", "int"), ("tags", {"type": "array", "items": "string"}), name="S")),
    )
    assert columns(found(table(("id", "bigint")), schema)) == [
        ("Order", "int"),
        ("at", "timestamp"),
        ("spot", "struct<gate:int,tags:array<string>>"),
    ]
    assert found(table(("id", "bigint"), ignored_fields=("Order", "at", "spot")), schema) == MissingColumns(
        (), ()
    )


def test_a_field_that_the_map_names_whole_or_in_part_is_the_maps() -> None:
    settings = replace(
        table(("id", "bigint")),
        columns=(Column("key", "bigint", ("id",)), Column("gate", "int", ("spot", "gate"))),
    )
    schema = avro(("id", "long"), ("spot", record(("gate", "int"), ("hall", "string"), name="S")))
    result = found(settings, schema)
    assert result.columns == ()
    assert result.lost == ("no column for spot.hall string",)


def test_what_hive_has_no_column_for_is_named_and_the_rest_is_taken() -> None:
    settings = table(
        ("id", "bigint"),
        metadata=((MetadataColumn.TOPIC, "k_topic"),),
        bucketing=Bucketing(path="dt=%Y-%m-%d"),
    )
    tree = {"type": "record", "name": "T", "fields": [{"name": "next", "type": ["null", "T"]}]}
    schema = avro(
        ("ID", "long"),
        ("DT", "string"),
        ("K_topic", "string"),
        ("odd", ["null", "string", "long"]),
        ("tree", tree),
        ("twice", record(("a", "int"), ("A", "int"), name="W")),
        ("good", record(("a", "int"), ("b", ["string", "int"]), name="G")),
        ("GOOD", "int"),
    )
    result = found(settings, schema)
    assert columns(result) == [("good", "struct<a:int>")]
    assert [text.partition(" (")[0] for text in result.lost] == [
        "ID bigint has the name of column id",
        "DT string has the name of partition column dt",
        "K_topic string has the name of metadata column k_topic",
        "odd is a union of several types: left out",
        "tree.next is T within itself: left out",
        "twice is not a type of Hive",
        "good.b is a union of several types: left out",
        "GOOD int has the name of column good",
    ]


def test_a_message_that_is_one_of_several_records_has_the_fields_of_all() -> None:
    one = record(("id", "long"), ("x", "int"), ("odd", "int"), name="One")
    two = record(("id", "long"), ("y", "string"), ("odd", "string"), name="Two")
    result = found(table(("id", "bigint")), json.dumps(["null", one, two]))
    assert columns(result) == [("x", "int"), ("y", "string")]
    assert result.lost == ("odd is of several types in the records of the union: left out",)


def test_a_name_that_no_field_of_hive_can_have_and_a_record_without_fields_are_left_out_and_said() -> None:
    injected = record(("a:int,b", "int"), ("a b", "int"), ("é_$9", "int"), name="W")
    empty = record(("none", record(name="E")), ("x", "int"), name="H")
    result = found(table(("id", "bigint")), avro(("odd", injected), ("half", empty), ("no", "E")))
    assert columns(result) == [("odd", "struct<é_$9:int>"), ("half", "struct<x:int>")]
    assert result.lost == (
        "odd.'a:int,b' is not a name of a field in Hive: left out",
        "odd.'a b' is not a name of a field in Hive: left out",
        "half.none is a record without fields: left out",
        "no is a record without fields: left out",
    )


def test_a_table_of_orc_files_with_metadata_gets_no_column_between() -> None:
    schema = avro(("id", "long"), ("x", "int"))
    orc = table(("id", "bigint"), writer=WriterOptions(format="orc"))
    assert columns(found(orc, schema)) == [("x", "int")]
    closed = found(replace(orc, metadata=((MetadataColumn.TOPIC, "k_topic"),)), schema)
    assert (closed.columns, len(closed.lost)) == ((), 1)


def test_a_table_of_avro_files_gets_only_columns_that_these_can_hold() -> None:
    schema = avro(("id", "long"), ("x", "int"), ("spot", record(("gateId", "int"), name="S")))
    files = table(("id", "bigint"), writer=WriterOptions(format="avro"))
    result = found(files, schema)
    assert columns(result) == [("x", "int")]
    (lost,) = [str(one) for one in result.lost]
    assert "gateId in spot has capital letters" in lost


def test_an_added_column_becomes_wider_and_never_narrower_whatever_the_order_of_schemas() -> None:
    settings = table(
        ("id", "bigint"), ("n", "int"), ("s", "struct<a:int,b:int>"), added=frozenset({"n", "s"})
    )
    wide = avro(("id", "long"), ("n", "long"), ("s", record(("c", "string"), ("a", "long"), name="S")))
    narrow = avro(("id", "long"), ("n", "int"), ("s", record(("a", "int"), name="S")))
    wanted = [("n", "bigint"), ("s", "struct<a:bigint,b:int,c:string>")]
    assert columns(found(settings, wide, narrow)) == columns(found(settings, narrow, wide)) == wanted
    assert found(settings, wide, narrow).lost == ()
    assert columns(found(replace(settings, added=frozenset()), wide)) == []


def test_the_maps_own_columns_stay_and_what_they_leave_out_is_named() -> None:
    settings = table(("n", "int"), ("s", "struct<a:int>"), ("l", "array<struct<x:int>>"))
    inner = {"type": "array", "items": record(("x", "int"), ("y", "int"), name="L")}
    schema = avro(("n", "long"), ("s", record(("a", "int"), ("b", "string"), name="S")), ("l", inner))
    result = found(settings, schema)
    assert result.columns == ()
    assert result.lost == (
        "n is bigint, but its column is int",
        "no field for s.b string",
        "no field for l[].y int",
    )


def test_two_schemas_bring_one_column_of_the_type_that_holds_both() -> None:
    result = found(table(("id", "bigint")), avro(("x", "int")), avro(("x", "long"), ("y", "string")))
    assert [(c.name, c.type, schema) for c, schema in result.columns] == [
        ("x", "bigint", "id 1"),
        ("y", "string", "id 1"),
    ]
    clash = found(table(("id", "bigint")), avro(("x", "int")), avro(("x", "string")))
    assert columns(clash) == [("x", "int")]


def test_fields_of_protobuf_become_columns() -> None:
    settings = replace(table(("id", "bigint")), format="protobuf")
    fields = "int64 id = 1; uint64 big = 2; repeated string tags = 3; Kind kind = 4;"
    schema = f'syntax = "proto3"; message M {{ {fields} }} enum Kind {{ A = 0; }}'
    assert columns(found(settings, schema)) == [
        ("big", "decimal(20,0)"),
        ("tags", "array<string>"),
        ("kind", "string"),
    ]
    assert found(settings, schema + " message N { int32 x = 1; }") == MissingColumns((), ()), "which message?"


def test_a_decimal_of_confluents_becomes_a_decimal_and_stays_the_struct_that_it_was() -> None:
    schema = (
        'syntax = "proto3"; import "confluent/type/decimal.proto"; '
        "message M { confluent.type.Decimal fee = 1; repeated confluent.type.Decimal fees = 2; }"
    )
    settings = replace(table(("id", "bigint")), format="protobuf")
    assert columns(found(settings, schema)) == [("fee", "decimal(38,18)"), ("fees", "array<decimal(38,18)>")]
    before = (("fee", "struct<value:binary,precision:bigint,scale:int>"), ("fees", "array<decimal(38,18)>"))
    added = frozenset({"fee", "fees"})
    assert found(replace(table(*before), format="protobuf", added=added), schema) == MissingColumns((), ())


def test_of_a_change_log_the_fields_are_those_of_the_row() -> None:
    row = record(("id", "long"), ("name", "string"), name="Row")
    envelope = avro(
        ("before", ["null", row]), ("after", ["null", "Row"]), ("op", "string"), ("ts_ms", "long")
    )
    settings = table(("id", "bigint"), source="debezium")
    assert columns(found(settings, envelope)) == [("name", "string")]
    assert found(settings, avro(("heartbeat", "long"))) == MissingColumns((), ())


@pytest.mark.parametrize(
    ("held", "written", "both"),
    [
        ("int", "int", "int"),
        ("int", "bigint", "bigint"),
        ("bigint", "int", "bigint"),
        ("float", "double", "double"),
        ("decimal(10,2)", "decimal(12,2)", "decimal(12,2)"),
        ("map<string,int>", "map<string,bigint>", "map<string,bigint>"),
        ("array<struct<a:int>>", "array<struct<b:int>>", "array<struct<a:int,b:int>>"),
        ("struct<a:int>", "struct<A:bigint>", "struct<a:bigint>"),
        ("int", "string", None),
        ("string", "int", None),
        ("struct<a:int>", "struct<a:string>", None),
        ("array<int>", "int", None),
        ("int", "array<int>", None),
    ],
)
def test_one_type_holds_both_or_none_does(held: str, written: str, both: str | None) -> None:
    result = merge(parse_hive_type(held), parse_hive_type(written))
    assert (None if result is None else hive_type_of(result)) == both


def test_a_task_refuses_what_can_be_added_and_with_stop_every_difference() -> None:
    lost = parse(WriterSchema(AVRO, avro(("id", "long"), ("odd", ["string", "int"]))))
    new = parse(WriterSchema(AVRO, avro(("id", "long"), ("x", "string"))))
    adding = WriterFieldsCheck(table(("id", "bigint"), schema_evolution="add"))
    stopping = WriterFieldsCheck(table(("id", "bigint"), schema_evolution="stop"))
    adding.avro(7, lost)
    adding.unresolvable(7, "no")
    for check, schema in ((adding, new), (stopping, new), (stopping, lost)):
        with pytest.raises(SchemaDiffers) as caught:
            check.avro(7, schema)
        assert caught.value.writer == WriterId(7) and "the schema with id 7" in caught.value.message
    with pytest.raises(SchemaDiffers, match="column x"):
        stopping.unresolvable(7, "column x: string does not fill int")
