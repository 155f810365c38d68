"""The Avro schema of a file's rows, as Hive derives one from its table: every value may be null."""

from typing import Any

import pyarrow as pa

_SIMPLE = {
    pa.bool_(): "boolean",
    pa.int8(): "int",
    pa.int16(): "int",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "bytes",
}


def avro_schema(schema: pa.Schema) -> dict[str, Any]:
    """Return the schema, with column names in lower case as in Hive, since Avro is case-sensitive. Raises pa.ArrowInvalid."""
    return _Records().record([field.with_name(field.name.lower()) for field in schema])


class _Records:
    """Gives every record of a schema a different name, as Avro requires."""

    def __init__(self) -> None:
        self._made = 0

    def record(self, fields: list[pa.Field]) -> dict[str, Any]:
        name = f"record_{self._made}"
        self._made += 1
        members = [
            {"name": field.name, "type": self._nullable(field.type), "default": None} for field in fields
        ]
        return {"type": "record", "name": name, "fields": members}

    def _nullable(self, kind: pa.DataType) -> list[Any]:
        return ["null", self._type(kind)]

    def _type(self, kind: pa.DataType) -> Any:
        if kind in _SIMPLE:
            return _SIMPLE[kind]
        if pa.types.is_date32(kind):
            return {"type": "int", "logicalType": "date"}
        if kind == pa.timestamp("us"):
            return {"type": "long", "logicalType": "local-timestamp-millis"}
        if pa.types.is_decimal128(kind):
            digits = {"precision": kind.precision, "scale": kind.scale}
            return {"type": "bytes", "logicalType": "decimal", **digits}
        if pa.types.is_list(kind):
            return {"type": "array", "items": self._nullable(kind.value_type)}
        if pa.types.is_map(kind) and kind.key_type == pa.string():
            return {"type": "map", "values": self._nullable(kind.item_type)}
        if pa.types.is_struct(kind):
            return self.record(list(kind))
        raise pa.ArrowInvalid(f"Avro files have no {kind}")
