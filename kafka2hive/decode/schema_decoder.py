"""Decode messages by the schemas that they were written with: one reader for each schema, one batch of rows for all."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
import pyarrow as pa

from kafka2hive.config.keys import WireFormat
from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode.columns import check_columns, of_named_columns
from kafka2hive.decode.compiled import (
    Finish,
    NativeReader,
    PartReader,
    PartResult,
    in_turn,
    join_parts,
    plan_words,
    refusal_part,
    type_words,
)
from kafka2hive.decode.contract.sources import SchemaUnresolvable, Source, exact_spelling, lower_case_spelling
from kafka2hive.decode.contract.spec import DecoderSpec
from kafka2hive.decode.framing.fine_times import FinerTimes, TimeForm, truncatable_columns
from kafka2hive.decode.framing.frames import Head, heads, long_id_hint, no_frames
from kafka2hive.decode.framing.other_types import Clock, TimeNumbers, WriterPlans, other_types
from kafka2hive.decode.rows.schema_arrays import SchemaArraysDecoder
from kafka2hive.decode.schemas.declared import DeclaredSchemas
from kafka2hive.decode.schemas.writers import WriterSchemas
from kafka2hive.decode.values.batch import Places
from kafka2hive.model.writer_schema import SchemaId, SchemaInvalid, WriterSchema
from kafka2hive.plugins import Decoded, Decoder, Reason

MOST_READERS = 1000
"""Limit of readers in memory. At the limit all of them are dropped."""

Type = TypeVar("Type")
"""What a format resolves against the columns: a schema, or a message type in a schema."""
Plan = TypeVar("Plan")
Schema = TypeVar("Schema")


class SchemaDecoder(ABC, Generic[Type, Plan]):
    """Decodes one record or message of the format per Kafka message, by docs/decoding.md.

    The schema of a message is the map's one schema, or the schema that the message's head names.
    """

    format: ClassVar[Literal["avro", "protobuf"]]
    kind: ClassVar[str]
    """The registry's name for schemas of the format."""
    content: ClassVar[str]
    """What follows the schema's id in a message, for the text of reasons."""

    def __init__(self, spec: DecoderSpec, library: Any = LIBRARY) -> None:
        """`library`: the compiled library; None: the exact decoder reads everything.

        Raises ValueError without a registry or a schema, or if the one schema of all messages cannot fill the columns.
        """
        check_columns(spec)
        self.schema = spec.schema
        self._zone = spec.zone
        self._sources = spec.source_of_each()
        self._spelling = lower_case_spelling if spec.any_case else exact_spelling
        self._library = library
        self._wire = spec.wire
        self._check = spec.check
        self._element_of = spec.element_of
        self._changes = spec.changes
        self._readers: dict[Head, PartReader] = {}
        self._only_reader: PartReader | None = None
        if spec.writers is None:
            raise ValueError(f"format {self.format} needs a schema registry, or the schema of the messages")
        if isinstance(spec.writers, WriterSchema):
            self._only_reader = self.reader(self._row_type(self._only_type(spec.writers)), 0)
        else:
            self._writers: WriterSchemas = spec.writers

    @classmethod
    def make(cls, spec: DecoderSpec) -> Decoder:
        """Make the format's decoder for columns that may have several paths and defaults. Raises ValueError; see `__init__`."""
        if spec.rows == "one":
            return of_named_columns(spec, cls)
        return SchemaArraysDecoder(spec, lambda one: of_named_columns(one, cls), cls.heads_of)

    def decode(self, values: pa.BinaryArray) -> Decoded:
        """See Decoder. Raises SchemaRegistryUnavailable; then no message of the batch is decoded."""
        if values.null_count:
            raise ValueError("messages are not null")
        if self._only_reader is not None:
            return join_parts(self.schema, [self._only_reader.read(values, np.arange(len(values)))])
        groups = self.heads_of(values, self._wire)
        return join_parts(self.schema, [self._read(values, *group) for group in groups])

    def _row_type(self, writer_type: Type) -> Type:
        """Return the type of a row. Raises SchemaUnresolvable."""
        return self._element_type(writer_type, self._element_of) if self._element_of else writer_type

    def reader(self, writer_type: Type, head: int) -> PartReader:
        """Return the reader of messages whose content begins at byte `head`. Raises SchemaUnresolvable."""
        others = other_types(
            format=self.format,
            schema=self.schema,
            sources=self._sources,
            zone=self._zone,
            changes=self._changes,
            library=self._library,
            plans=WriterPlans(
                resolve=partial(self._resolve, writer_type),
                time_numbers=self._time_numbers,
                clock_of=partial(self._clock_of, writer_type),
            ),
        )
        if others is None:
            return self._reader(writer_type, self.schema, self._sources, head)
        return self._reader(writer_type, others.wire, others.sources, head, finish=others.finish)

    def _reader(
        self,
        writer_type: Type,
        schema: pa.Schema,
        sources: Sequence[Source],
        head: int,
        finish: Finish | None = None,
    ) -> PartReader:
        """Return the reader of rows of `schema`, which `finish` converts to rows of the table."""
        plan = self._resolve(writer_type, schema, sources)
        cut = truncatable_columns(sources)
        forms = {
            number: form
            for number, form in self._finer_times(plan).items()
            if (self._zone != "UTC" if form is TimeForm.DAYS else number in cut)
        }
        if not forms:
            return self._plan_reader(plan=plan, schema=schema, sources=sources, head=head, finish=finish)
        finer = FinerTimes(
            format=self.format,
            schema=schema,
            sources=sources,
            zone=self._zone,
            forms=forms,
            changes=self._changes,
        )
        plan = self._resolve(writer_type, finer.wire, finer.sources)
        both = finer.finish if finish is None else in_turn(finer.finish, finish)
        return self._plan_reader(plan=plan, schema=finer.wire, sources=finer.sources, head=head, finish=both)

    @staticmethod
    def heads_of(values: pa.BinaryArray, wire: WireFormat) -> Iterator[tuple[Head, Places]]:
        """Yield each distinct head and the places of its messages."""
        return heads(values, wire.framing)

    @abstractmethod
    def _only_type(self, writer: WriterSchema) -> Type:
        """Return the type of all messages, which the map's schema describes. Raises ValueError."""

    @abstractmethod
    def _type_of(self, schema_id: SchemaId, head: Head) -> Type | Reason:
        """Check the schema that the head names. Return the type, or the reason against all messages with this head."""

    @abstractmethod
    def _element_type(self, writer_type: Type, keys: tuple[str, ...]) -> Type:
        """Return the type of the elements of the array at a path. Raises SchemaUnresolvable."""

    @abstractmethod
    def _resolve(self, writer_type: Type, columns: pa.Schema, sources: Sequence[Source]) -> Plan:
        """Return the plan that fills the columns from messages of the type. Raises SchemaUnresolvable."""

    @abstractmethod
    def _finer_times(self, plan: Plan) -> dict[int, TimeForm]:
        """Return the forms of the columns, by number, that FinerTimes may have to read."""

    @abstractmethod
    def _clock_of(self, writer_type: Type, keys: tuple[str, ...]) -> Clock | None:
        """Return how the values at a path say a time of day, None if they say none."""

    @abstractmethod
    def _time_numbers(self, plan: Plan) -> Mapping[int, TimeNumbers]:
        """Return by number the columns whose values all say a time in the same way."""

    @abstractmethod
    def _library_decoder(self, types: list[object], words: object, head: int) -> Any:
        """Return the library's decoder of messages whose content begins at byte `head`."""

    @abstractmethod
    def _exact(
        self, plan: Plan, schema: pa.Schema, sources: Sequence[Source]
    ) -> Callable[..., list[Any] | Reason]:
        """Return the function that decodes a message from its byte `start` on."""

    @staticmethod
    def _name(writer_type: Type) -> str:
        """Return the type's name if its schema has several types."""
        return ""

    def _plan_reader(
        self,
        plan: Plan,
        schema: pa.Schema,
        sources: Sequence[Source],
        head: int,
        finish: Finish | None = None,
    ) -> PartReader:
        compiled: NativeReader | None = None
        if self._library is not None:
            types = [type_words(f.type, exact_spelling, s.unit) for f, s in zip(schema, sources, strict=True)]
            compiled = NativeReader(schema, self._zone, self._library_decoder(types, plan_words(plan), head))
        exact = self._exact(plan, schema, sources)
        return PartReader(
            schema=schema,
            exact=partial(exact, start=head),
            compiled=compiled,
            changes=self._changes,
            finish=finish,
        )

    def _read(self, values: pa.BinaryArray, head: Head, places: Places) -> PartResult:
        """Read the messages at `places`, which all have this head."""
        if head.schema_id is None:
            reasons = no_frames(
                format=self.format,
                what=self.content,
                values=values,
                places=places,
                framing=self._wire.framing,
            )
            return refusal_part(places, reasons)
        reader = self._readers.get(head) or self._new_reader(head.schema_id, head)
        if isinstance(reader, Reason):
            return refusal_part(places, reader)
        return reader.read(values if len(places) == len(values) else values.take(pa.array(places)), places)

    def _new_reader(self, schema_id: SchemaId, head: Head) -> PartReader | Reason:
        """Return the reader of messages with this head, or the reason against all of them.

        A reason is not remembered, because it may no longer hold for the next batch.
        """
        writer_type = self._type_of(schema_id, head)
        if isinstance(writer_type, Reason):
            return writer_type
        try:
            reader = self.reader(self._row_type(writer_type), head.length)
        except SchemaUnresolvable as error:
            name = self._name(writer_type)
            if self._check is not None:
                self._check.unresolvable(schema_id, f"{name}: {error}" if name else str(error))
            where = f"{name} of the schema of id" if name else "the schema of id"
            return Reason(f"{self.format}.resolve", f"{where} {schema_id}: {error}")
        if len(self._readers) >= MOST_READERS:
            self._readers.clear()
        self._readers[head] = reader
        return reader

    def _schema(self, schema_id: SchemaId, parse: Callable[[WriterSchema], Schema]) -> Schema | Reason:
        """Return the registry's schema as `parse` reads it, or the reason if it is unknown, invalid or of another kind."""
        code = f"{self.format}.schema"
        writer = self._writers.get(schema_id)
        if writer is None:
            hint = long_id_hint(schema_id, self._wire.framing)
            place = "the map" if isinstance(self._writers, DeclaredSchemas) else "the schema registry"
            return Reason(code, f"{place} has no schema of id {schema_id}{hint}")
        if writer.kind != self.kind:
            return Reason(
                code, f"the schema of id {schema_id} is of kind {writer.kind[:20]}, not {self.kind}"
            )
        try:
            return parse(writer)
        except SchemaInvalid as error:
            return Reason(code, f"the schema of id {schema_id}: {error}")
