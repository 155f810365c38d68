"""Descriptors to values: names, presence, closed enums and delimited messages as each file's syntax or edition says."""

from typing import Any

from kafka2hive.model.errors import TableError
from kafka2hive.pipeline.decode.protobuf.protoc import OWN, SchemaInvalid, descriptors
from kafka2hive.pipeline.decode.protobuf.schema import Declared, Enum, Field, Message, Schema
from kafka2hive.pipeline.decode.writers import WriterSchema
from kafka2hive.registry.recent import Recent

MOST_REMEMBERED = 1000
MOST_BYTES = 16 * 1024 * 1024
"""Of the texts of all remembered schemas together; what they are parsed to takes many times that."""

_parsed = Recent[WriterSchema, Schema](MOST_REMEMBERED, MOST_BYTES)


def parse(writer: WriterSchema) -> Schema:
    """Raises SchemaInvalid, and TableError where Protobuf's libraries cannot be used.

    All tables and threads of a process share the result: compiling takes a process of its own.
    """
    schema = _parsed.get(writer)
    if schema is None:
        schema = read(descriptors(writer))
        _parsed.put(writer, schema, writer.bytes)
    return schema


def read(descriptor_set: bytes) -> Schema:
    """Of a FileDescriptorSet with the schema's own file. Raises as above."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool
    except ImportError as error:
        advice = "install kafka2hive[protobuf] on every machine with executors"
        raise TableError("decode.protoc", f"format protobuf: {error}", advice) from error
    pool = descriptor_pool.DescriptorPool()
    try:
        for file in descriptor_pb2.FileDescriptorSet.FromString(descriptor_set).file:
            pool.AddSerializedFile(file.SerializeToString())
        own = pool.FindFileByName(OWN)
    except (TypeError, ValueError, KeyError) as error:
        raise SchemaInvalid(f"no Protobuf schema: {error}") from error
    reader = _Reader()
    declared = tuple(map(reader.declared, own.message_types_by_name.values()))
    return Schema(reader.messages, reader.enums, declared)


class _Reader:
    """Collects every message and enum that the schema's own messages lead to."""

    def __init__(self) -> None:
        self.messages: dict[str, Message] = {}
        self.enums: dict[str, Enum] = {}

    def declared(self, found: Any) -> Declared:
        self._collect(found)
        inner = tuple(map(self.declared, found.nested_types))
        return Declared(found.full_name, found.GetOptions().map_entry, inner)

    def _collect(self, found: Any) -> None:
        """`found` and all that its fields lead to, without recursion: types may nest as deep as they like."""
        left = [found]
        while left:
            one = left.pop()
            if one.full_name in self.messages:
                continue
            fields = sorted(one.fields, key=lambda field: field.number)
            self.messages[one.full_name] = Message(
                one.full_name, tuple(map(self._field, fields)), one.GetOptions().map_entry
            )
            left += [field.message_type for field in fields if field.message_type is not None]

    def _field(self, found: Any) -> Field:
        kind = _KINDS[found.type]
        if found.enum_type is not None:
            enum = found.enum_type
            values = tuple((value.number, value.name) for value in enum.values)
            self.enums[enum.full_name] = Enum(enum.full_name, values, enum.is_closed)
        named = found.message_type or found.enum_type
        oneof = found.containing_oneof
        return Field(
            number=found.number,
            name=found.name,
            kind=kind,
            label=_label(found),
            type=named.full_name if named is not None else "",
            oneof=oneof.name if oneof is not None and len(oneof.fields) > 1 else "",
        )


def _label(found: Any) -> str:
    if found.is_repeated:
        return "repeated"
    if found.is_required:
        return "required"
    return "optional" if found.has_presence else "implicit"


_KINDS = {
    1: "double",
    2: "float",
    3: "int64",
    4: "uint64",
    5: "int32",
    6: "fixed64",
    7: "fixed32",
    8: "bool",
    9: "string",
    10: "group",
    11: "message",
    12: "bytes",
    13: "uint32",
    14: "enum",
    15: "sfixed32",
    16: "sfixed64",
    17: "sint32",
    18: "sint64",
}
"""FieldDescriptorProto.Type"""
