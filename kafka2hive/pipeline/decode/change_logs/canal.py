"""Flat messages of Canal (JSON) to rows: the operation, and the one row in `data`, whose values are all texts."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.values import ChangeLog
from kafka2hive.config.values.change_log import CHANGE_COLUMNS, OPERATION, POSITION, TIME
from kafka2hive.pipeline.decode.change_logs.decoder import check_change_columns
from kafka2hive.pipeline.decode.protocol import Decoded, Decoder
from kafka2hive.pipeline.decode.sources import Source
from kafka2hive.pipeline.decode.texts.column import TextColumn

OPERATIONS = {"INSERT": "c", "UPDATE": "u", "DELETE": "d", "TRUNCATE": "t"}
_KNOWN = pa.array(OPERATIONS, pa.string())
_LETTERS = pa.array(OPERATIONS.values(), pa.string())
_WITHOUT_ROW = "TRUNCATE"
_SEVERAL = (
    "rows of one statement in one message, one is taken: read the envelopes with source binlog and a column "
    "data array<struct<..>>"
)

Places = npt.NDArray[np.int64]


class CanalDecoder:
    """See Decoder. Rejects with reasons of JSON, `change_log.op`, `change_log.row`, `change_log.rows`, and `canal.` for texts
    that do not fill their columns.
    """

    def __init__(
        self,
        schema: pa.Schema,
        sources: Sequence[Source],
        zone: str,
        open_decoder: Callable[[pa.Schema, Sequence[Source]], Decoder],
    ) -> None:
        """`sources`: of each column of the row one key. Raises ValueError for others, and for columns that
        cannot be filled.
        """
        check_change_columns(ChangeLog.CANAL, schema)
        self.schema = schema
        own = [(f, s) for f, s in zip(schema, sources, strict=True) if f.name not in CHANGE_COLUMNS]
        if any(len(source.keys) != 1 for _, source in own):
            raise ValueError("a row of canal is flat: each column takes one of its keys")
        self._keys = [source.keys[0] for _, source in own]
        self._columns = [TextColumn(f.name, f.type, zone, s.unit, "canal") for f, s in own]
        row = pa.struct([(key, pa.string()) for key in dict.fromkeys(self._keys)])
        wire = pa.schema([("type", pa.string()), ("ts", pa.int64()), ("data", pa.list_(row))])
        self._envelope = open_decoder(wire, [Source((name,)) for name in wire.names])

    def decode(self, values: pa.BinaryArray) -> Decoded:
        read = self._envelope.decode(values)
        places: Places = read.accepted.to_numpy().astype(np.int64)
        refused = dict(zip(read.rejected.to_pylist(), read.reasons.to_pylist(), strict=True))
        rows, places = self._with_row(read.rows, places, refused)
        operations = rows.column("type")
        columns: dict[str, pa.Array] = {
            OPERATION: _LETTERS.take(pc.index_in(operations, _KNOWN)),
            TIME: rows.column("ts"),
            POSITION: pa.nulls(len(rows), pa.string()),
        }
        images = _only_elements(rows.column("data"), pc.not_equal(operations, _WITHOUT_ROW))
        good = np.ones(len(rows), np.bool_)
        names = (name for name in self.schema.names if name not in CHANGE_COLUMNS)
        for name, key, column in zip(names, self._keys, self._columns, strict=True):
            columns[name], unfit = column.read(pc.struct_field(images, key))
            for at, reason in unfit.items():
                refused.setdefault(int(places[at]), reason)
                good[at] = False
        batch = pa.RecordBatch.from_arrays([columns[name] for name in self.schema.names], schema=self.schema)
        rejected = sorted(refused)
        return Decoded(
            rows=batch if good.all() else batch.filter(pa.array(good)),
            accepted=pa.array(places[good], pa.int32()),
            rejected=pa.array(rejected, pa.int32()),
            reasons=pa.array([refused[place] for place in rejected], pa.string()),
        )

    def _with_row(
        self, rows: pa.RecordBatch, places: Places, refused: dict[int, str]
    ) -> tuple[pa.RecordBatch, Places]:
        """The changes of exactly one row, and truncations; what is neither goes to `refused`."""
        operations, data = rows.column("type"), rows.column("data")
        counts = pc.fill_null(pc.list_value_length(data), 0).to_numpy()
        known = pc.is_in(operations, _KNOWN).to_numpy(zero_copy_only=False)
        truncates = pc.fill_null(pc.equal(operations, _WITHOUT_ROW), False).to_numpy(zero_copy_only=False)
        good = known & (truncates | (counts == 1))
        there = _only_elements(data, pa.array(good & ~truncates)).is_valid()
        good &= truncates | there.to_numpy(zero_copy_only=False)
        for at in np.flatnonzero(~good).tolist():
            refused[int(places[at])] = _reason(operations[at].as_py(), int(counts[at]))
        return (rows, places) if good.all() else (rows.filter(pa.array(good)), places[good])


def _reason(operation: str | None, count: int) -> str:
    if operation is None:
        return "change_log.op: no operation at $.type"
    if operation not in OPERATIONS:
        return f"change_log.op: no change of a row: {operation[:40]!r}"
    if count > 1:
        return f"change_log.rows: {count} {_SEVERAL}"
    return f"change_log.row: operation {operation} without a row in $.data"


def _only_elements(lists: pa.ListArray, wanted: pa.BooleanArray) -> pa.StructArray:
    """The element of each wanted list, which has one; null elsewhere."""
    starts = lists.offsets.to_numpy()[:-1].astype(np.int64)
    unwanted = ~wanted.to_numpy(zero_copy_only=False)
    return lists.values.take(pa.array(np.where(unwanted, 0, starts), mask=unwanted))
