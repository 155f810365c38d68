"""Format `avro`: messages of any number of writers' schemas, each with a separate plan, into one batch of rows."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode.avro import plan
from kafka2hive.decode.avro.exact import AvroExactDecoder
from kafka2hive.decode.avro.plan import AvroPlan, words
from kafka2hive.decode.avro.resolve import AvroUnresolvable, resolve
from kafka2hive.decode.columns.named import check_columns, of_named_columns
from kafka2hive.decode.compiled import Finish, NativeReader, Part, PartReader, together, type_words
from kafka2hive.decode.contract.sources import Source, as_it_stands, in_small_letters
from kafka2hive.decode.contract.spec import DecoderSpec
from kafka2hive.decode.framing.fine_times import FinerTimes, Written, truncating
from kafka2hive.decode.framing.frames import Head, heads, long_id_hint, no_frames
from kafka2hive.decode.schemas.avro import AvroSchema, AvroSchemaInvalid, parse
from kafka2hive.decode.schemas.writers import AVRO, SchemaId, WriterSchema, WriterSchemas
from kafka2hive.plugins import Decoded, Decoder, Reason


class AvroPlanReader(PartReader):
    """Reads the messages of one writer's schema."""

    def __init__(
        self,
        plan: AvroPlan,
        schema: pa.Schema,
        zone: str,
        sources: Sequence[Source],
        head: int,
        library: Any,
        finish: Finish | None = None,
    ) -> None:
        """`head`: bytes of a message before its datum."""
        fast: NativeReader | None = None
        if library is not None:
            types = [type_words(f.type, as_it_stands, s.unit) for f, s in zip(schema, sources, strict=True)]
            native = library.AvroDecoder(types, words(plan), head, zone == "UTC")
            fast = NativeReader(schema, zone, native)
        exact = AvroExactDecoder(plan, schema, zone, sources)
        super().__init__(schema, partial(exact.decode, start=head), fast, finish)


def finer_times(planned: plan.AvroPlan) -> dict[int, Written]:
    """By the columns' numbers; a column that several branches fill is one only where all of them are alike."""
    found: dict[int, set[Written | None]] = {}
    for number, value in _filled(planned.root):
        for branch in value.branches if isinstance(value, plan.Choice) else (value,):
            if not isinstance(branch, plan.Null | plan.Unfit):
                found.setdefault(number, set()).add(_written(branch))
    alike = {number: written.pop() for number, written in found.items() if len(written) == 1}
    return {number: written for number, written in alike.items() if written is not None}


def _filled(way: plan.Way) -> Iterator[tuple[int, plan.Value]]:
    match way:
        case plan.AvroLevel(targets):
            for target in targets:
                yield from target.columns
                if target.inner is not None:
                    yield from _filled(target.inner)
        case plan.Fork(branches):
            for branch in branches:
                yield from _filled(branch)


def _written(value: plan.Value) -> Written | None:
    if not isinstance(value, plan.AvroMoment) or value.divisor == 1:
        return None
    return Written.INSTANT if value.instant else Written.WALL_CLOCK


MOST_READERS = 1000
"""Of schemas that are remembered."""


def make(spec: DecoderSpec) -> Decoder:
    """Make the decoder. Raises ValueError without a registry or a schema, and if the schema cannot fill the columns."""
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
        self._readers: dict[SchemaId, AvroPlanReader] = {}
        self._plain: AvroPlanReader | None = None
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

    def _reader_of(self, schema_id: SchemaId, head: int) -> AvroPlanReader | Reason:
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
        except AvroSchemaInvalid as error:
            return Reason("avro.schema", f"the schema of id {schema_id}: {error}")
        except AvroUnresolvable as error:
            if self._check is not None:
                self._check.unresolvable(schema_id, str(error))
            return Reason("avro.resolve", f"the schema of id {schema_id}: {error}")
        if len(self._readers) >= MOST_READERS:
            self._readers.clear()
        self._readers[schema_id] = reader
        return reader

    def _planned(self, writer: AvroSchema, head: int) -> AvroPlanReader:
        plan = resolve(writer, self.schema, self._sources, self._spelling)
        written = {n: how for n, how in finer_times(plan).items() if n in truncating(self._sources)}
        if not written:
            return AvroPlanReader(
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
        return AvroPlanReader(
            plan=plan,
            schema=finer.wire,
            zone=self._zone,
            sources=finer.sources,
            head=head,
            library=self._library,
            finish=finer.finish,
        )
