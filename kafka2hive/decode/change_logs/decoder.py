"""Records of a change log to rows: the envelope is unpacked to the row's image and the columns of a change.

The format's own decoder reads the columns out of each image, and the envelope's values beside them; which image is the row
is decided here, by the operation, on whole columns. So every format that can take a column by a path can do it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys import ChangeLog
from kafka2hive.config.keys.change_log import BEFORE, CHANGE_COLUMNS, OPERATION, POSITION, TIME
from kafka2hive.decode.change_logs.decimal_images import DecimalForm, images_of
from kafka2hive.decode.change_logs.images import (
    ImageColumns,
    ImageRows,
    Numbers,
    Open,
    absent,
    joined,
    presence,
)
from kafka2hive.decode.contract.sources import Source
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.plugins import Decoded, Reason

PREFIXES: tuple[tuple[str, ...], ...] = ((), ("payload",))
"""The envelope is the record, or stands beside its schema (JSON converters with schemas.enable)."""

_LSN_DIGITS, _ROW_DIGITS = 20, 10


@dataclass(frozen=True, slots=True)
class Envelope:
    """`operations`: of each its letter and the image that is the row, None for one without. `images`: the first is needed.

    `position`: the envelope's values, as path and Hive type, from which `position_of` makes texts that sort as the source
    wrote them. `time_ms`: the change's time is so many milliseconds times its number.
    """

    operation: str
    operations: Mapping[str, tuple[str, str | None]]
    images: tuple[str, ...]
    time: str
    time_ms: int
    position: tuple[tuple[tuple[str, ...], str], ...]
    position_of: Callable[[Sequence[pa.Array]], pa.StringArray]


def _padded(number: pa.Array, digits: int, missing: str | None = None) -> pa.StringArray:
    text = number.cast(pa.string())
    return pc.utf8_lpad(text if missing is None else pc.fill_null(text, missing), digits, "0")


def _there(column: pa.Array) -> bool:
    return bool(column.null_count < len(column))


def _debezium_position(values: Sequence[pa.Array]) -> pa.StringArray:
    """PostgreSQL's lsn; MySQL's file, pos and row; SQL Server's LSNs; Oracle's scn: whichever the connector gives."""
    lsn, file, pos, row, commit_lsn, change_lsn, serial, scn = values
    given: list[
        pa.StringArray
    ] = []  # one of them as a rule: the texts of all would take longer than the decoder
    if _there(lsn):
        given.append(_padded(lsn, _LSN_DIGITS))
    if _there(file):
        numbers = _padded(pos, _LSN_DIGITS), _padded(row, _ROW_DIGITS, "0")
        given.append(pc.binary_join_element_wise(file, *numbers, ":"))
    if _there(commit_lsn):
        numbers = pc.fill_null(change_lsn, ""), _padded(serial, _ROW_DIGITS, "0")
        given.append(pc.binary_join_element_wise(commit_lsn, *numbers, ":"))
    if _there(scn):
        given.append(_padded(scn, _LSN_DIGITS))
    return pc.coalesce(*given) if given else pa.nulls(len(lsn), pa.string())


def _only(values: Sequence[pa.Array]) -> pa.StringArray:
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
        position=(
            (("source", "lsn"), "bigint"),
            (("source", "file"), "string"),
            (("source", "pos"), "bigint"),
            (("source", "row"), "bigint"),
            (("source", "commit_lsn"), "string"),
            (("source", "change_lsn"), "string"),
            (("source", "event_serial_no"), "decimal(20,0)"),  # a number, or the text of one
            (("source", "scn"), "string"),
        ),
        position_of=_debezium_position,
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
        position_of=_only,
    ),
}


def check_change_columns(log: ChangeLog, schema: pa.Schema) -> None:
    """Raises ValueError if the operation has no column, or if one of CHANGE_COLUMNS has the wrong type."""
    for name, kind in CHANGE_COLUMNS.items():
        found = schema.field(name).type if name in schema.names else None
        if found != parse_hive_type(kind) and (found is not None or name == OPERATION):
            raise ValueError(f"a table of {log.value} changes has a column {name} {kind}")


class ChangeLogDecoder:
    """See Decoder. Rejects with the format's own reasons and `change_log.op`, `change_log.row`."""

    def __init__(
        self,
        log: ChangeLog,
        schema: pa.Schema,
        sources: Sequence[Source],
        open_decoder: Open,
        decimals: DecimalForm | None = "own",
    ) -> None:
        """`schema` has the column of the operation; `sources` are relative to the row's image. `decimals`: how those of the row
        are written; None: as each record's schema says.

        Raises ValueError where it has not, or one of them has another type than CHANGE_COLUMNS says.
        """
        check_change_columns(log, schema)
        self.schema = schema
        self._envelope = ENVELOPES[log]
        self._row = [
            (f, s) for f, s in zip(schema, sources, strict=True) if f.name not in (*CHANGE_COLUMNS, BEFORE)
        ]
        self._own = [field.name for field, _ in self._row]
        self._images = images_of(
            plan=self._wanted, open_decoder=open_decoder, row=self._row, schema=schema, form=decimals
        )
        first = self._envelope.images[0]
        self._open_presence = cache(lambda place: open_decoder(*presence((*PREFIXES[place], first))))
        self._first = 0

    def _wanted(self, prefix: int, image: str) -> list[ImageColumns]:
        """What is read of a record whose envelope stands at this prefix and whose row is this image: the row's columns under
        their own names, which reasons say.
        """
        envelope, path = self._envelope, PREFIXES[prefix]
        wanted = [ImageColumns(OPERATION, pa.string(), Source((*path, envelope.operation)))]
        if TIME in self.schema.names:
            wanted.append(ImageColumns(TIME, pa.int64(), Source((*path, envelope.time))))
        if POSITION in self.schema.names:
            for number, (keys, kind) in enumerate(envelope.position):
                name = f"{POSITION}.{number}"
                wanted.append(ImageColumns(name, parse_hive_type(kind), Source((*path, *keys))))
        if BEFORE in self.schema.names:
            wanted.append(ImageColumns(BEFORE, self.schema.field(BEFORE).type, Source((*path, "before"))))
        for field, source in self._row:
            keys = (*path, image, *source.keys)
            wanted.append(ImageColumns(field.name, field.type, replace(source, keys=keys)))
        return wanted

    def decode(self, values: pa.BinaryArray) -> Decoded:
        """The envelope is looked for where the last batch had most of them, then at the other place.

        First the image after the change is read; where the row is another image, that one is.
        """
        first, other = self._first, 1 - self._first
        found = self._read(values, np.arange(len(values)), first, 0)
        bare = found.rows.column(OPERATION).is_null().to_numpy(zero_copy_only=False)
        parts = [(found, first)]
        if bare.any():
            again = self._read(values, found.places[bare], other, 0)
            parts = [(found.only(~bare), first), (again, other)]
            self._first = other if 2 * bare.sum() > len(values) else first
        unpacked = []
        for part, place in parts:
            images = self._image_of(part)
            unpacked.append(self._unpacked(self._with_image(values, part.only(images == 0), place)))
            for number in range(1, len(self._envelope.images)):
                if (images == number).any():
                    again = self._read(values, part.places[images == number], place, number)
                    unpacked.append(self._unpacked(again))
        return joined(unpacked)

    def _read(self, values: pa.BinaryArray, places: Numbers, prefix: int, image: int) -> ImageRows:
        if len(places) < len(values):
            values = values.take(pa.array(places))
        return self._images.read(values, prefix, self._envelope.images[image]).at(places)

    def _with_image(self, values: pa.BinaryArray, part: ImageRows, place: int) -> ImageRows:
        """Without the rows whose operation needs the first image where that is not there.

        An image with any value is there. Only for the others it is looked for, as that is a second walk over the message.
        """
        envelope = self._envelope
        first = envelope.images[0]
        # the row before a deletion is there only where the source logs it
        needed = pa.array([image == first for _, image in envelope.operations.values()])
        in_doubt = pc.fill_null(needed.take(self._known(part.rows)), False).to_numpy(zero_copy_only=False)
        for name in self._own:
            column = part.rows.column(name)
            if not column.null_count:
                return part
            in_doubt = in_doubt & column.is_null().to_numpy(zero_copy_only=False)
        at = np.flatnonzero(in_doubt)
        if not len(at):
            return part
        places = part.places[at]
        why = absent(
            self._open_presence(place),
            values.take(pa.array(places)),
            part.rows.column(OPERATION).take(pa.array(at)),
            first,
        )
        wanted = np.ones(len(part.rows), np.bool_)
        wanted[at[list(why)]] = False
        refused = part.refused | {int(places[number]): reason for number, reason in why.items()}
        return ImageRows(part.rows, part.places, refused).only(wanted)

    def _known(self, rows: pa.RecordBatch) -> pa.Int32Array:
        """Numbers of the operations, null where one is not known."""
        return pc.index_in(rows.column(OPERATION), pa.array(self._envelope.operations.keys(), pa.string()))

    def _image_of(self, part: ImageRows) -> Numbers:
        """Which image is the row; the first where there is none."""
        numbers = {name: number for number, name in enumerate(self._envelope.images)}
        of = pa.array([numbers.get(image or "", 0) for _, image in self._envelope.operations.values()])
        images: Numbers = pc.fill_null(of.take(self._known(part.rows)), 0).to_numpy()
        return images

    def _unpacked(self, part: ImageRows) -> ImageRows:
        """The table's rows of those whose operation is known."""
        rows = part.rows
        operations, known = rows.column(OPERATION), self._known(rows)
        refused = dict(part.refused)
        bad = known.is_null().to_numpy(zero_copy_only=False)
        for at in np.flatnonzero(bad).tolist():
            refused[int(part.places[at])] = self._reason(operations[at].as_py())
        beyond = ~bad & self._beyond(rows)
        for at in np.flatnonzero(beyond).tolist():
            refused[int(part.places[at])] = Reason("change_log.time", f"{TIME} does not fit a bigint")
        bad |= beyond
        good = ImageRows(rows, part.places, refused).only(~bad)
        columns = {name: good.rows.column(name) for name in self._own} | self._of_change(good.rows)
        batch = pa.RecordBatch.from_arrays([columns[name] for name in self.schema.names], schema=self.schema)
        return ImageRows(batch, good.places, refused)

    def _reason(self, operation: str | None) -> Reason:
        envelope = self._envelope
        if operation is None:
            at = f"$.{envelope.operation}, nor at $.{PREFIXES[1][0]}.{envelope.operation}"
            return Reason("change_log.op", f"no operation at {at}")
        return Reason("change_log.op", f"unknown operation {operation[:40]!r}")

    def _beyond(self, rows: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        """Whose time in milliseconds is no bigint."""
        limit = (2**63 - 1) // self._envelope.time_ms
        if TIME not in self.schema.names or limit == 2**63 - 1:
            return np.zeros(len(rows), np.bool_)
        times = pc.fill_null(rows.column(TIME), 0).to_numpy()
        beyond: npt.NDArray[np.bool_] = (times > limit) | (times < -limit)
        return beyond

    def _of_change(self, rows: pa.RecordBatch) -> dict[str, pa.Array]:
        envelope = self._envelope
        letters = pa.array([letter for letter, _ in envelope.operations.values()], pa.string())
        columns = {OPERATION: letters.take(self._known(rows))}
        if TIME in self.schema.names:
            columns[TIME] = pc.multiply(rows.column(TIME), envelope.time_ms)
        if POSITION in self.schema.names:
            parts = [rows.column(f"{POSITION}.{number}") for number in range(len(envelope.position))]
            columns[POSITION] = envelope.position_of(parts)
        if BEFORE in self.schema.names:
            columns[BEFORE] = rows.column(BEFORE)
        return columns
