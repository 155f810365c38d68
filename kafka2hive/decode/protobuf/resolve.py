"""Resolve a writer's message type against a table's columns to the plan that reads its messages."""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from kafka2hive.config.keys.json_path import path_text
from kafka2hive.decode.contract.forms import ElementTexts
from kafka2hive.decode.contract.sources import (
    SchemaUnresolvable,
    Source,
    SourceTree,
    Spelling,
    matching_names,
    source_tree,
)
from kafka2hive.decode.protobuf import plan
from kafka2hive.decode.protobuf.forms import DECIMAL_FIELDS, SECONDS_FIELDS, WRAPPERS, ProtobufForms
from kafka2hive.decode.schemas.protobuf import (
    FIXED32,
    FIXED64,
    VARINT,
    WIRE_OF,
    Message,
    ProtobufEnum,
    ProtobufField,
    ProtobufSchema,
    text_of,
)
from kafka2hive.decode.values.epochs import UNIT_HINT, UNITS
from kafka2hive.model.hive_types import hive_type_of
from kafka2hive.model.wall_clock import NAIVE

INTEGERS = frozenset(
    f"{kind}{bits}" for kind in ("int", "uint", "sint", "fixed", "sfixed") for bits in (32, 64)
)

_CLOCK_FIELDS = tuple(
    (number, "int32", name) for number, name in enumerate(("hours", "minutes", "seconds", "nanos"), 1)
)
_DAY_FIELDS = ((1, "int32"), (2, "int32"), (3, "int32"))


def single(
    field: ProtobufField, schema: ProtobufSchema, dtype: pa.DataType, unit: str | None
) -> plan.Value | None:
    """Return how one value fills a column; None if it cannot, or only as a struct.

    `unit`: the unit of epoch numbers, None for other values.
    """
    kind = field.kind
    if kind in INTEGERS:
        if unit is not None:
            return plan.ProtobufMoment(kind, *UNITS[unit])
        return plan.ProtobufWhole(kind) if _numeric(dtype) else None
    match kind:
        case "bool" if pa.types.is_boolean(dtype):
            return plan.ProtobufBoolean()
        case "float" | "double" if pa.types.is_floating(dtype):
            return plan.ProtobufReal(32 if kind == "float" else 64)
        case "string" if pa.types.is_string(dtype) or pa.types.is_binary(dtype):
            return plan.ProtobufText()
        case "bytes" if pa.types.is_string(dtype):
            return plan.ProtobufText()
        case "bytes" if pa.types.is_binary(dtype):
            return plan.ProtobufOctets()
        case "enum":
            return _enum(schema.enums[field.type], dtype)
        case "message":
            return _well_known(schema.messages[field.type], schema, dtype, unit)
    return None


def has_rows(field: ProtobufField, schema: ProtobufSchema) -> bool:
    """Return whether the field is an array of messages, which may be rows."""
    return field.label == "repeated" and field.kind == "message" and not schema.messages[field.type].is_entry


def is_clock(message: Message) -> bool:
    """Return whether it is google.type.TimeOfDay, with Google's fields."""
    fields = tuple((field.number, field.kind, field.name) for field in message.fields)
    return message.name == "google.type.TimeOfDay" and fields == _CLOCK_FIELDS


def default_of(field: ProtobufField, schema: ProtobufSchema) -> bytes:
    """Return the payload of an absent field whose presence the schema does not track."""
    if field.kind == "enum":
        return varint(schema.enums[field.type].values[0][0])
    return {VARINT: b"\0", FIXED64: bytes(8), FIXED32: bytes(4)}.get(WIRE_OF[field.kind], b"")


def varint(number: int) -> bytes:
    rest = number % 2**64
    octets = bytearray()
    while rest > 0x7F:
        octets.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*octets, rest])


def _numeric(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_integer(dtype) or pa.types.is_floating(dtype) or pa.types.is_decimal128(dtype))


def _enum(enum: ProtobufEnum, dtype: pa.DataType) -> plan.Value | None:
    names: dict[int, str] = {}
    for number, name in enum.values:
        names.setdefault(number, name)
    if pa.types.is_string(dtype):
        return plan.ProtobufSymbol(tuple(sorted(names.items())))
    if pa.types.is_integer(dtype):
        return plan.Ordinal(tuple(sorted(names)) if enum.closed else ())
    return None


