"""Format `protobuf`: decode messages of any number of schemas and message types."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from kafka2hive.config.keys import WireFormat
from kafka2hive.config.keys.json_path import path_text
from kafka2hive.decode.contract.sources import SchemaUnresolvable, Source
from kafka2hive.decode.framing.fine_times import TimeForm
from kafka2hive.decode.framing.frames import Head, indexed_heads, long_id_hint
from kafka2hive.decode.framing.other_types import Clock, EpochForm, Stamps, TimeNumbers
from kafka2hive.decode.protobuf import plan
from kafka2hive.decode.protobuf.exact import ProtobufExactDecoder
from kafka2hive.decode.protobuf.plan import ProtobufPlan
from kafka2hive.decode.protobuf.resolve import has_rows, is_clock, resolve
from kafka2hive.decode.schema_decoder import SchemaDecoder
from kafka2hive.decode.schemas.protobuf import Message, ProtobufField, ProtobufSchema, parse
from kafka2hive.decode.values.batch import Places
from kafka2hive.decode.values.epochs import UNIT_OF, UNITS
from kafka2hive.model.writer_schema import PROTOBUF, SchemaId, WriterSchema
from kafka2hive.plugins import Reason


class MessageType(NamedTuple):
    """A message type by its full name in a schema."""

    schema: ProtobufSchema
    name: str


class ProtobufDecoder(SchemaDecoder[MessageType, ProtobufPlan]):
    """Decodes one Protobuf message per Kafka message."""

    format = "protobuf"
    kind = PROTOBUF
    content = "the message's indexes, the data"

    @staticmethod
    def heads_of(values: pa.BinaryArray, wire: WireFormat) -> Iterator[tuple[Head, Places]]:
        return indexed_heads(values, wire)

    def _only_type(self, writer: WriterSchema) -> MessageType:
        schema = parse(writer)
        return MessageType(schema, schema.only_type(writer.message))

    def _type_of(self, schema_id: SchemaId, head: Head) -> MessageType | Reason:
        if not head.length:
            return self._no_indexes(schema_id)
        schema = self._schema(schema_id, parse)
        if isinstance(schema, Reason):
            return schema
        name = schema.type_at(head.indexes)
        if name is None:
            shown = ", ".join(map(str, head.indexes))
            return Reason(
                "protobuf.frame",
                f"the schema of id {schema_id} has no message type at the indexes {shown}, or more than one",
            )
        if self._check is not None:
            self._check.protobuf(schema_id, schema, name)
        return MessageType(schema, name)

    def _no_indexes(self, schema_id: SchemaId) -> Reason:
        hint = long_id_hint(schema_id, self._wire.framing)
        if not hint and self._wire.indexes != "unsigned":
            hint = "; if the writer encodes them without zigzag, set protobuf_indexes: unsigned"
        return Reason(
            "protobuf.frame", f"the message's indexes cannot be read after the schema's id {schema_id}{hint}"
        )

    def _resolve(
        self, writer_type: MessageType, columns: pa.Schema, sources: Sequence[Source]
    ) -> ProtobufPlan:
        return resolve(
            schema=writer_type.schema,
            name=writer_type.name,
            columns=columns,
            sources=sources,
            spelling=self._spelling,
        )

    def _finer_times(self, plan: ProtobufPlan) -> dict[int, TimeForm]:
        return finer_times(plan)

    def _clock_of(self, writer_type: MessageType, keys: tuple[str, ...]) -> Clock | None:
        message = self._message_at(writer_type, keys)
        return "message" if message is not None and is_clock(message) else None

    def _message_at(self, writer_type: MessageType, keys: tuple[str, ...]) -> Message | None:
        """Return the type of the message at a path; None if there is another value, or several."""
        message = writer_type.schema.messages[writer_type.name]
        for key in keys:
            field = self._field_of(message, key)
            if field is None or field.kind != "message" or field.label == "repeated":
                return None
            message = writer_type.schema.messages[field.type]
        return message

    def _field_of(self, message: Message, key: str) -> ProtobufField | None:
        found = [field for field in message.fields if self._spelling(field.name) == self._spelling(key)]
        return found[0] if len(found) == 1 else None

    def _element_type(self, writer_type: MessageType, keys: tuple[str, ...]) -> MessageType:
        message = self._message_at(writer_type, keys[:-1])
        field = None if message is None else self._field_of(message, keys[-1])
        if field is None or not has_rows(field, writer_type.schema):
            raise SchemaUnresolvable(f"the message has no repeated message at {path_text(keys)}")
        return MessageType(writer_type.schema, field.type)

    def _time_numbers(self, plan: ProtobufPlan) -> Mapping[int, TimeNumbers]:
        return time_numbers(plan)

    def _library_decoder(self, types: list[object], words: object, head: int) -> Any:
        return self._library.ProtobufDecoder(types, words, head, self._zone == "UTC")

    def _exact(
        self, plan: ProtobufPlan, schema: pa.Schema, sources: Sequence[Source]
    ) -> Callable[..., list[Any] | Reason]:
        return ProtobufExactDecoder(
            protobuf_plan=plan, schema=schema, zone=self._zone, sources=sources, changes=self._changes
        ).decode

    @staticmethod
    def _name(writer_type: MessageType) -> str:
        return writer_type.name


make = ProtobufDecoder.make


def finer_times(protobuf_plan: ProtobufPlan) -> dict[int, TimeForm]:
    """Return the numbers of the columns whose values are nanoseconds or days, each with the form of its values."""
    forms = {number: _form(value) for number, value in _columns(protobuf_plan.root)}
    return {number: form for number, form in forms.items() if form is not None}


def time_numbers(protobuf_plan: ProtobufPlan) -> dict[int, TimeNumbers]:
    """Return the numbers of the columns whose values are times, each with their form."""
    forms = {number: _epoch_form(value) for number, value in _columns(protobuf_plan.root)}
    return {number: form for number, form in forms.items() if form is not None}


def _columns(level: plan.ProtobufLevel) -> Iterator[tuple[int, plan.Value | plan.Entry]]:
    for slot in level.slots:
        yield from slot.columns
        if slot.inner is not None:
            yield from _columns(slot.inner)


def _form(value: plan.Value | plan.Entry) -> TimeForm | None:
    match value:
        case plan.Stamp():
            return TimeForm.STAMP
        case plan.ProtobufMoment(_, _, divisor) if divisor > 1:
            return TimeForm.INSTANT
        case plan.ProtobufMoment(_, factor, divisor) if (factor, divisor) == UNITS["d"]:
            return TimeForm.DAYS
        case plan.Wrapped(inner):
            return _form(inner)
    return None


def _epoch_form(value: plan.Value | plan.Entry) -> TimeNumbers | None:
    match value:
        case plan.Stamp():
            return Stamps()
        case plan.ProtobufMoment(_, factor, divisor):
            return EpochForm(UNIT_OF[factor, divisor], is_instant=True)
        case plan.Wrapped(inner):
            return _epoch_form(inner)
    return None
