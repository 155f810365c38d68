"""Find for each top-level property of a JSON Schema the Hive type of its values. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from kafka2hive.decode.schemas.json import JsonSchema, Node
from kafka2hive.model.writer_schema import SchemaInvalid
from kafka2hive.schema_evolution.fields import SchemaTypes, WriterField, writer_field

_SCALARS = {"integer": "bigint", "number": "double", "boolean": "boolean", "string": "string"}
_FORMATS = {"date": "date", "date-time": "timestamp"}
_OF_VALUES = {bool: "boolean", int: "bigint", float: "double", str: "string"}
_NULL = "null"
"""The kind of values that are always null; no type of Hive has this name."""
_SEVERAL = "is of several types in the objects that the schema allows: left out"


@dataclass(frozen=True, slots=True)
class _SchemaPart:
    """A node and the schema that it is in. `within`: the references that lead to it, which cannot recur in Hive."""

    node: Node
    base: Node
    within: tuple[str, ...] = ()


class JsonTypes(SchemaTypes):
    """Hive's types for the parts of a JSON Schema."""

    def __init__(self, schema: JsonSchema) -> None:
        super().__init__()
        self._schema = schema

    def resolved(self, part: _SchemaPart) -> _SchemaPart | None:
        """Return what a part refers to; None if it is within itself. Raises SchemaInvalid."""
        node, base, reference = self._schema.resolve(part.node, part.base)
        if not reference:
            return part
        key = f"{id(base)}{reference}"
        return None if key in part.within else _SchemaPart(node, base, (*part.within, key))

    def type_of(self, part: _SchemaPart, place: str) -> str | None:
        """Return Hive's type, `null` for values that are always null, or None. Raises TooLarge, SchemaInvalid."""
        with self.count_type():
            whole = self.resolved(part)
            if whole is None:
                return self.left_out(place, "is within itself")
            if not isinstance(whole.node, dict):
                return self.left_out(place, "is any value")
            return self._type_of(whole, whole.node, place)

    def _type_of(self, part: _SchemaPart, node: dict[str, Any], place: str) -> str | None:
        for key in ("oneOf", "anyOf"):
            if isinstance(branches := node.get(key), list):
                return self._one_of([self._inner(part, branch) for branch in branches], place)
        if isinstance(parts := node.get("allOf"), list):
            if len(parts) == 1 and "properties" not in node:
                return self.type_of(self._inner(part, parts[0]), place)
            return self.left_out(place, "is combined of several schemas")
        if "const" in node or isinstance(node.get("enum"), list):
            values = node["enum"] if isinstance(node.get("enum"), list) else [node["const"]]
            return self._of_values(values, place)
        kinds = node.get("type", "object" if "properties" in node else "array" if "items" in node else None)
        names = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []
        types = {self._named(part, node, str(name), place) for name in names if name != "null"}
        if not types:
            return _NULL if names else self.left_out(place, "has no type")
        return self._single(types, place)

    def _inner(self, part: _SchemaPart, node: Node) -> _SchemaPart:
        return _SchemaPart(node, part.base, part.within)

    def _one_of(self, branches: Sequence[_SchemaPart], place: str) -> str | None:
        types = {self.type_of(branch, place) for branch in branches}
        return self._single(types - {_NULL} or types, place)

    def _single(self, types: set[str | None], place: str) -> str | None:
        if types == {"bigint", "double"}:
            return "double"
        return types.pop() if len(types) == 1 else self.left_out(place, "is of several types")

    def _of_values(self, values: Sequence[Any], place: str) -> str | None:
        types = {_OF_VALUES.get(type(value)) for value in values if value is not None}
        return self._single(types, place) if types else _NULL

    def _named(self, part: _SchemaPart, node: dict[str, Any], name: str, place: str) -> str | None:
        if name == "string":
            return _FORMATS.get(str(node.get("format")), "string")
        if name in _SCALARS:
            return _SCALARS[name]
        if name == "array":
            return self._array(part, node, place)
        if name == "object":
            return self._object(part, node, place)
        return self.left_out(place, f"has the unknown type {name[:40]}")

    def _array(self, part: _SchemaPart, node: dict[str, Any], place: str) -> str | None:
        items = node.get("items")
        if not isinstance(items, dict) or "prefixItems" in node:
            return self.left_out(place, "is an array of any values")
        element = self.type_of(self._inner(part, items), f"{place}[]")
        return None if element is None else f"array<{self._filled(element, place)}>"

    def _object(self, part: _SchemaPart, node: dict[str, Any], place: str) -> str | None:
        properties, others = node.get("properties"), node.get("additionalProperties")
        if isinstance(properties, dict) and properties:
            inner = (
                (name, self._field(self._inner(part, one), f"{place}.{name}"))
                for name, one in properties.items()
            )
            return self.struct(place, inner)
        if not isinstance(others, dict):
            return self.left_out(place, "is an object of any keys")
        item = self.type_of(self._inner(part, others), f"{place}.*")
        return None if item is None else f"map<string,{self._filled(item, place)}>"

    def _field(self, part: _SchemaPart, place: str) -> str | None:
        kind = self.type_of(part, place)
        return self.left_out(place, "is always null") if kind == _NULL else kind

    def _filled(self, kind: str, place: str) -> str:
        return "string" if kind == _NULL else kind

    def top_type(self, part: _SchemaPart, name: str) -> str | None:
        """Return the type of a top-level property; None with a note if it has none. Raises TooLarge."""
        try:
            return self._field(part, name)
        except SchemaInvalid as error:
            return self.left_out(name, f"cannot be read ({error})")


def json_fields(schema: JsonSchema, *, is_change_log: bool) -> Iterator[WriterField]:
    """Yield the properties of the objects that the schema allows, or of its array's elements.

    For a change log, yield those of the row within the envelope, or nothing if the schema is not an envelope.
    """
    types = JsonTypes(schema)
    fields: dict[str, WriterField] = {}
    for part in _objects(types, _SchemaPart(schema.root, schema.root), 0):
        rows = [part]
        if is_change_log:
            after = part.node["properties"].get("after")
            rows = (
                [] if after is None else list(_objects(types, _SchemaPart(after, part.base, part.within), 0))
            )
        for row in rows:
            for name, node in row.node["properties"].items():
                place = _SchemaPart(node, row.base, row.within)
                new = writer_field(name, types, partial(types.top_type, place, name))
                if fields.setdefault(name, new).type != new.type:
                    fields[name] = WriterField(name, None, (f"{name} {_SEVERAL}",))
    yield from fields.values()


_DEEPEST = 8


def _objects(types: JsonTypes, part: _SchemaPart, depth: int) -> Iterator[_SchemaPart]:
    """Yield the objects with properties that a part is, refers to, or consists of."""
    try:
        whole = types.resolved(part)
    except SchemaInvalid:
        return
    if whole is None or not isinstance(whole.node, dict) or depth > _DEEPEST:
        return
    if isinstance(whole.node.get("properties"), dict):
        yield whole
    for key in ("oneOf", "anyOf", "allOf"):
        for branch in whole.node[key] if isinstance(whole.node.get(key), list) else ():
            yield from _objects(types, _SchemaPart(branch, whole.base, whole.within), depth + 1)
    if isinstance(whole.node.get("items"), dict):
        yield from _objects(types, _SchemaPart(whole.node["items"], whole.base, whole.within), depth + 1)
