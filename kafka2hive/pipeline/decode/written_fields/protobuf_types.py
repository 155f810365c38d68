"""From the types of a Protobuf schema to Hive's that lose nothing of them, and notes on what has none. Pure."""

from kafka2hive.pipeline.decode.protobuf.schema import Field, Schema
from kafka2hive.pipeline.decode.written_fields.followed import Followed

_PLAIN = {
    **dict.fromkeys(("int32", "sint32", "sfixed32"), "int"),
    **dict.fromkeys(("int64", "sint64", "sfixed64", "uint32", "fixed32"), "bigint"),
    **dict.fromkeys(("uint64", "fixed64"), "decimal(20,0)"),
    "float": "float",
    "double": "double",
    "bool": "boolean",
    "string": "string",
    "bytes": "binary",
    "enum": "string",
}
_WELL_KNOWN = {
    "google.protobuf.Timestamp": "timestamp",
    "google.protobuf.Duration": "decimal(21,9)",
    "google.type.Date": "date",
    "confluent.type.Decimal": "decimal(38,18)",
}
_WRAPPERS = frozenset(
    f"google.protobuf.{kind}Value"
    for kind in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)


class ProtobufTypes(Followed):
    """Hive's types of one schema's; `notes` grow by what has none."""

    def __init__(self, schema: Schema) -> None:
        super().__init__()
        self._schema = schema

    def type_of(self, field: Field, place: str, within: tuple[str, ...]) -> str | None:
        """`within`: the messages that are open, of which none can be within itself in Hive. Raises TooLarge."""
        with self.one():
            return self._type_of(field, place, within)

    def _type_of(self, field: Field, place: str, within: tuple[str, ...]) -> str | None:
        message = self._schema.messages.get(field.type)
        if field.label != "repeated":
            return self._single(field, place, within)
        if message is not None and message.is_entry:
            item = self._single(message.fields[1], f"{place}.*", within)
            return None if item is None else f"map<string,{item}>"
        element = self._single(field, f"{place}[]", within)
        return None if element is None else f"array<{element}>"

    def _single(self, field: Field, place: str, within: tuple[str, ...]) -> str | None:
        message = self._schema.messages.get(field.type)
        if message is None:
            return _PLAIN[field.kind]
        if message.name in _WELL_KNOWN:
            return _WELL_KNOWN[message.name]
        if message.name in _WRAPPERS:
            return _PLAIN[message.fields[0].kind]
        if message.name in within:
            return self.left_out(place, f"is {message.name} within itself")
        inner = (
            (f.name, self.type_of(f, f"{place}.{f.name}", (*within, message.name))) for f in message.fields
        )
        return self.struct(place, inner)
