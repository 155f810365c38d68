"""Format `protobuf`: messages of any number of schemas and types, each with a separate plan, into one batch of rows."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode.columns.named import check_columns, of_named_columns
from kafka2hive.decode.compiled import Finish, NativeReader, Part, PartReader, together, type_words
from kafka2hive.decode.contract.changes import Changes
from kafka2hive.decode.contract.sources import Source, as_it_stands, in_small_letters
from kafka2hive.decode.contract.spec import DecoderSpec
from kafka2hive.decode.framing.fine_times import FinerTimes, Written, truncating
from kafka2hive.decode.framing.frames import Head, long_id_hint, no_frames
from kafka2hive.decode.protobuf import plan
from kafka2hive.decode.protobuf.exact import ProtobufExactDecoder
from kafka2hive.decode.protobuf.heads import Indexes, Numbers, groups, type_at
from kafka2hive.decode.protobuf.plan import ProtobufPlan, words
from kafka2hive.decode.protobuf.resolve import ProtobufUnresolvable, resolve
from kafka2hive.decode.schemas.protobuf import ProtobufSchema, parse
from kafka2hive.decode.schemas.protoc import ProtobufSchemaInvalid
from kafka2hive.decode.schemas.writers import PROTOBUF, SchemaId, WriterSchema, WriterSchemas
from kafka2hive.decode.values.epochs import UNITS
from kafka2hive.plugins import Decoded, Decoder, Reason


class ProtobufPlanReader(PartReader):
    """Reads the messages of one type."""

    def __init__(
        self,
        plan: ProtobufPlan,
        schema: pa.Schema,
        zone: str,
        sources: Sequence[Source],
        head: int,
        library: Any,
        changes: Changes,
        finish: Finish | None = None,
    ) -> None:
        """`head`: bytes of a message before its fields. `changes`: counts what the sources' leeway changes."""
        fast: NativeReader | None = None
        if library is not None:
            types = [type_words(f.type, as_it_stands, s.unit) for f, s in zip(schema, sources, strict=True)]
            native = library.ProtobufDecoder(types, words(plan), head, zone == "UTC")
            fast = NativeReader(schema, zone, native)
        exact = ProtobufExactDecoder(planned=plan, schema=schema, zone=zone, sources=sources, changes=changes)
        super().__init__(schema, partial(exact.decode, start=head), fast, finish)


def finer_times(planned: plan.ProtobufPlan) -> dict[int, Written]:
    """By the columns' numbers."""
    found = {number: _written(value) for number, value in _filled(planned.root)}
    return {number: written for number, written in found.items() if written is not None}


def _filled(level: plan.ProtobufLevel) -> Iterator[tuple[int, plan.Value | plan.Entry]]:
    for slot in level.slots:
        yield from slot.columns
        if slot.inner is not None:
            yield from _filled(slot.inner)


def _written(value: plan.Value | plan.Entry) -> Written | None:
    match value:
        case plan.Stamp():
            return Written.STAMP
        case plan.ProtobufMoment(_, _, divisor) if divisor > 1:
            return Written.INSTANT
        case plan.ProtobufMoment(_, factor, divisor) if (factor, divisor) == UNITS["d"]:
            return Written.DAYS
        case plan.Wrapped(inner):
            return _written(inner)
    return None


MOST_READERS = 1000
"""Of types and schemas that are remembered."""


def make(spec: DecoderSpec) -> Decoder:
    """Make the decoder. Raises ValueError without a registry or a schema, and if the schema cannot fill the columns."""
    return of_named_columns(spec, ProtobufDecoder)


