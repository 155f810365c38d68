"""Format `avro`: messages of any number of writers' schemas, each by a plan of its own, into one batch of rows."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.config.machine.native_library import LIBRARY
from kafka2hive.pipeline.decode.avro.finer import finer_times
from kafka2hive.pipeline.decode.avro.parse import SchemaInvalid, parse
from kafka2hive.pipeline.decode.avro.reader import PlannedReader
from kafka2hive.pipeline.decode.avro.resolve import Unresolvable, resolve
from kafka2hive.pipeline.decode.avro.schema import Schema
from kafka2hive.pipeline.decode.columns import check_columns, of_named_columns
from kafka2hive.pipeline.decode.parts import Part, together
from kafka2hive.pipeline.decode.protocol import Decoded, Decoder, Reason
from kafka2hive.pipeline.decode.registered.finer import FinerTimes, truncating
from kafka2hive.pipeline.decode.registered.frames import Head, heads, no_frames
from kafka2hive.pipeline.decode.registered.look_alikes import long_id_hint
from kafka2hive.pipeline.decode.sources import as_it_stands, in_small_letters
from kafka2hive.pipeline.decode.spec import DecoderSpec
from kafka2hive.pipeline.decode.writers import AVRO, SchemaId, WriterSchema, WriterSchemas

MOST_READERS = 1000
"""Of schemas that are remembered."""


def make(spec: DecoderSpec) -> Decoder:
    """Raises ValueError without a registry or a schema, and where the schema cannot fill the columns."""
    return of_named_columns(spec, AvroDecoder)


class AvroDecoder:
    """One Avro record a message, its values to the columns that take them, by docs/decoding.md."""

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
        self._framing = spec.wire.framing
        self._readers: dict[SchemaId, PlannedReader] = {}
        self._plain: PlannedReader | None = None
        self._writers: WriterSchemas | None = None
        writers = spec.writers
        if writers is None:
            raise ValueError("format avro needs a schema registry, or the schema of the messages")
        if isinstance(writers, WriterSchema):
            self._plain = self._planned(parse(writers), 0)
        else:
            self._writers = writers

    def decode(self, values: pa.BinaryArray) -> Decoded:
        """See Decoder. Raises SchemaRegistryUnavailable: then nothing of the batch is decoded."""
        if values.null_count:
            raise ValueError("messages are not null")
        if self._plain is not None:
            return together(self.schema, [self._plain.read(values, np.arange(len(values)))])
        found = heads(values, self._framing)
        return together(self.schema, [self._read(head, values, places) for head, places in found])

    def _read(self, head: Head, values: pa.BinaryArray, places: npt.NDArray[np.int64]) -> Part:
        """The messages at `places`, all with this head."""
        if head.schema_id is None:
            return Part.refused(
                places,
                no_frames(
                    format="avro", what="the data", values=values, places=places, framing=self._framing
                ),
            )
        reader = self._reader_of(head.schema_id, head.length)
        if isinstance(reader, Reason):
            return Part.refused(places, reader)
        return reader.read(values if len(places) == len(values) else values.take(pa.array(places)), places)

    def _reader_of(self, schema_id: SchemaId, head: int) -> PlannedReader | Reason:
        """Or the reason against all messages of this id. What is refused may be right later: it is not remembered."""
        assert self._writers is not None
        known = self._readers.get(schema_id)
        if known is not None:
            return known
        writer = self._writers.get(schema_id)
        if writer is None:
            hint = long_id_hint(schema_id, self._framing)
            return Reason("avro.schema", f"the schema registry has no schema of id {schema_id}{hint}")
        if writer.kind != AVRO:
            return Reason(
                "avro.schema", f"the schema of id {schema_id} is of kind {writer.kind[:20]}, not {AVRO}"
            )
        try:
            schema = parse(writer)
            if self._check is not None:
                self._check.avro(schema_id, schema)
            reader = self._planned(schema, head)
        except SchemaInvalid as error:
            return Reason("avro.schema", f"the schema of id {schema_id}: {error}")
        except Unresolvable as error:
            if self._check is not None:
                self._check.unresolvable(schema_id, str(error))
            return Reason("avro.resolve", f"the schema of id {schema_id}: {error}")
        if len(self._readers) >= MOST_READERS:
            self._readers.clear()
        self._readers[schema_id] = reader
        return reader

    def _planned(self, writer: Schema, head: int) -> PlannedReader:
        plan = resolve(writer, self.schema, self._sources, self._spelling)
        written = {n: how for n, how in finer_times(plan).items() if n in truncating(self._sources)}
        if not written:
            return PlannedReader(
                plan=plan,
                schema=self.schema,
                zone=self._zone,
                sources=self._sources,
                head=head,
                library=self._library,
            )
        finer = FinerTimes(
            format="avro",
            schema=self.schema,
            sources=self._sources,
            zone=self._zone,
            written=written,
            changes=self._changes,
        )
        plan = resolve(writer, finer.wire, finer.sources, self._spelling)
        return PlannedReader(
            plan=plan,
            schema=finer.wire,
            zone=self._zone,
            sources=finer.sources,
            head=head,
            library=self._library,
            finish=finer.finish,
        )
