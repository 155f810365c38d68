"""Avro schemas as values, parsed from JSON by the specification (1.12): names, namespaces, logical types."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafka2hive.model.writer_schema import SchemaInvalid, WriterSchema


@dataclass(frozen=True, slots=True)
class Decimal:
    """The logical type of bytes or fixed that are an unscaled number."""

    precision: int
    scale: int


@dataclass(frozen=True, slots=True)
class ConnectType:
    """The type of Kafka Connect that its converter names (`connect.name`) where Avro has no logical type for it.

    `scale` is that of a decimal, if the schema has it.
    """

    name: str
    scale: int | None = None


Logical = str | Decimal | ConnectType | None
"""A logical type that the specification allows for the type. Any other is ignored, as the specification requires."""


@dataclass(frozen=True, slots=True)
class AvroPrimitive:
    """`null`, `boolean`, `int`, `long`, `float`, `double`, `bytes` or `string`."""

    kind: str
    logical: Logical = None


@dataclass(frozen=True, slots=True)
class Fixed:
    name: str
    size: int
    logical: Logical = None


@dataclass(frozen=True, slots=True)
class AvroEnum:
    name: str
    symbols: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Array:
    items: "Type"


@dataclass(frozen=True, slots=True)
class AvroMap:
    values: "Type"


@dataclass(frozen=True, slots=True)
class Union:
    branches: tuple["Type", ...]


@dataclass(frozen=True, slots=True)
class AvroField:
    name: str
    type: "Type"


@dataclass(frozen=True, slots=True)
class Record:
    name: str
    fields: tuple[AvroField, ...]


@dataclass(frozen=True, slots=True)
class NamedType:
    """A named type by its full name."""

    name: str


Definition = Fixed | AvroEnum | Record
Type = AvroPrimitive | Fixed | AvroEnum | Array | AvroMap | Union | Record | NamedType


@dataclass(frozen=True, slots=True)
class AvroSchema:
    """`names`: the definitions of all named types, including those of referenced schemas; elsewhere a named type is a Named."""

    root: Type
    names: Mapping[str, Definition]

    def definition(self, of: Type) -> Type:
        """Return the definition of a named type; any other type unchanged."""
        return self.names[of.name] if isinstance(of, NamedType) else of


def text_of(described: Type) -> str:
    """Return the type's description in the text of reasons."""
    match described:
        case AvroPrimitive(kind, logical):
            return _with_logical(kind, logical)
        case Fixed(name, size, logical):
            return _with_logical(f"fixed {name} of {size} bytes", logical)
        case Array(items):
            return f"array of {text_of(items)}"
        case AvroMap(values):
            return f"map of {text_of(values)}"
        case Union(branches):
            return f"union of {', '.join(map(text_of, branches)) or 'nothing'}"
        case AvroEnum(name, _):
            return f"enum {name}"
        case Record(name, _) | NamedType(name):
            return name


def _with_logical(kind: str, logical: Logical) -> str:
    match logical:
        case None:
            return kind
        case Decimal(precision, scale):
            return f"{kind}, decimal({precision},{scale})"
        case ConnectType(name, scale):
            return f"{kind}, {name}" if scale is None else f"{kind}, {name} of scale {scale}"
        case _:
            return f"{kind}, {logical}"


DEEPEST = 100
"""Limit of nesting in a schema's text."""

_PRIMITIVE = {"null", "boolean", "int", "long", "float", "double", "bytes", "string"}
_SCALE = re.compile("0|[1-9][0-9]{0,2}", re.ASCII)
_LOGICAL = {
    "date": ("int",),
    "time-millis": ("int",),
    "time-micros": ("long",),
    "uuid": ("string",),
    **{
        f"{local}timestamp-{unit}": ("long",)
        for local in ("", "local-")
        for unit in ("millis", "micros", "nanos")
    },
}
_LOGICAL_SIZE = {"uuid": 16, "duration": 12}


def parse(writer: WriterSchema) -> AvroSchema:
    """Parse the schema. Raises SchemaInvalid."""
    parser = _Parser()
    for reference in writer.references:
        parser.type(_json(reference.text), "", 0)
    root = parser.type(_json(writer.text), "", 0)
    return AvroSchema(root, parser.names)


def _json(text: str) -> Any:
    if text.strip() in _PRIMITIVE:
        return text.strip()
    try:
        node = json.loads(text)
        json.dumps(node, ensure_ascii=False).encode()  # raises for half of a surrogate pair
        return node
    except (ValueError, RecursionError) as error:
        raise SchemaInvalid(f"the schema is not JSON: {error}") from error


