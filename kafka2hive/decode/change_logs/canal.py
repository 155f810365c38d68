"""Decode Canal's flat JSON: a message holds an operation, and in `data` the rows that a statement changed, as strings."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys import ChangeLog
from kafka2hive.config.keys.source import CHANGE_COLUMNS, OPERATION, POSITION, TIME, CanalKeys
from kafka2hive.decode.change_logs.marks import Marks
from kafka2hive.decode.change_logs.positions import padded
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.contract.spec import Changes, OpenDecoder
from kafka2hive.decode.rows.decoder import MOST_ROWS, too_many, with_ordinal
from kafka2hive.decode.values.batch import Mask, Places, decoder_result, mask_of, refusals_of
from kafka2hive.decode.values.latin1 import latin1_bytes
from kafka2hive.decode.values.texts import TextColumn
from kafka2hive.plugins import Decoded, Reason

OPERATIONS = {"INSERT": "c", "UPDATE": "u", "DELETE": "d", "TRUNCATE": "t"}
_KNOWN = pa.array(OPERATIONS, pa.string())
_LETTERS = pa.array(OPERATIONS.values(), pa.string())
_WITHOUT_ROW = "TRUNCATE"
NO_OPTIONS = CanalKeys()
_POSITION_KEYS = ("_tidb", "commitTs")
_POSITION = ".".join(_POSITION_KEYS)
_UNPLACED = Reason(
    "change_log.position", "no number at $._tidb.commitTs: TiCDC writes it with enable-tidb-extension"
)


class BlobColumn:
    """Converts the texts of BLOBs, which are in ISO-8859-1, to their bytes."""

    def __init__(self, column: str) -> None:
        self._column = column

    def read(self, texts: pa.StringArray) -> tuple[pa.Array, dict[int, Reason]]:
        """Return the column, with null where a string is null or refused, and by position the reasons against refused strings."""
        values, bad = latin1_bytes(texts)
        text = f"column {self._column}: a character beyond ISO-8859-1, in which Canal writes bytes"
        reason = Reason("canal.latin1", text, self._column)
        return values, dict.fromkeys(np.flatnonzero(bad).tolist(), reason)


class CanalDecoder:
    """Decodes Canal's messages.

    Rejects with the reasons of JSON, `change_log.op`, `change_log.row`, `change_log.position`, `rows.many`, and `canal.` for
    strings that do not fill their columns.
    """

    def __init__(
        self,
        schema: pa.Schema,
        sources: Sequence[Source],
        zone: str,
        open_decoder: OpenDecoder,
        changes: Changes | None = None,
        marks: Marks | None = None,
        options: CanalKeys = NO_OPTIONS,
    ) -> None:
        """Open the decoder. `sources` has one key for each column of the row. Raises ValueError for longer paths."""
        self._has_position = options.position
        self.schema = schema
        self._marks = marks or Marks(ChangeLog.CANAL)
        row_columns = [(f, s) for f, s in zip(schema, sources, strict=True) if f.name not in CHANGE_COLUMNS]
        if any(len(source.keys) != 1 for _, source in row_columns):
            raise ValueError("a row of canal is flat: each column takes one of its keys")
        self._keys = [source.keys[0] for _, source in row_columns]
        self._columns: list[TextColumn | BlobColumn] = [
            BlobColumn(f.name)
            if f.type == pa.binary() and options.binary == "latin1"
            else TextColumn(
                column=f.name,
                dtype=f.type,
                zone=zone,
                unit=s.unit,
                family="canal",
                leeway=s.leeway,
                changes=changes,
            )
            for f, s in row_columns
        ]
        row = pa.struct([(key, pa.string()) for key in dict.fromkeys(self._keys)])
        wire = pa.schema([("type", pa.string()), ("ts", pa.int64()), ("data", pa.list_(row))])
        wire_sources = [Source((name,)) for name in wire.names]
        if self._has_position:
            wire = wire.append(pa.field(_POSITION, pa.int64()))
            wire_sources.append(Source(_POSITION_KEYS))
        self._envelope = open_decoder(wire, wire_sources)

    def decode(self, values: pa.BinaryArray) -> Decoded:
        read = self._envelope.decode(values)
        places: Places = read.accepted.to_numpy().astype(np.int64)
        refusals = refusals_of(read)
        marks = self._marks_of(values, read.rows, places)
        rows, places = self._with_rows(read.rows, places, refusals, marks)
        operations = rows.column("type")
        numbers, images = _spread(rows.column("data"), pc.not_equal(operations, _WITHOUT_ROW))
        places = places[numbers]
        message = pa.array(numbers)
        columns: dict[str, pa.Array] = {
            OPERATION: _LETTERS.take(pc.index_in(operations, _KNOWN)).take(message),
            TIME: rows.column("ts").take(message),
            POSITION: padded(rows.column(_POSITION)).take(message)
            if self._has_position
            else pa.nulls(len(numbers), pa.string()),
        }
        good = np.ones(len(numbers), np.bool_)
        names = (name for name in self.schema.names if name not in CHANGE_COLUMNS)
        for name, key, column in zip(names, self._keys, self._columns, strict=True):
            columns[name], unfit = column.read(pc.struct_field(images, key))
            for at, reason in unfit.items():
                ordinal = at - int(np.searchsorted(numbers, numbers[at]))
                refusals.setdefault(int(places[at]), with_ordinal(reason, ordinal))
        if refusals:  # a message with one refused row is refused as a whole
            good = ~np.isin(places, list(refusals))
        self._marks.note_truncations(columns[OPERATION])
        batch = pa.RecordBatch.from_arrays([columns[name] for name in self.schema.names], schema=self.schema)
        rows = batch if good.all() else batch.filter(pa.array(good))
        return decoder_result(rows, places[good], refusals, np.flatnonzero(marks) if marks.any() else None)

    def _marks_of(self, values: pa.BinaryArray, rows: pa.RecordBatch, places: Places) -> Mask:
        """Return the mask of the messages that are marks."""
        marks = np.zeros(len(values), np.bool_)
        unknown = np.flatnonzero(~mask_of(pc.is_in(rows.column("type"), _KNOWN)))
        if len(unknown):
            names = rows.column("type").take(pa.array(unknown)).to_pylist()
            marks[places[unknown]] = self._marks.among(values.take(pa.array(places[unknown])), names)
        return marks

    def _with_rows(
        self, rows: pa.RecordBatch, places: Places, refusals: dict[int, Reason], marks: Mask
    ) -> tuple[pa.RecordBatch, Places]:
        """Return the messages that change rows or truncate, and their places; add those that are no marks to `refusals`."""
        operations, data = rows.column("type"), rows.column("data")
        counts = pc.fill_null(pc.list_value_length(data), 0).to_numpy()
        known = mask_of(pc.is_in(operations, _KNOWN))
        truncates = mask_of(pc.equal(operations, _WITHOUT_ROW))
        numbers, images = _spread(data, pa.array(known & ~truncates))
        missing = np.bincount(numbers[mask_of(images.is_null())], minlength=len(rows))
        good = known & (truncates | ((counts > 0) & (counts <= MOST_ROWS) & (missing == 0)))
        if self._has_position:
            unplaced = good & mask_of(rows.column(_POSITION).is_null())
            refusals |= dict.fromkeys(places[unplaced].tolist(), _UNPLACED)
        for at in np.flatnonzero(~good & ~marks[places]).tolist():
            refusals[int(places[at])] = _reason(operations[at].as_py(), int(counts[at]))
        if self._has_position:
            good &= ~unplaced
        return (rows, places) if good.all() else (rows.filter(pa.array(good)), places[good])


def _reason(operation: str | None, count: int) -> Reason:
    if operation is None:
        return Reason("change_log.op", "no operation at $.type")
    if operation not in OPERATIONS:
        return Reason("change_log.op", f"the operation does not change rows: {operation[:40]!r}")
    if count > MOST_ROWS:
        return too_many(count)
    return Reason(
        "change_log.row", f"operation {operation} without a row in $.data, or with a null instead of a row"
    )


def _spread(lists: pa.ListArray, wanted: pa.BooleanArray) -> tuple[Places, pa.StructArray]:
    """Return for each element the number of its list, and the elements: those of wanted lists, one null for any other list."""
    starts = lists.offsets.to_numpy().astype(np.int64)
    is_wanted = mask_of(wanted) & mask_of(lists.is_valid())
    lengths = np.where(is_wanted, np.diff(starts), 1)
    numbers = np.repeat(np.arange(len(lists)), lengths)
    within = np.arange(len(numbers)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    is_element = is_wanted[numbers]
    places = np.where(is_element, starts[numbers] + within, 0)
    return numbers, lists.values.take(pa.array(places, mask=~is_element))
