"""Find for each top-level field of a writer's schema the Hive type that holds it without loss. Pure."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from kafka2hive.decode.schemas.avro import (
    Array,
    AvroEnum,
    AvroMap,
    AvroPrimitive,
    AvroSchema,
    Decimal,
    Fixed,
    NamedType,
    Record,
    Type,
    Union,
)
from kafka2hive.decode.schemas.protobuf import ProtobufField, ProtobufSchema
from kafka2hive.model.hive_type_parser import MAX_NESTING, HiveTypeError, may_name_a_field
from kafka2hive.model.hive_types import parse_hive_type

MOST_TYPES = 50_000
"""Limit of types in one schema, each counted wherever it occurs."""
DEEPEST = 4 * MAX_NESTING
"""Limit of nesting, including types that Hive does not need, such as unions with null."""

_NAME_CHARACTERS = 100
"""The number of characters of field names that count as one type."""

_MOST_DIGITS = 38
_AVRO_PRIMITIVES = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "bytes": "binary",
}
_IMAGES = ("after", "before")
_PROTOBUF_SCALARS = {
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
_SEVERAL = "is of several types in the records of the union: left out"


class TooLarge(ValueError):
    """The schema has more than MOST_TYPES types, or nests them deeper than DEEPEST."""


class SchemaTypes:
    """Hive's types for the types of one schema, within limits. `notes` say which parts are left out, and why."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._budget = MOST_TYPES
        self._depth = 0

    @contextmanager
    def count_type(self) -> Iterator[None]:
        """Count one type, and one level of nesting while the context is open. Raises TooLarge."""
        self._count(1)
        if self._depth >= DEEPEST:
            raise TooLarge(f"types nest {DEEPEST} deep")
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def struct(self, place: str, fields: Iterator[tuple[str, str | None]]) -> str | None:
        """Return the struct of these fields, without those whose type is None; return None if no field remains."""
        members, before = [], len(self.notes)
        for name, kind in fields:
            self._count(len(name) // _NAME_CHARACTERS)
            if kind is None:
                continue
            if all(map(may_name_a_field, name)):
                members.append(f"{name}:{kind}")
            else:
                self.left_out(f"{place}.{name[:80]!r}", "is not a name of a field in Hive")
        if not members and len(self.notes) == before:
            self.left_out(place, "is a record without fields")
        return f"struct<{','.join(members)}>" if members else None

    def left_out(self, place: str, why: str) -> str | None:
        """Note why `place` is left out, and return None."""
        self.notes.append(f"{place[:200]} {why}: left out")
        return None

    def _count(self, types: int) -> None:
        self._budget -= types
        if self._budget < 0:
            raise TooLarge(f"with it the schema has more than {MOST_TYPES:,} types")


def envelope_row(schema: AvroSchema) -> Record | None:
    """Return the row within Debezium's envelope; None if the schema is not an envelope."""
    root = schema.definition(schema.root)
    if not isinstance(root, Record) or not {"op", *_IMAGES} <= {field.name for field in root.fields}:
        return None
    after = next(field.type for field in root.fields if field.name == _IMAGES[0])
    branches = after.branches if isinstance(after, Union) else (after,)
    rows = [branch for branch in map(schema.definition, branches) if isinstance(branch, Record)]
    return rows[0] if len(rows) == 1 else None


class AvroTypes(SchemaTypes):
    """Hive's types for the types of an Avro schema."""

    def __init__(self, schema: AvroSchema) -> None:
        super().__init__()
        self._schema = schema

    def type_of(self, written: Type, place: str, within: tuple[str, ...]) -> str | None:
        """Return Hive's type or None. `within` are the enclosing records, which cannot recur in Hive. Raises TooLarge."""
        with self.count_type():
            return self._type_of(self._schema.definition(written), place, within)

    def _type_of(self, whole: Type, place: str, within: tuple[str, ...]) -> str | None:
        match whole:
            case Union(branches):
                return self._union(branches, place, within)
            case Record(name, fields):
                if name in within:
                    return self.left_out(place, f"is {name} within itself")
                inner = ((f.name, self.type_of(f.type, f"{place}.{f.name}", (*within, name))) for f in fields)
                return self.struct(place, inner)
            case Array(items):
                inner_type = self.type_of(items, f"{place}[]", within)
                return None if inner_type is None else f"array<{inner_type}>"
            case AvroMap(values):
                inner_type = self.type_of(values, f"{place}.*", within)
                return None if inner_type is None else f"map<string,{inner_type}>"
            case AvroPrimitive() | Fixed() | AvroEnum():
                return self._scalar(whole, place)
            case NamedType(name):  # the definition of a type is never a name
                return self.left_out(place, f"is {name}, which is not defined")

    def _union(self, branches: tuple[Type, ...], place: str, within: tuple[str, ...]) -> str | None:
        kinds = {
            self.type_of(branch, place, within) for branch in branches if branch != AvroPrimitive("null")
        }
        if len(kinds) == 1:
            return kinds.pop()
        return self.left_out(place, "is a union of several types" if kinds else "is always null")

    def _scalar(self, written: AvroPrimitive | Fixed | AvroEnum, place: str) -> str | None:
        match written:
            case AvroPrimitive(_, Decimal(precision, scale)) | Fixed(_, _, Decimal(precision, scale)):
                if precision > _MOST_DIGITS or scale < 0 or scale > precision:
                    return self.left_out(
                        place, f"is a decimal({precision},{scale}), which Hive does not have"
                    )
                return f"decimal({precision},{scale})"
            case AvroPrimitive("string") | AvroEnum() | Fixed(_, _, "uuid"):
                return "string"
            case Fixed():
                return "binary"
            case AvroPrimitive("null"):
                return self.left_out(place, "is always null")
            case AvroPrimitive(_, "date"):
                return "date"
            case AvroPrimitive(_, str(logical)) if "timestamp" in logical:
                return "timestamp"
            case AvroPrimitive(kind, _):
                return _AVRO_PRIMITIVES[kind]


class ProtobufTypes(SchemaTypes):
    """Hive's types for the types of a Protobuf schema."""

    def __init__(self, schema: ProtobufSchema) -> None:
        super().__init__()
        self._schema = schema

    def type_of(self, field: ProtobufField, place: str, within: tuple[str, ...]) -> str | None:
        """Return Hive's type or None. `within` are the enclosing messages, which cannot recur in Hive. Raises TooLarge."""
        with self.count_type():
            return self._type_of(field, place, within)

    def _type_of(self, field: ProtobufField, place: str, within: tuple[str, ...]) -> str | None:
        message = self._schema.messages.get(field.type)
        if field.label != "repeated":
            return self._single(field, place, within)
        if message is not None and message.is_entry:
            item = self._single(message.fields[1], f"{place}.*", within)
            return None if item is None else f"map<string,{item}>"
        element = self._single(field, f"{place}[]", within)
        return None if element is None else f"array<{element}>"

    def _single(self, field: ProtobufField, place: str, within: tuple[str, ...]) -> str | None:
        message = self._schema.messages.get(field.type)
        if message is None:
            return _PROTOBUF_SCALARS[field.kind]
        if message.name in _WELL_KNOWN:
            return _WELL_KNOWN[message.name]
        if message.name in _WRAPPERS:
            return _PROTOBUF_SCALARS[message.fields[0].kind]
        if message.name in within:
            return self.left_out(place, f"is {message.name} within itself")
        inner = (
            (f.name, self.type_of(f, f"{place}.{f.name}", (*within, message.name))) for f in message.fields
        )
        return self.struct(place, inner)


@dataclass(frozen=True, slots=True)
class WriterField:
    """A field of a writer's schema with its type in Hive, None if it has none. `notes` say which parts are left out."""

    name: str
    type: str | None
    notes: tuple[str, ...] = ()


def avro_fields(schema: AvroSchema, *, is_change_log: bool) -> Iterator[WriterField]:
    """Yield the fields of the record, or of all records in the message's union.

    For a change log, yield the fields of the row within the envelope, or nothing if the schema is not an envelope.
    """
    types = AvroTypes(schema)
    fields: dict[str, WriterField] = {}
    for record in _rows(schema, is_change_log):
        for field in record.fields:
            type_of_field = partial(types.type_of, field.type, field.name, (record.name,))
            new = writer_field(field.name, types, type_of_field)
            if fields.setdefault(field.name, new).type != new.type:
                fields[field.name] = WriterField(field.name, None, (f"{field.name} {_SEVERAL}",))
    yield from fields.values()


def protobuf_fields(schema: ProtobufSchema, message: str) -> Iterator[WriterField]:
    """Yield the fields of the message."""
    types = ProtobufTypes(schema)
    for field in schema.messages[message].fields:
        yield writer_field(field.name, types, partial(types.type_of, field, field.name, (message,)))


def _rows(schema: AvroSchema, is_change_log: bool) -> Sequence[Record]:
    root = envelope_row(schema) if is_change_log else schema.definition(schema.root)
    branches = map(schema.definition, root.branches) if isinstance(root, Union) else [root]
    return [branch for branch in branches if isinstance(branch, Record)]


def writer_field(name: str, types: SchemaTypes, type_of_field: Callable[[], str | None]) -> WriterField:
    """Return the field. `type_of_field` returns its type, and adds notes to `types`."""
    before = len(types.notes)
    try:
        kind = type_of_field()
        if kind is not None:
            parse_hive_type(kind)
    except TooLarge as error:
        return WriterField(name, None, (f"{name} is not a type of Hive ({error}): left out",))
    except HiveTypeError as error:  # field names that differ only in case, or too deep nesting
        return WriterField(name, None, (f"{name} is not a type of Hive ({error.problem}): left out",))
    return WriterField(name, kind, tuple(types.notes[before:]))