class _Parser:
    """Parses types, and collects the named ones."""

    def __init__(self) -> None:
        self.names: dict[str, Definition] = {}
        self._open: set[str] = set()

    def type(self, node: Any, namespace: str, depth: int) -> Type:
        if depth > DEEPEST:
            raise SchemaInvalid(f"types nest deeper than {DEEPEST}")
        if isinstance(node, str):
            return self._by_name(node, namespace)
        if isinstance(node, list):
            return self._union([self.type(branch, namespace, depth + 1) for branch in node])
        if not isinstance(node, dict) or "type" not in node:
            raise SchemaInvalid(f"no type: {_shown(node)}")
        kind = node["type"]
        if not isinstance(kind, str):
            return self.type(kind, namespace, depth + 1)
        match kind:
            case "record" | "error":
                return self._record(node, namespace, depth)
            case "enum":
                symbols: Any = node.get("symbols")
                if not _distinct_texts(symbols):
                    raise SchemaInvalid(f"an enum without distinct symbols: {_shown(node)}")
                return self._define(AvroEnum(_full_name(node, namespace), tuple(symbols)))
            case "fixed":
                return self._define(_fixed(node, _full_name(node, namespace)))
            case "array" if "items" in node:
                return Array(self.type(node["items"], namespace, depth + 1))
            case "map" if "values" in node:
                return AvroMap(self.type(node["values"], namespace, depth + 1))
            case "array" | "map":
                raise SchemaInvalid(f"no type of the elements: {_shown(node)}")
        if kind in _PRIMITIVE:
            return AvroPrimitive(kind, _logical(kind, node))
        return self._by_name(kind, namespace)

    def _by_name(self, name: str, namespace: str) -> Type:
        if name in _PRIMITIVE:
            return AvroPrimitive(name)
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        for candidate in (full, name):
            if candidate in self.names or candidate in self._open:
                return NamedType(candidate)
        raise SchemaInvalid(f"the type {name} is not defined")

    def _define(self, definition: Definition) -> NamedType:
        name = definition.name
        if self.names.setdefault(name, definition) != definition:
            raise SchemaInvalid(f"{name} is defined twice")
        return NamedType(name)

    def _record(self, node: Mapping[str, Any], namespace: str, depth: int) -> NamedType:
        name = _full_name(node, namespace)
        fields = node.get("fields")
        if not isinstance(fields, list) or not all(isinstance(f, dict) and "type" in f for f in fields):
            raise SchemaInvalid(f"a record without fields: {_shown(node)}")
        if not _distinct_texts([f.get("name") for f in fields]):
            raise SchemaInvalid(f"{name} has fields without distinct names")
        if name in self._open:
            raise SchemaInvalid(f"{name} is defined within itself")
        self._open.add(name)
        within = name.rpartition(".")[0]
        parsed = tuple(AvroField(f["name"], self.type(f["type"], within, depth + 1)) for f in fields)
        self._open.remove(name)
        return self._define(Record(name, parsed))

    @staticmethod
    def _union(branches: list[Type]) -> Union:
        kinds = [
            b.name if isinstance(b, NamedType) else b.kind if isinstance(b, AvroPrimitive) else type(b)
            for b in branches
        ]
        if Union in kinds or len(set(kinds)) < len(kinds):
            raise SchemaInvalid("a union within a union, or a union of two types of the same name")
        return Union(tuple(branches))


def _full_name(node: Mapping[str, Any], namespace: str) -> str:
    name, own = node.get("name"), node.get("namespace", namespace)
    if not isinstance(name, str) or not name or not isinstance(own, str | None) or name in _PRIMITIVE:
        raise SchemaInvalid(f"no name for a type: {_shown(node)}")
    return name if "." in name or not own else f"{own}.{name}"


def _fixed(node: Mapping[str, Any], name: str) -> Fixed:
    size = node.get("size")
    if type(size) is not int or size < 0:
        raise SchemaInvalid(f"no size: {_shown(node)}")
    logical = node.get("logicalType")
    if logical == "decimal":
        return Fixed(name, size, _decimal(node, size))
    known = isinstance(logical, str) and _LOGICAL_SIZE.get(logical) == size
    return Fixed(name, size, logical if known else None)


def _logical(kind: str, node: Mapping[str, Any]) -> Logical:
    logical = node.get("logicalType")
    if logical == "decimal" and kind == "bytes":
        return _decimal(node, None) or _connect_type(node)
    known = isinstance(logical, str) and kind in _LOGICAL.get(logical, ())
    return logical if known else _connect_type(node)


def _connect_type(node: Mapping[str, Any]) -> ConnectType | None:
    name, parameters = node.get("connect.name"), node.get("connect.parameters")
    if not isinstance(name, str) or not name:
        return None
    scale = parameters.get("scale") if isinstance(parameters, dict) else None
    if not isinstance(scale, str) or _SCALE.fullmatch(scale) is None:
        return ConnectType(name)
    return ConnectType(name, int(scale))


def _decimal(node: Mapping[str, Any], size: int | None) -> Decimal | None:
    """Return the decimal; None for an invalid one, which the specification says to ignore."""
    precision, scale = node.get("precision"), node.get("scale", 0)
    if type(precision) is not int or type(scale) is not int or not 0 <= scale <= precision or precision < 1:
        return None
    if size is not None and (
        size == 0 or precision > (8 * size - 1) * 30103 // 100_000
    ):  # log10(2) = 0.30103
        return None
    return Decimal(precision, scale)


def _distinct_texts(node: Any) -> bool:
    return (
        isinstance(node, list) and all(isinstance(f, str) and f for f in node) and len(set(node)) == len(node)
    )


def _shown(node: Any) -> str:
    return repr(node)[:80]
