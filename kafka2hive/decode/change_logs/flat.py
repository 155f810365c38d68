"""Decode Debezium's rows after the transformation ExtractNewRecordState, with fields of the change among those of the row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys.source import CHANGE_COLUMNS, OPERATION, POSITION, TIME, UNAVAILABLE
from kafka2hive.decode.change_logs.decimal_images import DecimalForm, images_of
from kafka2hive.decode.change_logs.images import ImageColumn, ImageRows, join_parts, places_of
from kafka2hive.decode.change_logs.marks import Marks
from kafka2hive.decode.change_logs.positions import POSITION_FIELDS, debezium_position
from kafka2hive.decode.change_logs.unavailable import UnavailableColumns
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.contract.spec import OpenDecoder
from kafka2hive.decode.values.batch import Mask, Places, mask_of
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.plugins import Decoded, Reason

PREFIXES: tuple[tuple[str, ...], ...] = ((), ("payload",))
"""Paths to the row: it is the record, or its payload (JSON converters with schemas.enable)."""
FIELDS = ("__", "__source_")
"""What the transformation puts before the name of a field of the change: `lsn` and `source.lsn` are both the source's."""
DELETED = "__deleted"
DELETION, CHANGE = "d", "u"
"""The letters of a deletion, and of a change whose operation the record does not name."""
_LETTERS = pa.array(["c", "u", "d", "r"], pa.string())
_TRUE, _FALSE = "true", "false"
_ROW = ""
_DELETED = f"{OPERATION}.deleted"
"""The column that is read from DELETED, a name that the table may have, too."""


@dataclass(frozen=True, slots=True)
class _Operations:
    """`letters`: each row's operation. `bad`: which rows have none, or two that contradict; `lacking` have neither field."""

    letters: pa.StringArray
    lacking: Mask
    bad: Mask


