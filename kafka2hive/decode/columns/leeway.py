"""Fill JSON's columns that have leeway: the strict decoder reads texts, numbers or bytes, and these become the columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from kafka2hive.config.keys.columns import STRICT
from kafka2hive.decode.contract.sources import Source, labels, own_columns
from kafka2hive.decode.contract.spec import FRACTION, Changes, OpenDecoder
from kafka2hive.decode.values.connect_decimals import decimals_of
from kafka2hive.decode.values.epochs import finer_than_micros, of_epoch_numbers, zone_of
from kafka2hive.decode.values.texts import TextColumn
from kafka2hive.model.hive_types import hive_type_of
from kafka2hive.model.wall_clock import NAIVE
from kafka2hive.plugins import Decoded, Decoder, Reason

Conversion = tuple[pa.Array, Mapping[int, Reason]]
"""A column, and by row number the reasons against values that it cannot hold."""


def with_leeway(
    schema: pa.Schema, zone: str, sources: Sequence[Source], changes: Changes, open_decoder: OpenDecoder
) -> Decoder:
    """Return the decoder itself if no column has leeway."""
    if all(_is_strict(source, zone) for source in sources):
        return open_decoder(schema, sources)
    return LeewayDecoder(
        schema=schema, zone=zone, sources=sources, changes=changes, open_decoder=open_decoder
    )


def _is_strict(source: Source, zone: str) -> bool:
    leeway = source.leeway
    is_as_read = (leeway.fraction, leeway.decimals) == (STRICT.fraction, STRICT.decimals)
    return is_as_read and not _is_day(source, zone)


def _is_day(source: Source, zone: str) -> bool:
    """Return whether it is a number of days, which a decoder of this zone would take for an instant."""
    return source.unit is not None and zone_of(source.unit, zone) != zone


def with_columns(decoded: Decoded, rows: pa.RecordBatch, refused: Mapping[int, Reason]) -> Decoded:
    """Return the result with other columns and without the rows in `refused` (reasons by row number).

    Every message must have one row at most.
    """
    if not refused:
        return replace(decoded, rows=rows)
    places = decoded.accepted.to_numpy()
    reasons = dict(zip(decoded.rejected.to_pylist(), decoded.reasons, strict=True))
    reasons |= {int(places[row]): reason for row, reason in refused.items()}
    good = np.ones(len(rows), np.bool_)
    good[list(refused)] = False
    rejected = sorted(reasons)
    return replace(
        decoded,
        rows=rows.filter(pa.array(good)),
        accepted=pa.array(places[good], pa.int32()),
        rejected=pa.array(rejected, pa.int32()),
        reasons=[reasons[place] for place in rejected],
    )


class LeewayDecoder:
    """Decodes JSON for columns with leeway. Rejects with the decoder's reasons, `json.range` and `json.decimal`."""

    def __init__(
        self,
        schema: pa.Schema,
        zone: str,
        sources: Sequence[Source],
        changes: Changes,
        open_decoder: OpenDecoder,
    ) -> None:
        self.schema = schema
        self._converters = [
            _converter(LeewayTarget(column, label, field.type), zone, source, changes)
            for column, label, field, source in zip(
                own_columns(schema.names, sources),
                labels(schema.names, sources),
                schema,
                sources,
                strict=True,
            )
        ]
        wire = [
            (field.name, field.type if converter is None else converter.wire)
            for field, converter in zip(schema, self._converters, strict=True)
        ]
        self._inner = open_decoder(
            pa.schema(wire),
            [
                Source(
                    source.keys,
                    source.unit if converter is None else None,
                    column=source.column,
                    expects=source.expects if converter is None else converter.expects,
                )
                for source, converter in zip(sources, self._converters, strict=True)
            ],
        )

    def decode(self, values: pa.BinaryArray) -> Decoded:
        decoded = self._inner.decode(values)
        columns = list(decoded.rows.columns)
        refused: dict[int, Reason] = {}
        for number, converter in enumerate(self._converters):
            if converter is not None:
                columns[number], bad = converter.convert(columns[number])
                refused = {**bad, **refused}
        return with_columns(decoded, pa.RecordBatch.from_arrays(columns, schema=self.schema), refused)


@dataclass(frozen=True, slots=True)
class LeewayTarget:
    """A column of the table. `label`: its name in the texts of reasons."""

    column: str
    label: str
    type: pa.DataType

    def reason(self, code: str, what: str) -> Reason:
        return Reason(code, f"column {self.label}: {what}", self.column)


class _Texts:
    """Converts ISO times, which it cuts to microseconds."""

    wire = pa.string()
    expects = hive_type_of(NAIVE)

    def __init__(self, column: TextColumn) -> None:
        self._column = column

    def convert(self, texts: pa.StringArray) -> Conversion:
        return self._column.read(texts)


class _Numbers:
    """Converts epoch numbers to timestamps, which it cuts to microseconds, or to dates."""

    wire = pa.int64()

    def __init__(self, target: LeewayTarget, zone: str, unit: str, changes: Changes) -> None:
        self._target, self._zone, self._unit = target, zone, unit
        self.expects = f"a whole number of {unit} since 1970"
        self._changes = changes

    def convert(self, numbers: pa.Int64Array) -> Conversion:
        kind = self._target.type
        column, bad = of_epoch_numbers(numbers, kind, self._unit, self._zone, truncate=True)
        self._changes.add(FRACTION, int((finer_than_micros(numbers, self._unit) & ~bad).sum()))
        beyond = f"is beyond {hive_type_of(kind)}"
        places = np.flatnonzero(bad).tolist()
        return column, {at: self._target.reason("json.range", f"{numbers[at]} {beyond}") for at in places}


class _Bytes:
    """Converts Kafka Connect's bytes to decimals."""

    wire = pa.binary()

    def __init__(self, target: LeewayTarget) -> None:
        self._target = target
        self.expects = f"{hive_type_of(target.type)} as bytes in base64"

    def convert(self, values: pa.BinaryArray) -> Conversion:
        column, bad = decimals_of(values, self._target.type)
        why = self._target.reason("json.decimal", f"no bytes of {hive_type_of(self._target.type)}")
        return column, dict.fromkeys(np.flatnonzero(bad).tolist(), why)


def _converter(
    target: LeewayTarget, zone: str, source: Source, changes: Changes
) -> _Texts | _Numbers | _Bytes | None:
    """Return what converts the values that the decoder reads; None if it reads the column directly."""
    if source.leeway.decimals == "base64" and pa.types.is_decimal128(target.type):
        return _Bytes(target)
    is_cut = source.leeway.fraction == "truncate" and target.type == NAIVE
    if source.unit is not None:
        is_read_as_number = is_cut or _is_day(source, zone)
        return _Numbers(target, zone, source.unit, changes) if is_read_as_number else None
    if not is_cut:
        return None
    text = TextColumn(
        column=target.column,
        dtype=target.type,
        zone=zone,
        unit=None,
        family="json",
        leeway=source.leeway,
        changes=changes,
        label=target.label,
    )
    return _Texts(text)
