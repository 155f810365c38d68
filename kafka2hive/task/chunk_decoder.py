"""Decode the messages of a chunk into rows with metadata columns, dead letters and tombstones."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pyarrow as pa

from kafka2hive.config.keys import MetadataColumn, TableSettings, Tombstones
from kafka2hive.decode import Changes, make_decoder
from kafka2hive.decode.rows.decoder import LINE_END, OBJECT, groups, most_rows
from kafka2hive.decode.schemas.writers import WriterSchemas
from kafka2hive.decode.transport.contents import Transport
from kafka2hive.formats.files import unwritable_of
from kafka2hive.model.errors import TableError
from kafka2hive.model.writer_schema import WriterSchema
from kafka2hive.plan.contract import BrokenRule, ColumnsSeen, UnmappedFields
from kafka2hive.plugins import Decoder, Reason
from kafka2hive.schema_evolution.differences import WriterFieldsCheck
from kafka2hive.task.fetch.chunk import Chunk
from kafka2hive.task.fetch.records import UNREADABLE_HEADERS, Indices
from kafka2hive.task.fields_seen import FilledColumns, UnmappedFieldsOfTask
from kafka2hive.task.letter_payload import lacking
from kafka2hive.task.masks import Masks, masks_of
from kafka2hive.task.record_columns import FRAMED, VALUE_SCHEMA_ID_HEADER, KeyAndHeaderColumns, SchemaHeaders
from kafka2hive.task.rejections import Rejections, rows_not_held, without_rejections
from kafka2hive.task.required_headers import REQUIRED_HEADERS, RequiredSchemaHeader
from kafka2hive.task.row_rules import RowRules
from kafka2hive.task.rows import beyond_record_times, rows_of_tombstones, value_spec, with_metadata

LARGEST_VALUE = 64 * 1024 * 1024
"""Maximum size in bytes of a value that a decoder takes; a larger value becomes a dead letter."""

NOWHERE: Indices = np.array([], dtype=np.int64)

_MOST_CACHED = 1_000  # a decoder takes tens of KB


@dataclass(frozen=True, slots=True)
class DecodedChunk:
    """A chunk or a part of one; each message is in exactly one of the four fields.

    - `batches`: rows with the index of each row's message (None: one row for each message of the chunk). All rows of a
      message are in one batch.
    - `rejections`: messages that become dead letters.
    - `skipped`: tombstones that the table does not write.
    - `without_rows`: messages that decode to zero rows.
    """

    batches: Sequence[tuple[pa.RecordBatch, Indices | None]]
    rejections: Sequence[Rejections]
    skipped: Indices
    without_rows: Indices

    def masked(self, masks: Masks) -> "DecodedChunk":
        """Return the same with masked rows and reasons."""
        batches = [(masks.rows(rows), places) for rows, places in self.batches]
        return replace(self, batches=batches, rejections=list(map(masks.rejections, self.rejections)))


def _make_decoder(
    table: TableSettings, writers: WriterSchemas | WriterSchema | None, key_writers: WriterSchemas | None
) -> tuple[Decoder, KeyAndHeaderColumns, Changes]:
    changes = Changes()
    try:
        check = None if table.schema_evolution == "ignore" else WriterFieldsCheck(table)
        decoder = make_decoder(replace(value_spec(table, writers, changes), check=check))
        return decoder, KeyAndHeaderColumns(table, key_writers, changes), changes
    except ValueError as error:
        raise TableError("decode.schema", f"{table.table}: {error}") from error


@lru_cache(_MOST_CACHED)
def _cached_decoder(table: TableSettings, thread: int) -> tuple[Decoder, KeyAndHeaderColumns, Changes]:
    """Return this thread's decoder of the table. It is cached: making one costs as much as decoding a few hundred records."""
    return _make_decoder(table, None, None)


