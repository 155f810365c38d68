"""A writer's schema as values; messages and enums refer to each other by full name, so that they may be recursive."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafka2hive.decode.schemas.protoc import OWN, ProtobufSchemaInvalid, descriptors
from kafka2hive.decode.schemas.writers import WriterSchema
from kafka2hive.model.errors import TableError
from kafka2hive.registry.lookup import Recent

VARINT, FIXED64, LENGTH, START, END, FIXED32 = range(6)
"""Wire types."""

WIRE_OF = {
    **dict.fromkeys(("int32", "int64", "uint32", "uint64", "sint32", "sint64", "bool", "enum"), VARINT),
    **dict.fromkeys(("fixed64", "sfixed64", "double"), FIXED64),
    **dict.fromkeys(("fixed32", "sfixed32", "float"), FIXED32),
    **dict.fromkeys(("string", "bytes", "message"), LENGTH),
    "group": START,
}
"""Of every kind of field."""


@dataclass(frozen=True, slots=True)
class ProtobufField:
    """`kind`: a key of WIRE_OF. `label`: `optional` (its presence is known), `implicit`, `required`, or `repeated`.

    `type`: the full name of its message or enum, else empty. `oneof`: the name of the oneof it is a member of, else empty.
    """

    number: int
    name: str
    kind: str
    label: str
    type: str = ""
    oneof: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """`fields` ascend by their numbers. `is_entry`: the message of a map's entries."""

    name: str
    fields: tuple[ProtobufField, ...]
    is_entry: bool = False


@dataclass(frozen=True, slots=True)
class ProtobufEnum:
    """`values`: numbers and names as they are declared; of two names of one number the first counts.

    `closed`: there are no other numbers.
    """

    name: str
    values: tuple[tuple[int, str], ...]
    closed: bool


@dataclass(frozen=True, slots=True)
class Declared:
    """A message type in the order of its file, and those that are declared within it."""

    name: str
    is_entry: bool
    inner: tuple["Declared", ...]


@dataclass(frozen=True, slots=True)
class ProtobufSchema:
    """`declared`: of the schema's own file."""

    messages: Mapping[str, Message]
    enums: Mapping[str, ProtobufEnum]
    declared: tuple[Declared, ...]


def text_of(field: ProtobufField) -> str:
    """The type in a reason's words."""
    kind = f"{field.kind} {field.type}" if field.type else field.kind
    return f"repeated {kind}" if field.label == "repeated" else kind


MOST_REMEMBERED = 1000
MOST_BYTES = 16 * 1024 * 1024
"""Of the texts of all remembered schemas together; what they are parsed to takes many times that."""

_parsed = Recent[WriterSchema, ProtobufSchema](MOST_REMEMBERED, MOST_BYTES)


def parse(writer: WriterSchema) -> ProtobufSchema:
    """Parse the schema. Raises ProtobufSchemaInvalid, and TableError if Protobuf's libraries cannot be used.

    All tables and threads of a process share the result: compiling starts a separate process.
    """
    schema = _parsed.get(writer)
    if schema is None:
        schema = read(descriptors(writer))
        _parsed.put(writer, schema, writer.bytes)
    return schema


def read(descriptor_set: bytes) -> ProtobufSchema:
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
        raise ProtobufSchemaInvalid(f"no Protobuf schema: {error}") from error
    reader = _Reader()
    declared = tuple(map(reader.declared, own.message_types_by_name.values()))
    return ProtobufSchema(reader.messages, reader.enums, declared)


class _Reader:
    """Collects every message and enum that the schema's own messages lead to."""

    def __init__(self) -> None:
        self.messages: dict[str, Message] = {}
        self.enums: dict[str, ProtobufEnum] = {}

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

    def _field(self, found: Any) -> ProtobufField:
        kind = _KINDS[found.type]
        if found.enum_type is not None:
            enum = found.enum_type
            values = tuple((value.number, value.name) for value in enum.values)
            self.enums[enum.full_name] = ProtobufEnum(enum.full_name, values, enum.is_closed)
        named = found.message_type or found.enum_type
        oneof = found.containing_oneof
        return ProtobufField(
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