def _well_known(
    message: Message, schema: ProtobufSchema, dtype: pa.DataType, unit: str | None
) -> plan.Value | None:
    """Return how a well-known message fills a column; None if it cannot, or if its fields differ from Google's or Confluent's."""
    fields = tuple((field.number, field.kind) for field in message.fields)
    match message.name:
        case "google.protobuf.Timestamp" if dtype == NAIVE and fields == SECONDS_FIELDS:
            return plan.Stamp()
        case "google.protobuf.Duration" if pa.types.is_decimal128(dtype) and fields == SECONDS_FIELDS:
            return plan.ProtobufSpan()
        case "confluent.type.Decimal" if pa.types.is_decimal128(dtype) and fields == DECIMAL_FIELDS:
            return plan.ProtobufUnscaled()
        case "google.type.Date" if pa.types.is_date32(dtype) and fields == _DAY_FIELDS:
            return plan.ProtobufDay()
        case name if name in WRAPPERS and fields == ((1, WRAPPERS[name]),):
            field = message.fields[0]
            value = single(field, schema, dtype, unit)
            if value is not None:
                return plan.Wrapped(value, WIRE_OF[field.kind], default_of(field, schema))
    return None


def resolve(
    schema: ProtobufSchema, name: str, columns: pa.Schema, sources: Sequence[Source], spelling: Spelling
) -> plan.ProtobufPlan:
    """Resolve the message of this full name; a column that it lacks is NULL. Raises SchemaUnresolvable."""
    resolver = _ProtobufResolver(schema, columns, sources, spelling)
    tree = source_tree(sources, spelling)
    root = resolver.level(schema.messages[name], tree, ())
    whole = tuple((number, resolver.whole(name, number)) for number in tree.columns)
    return plan.ProtobufPlan(root, tuple(resolver.shapes), tuple(resolver.forms), whole)