class ProtobufDecoder:
    """One Protobuf message a Kafka message, its values to the columns that take them, by docs/decoding.md."""

    def __init__(self, spec: DecoderSpec, library: Any = LIBRARY) -> None:
        """`library`: the compiled one; None: the exact decoder alone.

        Raises ValueError where the schema of all messages cannot fill the columns.
        """
        check_columns(spec)
        self.schema = spec.schema
        self._zone = spec.zone
        self._sources = spec.source_of_each()
        self._spelling = in_small_letters if spec.any_case else as_it_stands
        self._library = library
        self._check = spec.check
        self._changes = spec.changes
        self._wire = spec.wire
        self._schemas: dict[SchemaId, ProtobufSchema | Reason] = {}
        self._readers: dict[tuple[SchemaId, Indexes, int], ProtobufPlanReader] = {}
        self._plain: ProtobufPlanReader | None = None
        self._writers: WriterSchemas | None = None
        writers = spec.writers
        if writers is None:
            raise ValueError("format protobuf needs a schema registry, or the schema of the messages")
        if isinstance(writers, WriterSchema):
            parsed = parse(writers)
            self._plain = self._reader(parsed, only_type(parsed, writers.message), 0)
        else:
            self._writers = writers

    def decode(self, values: pa.BinaryArray) -> Decoded:
        """See Decoder. Raises SchemaRegistryUnavailable: then nothing of the batch is decoded."""
        if values.null_count:
            raise ValueError("messages are not null")
        if self._plain is not None:
            return together(self.schema, [self._plain.read(values, np.arange(len(values)))])
        return together(self.schema, [self._read(values, *group) for group in groups(values, self._wire)])

    def _read(self, values: pa.BinaryArray, head: Head, indexes: Indexes, places: Numbers) -> Part:
        if head.schema_id is None:
            what = "the message's indexes, the data"
            return Part.refused(
                places,
                no_frames(
                    format="protobuf", what=what, values=values, places=places, framing=self._wire.framing
                ),
            )
        if not head.length:
            return Part.refused(places, self._no_indexes(head.schema_id))
        reader = self._reader_of(head.schema_id, indexes, head.length)
        if isinstance(reader, Reason):
            return Part.refused(places, reader)
        return reader.read(values if len(places) == len(values) else values.take(pa.array(places)), places)

    def _no_indexes(self, schema_id: SchemaId) -> Reason:
        other = (
            ""
            if self._wire.indexes == "unsigned"
            else "; protobuf_indexes: unsigned reads those without zigzag"
        )
        hint = long_id_hint(schema_id, self._wire.framing)
        return Reason(
            "protobuf.frame",
            f"no indexes of a message can be read behind the schema's id {schema_id}{hint or other}",
        )

    def _reader_of(self, schema_id: SchemaId, indexes: Indexes, head: int) -> ProtobufPlanReader | Reason:
        """Or the reason against all these messages."""
        key = schema_id, indexes, head
        if key in self._readers:
            return self._readers[key]
        parsed = self._schema_of(schema_id)
        if isinstance(parsed, Reason):
            return parsed
        name = type_at(parsed.declared, indexes)
        if name is None:
            shown = ", ".join(map(str, indexes))
            return Reason(
                "protobuf.frame", f"the schema of id {schema_id} has no certain message type at {shown}"
            )
        if self._check is not None:
            self._check.protobuf(schema_id, parsed, name)
        try:
            reader = self._reader(parsed, name, head)
        except ProtobufUnresolvable as error:
            if self._check is not None:
                self._check.unresolvable(schema_id, f"{name}: {error}")
            return Reason("protobuf.resolve", f"{name} of the schema of id {schema_id}: {error}")
        if len(self._readers) >= MOST_READERS:
            self._readers.clear()
        self._readers[key] = reader
        return reader

    def _schema_of(self, schema_id: SchemaId) -> ProtobufSchema | Reason:
        assert self._writers is not None
        if schema_id in self._schemas:
            return self._schemas[schema_id]
        writer = self._writers.get(schema_id)
        if writer is None:
            hint = long_id_hint(schema_id, self._wire.framing)
            return Reason("protobuf.schema", f"the schema registry has no schema of id {schema_id}{hint}")
        if writer.kind != PROTOBUF:
            return Reason(
                "protobuf.schema",
                f"the schema of id {schema_id} is of kind {writer.kind[:20]}, not {PROTOBUF}",
            )
        try:
            parsed: ProtobufSchema | Reason = parse(writer)
        except (
            ProtobufSchemaInvalid
        ) as error:  # the text of an id never changes, and the compiler is a process
            parsed = Reason("protobuf.schema", f"the schema of id {schema_id}: {error}")
        if len(self._schemas) >= MOST_READERS:
            self._schemas.clear()
        self._schemas[schema_id] = parsed
        return parsed

    def _reader(self, parsed: ProtobufSchema, name: str, head: int) -> ProtobufPlanReader:
        plan = resolve(
            schema=parsed, name=name, columns=self.schema, sources=self._sources, spelling=self._spelling
        )
        cut = truncating(self._sources)
        written = {
            number: how
            for number, how in finer_times(plan).items()
            if (self._zone != "UTC" if how is Written.DAYS else number in cut)
        }
        if not written:
            return ProtobufPlanReader(
                plan=plan,
                schema=self.schema,
                zone=self._zone,
                sources=self._sources,
                head=head,
                library=self._library,
                changes=self._changes,
            )
        finer = FinerTimes(
            format="protobuf",
            schema=self.schema,
            sources=self._sources,
            zone=self._zone,
            written=written,
            changes=self._changes,
        )
        plan = resolve(
            schema=parsed, name=name, columns=finer.wire, sources=finer.sources, spelling=self._spelling
        )
        return ProtobufPlanReader(
            plan=plan,
            schema=finer.wire,
            zone=self._zone,
            sources=finer.sources,
            head=head,
            library=self._library,
            changes=self._changes,
            finish=finer.finish,
        )


def only_type(parsed: ProtobufSchema, message: str | None) -> str:
    """Return the full name of the messages' type. Raises ProtobufSchemaInvalid if it is missing or not certain."""
    if message is not None:
        if message not in parsed.messages or parsed.messages[message].is_entry:
            raise ProtobufSchemaInvalid(f"the schema has no message {message}")
        return message
    if len(parsed.declared) != 1:
        names = ", ".join(one.name for one in parsed.declared[:5]) or "none"
        raise ProtobufSchemaInvalid(f"which of its messages? protobuf_message says it; there are: {names}")
    return parsed.declared[0].name