class FlatDebeziumDecoder:
    """Decodes flat rows of Debezium. Rejects with the format's reasons, `change_log.op` and `change_log.position`."""

    def __init__(
        self,
        schema: pa.Schema,
        sources: Sequence[Source],
        open_decoder: OpenDecoder,
        decimals: DecimalForm | None,
        marks: Marks,
        unavailable: UnavailableColumns,
        needs_position: bool,
    ) -> None:
        """Open the decoder. `needs_position`: refuse rows without a position; otherwise no row has one. Raises ValueError."""
        self.schema = schema
        self._needs_position = needs_position
        self._marks, self._unavailable = marks, unavailable
        of_change = (*CHANGE_COLUMNS, UNAVAILABLE)
        row = [(f, s) for f, s in zip(schema, sources, strict=True) if f.name not in of_change]
        self._row = row
        self._images = images_of(
            plan=self._columns, open_decoder=open_decoder, row=row, schema=schema, form=decimals
        )
        self._usual_prefix = 0

    def _columns(self, prefix: int, _image: str) -> list[ImageColumn]:
        """Return the columns to read from records whose row is at this prefix."""
        path = PREFIXES[prefix]
        columns = [
            ImageColumn(OPERATION, pa.string(), Source((*path, OPERATION))),
            ImageColumn(_DELETED, pa.string(), Source((*path, DELETED), column=DELETED)),
        ]
        if TIME in self.schema.names:
            columns.append(ImageColumn(TIME, pa.int64(), Source((*path, TIME))))
        if self._needs_position:
            for before in FIELDS:
                columns += [
                    ImageColumn(
                        f"{POSITION}.{before}{name}", parse_hive_type(kind), Source((*path, before + name))
                    )
                    for name, kind in POSITION_FIELDS.items()
                ]
        for field, source in self._row:
            keys = (*path, *source.keys)
            columns.append(ImageColumn(field.name, field.type, replace(source, keys=keys)))
        return columns

    def decode(self, values: pa.BinaryArray) -> Decoded:
        """See Decoder.

        All messages are read with the row at the prefix that most messages of the last batch had; those without a field of the
        change there are read again with the other prefix.
        """
        first, other = self._usual_prefix, 1 - self._usual_prefix
        part = self._read(values, np.arange(len(values)), first)
        lacking = _operations(part.rows).lacking
        parts = [part]
        if lacking.any():
            rest = self._read(values, part.places[lacking], other)
            parts = [part.only(~lacking), rest]
            by_other = int((~_operations(rest.rows).lacking).sum())
            self._usual_prefix = other if by_other > (~lacking).sum() else first
        marks = np.zeros(len(values), np.bool_)
        decoded = join_parts([self._unpack(values, each, marks) for each in parts])
        if marks.any():
            decoded = replace(decoded, without_rows=places_of(marks))
        return self._unavailable.mark(decoded)

    def _read(self, values: pa.BinaryArray, places: Places, prefix: int) -> ImageRows:
        if len(places) < len(values):
            values = values.take(pa.array(places))
        return self._images.read(values, prefix, _ROW).at(places)

    def _unpack(self, values: pa.BinaryArray, part: ImageRows, marks: Mask) -> ImageRows:
        """Return the table's rows; refuse records without a known operation or position, and add marks to `marks`."""
        rows, operations = part.rows, _operations(part.rows)
        refusals = self._without_marks(values, part.refusals, marks)
        bad = operations.bad.copy()
        reasons: dict[int, Reason] = {}
        for at in np.flatnonzero(bad & ~operations.lacking).tolist():
            reasons[at] = _reason(rows.column(OPERATION)[at].as_py(), rows.column(_DELETED)[at].as_py())
        refusals |= {int(part.places[at]): reason for at, reason in reasons.items()}
        without = dict.fromkeys(part.places[operations.lacking].tolist(), _reason(None, None))
        refusals |= self._without_marks(values, without, marks)
        positions = self._positions(rows)
        if self._needs_position:
            unplaced = mask_of(positions.is_null()) & ~bad
            reason = Reason(
                "change_log.position", "no position, such as $.__lsn: add.fields of the connector names none"
            )
            refusals |= dict.fromkeys(part.places[unplaced].tolist(), reason)
            bad |= unplaced
        columns = {name: rows.column(name) for name in rows.schema.names if name in self.schema.names}
        columns |= {OPERATION: operations.letters, POSITION: positions}
        if UNAVAILABLE in self.schema.names:
            columns[UNAVAILABLE] = pa.nulls(len(rows), self.schema.field(UNAVAILABLE).type)
        batch = pa.RecordBatch.from_arrays([columns[name] for name in self.schema.names], schema=self.schema)
        return ImageRows(batch, part.places, refusals).only(~bad)

    def _without_marks(
        self, values: pa.BinaryArray, refusals: Mapping[int, Reason], marks: Mask
    ) -> dict[int, Reason]:
        """Return the reasons without those against marks, which are added to `marks`.

        A mark may have a key of the row with a value that does not fill its column.
        """
        places = np.array(sorted(refusals), np.int64)
        if not len(places):
            return {}
        is_mark = self._marks.among(values.take(pa.array(places)), [None] * len(places))
        marks[places[is_mark]] = True
        return {place: refusals[place] for place in places[~is_mark].tolist()}

    def _positions(self, rows: pa.RecordBatch) -> pa.StringArray:
        if not self._needs_position:
            return pa.nulls(len(rows), pa.string())
        values = []
        for name in POSITION_FIELDS:
            first, second = (rows.column(f"{POSITION}.{before}{name}") for before in FIELDS)
            values.append(pc.coalesce(first, second) if first.null_count else first)
        return debezium_position(values)


def _operations(rows: pa.RecordBatch) -> _Operations:
    """Return the operations by both fields; each says that a record is a deletion, and only `__op` what else it is."""
    named, deleted = rows.column(OPERATION), rows.column(_DELETED)
    lacking = mask_of(pc.and_(named.is_null(), deleted.is_null()))
    is_known = mask_of(pc.or_(named.is_null(), pc.is_in(named, _LETTERS)))
    is_deleted = mask_of(pc.equal(deleted, _TRUE))
    is_kept = mask_of(pc.equal(deleted, _FALSE))
    is_known &= is_deleted | is_kept | mask_of(deleted.is_null())
    is_deletion = mask_of(pc.equal(named, DELETION))
    contradicts = mask_of(named.is_valid()) & ((is_deletion & is_kept) | (~is_deletion & is_deleted))
    by_mark = pa.array(is_deleted)
    letters = pc.fill_null(named, pc.if_else(by_mark, DELETION, CHANGE)) if named.null_count else named
    return _Operations(letters, lacking, lacking | ~is_known | contradicts)


def _reason(operation: str | None, deleted: str | None) -> Reason:
    if operation is None and deleted is None:
        text = f"neither $.{OPERATION} nor $.{DELETED}, nor one below $.payload: the transformation must add one of them"
    elif deleted not in (None, _TRUE, _FALSE):
        text = f"{DELETED} is {str(deleted)[:40]!r}, not true or false"
    elif operation is not None and operation not in _LETTERS.to_pylist():
        text = f"unknown operation {operation[:40]!r}"
    else:
        text = f"{OPERATION} is {operation!r}, but {DELETED} is {deleted}"
    return Reason("change_log.op", text)