class ChunkDecoder:
    """Decodes the chunks of one table."""

    def __init__(
        self,
        table: TableSettings,
        writers: WriterSchemas | WriterSchema | None = None,
        key_writers: WriterSchemas | None = None,
        mask_keys: Sequence[bytes] = (),
    ) -> None:
        """Raise TableError if the table's format cannot fill its columns. `mask_keys` are those of `mask: hmac`."""
        self._table = table
        self._masks = masks_of(table, mask_keys)
        # a decoder with writer schemas is not cached: the schemas may differ between tasks
        is_plain = writers is None and key_writers is None
        self._decoder, self._key_and_header_columns, self._changes = (
            _cached_decoder(table, threading.get_ident())
            if is_plain
            else _make_decoder(table, writers, key_writers)
        )
        self._changes.take()  # discard what an abandoned task counted
        self._changes.take_defaults()
        self._filled = FilledColumns(table)
        self._unmapped = UnmappedFieldsOfTask(table)
        self._unwritable = unwritable_of(table.writer)
        self._rules = RowRules(table)
        in_metadata = any(column is MetadataColumn.HEADERS for column, _ in table.metadata)
        names_schemas = table.format in FRAMED and not isinstance(writers, WriterSchema)
        indexes = table.wire_format.indexes
        framing = table.framing if names_schemas else "id4"
        self._transport = Transport(table.compression, table.encoding, framing)
        required = REQUIRED_HEADERS.get(table.framing) if names_schemas else None
        self._schema_headers: SchemaHeaders | RequiredSchemaHeader | None = None
        if required is not None:
            self._schema_headers = RequiredSchemaHeader(required, table.format)
        elif names_schemas:
            self._schema_headers = SchemaHeaders(VALUE_SCHEMA_ID_HEADER, table.format, indexes)
        self._joins_headers = required is not None or (names_schemas and table.framing == "header")
        self._wants_headers = in_metadata or self._key_and_header_columns.wants_headers or self._joins_headers

    def decode(self, chunk: Chunk) -> Iterator[DecodedChunk]:
        """Return the decoded chunk: as a whole, or, if messages may hold several rows, in parts that bound the rows in memory.

        Raises TableError if a writer schema cannot be fetched. No content of a message makes it raise.
        """
        parts = self._unmasked(chunk)
        return parts if self._masks is None else (part.masked(self._masks) for part in parts)

    def _unmasked(self, chunk: Chunk) -> Iterator[DecodedChunk]:
        """Yield as `decode` the chunk before its masks."""
        if chunk.value_bytes > LARGEST_VALUE:  # a chunk this large is one message (Chunk.split)
            reason = Reason("decode.oversized", f"{chunk.value_bytes} bytes, {LARGEST_VALUE} are allowed")
            yield DecodedChunk((), [(np.arange(len(chunk)), [reason] * len(chunk))], NOWHERE, NOWHERE)
            return
        values = chunk.values()
        chosen, tombstones, rejections = self._split(chunk, values)
        skipped = tombstones if self._table.tombstones is Tombstones.SKIP else NOWHERE
        batches = []
        if len(tombstones) > len(skipped):
            nulls = rows_of_tombstones(self._table, self._decoder.schema, len(tombstones))
            batches = [self._whole(nulls, chunk, tombstones, rejections)]
        for part, indices, refused in self._parts(values, chosen):
            rows, places, rejected, empty = self._decode(chunk, part, indices)
            rejections += refused + rejected
            batches.insert(0, self._whole(rows, chunk, places, rejections, rules=self._rules))
            yield DecodedChunk(batches, rejections, skipped, empty)
            batches, rejections, skipped = [], [], NOWHERE

    def stored_reasons(self, chunk: Chunk, reasons: Sequence[Reason]) -> Sequence[Reason]:
        """Return the reasons of letters that are kept: those from before the table had masks may quote values."""
        if self._masks is None:
            return reasons
        reduced = lacking(chunk.headers(np.arange(len(chunk)))).tolist()
        masked = map(self._masks.stored_reason, reasons)
        return [old if is_new else new for old, new, is_new in zip(reasons, masked, reduced, strict=True)]

    def columns_seen(self) -> ColumnsSeen:
        """Return which columns stayed empty over all chunks so far."""
        return self._filled.seen()

    def unmapped_fields(self) -> UnmappedFields:
        """Return the fields of all chunks so far that the columns do not take."""
        return self._unmapped.fields()

    def changed(self) -> tuple[tuple[str, int], ...]:
        """Return how many values the map's leeway changed since the last call, by kind."""
        return self._changes.take()

    def broken_rules(self) -> tuple[BrokenRule, ...]:
        """Return how many rows broke the map's rules since the last call, by rule."""
        return self._rules.take()

    def _split(
        self, chunk: Chunk, values: pa.BinaryArray
    ) -> tuple[Indices | None, Indices, list[Rejections]]:
        """Return the indices to decode (None: all), the tombstones, and the messages rejected for unreadable headers."""
        if not values.null_count and not self._wants_headers:
            return None, NOWHERE, []
        tombstones = values.is_null().to_numpy(zero_copy_only=False)
        unreadable = chunk.unreadable_headers() if self._wants_headers else NOWHERE
        to_decode = ~tombstones
        to_decode[unreadable] = tombstones[unreadable] = False
        reasons = [Reason(UNREADABLE_HEADERS, "the name of a header is not UTF-8")] * len(unreadable)
        return (
            None if to_decode.all() else np.flatnonzero(to_decode),
            np.flatnonzero(tombstones),
            [(unreadable, reasons)] if reasons else [],
        )

    def _parts(
        self, values: pa.BinaryArray, chosen: Indices | None
    ) -> Iterator[tuple[pa.BinaryArray, Indices | None, list[Rejections]]]:
        """Yield the messages to decode, their indices (None: all), and the messages whose content cannot be read.

        The parts bound the bytes of contents and the number of rows. If there is only one part, it may be empty.
        """
        taken = values if chosen is None else values.take(pa.array(chosen))
        if self._transport.is_plain:
            for part, indices in self._bounded_groups(taken, chosen):
                yield part, indices, []
            return
        every = np.arange(len(values)) if chosen is None else chosen
        for contents in self._transport.contents(taken):
            at = every[list(contents.refusals)]
            refused: list[Rejections] = [(at, list(contents.refusals.values()))] if len(at) else []
            for part, indices in self._bounded_groups(contents.values, every[contents.places]):
                yield part, indices, refused
                refused = []

    def _bounded_groups(
        self, values: pa.BinaryArray, indices: Indices | None
    ) -> Iterator[tuple[pa.BinaryArray, Indices | None]]:
        """Yield the values with their indices, in groups that bound the number of rows; at least one group, even of no value."""
        if not (self._table.may_hold_several and len(values)) or self._table.format == "plugin":
            yield values, indices
            return
        every = np.arange(len(values)) if indices is None else indices
        for piece in groups(most_rows(values, LINE_END if self._table.rows == "lines" else OBJECT)):
            yield values.take(pa.array(np.arange(piece.start, piece.stop))), every[piece]

    def _decode(
        self, chunk: Chunk, values: pa.BinaryArray, chosen: Indices | None
    ) -> tuple[pa.RecordBatch, Indices | None, list[Rejections], Indices]:
        """Decode the messages `values`, whose indices are `chosen` (None: all).

        Returns the rows, the index of each row's message (None: one row per message), the rejections, and the indices of
        messages without a row.
        """
        framed, unreadable = values, dict[int, Reason]()
        if self._joins_headers and self._schema_headers is not None:
            framed, unreadable = self._schema_headers.joined(values, chunk.header_pairs(chosen))
        decoded = self._decoder.decode(framed)
        self._filled.note(decoded.rows, values, self._changes.take_defaults())
        self._unmapped.note(values, decoded, chunk, chosen)
        if not (len(decoded.rejected) or self._table.may_hold_several or decoded.without_rows is not None):
            return decoded.rows, chosen, [], NOWHERE
        rejected = decoded.rejected.to_numpy().astype(np.int64)
        reasons = [
            unreadable.get(place, reason)
            for place, reason in zip(rejected.tolist(), decoded.reasons, strict=True)
        ]
        accepted = decoded.accepted.to_numpy().astype(np.int64)
        empty = NOWHERE if decoded.without_rows is None else decoded.without_rows.to_numpy().astype(np.int64)
        if chosen is not None:
            rejected, accepted, empty = chosen[rejected], chosen[accepted], chosen[empty]
        reasons = self._with_hints(chunk, rejected, reasons)
        return decoded.rows, accepted, [(rejected, reasons)] if len(rejected) else [], empty

    def _with_hints(self, chunk: Chunk, rejected: Indices, reasons: list[Reason]) -> list[Reason]:
        """Return `reasons`, with a hint at `framing: header` for each unframed message whose header names a schema."""
        if self._schema_headers is None or self._joins_headers:
            return reasons
        unframed = [place for place, reason in enumerate(reasons) if reason.code.endswith(".frame")]
        if unframed:
            hints = self._schema_headers.hint(chunk.header_pairs(rejected[unframed]))
            for place, hint in zip(unframed, hints, strict=True):
                reasons[place] = replace(reasons[place], text=reasons[place].text + hint)
        return reasons

    def _whole(
        self,
        rows: pa.RecordBatch,
        chunk: Chunk,
        chosen: Indices | None,
        rejections: list[Rejections],
        rules: RowRules | None = None,
    ) -> tuple[pa.RecordBatch, Indices | None]:
        """Return the rows with the columns of the key, the headers and the metadata, and their messages' indices.

        Appends to `rejections` the messages with a bad key or header, a row that breaks one of the `rules`, a timestamp outside
        the years 1 to 9999, or a value that the file format cannot hold.
        """
        rows, chosen, bad = self._key_and_header_columns.add_to(rows, chunk, chosen)
        if bad is not None:
            rejections.append(bad)
        if rules is not None:
            rows, chosen, bad = rules.apply(rows, chosen)
            rejections += [] if bad is None else [bad]
        rows = with_metadata(
            values=rows, chunk=chunk, metadata=self._table.metadata, zone=self._table.zone, indices=chosen
        )
        beyond, reasons = beyond_record_times(rows, chunk, self._table.metadata, chosen)
        if reasons:
            every = np.arange(len(rows)) if chosen is None else chosen
            rows, chosen, bad = without_rejections(rows, every, beyond, reasons)
            rejections.append(bad)
        if self._unwritable is not None:
            unwritable, reasons = rows_not_held(rows, self._unwritable)
            if reasons:
                every = np.arange(len(rows)) if chosen is None else chosen
                rows, chosen, bad = without_rejections(rows, every, unwritable, reasons)
                rejections.append(bad)
        return rows, chosen
