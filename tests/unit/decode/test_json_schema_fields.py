"""Hive's types for the properties of JSON Schemas, and the columns that tables take from them."""

import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.config.keys import TableSettings
from kafka2hive.config.load import load_text
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.schemas.json import parse
from kafka2hive.model.errors import SchemaDiffers, SchemaRegistryUnavailable
from kafka2hive.model.writer_schema import (
    JSON,
    SchemaId,
    SchemaInvalid,
    SchemaReference,
    WriterId,
    WriterSchema,
)
from kafka2hive.schema_evolution.differences import WriterFieldsCheck
from kafka2hive.schema_evolution.json_types import json_fields
from kafka2hive.service.hive.schema_columns import missing_columns, schema_fields, watches_schemas
from tests.harness.map_text import FILMS, HEAD, films, problems_of
from tests.harness.outcomes import first_values
from tests.harness.task_files import table_settings

TREE = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "more": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
}
TYPES: list[tuple[Any, str | None]] = [
    ({"type": "integer"}, "bigint"),
    ({"type": "number"}, "double"),
    ({"type": "boolean"}, "boolean"),
    ({"type": "string"}, "string"),
    ({"type": "string", "format": "uuid"}, "string"),
    ({"type": "string", "format": "date"}, "date"),
    ({"type": "string", "format": "date-time"}, "timestamp"),
    ({"type": ["null", "integer"]}, "bigint"),
    ({"type": ["number", "integer"]}, "double"),
    ({"oneOf": [{"type": "null"}, {"type": "string", "format": "date"}]}, "date"),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string"),
    ({"allOf": [{"$ref": "#/$defs/Point"}]}, "struct<x:double,tag:string>"),
    ({"$ref": "#/$defs/Point"}, "struct<x:double,tag:string>"),
    ({"$ref": "#point"}, "struct<x:double,tag:string>"),
    ({"$ref": "money.json#/properties/amount"}, "bigint"),
    ({"enum": ["a", "b", None]}, "string"),
    ({"const": 7}, "bigint"),
    ({"type": "array", "items": {"type": "integer"}}, "array<bigint>"),
    ({"type": "object", "additionalProperties": {"type": "number"}}, "map<string,double>"),
    ({"properties": {"a": {"type": "integer"}, "b": {"type": "null"}}}, "struct<a:bigint>"),
    ({"type": "object"}, None),
    ({"type": "object", "additionalProperties": True}, None),
    ({"type": "array"}, None),
    ({"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "string"}}, None),
    ({"type": ["string", "integer"]}, None),
    ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, None),
    ({"enum": ["a", 1]}, None),
    ({"type": "null"}, None),
    ({}, None),
    (True, None),
    ({"$ref": "#/$defs/None"}, None),
    ({"$ref": "other.json"}, None),
    ({"$ref": "#/$defs/Circle"}, None),
    ({"$ref": "#/$defs/Tree"}, "struct<n:bigint>"),
]
DEFINITIONS = {
    "Tree": TREE,
    "Point": {
        "$anchor": "point",
        "type": "object",
        "properties": {"x": {"type": "number"}, "tag": {"type": "string"}},
    },
    "Circle": {"$ref": "#/$defs/Circle"},
}


def schema(properties: Any, **more: Any) -> WriterSchema:
    text = json.dumps({"type": "object", "properties": properties, "$defs": DEFINITIONS, **more})
    money = json.dumps({"properties": {"amount": {"type": "integer"}}})
    return WriterSchema(JSON, text, (SchemaReference("money.json", money),))


def fields(written: WriterSchema, is_change_log: bool = False) -> dict[str, str | None]:
    return {one.name: one.type for one in json_fields(parse(written), is_change_log=is_change_log)}


@pytest.mark.parametrize(("node", "expected"), TYPES)
def test_each_property_has_the_type_of_its_values(node: Any, expected: str | None) -> None:
    (field,) = json_fields(parse(schema({"a": node})), is_change_log=False)
    assert field.type == expected
    assert bool(field.notes) is (
        expected is None or "Tree" in str(node) or ("null" in str(node) and "struct" in expected)
    )


def test_the_objects_of_an_array_or_of_several_kinds_have_the_properties_of_all() -> None:
    one = {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}
    other = {"properties": {"b": {"type": "boolean"}, "c": {"$ref": "#/$defs/Point"}}}
    expected = {"a": "bigint", "b": None, "c": "struct<x:double,tag:string>"}
    for root in (
        {"oneOf": [one, other]},
        {"type": "array", "items": {"anyOf": [one, other]}},
        {"allOf": [one, other]},
    ):
        written = WriterSchema(JSON, json.dumps({**root, "$defs": DEFINITIONS}))
        assert fields(written) == expected
    assert fields(WriterSchema(JSON, "true")) == fields(WriterSchema(JSON, '{"type":"string"}')) == {}


def test_a_change_log_has_the_properties_of_its_row() -> None:
    row = {"oneOf": [{"type": "null"}, {"properties": {"id": {"type": "integer"}}}]}
    assert fields(schema({"op": {"type": "string"}, "after": row}), is_change_log=True) == {"id": "bigint"}
    assert fields(schema({"op": {"type": "string"}}), is_change_log=True) == {}


@pytest.mark.parametrize("text", ["{", "[]", "7", '"a"'])
def test_a_text_that_is_no_schema_is_invalid(text: str) -> None:
    with pytest.raises(SchemaInvalid):
        parse(WriterSchema(JSON, text))


def test_a_huge_or_deep_schema_ends_within_its_limits() -> None:
    node: Any = {"type": "integer"}
    for _ in range(90):
        node = {"type": "array", "items": node}
    wide = {f"p{n}": {"$ref": "#/$defs/Wide"} for n in range(300)}
    definitions = {"Wide": {"properties": {f"q{n}": {"type": "integer"} for n in range(300)}}}
    text = json.dumps({"properties": {"deep": node, **wide}, "$defs": definitions})
    found = list(json_fields(parse(WriterSchema(JSON, text)), is_change_log=False))
    assert found[0].type is None and found[-1].type is None and found[1].type is not None


def table(**more: Any) -> TableSettings:
    settings = table_settings("db.t", "json", (("id", "bigint"),))
    return replace(settings, format="json_schema", **more)


def test_properties_without_a_column_become_columns() -> None:
    settings = table(schema_evolution="add")
    properties = {"id": {"type": "integer"}, "at": {"type": "string", "format": "date"}, "x": {}}
    written = schema_fields(
        "id 7",
        schema(properties),
        None,
        settings,
    )
    assert written is not None
    missing = missing_columns(settings, [written])
    assert [(c.name, c.type) for c, _ in missing.columns] == [("at", "date")]
    assert missing.lost == ("x has no type: left out",)
    assert schema_fields("id 8", WriterSchema(JSON, "{"), None, settings) is None
    assert schema_fields("id 9", WriterSchema("AVRO", "{}"), None, settings) is None


class Registry:
    """Has one schema; counts what it is asked for."""

    def __init__(self, written: WriterSchema | None) -> None:
        self.written = written
        self.asked: list[SchemaId] = []

    def get(self, schema_id: SchemaId) -> WriterSchema | None:
        self.asked.append(schema_id)
        if schema_id == 9:
            raise SchemaRegistryUnavailable("away")
        return self.written


def decoder(registry: Registry, evolution: str = "add", columns: tuple[str, ...] = ("id",)) -> Any:
    settings = replace(
        table(schema_evolution=evolution), columns=tuple(c for c in table().columns if c.name in columns)
    )
    spec = DecoderSpec(
        "json_schema", pa.schema([("id", pa.int64())]), writers=registry, check=WriterFieldsCheck(settings)
    )
    return make_decoder(spec)


def framed(number: int, text: str) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + text.encode()


def test_a_schema_is_compared_before_its_first_record_and_once() -> None:
    known = Registry(schema({"id": {"type": "integer"}}))
    made = decoder(known)
    for _ in range(2):
        assert first_values(made, [framed(7, '{"id":1}'), framed(8, '{"id":2}'), framed(7, '{"id":3}')]) == [
            1,
            2,
            3,
        ]
    assert known.asked == [7, 8]
    new = decoder(Registry(schema({"id": {"type": "integer"}, "more": {"type": "number"}})))
    with pytest.raises(SchemaDiffers) as error:
        first_values(new, [framed(7, '{"id":1}')])
    assert error.value.writer == WriterId(7) and "no column for more double" in str(error.value)
    with pytest.raises(SchemaRegistryUnavailable):
        first_values(made, [framed(9, '{"id":1}')])
    for odd in (None, WriterSchema(JSON, "{"), WriterSchema("AVRO", "{}")):
        assert first_values(decoder(Registry(odd)), [framed(7, '{"id":1}')]) == [1]


def test_stop_refuses_what_is_lost_and_a_record_without_a_head_asks_for_nothing() -> None:
    registry = Registry(schema({"id": {"type": "integer"}, "x": {}}))
    with pytest.raises(SchemaDiffers):
        first_values(decoder(registry, "stop"), [framed(7, '{"id":1}')])
    assert first_values(decoder(registry), [b'{"id":1}']) == ["json.frame"] and registry.asked == [7]


def test_a_map_may_let_columns_follow_json_schemas() -> None:
    registry = "registry: {url: 'http://registry:8081'}\n"
    lines = "    format: json_schema\n    schema_evolution: add\n    ignored_fields: [x]\n    columns: {id: bigint}\n"
    (rule,) = load_text(HEAD + registry + FILMS + lines, "map.yaml", {}).tables
    assert watches_schemas(rule, has_registry=True)
    (problem,) = problems_of(HEAD + FILMS + lines)
    assert "schema_evolution: needs a registry section with json_schema" in str(problem)
    (problem,) = problems_of(
        HEAD + registry + FILMS + lines.replace("add", "ignore").replace("    ignored_fields: [x]\n", "")
    )
    assert "no table uses it" in str(problem)
    rule = films("    format: json_schema\n    columns: {id: bigint}\n")
    assert not watches_schemas(rule, has_registry=True)
    assert watches_schemas(replace(rule, schema_evolution="stop"), has_registry=True)
