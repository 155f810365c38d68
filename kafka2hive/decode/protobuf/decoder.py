"""Format `protobuf`: messages of any number of schemas and message types."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode.columns import of_named_columns
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.contract.spec import DecoderSpec
from kafka2hive.decode.framing.fine_times import TimeForm
from kafka2hive.decode.framing.frames import Head, indexed_heads, long_id_hint
from kafka2hive.decode.protobuf import plan
from kafka2hive.decode.protobuf.exact import ProtobufExactDecoder
from kafka2hive.decode.protobuf.plan import ProtobufPlan
from kafka2hive.decode.protobuf.resolve import resolve
from kafka2hive.decode.schema_decoder import SchemaDecoder
from kafka2hive.decode.schemas.protobuf import ProtobufSchema, ProtobufSchemaInvalid, parse
from kafka2hive.decode.values.batch import Places
from kafka2hive.decode.values.epochs import UNITS
from kafka2hive.model.writer_schema import PROTOBUF, SchemaId, WriterSchema
from kafka2hive.plugins import Decoder, Reason

MOST_SCHEMAS = 1000
"""Limit of schemas in memory. At the limit all of them are dropped."""


def make(spec: DecoderSpec) -> Decoder:
    """Make the decoder. Raises ValueError without a registry or a schema, and if the schema cannot fill the columns."""
    return of_named_columns(spec, ProtobufDecoder)


class MessageType(NamedTuple):
    """A message type by its full name in a schema."""

    schema: ProtobufSchema
    name: str


class ProtobufDecoder(SchemaDecoder[MessageType, ProtobufPlan]):
    """Decodes one Protobuf message per Kafka message."""

    format = "protobuf"
    kind = PROTOBUF
    content = "the message's indexes, the data"

    def __init__(self, spec: DecoderSpec, library: Any = LIBRARY) -> None:
        self._schemas: dict[SchemaId, ProtobufSchema | Reason] = {}
        super().__init__(spec, library)

    def _heads(self, values: pa.BinaryArray) -> Iterator[tuple[Head, Places]]:
        return indexed_heads(values, self._wire)

    def _only_type(self, writer: WriterSchema) -> MessageType:
        schema = parse(writer)
        return MessageType(schema, only_type(schema, writer.message))

    def _type_of(self, schema_id: SchemaId, head: Head) -> MessageType | Reason:
        if not head.length:
            return self._no_indexes(schema_id)
        schema = self._schema_of(schema_id)
        if isinstance(schema, Reason):
            return schema
        name = schema.type_at(head.indexes)
        if name is None:
            shown = ", ".join(map(str, head.indexes))
            return Reason(
                "protobuf.frame", f"the schema of id {schema_id} has no certain message type at {shown}"
            )
        if self._check is not None:
            self._check.protobuf(schema_id, schema, name)
        return MessageType(schema, name)

    def _no_indexes(self, schema_id: SchemaId) -> Reason:
        hint = long_id_hint(schema_id, self._wire.framing)
        if not hint and self._wire.indexes != "unsigned":
            hint = "; protobuf_indexes: unsigned reads those without zigzag"
        return Reason(
            "protobuf.frame", f"no indexes of a message can be read behind the schema's id {schema_id}{hint}"
        )

    def _schema_of(self, schema_id: SchemaId) -> ProtobufSchema | Reason:
        """Return the schema; an invalid one is remembered, because the text of an id never changes and compiling is slow."""
        if schema_id in self._schemas:
            return self._schemas[schema_id]
        writer = self._writer(schema_id)
        if isinstance(writer, Reason):
            return writer
        try:
            schema: ProtobufSchema | Reason = parse(writer)
        except ProtobufSchemaInvalid as error:
            schema = Reason("protobuf.schema", f"the schema of id {schema_id}: {error}")
        if len(self._schemas) >= MOST_SCHEMAS:
            self._schemas.clear()
        self._schemas[schema_id] = schema
        return schema

    def _resolve(self, of_type: MessageType, columns: pa.Schema, sources: Sequence[Source]) -> ProtobufPlan:
        return resolve(
            schema=of_type.schema,
            name=of_type.name,
            columns=columns,
            sources=sources,
            spelling=self._spelling,
        )

    def _finer_times(self, plan: ProtobufPlan) -> dict[int, TimeForm]:
        return finer_times(plan)

    def _native(self, types: list[object], words: object, head: int) -> Any:
        return self._library.ProtobufDecoder(types, words, head, self._zone == "UTC")

    def _exact(
        self, plan: ProtobufPlan, schema: pa.Schema, sources: Sequence[Source]
    ) -> Callable[..., list[Any] | Reason]:
        return ProtobufExactDecoder(
            planned=plan, schema=schema, zone=self._zone, sources=sources, changes=self._changes
        ).decode

    @staticmethod
    def _name(of_type: MessageType) -> str:
        return of_type.name


def finer_times(planned: ProtobufPlan) -> dict[int, TimeForm]:
    """Return the columns, by number, that are written in nanoseconds or as days."""
    forms = {number: _form(value) for number, value in _columns(planned.root)}
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


def only_type(schema: ProtobufSchema, message: str | None) -> str:
    """Return the full name of the messages' type. Raises ProtobufSchemaInvalid if it is missing or ambiguous."""
    if message is not None:
        if message not in schema.messages or schema.messages[message].is_entry:
            raise ProtobufSchemaInvalid(f"the schema has no message {message}")
        return message
    if not schema.declarations:
        raise ProtobufSchemaInvalid("the schema has no message")
    if len(schema.declarations) > 1:
        names = ", ".join(one.name for one in schema.declarations[:5])
        raise ProtobufSchemaInvalid(f"the schema has several messages, set protobuf_message: {names}")
    return schema.declarations[0].name
