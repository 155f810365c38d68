"""A writer's message against a table's columns: the plan that reads its messages, once for each schema and message."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from kafka2hive.config.grammars.json_path import path_text
from kafka2hive.model.hive.types import hive_type_of
from kafka2hive.pipeline.decode.protobuf import plan
from kafka2hive.pipeline.decode.protobuf.fits import default_of, single
from kafka2hive.pipeline.decode.protobuf.schema import WIRE_OF, Field, Message, Schema, text_of
from kafka2hive.pipeline.decode.sources import Source, SourceTree, Spelling, source_tree


class Unresolvable(ValueError):
    """No message of this schema can fill the columns: says which column, and both types."""


def resolve(
    schema: Schema, name: str, columns: pa.Schema, sources: Sequence[Source], spelling: Spelling
) -> plan.Plan:
    """Of the message of this full name. Raises Unresolvable. A column that the writer does not know is NULL."""
    resolver = _Resolver(schema, columns, sources, spelling)
    root = resolver.way(schema.messages[name], source_tree(sources, spelling), ())
    return plan.Plan(root, tuple(resolver.shapes))


class _Resolver:
    """`shapes` grows by every type that some value is gone past in."""

    def __init__(
        self, schema: Schema, columns: pa.Schema, sources: Sequence[Source], spelling: Spelling
    ) -> None:
        self._schema = schema
        self._columns = columns
        self._sources = sources
        self._spelling = spelling
        self._numbers: dict[tuple[str, str], int] = {}
        self.shapes: list[plan.Shape] = []

    def way(self, message: Message, wanted: SourceTree, path: tuple[str, ...]) -> plan.Level:
        """Through messages to the columns below `wanted`."""
        taken = self._matches(message, wanted.inner)
        slots = []
        for field in message.fields:
            below = wanted.inner[taken[field.name]] if field.name in taken else SourceTree()
            slots.append(self._slot(message, field, below, (*path, field.name)))
        return plan.Level(tuple(slots), ())

    def _slot(self, message: Message, field: Field, wanted: SourceTree, path: tuple[str, ...]) -> plan.Slot:
        columns = []
        for number in wanted.columns:
            column = self._columns.field(number)
            source = self._sources[number]
            value = self._value(field, column.type, f"column {column.name}", source.unit)
            if isinstance(value, plan.Symbol) and field.label != "repeated":
                value = replace(value, unknown=source.leeway.unknown_enum)
            columns.append((number, value))
        inner = None
        if wanted.inner:
            if field.kind not in ("message", "group") or field.label == "repeated":
                raise Unresolvable(f"{path_text(path)}: {text_of(field)} has no fields for a path")
            inner = self.way(self._schema.messages[field.type], wanted, path)
        return self._made(message, field, tuple(columns), inner)

    def _made(
        self,
        message: Message,
        field: Field,
        columns: tuple[tuple[int, plan.Value | plan.Entry], ...],
        inner: plan.Level | None,
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

    def _is_map(self, field: Field) -> bool:
        return field.label == "repeated" and field.kind == "message" and self._message(field).is_entry

    def _message(self, field: Field) -> Message:
        return self._schema.messages[field.type]

    def _value(
        self, field: Field, dtype: pa.DataType, label: str, unit: str | None = None
    ) -> plan.Value | plan.Entry:
        if field.label != "repeated":
            return self._single(field, dtype, label, unit)
        if self._is_map(field) and pa.types.is_map(dtype):
            key, value = self._message(field).fields
            item = self._single(value, dtype.item_type, f"{label}{{}}")
            return plan.Entry(key.kind, item, WIRE_OF[value.kind], default_of(value, self._schema))
        if pa.types.is_list(dtype):
            return self._single(field, dtype.value_type, f"{label}[]")
        raise Unresolvable(f"{label}: {text_of(field)} does not fill {hive_type_of(dtype)}")

    def _single(self, field: Field, dtype: pa.DataType, label: str, unit: str | None = None) -> plan.Value:
        value = single(field, self._schema, dtype, unit)
        if value is not None:
            return value
        if field.kind in ("message", "group") and pa.types.is_struct(dtype):
            return self._row(self._message(field), dtype, label)
        raise Unresolvable(f"{label}: {text_of(field)} does not fill {hive_type_of(dtype)}")

    def _row(self, message: Message, dtype: pa.DataType, label: str) -> plan.Value:
        fields = {self._spelling(field.name): number for number, field in enumerate(dtype)}
        taken = self._matches(message, fields)
        slots, filled = [], set()
        for field in message.fields:
            columns: tuple[tuple[int, plan.Value | plan.Entry], ...] = ()
            if field.name in taken:
                number = fields[taken[field.name]]
                inner = dtype.field(number)
                columns = ((number, self._value(field, inner.type, f"{label}.{inner.name}")),)
                filled.add(number)
            slots.append(self._made(message, field, columns, None))
        return plan.Row(
            plan.Level(tuple(slots), tuple(n for n in range(dtype.num_fields) if n not in filled))
        )

    def _matches(self, message: Message, wanted: Mapping[str, object]) -> dict[str, str]:
        """The names of the message's fields that are wanted, and the keys they are wanted by."""
        taken = {f.name: key for f in message.fields if (key := self._spelling(f.name)) in wanted}
        if len(set(taken.values())) < len(taken):
            twice = sorted(name for name, key in taken.items() if list(taken.values()).count(key) > 1)
            raise Unresolvable(f"{message.name}: {' and '.join(twice)} differ in case only")
        return taken

    def _shape(self, field: Field) -> int:
        """The number of a type's shape; those of all messages that it leads to are made, too."""
        wanted = (field.kind, field.type if field.kind in ("message", "group") else "")
        if wanted in self._numbers:
            return self._numbers[wanted]
        left = [wanted]
        self._reserve(wanted)
        while left:
            kind, name = left.pop()
            if not name:
                continue
            fields = []
            for inner in self._schema.messages[name].fields:
                key = (inner.kind, inner.type if inner.kind in ("message", "group") else "")
                if key not in self._numbers:
                    self._reserve(key)
                    left.append(key)
                fields.append((inner.number, inner.label == "repeated", self._numbers[key]))
            self.shapes[self._numbers[kind, name]] = (kind, tuple(fields))
        return self._numbers[wanted]

    def _reserve(self, key: tuple[str, str]) -> None:
        self._numbers[key] = len(self.shapes)
        self.shapes.append((key[0], ()))