class _ProtobufResolver:
    """Builds one plan; `shapes` collects the types whose values are skipped, `forms` those that become JSON texts."""

    def __init__(
        self, schema: ProtobufSchema, columns: pa.Schema, sources: Sequence[Source], spelling: Spelling
    ) -> None:
        self._schema = schema
        self._columns = columns
        self._sources = sources
        self._spelling = spelling
        self._numbers: dict[tuple[str, str], int] = {}
        self.shapes: list[plan.Shape] = []
        self._forms = ProtobufForms(schema, self._bare_slot)
        self.forms = self._forms.table

    def level(self, message: Message, wanted: SourceTree, path: tuple[str, ...]) -> plan.ProtobufLevel:
        """Return the plan of a message on the path to the columns in `wanted`. `path`: the fields that lead here."""
        keys = matching_names(message.name, (f.name for f in message.fields), wanted.inner, self._spelling)
        slots = []
        for field in message.fields:
            below = wanted.inner[keys[field.name]] if field.name in keys else SourceTree()
            slots.append(self._slot(message, field, below, (*path, field.name)))
        return plan.ProtobufLevel(tuple(slots), ())

    def whole(self, name: str, number: int) -> plan.ProtobufJson:
        """Return how the message of this full name fills the column of this number."""
        field = ProtobufField(number=0, name="", kind="message", label="optional", type=name)
        slot = self._bare_slot(Message("", (field,)), field)
        is_sorted = self._sources[number].leeway.json == "canonical"
        return plan.ProtobufJson(self._forms.field(slot, field), is_sorted)

    def _bare_slot(self, message: Message, field: ProtobufField) -> plan.Slot:
        return self._new_slot(message, field, (), None)

    def _slot(
        self, message: Message, field: ProtobufField, wanted: SourceTree, path: tuple[str, ...]
    ) -> plan.Slot:
        columns = []
        for number in wanted.columns:
            source = self._sources[number]
            value = self._column(message, field, number)
            if isinstance(value, plan.ProtobufSymbol) and field.label != "repeated":
                value = replace(value, unknown=source.leeway.unknown_enum)
            columns.append((number, value))
        inner = None
        if wanted.inner:
            if field.kind not in ("message", "group") or field.label == "repeated":
                raise SchemaUnresolvable(f"{path_text(path)}: {text_of(field)} has no fields for a path")
            inner = self.level(self._schema.messages[field.type], wanted, path)
        return self._new_slot(message, field, tuple(columns), inner)

    def _column(self, message: Message, field: ProtobufField, number: int) -> plan.Value | plan.Entry:
        column, source = self._columns.field(number), self._sources[number]
        if isinstance(source.form, ElementTexts):
            if not has_rows(field, self._schema):
                raise SchemaUnresolvable(f"{text_of(field)} is not an array of messages that are rows")
            return plan.ProtobufOctets()
        json = source.leeway.json
        if json != "refuse" and (
            field.label == "repeated" or single(field, self._schema, column.type, source.unit) is None
        ):
            slot = self._bare_slot(message, field)
            return plan.ProtobufJson(self._forms.field(slot, field), json == "canonical")
        return self._value(field, column.type, f"column {column.name}", source.unit)

    def _new_slot(
        self,
        message: Message,
        field: ProtobufField,
        columns: tuple[tuple[int, plan.Value | plan.Entry], ...],
        inner: plan.ProtobufLevel | None,
    ) -> plan.Slot:
        oneofs = sorted({other.oneof for other in message.fields if other.oneof})
        return plan.Slot(
            number=field.number,
            name=field.name,
            label="map" if self._is_map(field) else field.label,
            wire=WIRE_OF[field.kind],
            default=default_of(field, self._schema),
            oneof=oneofs.index(field.oneof) if field.oneof else -1,
            shape=self._shape(field),
            columns=columns,
            inner=inner,
        )

    def _is_map(self, field: ProtobufField) -> bool:
        return field.label == "repeated" and field.kind == "message" and self._message(field).is_entry

    def _message(self, field: ProtobufField) -> Message:
        return self._schema.messages[field.type]

    def _value(
        self, field: ProtobufField, dtype: pa.DataType, label: str, unit: str | None = None
    ) -> plan.Value | plan.Entry:
        if field.label != "repeated":
            return self._single(field, dtype, label, unit)
        if self._is_map(field) and pa.types.is_map(dtype):
            key, value = self._message(field).fields
            item = self._single(value, dtype.item_type, f"{label}{{}}")
            return plan.Entry(key.kind, item, WIRE_OF[value.kind], default_of(value, self._schema))
        if pa.types.is_list(dtype):
            return self._single(field, dtype.value_type, f"{label}[]")
        raise SchemaUnresolvable(f"{label}: {text_of(field)} does not fill {hive_type_of(dtype)}")

    def _single(
        self, field: ProtobufField, dtype: pa.DataType, label: str, unit: str | None = None
    ) -> plan.Value:
        value = single(field, self._schema, dtype, unit)
        if value is not None:
            return value
        if field.kind in ("message", "group") and pa.types.is_struct(dtype):
            return self._row(self._message(field), dtype, label)
        is_number = "int" in field.kind or "fixed" in field.kind
        hint = UNIT_HINT if unit is None and is_number and pa.types.is_temporal(dtype) else ""
        raise SchemaUnresolvable(f"{label}: {text_of(field)} does not fill {hive_type_of(dtype)}{hint}")

    def _row(self, message: Message, dtype: pa.DataType, label: str) -> plan.Value:
        fields = {self._spelling(field.name): number for number, field in enumerate(dtype)}
        keys = matching_names(message.name, (f.name for f in message.fields), fields, self._spelling)
        slots, filled = [], set()
        for field in message.fields:
            columns: tuple[tuple[int, plan.Value | plan.Entry], ...] = ()
            if field.name in keys:
                number = fields[keys[field.name]]
                inner = dtype.field(number)
                columns = ((number, self._value(field, inner.type, f"{label}.{inner.name}")),)
                filled.add(number)
            slots.append(self._new_slot(message, field, columns, None))
        return plan.ProtobufRow(
            plan.ProtobufLevel(tuple(slots), tuple(n for n in range(dtype.num_fields) if n not in filled))
        )

    def _shape(self, field: ProtobufField) -> int:
        """Return the number of a type's shape, after adding the shapes of all types that it leads to."""
        root = (field.kind, field.type if field.kind in ("message", "group") else "")
        if root in self._numbers:
            return self._numbers[root]
        waiting = [root]
        self._reserve(root)
        while waiting:
            kind, name = waiting.pop()
            if not name:
                continue
            fields = []
            for inner in self._schema.messages[name].fields:
                key = (inner.kind, inner.type if inner.kind in ("message", "group") else "")
                if key not in self._numbers:
                    self._reserve(key)
                    waiting.append(key)
                fields.append((inner.number, inner.label == "repeated", self._numbers[key]))
            self.shapes[self._numbers[kind, name]] = (kind, tuple(fields))
        return self._numbers[root]

    def _reserve(self, key: tuple[str, str]) -> None:
        self._numbers[key] = len(self.shapes)
        self.shapes.append((key[0], ()))
