"""Read Avro by the schema of its writer."""

import json
import struct
import uuid
from collections.abc import Mapping
from io import BytesIO
from typing import Any

from kafka2hive.model.writer_schema import WriterSchema
from kafka2hive.service.verify.semantics.values import (
    AVRO,
    CONNECT,
    DECIMAL,
    UUID,
    RecordValue,
    ValueType,
    number,
    other,
    unscaled,
)

_PRIMITIVE = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_MOST_BITS = 63
_LARGEST_PRECISION = 1_000


class AvroMessages:
    """Reads the messages of one schema. Raises ValueError and its like for a schema or a message that is damaged."""

    def __init__(self, schema: WriterSchema) -> None:
        self._names: dict[str, dict[str, Any]] = {}
        for reference in schema.references:
            self._type(_node(reference.text), "")
        self._root = self._type(_node(schema.text), "")

    def read(self, data: bytes) -> RecordValue:
        return self._value(self._root, _Octets(data))

    def _type(self, node: Any, namespace: str) -> Any:
        """Return a type whose named types are full names; their definitions are in `_names`."""
        if isinstance(node, list):
            return [self._type(branch, namespace) for branch in node]
        if isinstance(node, str):
            full = f"{namespace}.{node}" if namespace and "." not in node else node
            return node if node in _PRIMITIVE or full not in self._names else full
        kind = node["type"]
        if kind in ("array", "map"):
            inner = "items" if kind == "array" else "values"
            return {"type": kind, inner: self._type(node[inner], namespace)}
        if kind not in ("record", "error", "enum", "fixed"):
            return node if kind in _PRIMITIVE else self._type(kind, namespace)
        name, own = node["name"], node.get("namespace", namespace)
        full = f"{own}.{name}" if own and "." not in name else name
        self._names[full] = definition = {**node}
        if kind in ("record", "error"):
            within = full.rpartition(".")[0]
            definition["fields"] = [(f["name"], self._type(f["type"], within)) for f in node["fields"]]
        return full

    def _value(self, node: Any, data: "_Octets") -> RecordValue:
        if isinstance(node, list):
            return self._value(node[data.whole()], data)
        if isinstance(node, str):
            node = self._names.get(node, {"type": node})
        match node["type"]:
            case "record" | "error":
                members = {name: self._value(of_field, data) for name, of_field in node["fields"]}
                return RecordValue(members, other("record"))
            case "array" | "map" as kind:
                while count := data.block():
                    for _ in range(count):
                        if kind == "map":
                            data.octets(data.whole())
                        self._value(node["items" if kind == "array" else "values"], data)
                return RecordValue((), other(kind))
            case "int" | "long" as kind:
                return RecordValue(data.whole(), _of_number(kind, node))
            case "bytes" | "fixed" as kind:
                return _of_bytes(kind, node, data.octets(data.whole() if kind == "bytes" else node["size"]))
            case "string":
                return RecordValue(data.octets(data.whole()).decode(), other("string"))
            case "enum":
                return RecordValue(node["symbols"][data.whole()], other("enum"))
            case "float" | "double" as kind:
                size, form = (4, "<f") if kind == "float" else (8, "<d")
                return RecordValue(struct.unpack(form, data.octets(size))[0], other(kind))
            case "boolean":
                return RecordValue(data.octets(1) == b"\1", other("boolean"))
            case "null":
                return RecordValue(None)
        raise ValueError(f"no type of Avro: {node['type']}")


class _Octets(BytesIO):
    """The bytes of a message."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self._elements = len(data) + 1_000

    def octets(self, size: int) -> bytes:
        octets = self.read(size) if size >= 0 else b""
        if len(octets) != size:
            raise ValueError("the message ends within a value")
        return octets

    def whole(self) -> int:
        number, shift, byte = 0, 0, 0x80
        while byte & 0x80:
            if shift > _MOST_BITS:
                raise ValueError("a number of more than 64 bits")
            (byte,) = self.octets(1)
            number |= (byte & 0x7F) << shift
            shift += 7
        return (number >> 1) ^ -(number & 1)

    def block(self) -> int:
        """Return the number of elements in the next block of an array or a map, 0 after the last."""
        count = self.whole()
        if count < 0:
            count, _ = -count, self.whole()
        self._elements -= count
        if self._elements < 0:
            raise ValueError("more elements than the message can hold")
        return count


def _node(text: str) -> Any:
    return text.strip() if text.strip() in _PRIMITIVE else json.loads(text)


def _of_number(kind: str, node: Mapping[str, Any]) -> ValueType | None:
    logical, named = str(node.get("logicalType")), str(node.get("connect.name"))
    plain = None if named == DECIMAL else number(kind)
    return AVRO.get((kind, logical)) or CONNECT.get(named) or plain


def _of_bytes(kind: str, node: Mapping[str, Any], octets: bytes) -> RecordValue:
    if kind == "fixed" and node.get("logicalType") == "uuid" and len(octets) == 16:
        return RecordValue(str(uuid.UUID(bytes=octets)), UUID)
    scale = _scale(kind, node)
    if scale is None or not octets:
        return RecordValue(octets, other(f"{kind} of no known scale"))
    return RecordValue(
        int.from_bytes(octets, "big", signed=True), unscaled(f"{kind} of scale {scale}", scale)
    )


def _scale(kind: str, node: Mapping[str, Any]) -> int | None:
    """Return the scale of a decimal; None if the bytes are none, or the schema's numbers contradict each other."""
    precision, scale = node.get("precision"), node.get("scale", 0)
    if node.get("logicalType") == "decimal" and type(precision) is int and type(scale) is int:
        most = len(str(2 ** (8 * node["size"]) // 2)) - 1 if kind == "fixed" else precision
        if 0 <= scale <= precision <= most and precision > 0:
            return scale if precision <= _LARGEST_PRECISION else None
    parameters = node.get("connect.parameters")
    text = parameters.get("scale") if isinstance(parameters, dict) else None
    is_named = kind == "bytes" and node.get("connect.name") == DECIMAL
    return int(text) if is_named and isinstance(text, str) and text.isdecimal() else None
