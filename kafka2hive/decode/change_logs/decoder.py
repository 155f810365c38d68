"""Decode records of a change log: a record is an envelope around images, the database's row before and after the change.

One image becomes the table's row, and other values of the envelope fill the columns of the change. The decoder of the records'
format reads both; this module decides by the operation which image is the row, for whole columns at once. So it works with
every format that fills columns by paths.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys import ChangeLog
from kafka2hive.config.keys.source import (
    BEFORE,
    CHANGE_COLUMNS,
    OPERATION,
    POSITION,
    TIME,
    UNAVAILABLE,
)
from kafka2hive.decode import make_decoder
from kafka2hive.decode.change_logs.canal import CanalDecoder
from kafka2hive.decode.change_logs.decimal_images import DecimalForm, images_of
from kafka2hive.decode.change_logs.flat import FlatDebeziumDecoder
from kafka2hive.decode.change_logs.images import (
    ImageColumn,
    ImageRows,
    join_parts,
    missing_images,
    places_of,
    presence_columns,
)
from kafka2hive.decode.change_logs.marks import Marks
from kafka2hive.decode.change_logs.positions import POSITION_FIELDS, debezium_position
from kafka2hive.decode.change_logs.unavailable import UnavailableColumns
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.contract.spec import DecoderSpec, OpenDecoder
from kafka2hive.decode.values.batch import Mask, Places, mask_of
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.plugins import Decoded, Decoder, Reason

PREFIXES: tuple[tuple[str, ...], ...] = ((), ("payload",))
"""Paths to the envelope: it is the record, or its payload (JSON converters with schemas.enable)."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """The form of a tool's envelopes. `operation` and `time` are the keys of these values.

    `operations`: for the tool's name of each operation, its letter in the table and the image that is the row (None: no row).
    `images`: names of images; the first one is read for every record. `time_ms`: milliseconds in a unit of `time`.
    `position`: paths and Hive types of the values from which `position_of` makes strings that sort in the order of the changes.
    """

    operation: str
    operations: Mapping[str, tuple[str, str | None]]
    images: tuple[str, ...]
    time: str
    time_ms: int
    position: tuple[tuple[tuple[str, ...], str], ...]
    position_of: Callable[[Sequence[pa.Array]], pa.StringArray]


def _maxwell_position(values: Sequence[pa.Array]) -> pa.StringArray:
    return values[0]


ENVELOPES = {
    ChangeLog.DEBEZIUM: Envelope(
        operation="op",
        operations={
            "c": ("c", "after"),
            "u": ("u", "after"),
            "r": ("r", "after"),
            "d": ("d", "before"),
            "t": ("t", None),
        },
        images=("after", "before"),
        time="ts_ms",
        time_ms=1,
        position=tuple((("source", name), kind) for name, kind in POSITION_FIELDS.items()),
        position_of=debezium_position,
    ),
    ChangeLog.MAXWELL: Envelope(
        operation="type",
        operations={
            "insert": ("c", "data"),
            "update": ("u", "data"),
            "delete": ("d", "data"),
            "bootstrap-insert": ("r", "data"),
        },
        images=("data",),
        time="ts",
        time_ms=1_000,
        position=((("position",), "string"),),
        position_of=_maxwell_position,
    ),
}


def make(spec: DecoderSpec) -> Decoder:
    """Make the decoder of a change log. Raises ValueError for columns that cannot be filled; see check_change_columns."""
    assert spec.change_log is not None
    check_change_columns(spec.change_log, spec.schema)
    record = replace(spec, change_log=None, rows="one")

    def of_format(columns: pa.Schema, sources: Sequence[Source]) -> Decoder:
        return make_decoder(record.of_columns(columns, sources))

    sources = spec.source_of_each()
    if spec.change_log is ChangeLog.CANAL:
        return CanalDecoder(
            schema=spec.schema,
            sources=sources,
            zone=spec.zone,
            open_decoder=of_format,
            changes=spec.changes,
            marks=Marks(spec.change_log, spec),
            options=spec.canal,
        )
    in_json = spec.change_log is ChangeLog.DEBEZIUM and spec.format in ("json", "json_schema")
    decimals: DecimalForm | None = spec.decimals if in_json else "own"
    unavailable: UnavailableColumns | None = None
    if spec.change_log is ChangeLog.DEBEZIUM:
        unavailable = UnavailableColumns(spec.schema, spec.unavailable, spec.changes)
        if spec.flat is not None:
            return FlatDebeziumDecoder(
                schema=spec.schema,
                sources=sources,
                open_decoder=of_format,
                decimals=decimals,
                marks=Marks(spec.change_log, spec),
                unavailable=unavailable,
                needs_position=spec.flat.has_position,
            )
    return ChangeLogDecoder(
        log=spec.change_log,
        schema=spec.schema,
        sources=sources,
        open_decoder=of_format,
        decimals=decimals,
        marks=Marks(spec.change_log, spec),
        unavailable=unavailable,
    )


def check_change_columns(log: ChangeLog, schema: pa.Schema) -> None:
    """Raise ValueError if the column of the operation is missing, or a column of the change has a wrong type."""
    for name, kind in CHANGE_COLUMNS.items():
        dtype = schema.field(name).type if name in schema.names else None
        if dtype != parse_hive_type(kind) and (dtype is not None or name == OPERATION):
            raise ValueError(f"{name} of a table of {log.value} changes must be a column of type {kind}")


class ChangeLogDecoder:
    """Decodes change logs. Rejects with the format's reasons, `change_log.op`, `change_log.row` and `change_log.time`."""

    def __init__(
        self,
        log: ChangeLog,
        schema: pa.Schema,
        sources: Sequence[Source],
        open_decoder: OpenDecoder,
        decimals: DecimalForm | None = "own",
        marks: Marks | None = None,
        unavailable: UnavailableColumns | None = None,
    ) -> None:
        """Open the decoder. `sources` are paths within the row's image.

        `decimals` says how the row's decimals are written; None means as each schema says. Raises ValueError; see images_of.
        """
        self.schema = schema
        self._envelope = ENVELOPES[log]
        self._marks = marks or Marks(log)
        self._unavailable = unavailable
        self._row = [
            (f, s)
            for f, s in zip(schema, sources, strict=True)
            if f.name not in (*CHANGE_COLUMNS, BEFORE, UNAVAILABLE)
        ]
        self._row_names = [field.name for field, _ in self._row]
        self._images = images_of(
            plan=self._columns, open_decoder=open_decoder, row=self._row, schema=schema, form=decimals
        )
        first = self._envelope.images[0]
        self._open_presence = cache(
            lambda prefix: open_decoder(*presence_columns((*PREFIXES[prefix], first)))
        )
        self._usual_prefix = 0

    def _columns(self, prefix: int, image: str) -> list[ImageColumn]:
        """Return the columns to read from records whose envelope is at this prefix and whose row is this image.

        The row's columns keep their names in the table, because reasons name them.
        """
        envelope, path = self._envelope, PREFIXES[prefix]
        columns = [ImageColumn(OPERATION, pa.string(), Source((*path, envelope.operation)))]
        if TIME in self.schema.names:
            columns.append(ImageColumn(TIME, pa.int64(), Source((*path, envelope.time))))
        if POSITION in self.schema.names:
            for number, (keys, kind) in enumerate(envelope.position):
                name = f"{POSITION}.{number}"
                columns.append(ImageColumn(name, parse_hive_type(kind), Source((*path, *keys))))
        if BEFORE in self.schema.names:
            columns.append(ImageColumn(BEFORE, self.schema.field(BEFORE).type, Source((*path, "before"))))
        for field, source in self._row:
            keys = (*path, image, *source.keys)
            columns.append(ImageColumn(field.name, field.type, replace(source, keys=keys)))
        return columns

    def decode(self, values: pa.BinaryArray) -> Decoded:
        """See Decoder.

        All messages are read with the envelope at the prefix that most messages of the last batch had. Messages without an
        operation there are read again with the other prefix. In both cases the first image is read for all messages, and
        messages whose row is another image are then read again with that image.
        """
        first, other = self._usual_prefix, 1 - self._usual_prefix
        part = self._read(values, np.arange(len(values)), first, 0)
        lacking = mask_of(part.rows.column(OPERATION).is_null())
        parts = [(part, first)]
        if lacking.any():
            rest = self._read(values, part.places[lacking], other, 0)
            parts = [(part.only(~lacking), first), (rest, other)]
            by_other = len(rest.rows) - rest.rows.column(OPERATION).null_count
            self._usual_prefix = other if by_other > (~lacking).sum() else first
        results, marks = [], np.zeros(len(values), np.bool_)
        for part, prefix in parts:
            images = self._image_of(part)
            of_first = self._with_image(values, part.only(images == 0), prefix)
            results.append(self._unpack(values, of_first, marks))
            for number in range(1, len(self._envelope.images)):
                if (images == number).any():
                    of_image = self._read(values, part.places[images == number], prefix, number)
                    results.append(self._unpack(values, of_image, marks))
        decoded = join_parts(results)
        if marks.any():
            decoded = replace(decoded, without_rows=places_of(marks))
        return decoded if self._unavailable is None else self._unavailable.mark(decoded)

    def _read(self, values: pa.BinaryArray, places: Places, prefix: int, image: int) -> ImageRows:
        if len(places) < len(values):
            values = values.take(pa.array(places))
        return self._images.read(values, prefix, self._envelope.images[image]).at(places)

    def _with_image(self, values: pa.BinaryArray, part: ImageRows, prefix: int) -> ImageRows:
        """Refuse the rows whose operation needs the first image, if their messages lack it.

        A row with any value proves that its image exists; only the messages of rows with nulls alone are read again.
        """
        envelope = self._envelope
        first = envelope.images[0]
        # the other image, before a deletion, exists only if the source logs it
        needed = pa.array([image == first for _, image in envelope.operations.values()])
        in_doubt = mask_of(needed.take(self._operations(part.rows)))
        for name in self._row_names:
            column = part.rows.column(name)
            if not column.null_count:
                return part
            in_doubt = in_doubt & mask_of(column.is_null())
        at = np.flatnonzero(in_doubt)
        if not len(at):
            return part
        places = part.places[at]
        why = missing_images(
            self._open_presence(prefix),
            values.take(pa.array(places)),
            part.rows.column(OPERATION).take(pa.array(at)),
            first,
        )
        return part.refusing({int(at[number]): reason for number, reason in why.items()})

    def _operations(self, rows: pa.RecordBatch) -> pa.Int32Array:
        """Return the numbers of the rows' operations, null for unknown ones."""
        return pc.index_in(rows.column(OPERATION), pa.array(self._envelope.operations.keys(), pa.string()))

    def _image_of(self, part: ImageRows) -> Places:
        """Return for each row the number of the image that it comes from; 0, the first, for an operation without a row."""
        numbers = {name: number for number, name in enumerate(self._envelope.images)}
        by_operation = pa.array(
            [numbers.get(image or "", 0) for _, image in self._envelope.operations.values()]
        )
        images: Places = pc.fill_null(by_operation.take(self._operations(part.rows)), 0).to_numpy()
        return images

    def _unpack(self, values: pa.BinaryArray, part: ImageRows, marks: Mask) -> ImageRows:
        """Return the table's rows of the records whose operation is known; refuse the others, and add marks to `marks`."""
        rows = part.rows
        operations, known = rows.column(OPERATION), self._operations(rows)
        refusals = dict(part.refusals)
        bad = mask_of(known.is_null())
        at_bad = np.flatnonzero(bad)
        if len(at_bad):
            places, names = part.places[at_bad], operations.take(pa.array(at_bad)).to_pylist()
            is_mark = self._marks.among(values.take(pa.array(places)), names)
            marks[places[is_mark]] = True
            for at in np.flatnonzero(~is_mark).tolist():
                refusals[int(places[at])] = self._reason(names[at])
        beyond = ~bad & self._times_beyond(rows)
        for at in np.flatnonzero(beyond).tolist():
            refusals[int(part.places[at])] = Reason("change_log.time", f"{TIME} does not fit a bigint")
        bad |= beyond
        good = ImageRows(rows, part.places, refusals).only(~bad)
        columns = {name: good.rows.column(name) for name in self._row_names} | self._change_columns(good.rows)
        self._marks.note_truncations(columns[OPERATION])
        batch = pa.RecordBatch.from_arrays([columns[name] for name in self.schema.names], schema=self.schema)
        return ImageRows(batch, good.places, refusals)

    def _reason(self, operation: str | None) -> Reason:
        envelope = self._envelope
        if operation is None:
            at = f"$.{envelope.operation}, nor at $.{PREFIXES[1][0]}.{envelope.operation}"
            return Reason("change_log.op", f"no operation at {at}")
        return Reason("change_log.op", f"unknown operation {operation[:40]!r}")

    def _times_beyond(self, rows: pa.RecordBatch) -> Mask:
        """Return the mask of rows whose time in milliseconds does not fit into a bigint."""
        limit = (2**63 - 1) // self._envelope.time_ms
        if TIME not in self.schema.names or limit == 2**63 - 1:
            return np.zeros(len(rows), np.bool_)
        times = pc.fill_null(rows.column(TIME), 0).to_numpy()
        beyond: Mask = (times > limit) | (times < -limit)
        return beyond

    def _change_columns(self, rows: pa.RecordBatch) -> dict[str, pa.Array]:
        """Return the columns of the change by name."""
        envelope = self._envelope
        letters = pa.array([letter for letter, _ in envelope.operations.values()], pa.string())
        columns = {OPERATION: letters.take(self._operations(rows))}
        if TIME in self.schema.names:
            columns[TIME] = pc.multiply(rows.column(TIME), envelope.time_ms)
        if POSITION in self.schema.names:
            parts = [rows.column(f"{POSITION}.{number}") for number in range(len(envelope.position))]
            columns[POSITION] = envelope.position_of(parts)
        if BEFORE in self.schema.names:
            columns[BEFORE] = rows.column(BEFORE)
        if UNAVAILABLE in self.schema.names:
            columns[UNAVAILABLE] = pa.nulls(len(rows), self.schema.field(UNAVAILABLE).type)
        return columns
