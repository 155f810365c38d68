"""JSON's columns with leeway: read as what they are written as, and made the table's columns from that.

A format's decoder stays as strict as it is; what it reads for such a column is a text or a whole number.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from kafka2hive.config.values.columns import STRICT
from kafka2hive.model.hive.types import hive_type_of
from kafka2hive.pipeline.decode.change_logs.decimals import decimals_of
from kafka2hive.pipeline.decode.changes import FRACTION, Changes
from kafka2hive.pipeline.decode.epochs import finer_than_micros, of_epoch_numbers, zone_of
from kafka2hive.pipeline.decode.protocol import Decoded, Decoder
from kafka2hive.pipeline.decode.sources import Source, labels
from kafka2hive.pipeline.decode.texts.column import TextColumn
from kafka2hive.pipeline.wall_clock import NAIVE

Open = Callable[[pa.Schema, Sequence[Source]], Decoder]
Made = tuple[pa.Array, Mapping[int, str]]
"""A column, and of each row that it refuses the reason."""


def with_leeway(
    schema: pa.Schema, zone: str, sources: Sequence[Source], changes: Changes, open_decoder: Open
) -> Decoder:
    """The decoder itself where no column has leeway."""
    if all(_is_strict(source, zone) for source in sources):
        return open_decoder(schema, sources)
    return LeewayDecoder(schema, zone, sources, changes, open_decoder)


def _is_strict(source: Source, zone: str) -> bool:
    leeway = source.leeway
    is_as_read = (leeway.fraction, leeway.decimals) == (STRICT.fraction, STRICT.decimals)
    return is_as_read and not _is_day(source, zone)


def _is_day(source: Source, zone: str) -> bool:
    """A number of days, which a decoder of this zone would take for an instant."""
    return source.unit is not None and zone_of(source.unit, zone) != zone


def with_expectations(reason: str, expected: Mapping[str, str]) -> str:
    """The reason as it would be if the decoder knew the column's type: `expected` by what it says of the type it reads."""
    for said, wanted in expected.items():
        if reason.startswith(said):
            return wanted + reason.removeprefix(said)
    return reason


def without(decoded: Decoded, rows: pa.RecordBatch, refused: Mapping[int, str]) -> Decoded:
    """The same with other columns, less the rows that these refuse. Of messages that have one row each."""
    if not refused:
        return replace(decoded, rows=rows)
    places = decoded.accepted.to_numpy()
    reasons = dict(zip(decoded.rejected.to_pylist(), decoded.reasons.to_pylist(), strict=True))
    reasons |= {int(places[row]): reason for row, reason in refused.items()}
    good = np.ones(len(rows), np.bool_)
    good[list(refused)] = False
    rejected = sorted(reasons)
    return replace(
        decoded,
        rows=rows.filter(pa.array(good)),
        accepted=pa.array(places[good], pa.int32()),
        rejected=pa.array(rejected, pa.int32()),
        reasons=pa.array([reasons[place] for place in rejected], pa.string()),
    )


class LeewayDecoder:
    """See the module and Decoder."""

    def __init__(
        self,
        schema: pa.Schema,
        zone: str,
        sources: Sequence[Source],
        changes: Changes,
        open_decoder: Open,
    ) -> None:
        self.schema = schema
        self._make = [
            _maker(label.removeprefix("column "), field.type, zone, source, changes)
            for label, field, source in zip(labels(schema.names, sources), schema, sources, strict=True)
        ]
        wire = [
            (field.name, field.type if make is None else make.wire)
            for field, make in zip(schema, self._make, strict=True)
        ]
        self._inner = open_decoder(
            pa.schema(wire),
            [
                Source(source.keys, source.unit if make is None else None)
                for source, make in zip(sources, self._make, strict=True)
            ],
        )
        self._expected = {
            f"json.type: column {make.label} expects {hive_type_of(make.wire)}, got": (
                f"json.type: column {make.label} expects {make.expects}, got"
            )
            for make in self._make
            if make is not None
        }

    def decode(self, values: pa.BinaryArray) -> Decoded:
        decoded = self._inner.decode(values)
        if len(decoded.reasons):
            reasons = [with_expectations(one, self._expected) for one in decoded.reasons.to_pylist()]
            decoded = replace(decoded, reasons=pa.array(reasons, pa.string()))
        columns = list(decoded.rows.columns)
        refused: dict[int, str] = {}
        for number, make in enumerate(self._make):
            if make is not None:
                columns[number], bad = make.read(columns[number])
                refused = {**bad, **refused}
        return without(decoded, pa.RecordBatch.from_arrays(columns, schema=self.schema), refused)


class _Texts:
    wire = pa.string()
    expects = hive_type_of(NAIVE)

    def __init__(self, label: str, column: TextColumn) -> None:
        self.label = label
        self._column = column

    def read(self, texts: pa.StringArray) -> Made:
        return self._column.read(texts)


class _Numbers:
    wire = pa.int64()

    def __init__(self, label: str, dtype: pa.DataType, zone: str, unit: str, changes: Changes) -> None:
        self.label, self._type, self._zone, self._unit = label, dtype, zone, unit
        self.expects = f"a whole number of {unit} since 1970"
        self._changes = changes

    def read(self, numbers: pa.Int64Array) -> Made:
        column, bad = of_epoch_numbers(numbers, self._type, self._unit, self._zone, truncate=True)
        self._changes.add(FRACTION, int((finer_than_micros(numbers, self._unit) & ~bad).sum()))
        why = f"is beyond {hive_type_of(self._type)}"
        places = np.flatnonzero(bad).tolist()
        return column, {at: f"json.range: column {self.label}: {numbers[at]} {why}" for at in places}


class _Bytes:
    wire = pa.binary()

    def __init__(self, label: str, dtype: pa.Decimal128Type) -> None:
        self.label, self._type = label, dtype
        self.expects = f"{hive_type_of(dtype)} as bytes in base64"

    def read(self, values: pa.BinaryArray) -> Made:
        column, bad = decimals_of(values, self._type)
        why = f"json.decimal: column {self.label}: no bytes of {hive_type_of(self._type)}"
        return column, dict.fromkeys(np.flatnonzero(bad).tolist(), why)


def _maker(
    label: str, dtype: pa.DataType, zone: str, source: Source, changes: Changes
) -> _Texts | _Numbers | _Bytes | None:
    """None: the decoder reads the column itself."""
    if source.leeway.decimals == "base64" and pa.types.is_decimal128(dtype):
        return _Bytes(label, dtype)
    is_cut = source.leeway.fraction == "truncate" and dtype == NAIVE
    if source.unit is not None:
        is_read_as_number = is_cut or _is_day(source, zone)
        return _Numbers(label, dtype, zone, source.unit, changes) if is_read_as_number else None
    if not is_cut:
        return None
    return _Texts(label, TextColumn(label, dtype, zone, None, "json", source.leeway, changes))
