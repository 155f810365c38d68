"""Cut times that a schema defines finer than a microsecond, if the map allows it.

The decoder reads such times as plain numbers, which become times afterwards, a whole column at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.decode.contract.sources import Source, labels, names_in_table
from kafka2hive.decode.contract.spec import FRACTION, Changes
from kafka2hive.decode.values.batch import Mask, mask_of
from kafka2hive.decode.values.epochs import finer_than_micros, of_epoch_numbers
from kafka2hive.model.hive_types import hive_type_of
from kafka2hive.model.wall_clock import DAY, EARLIEST, LATEST, NAIVE
from kafka2hive.plugins import Reason

SECONDS_AND_NANOS = pa.struct([("seconds", pa.int64()), ("nanos", pa.int32())])
"""A google.protobuf.Timestamp."""


class TimeForm(Enum):
    """The form of a column's times in the messages."""

    INSTANT = "instant"
    WALL_CLOCK = "wall clock"
    STAMP = "stamp"
    DAYS = "days"
    """A number of days, which a decoder would take for an instant and move to the table's time zone."""


def truncatable_columns(sources: Sequence[Source]) -> list[int]:
    """Return the numbers of the columns whose times the map allows to be cut."""
    return [number for number, source in enumerate(sources) if source.leeway.fraction == "truncate"]


class FinerTimes:
    """Converts the columns in `forms` (by number) to times, for the messages of one schema.

    A decoder reads rows of the schema `wire` from `sources`; `finish` converts them to rows of `schema`.
    """

    def __init__(
        self,
        format: str,
        schema: pa.Schema,
        sources: Sequence[Source],
        zone: str,
        forms: Mapping[int, TimeForm],
        changes: Changes,
    ) -> None:
        self._format = format
        self._schema = schema
        self._zone = zone
        self._forms = forms
        self._changes = changes
        self._columns = names_in_table(schema.names, sources)
        self._labels = labels(schema.names, sources)
        self.wire = pa.schema([self._wire(number, field) for number, field in enumerate(schema)])
        self.sources = [
            replace(source, unit=None) if number in forms else source for number, source in enumerate(sources)
        ]

    def _wire(self, number: int, field: pa.Field) -> pa.Field:
        form = self._forms.get(number)
        if form is None:
            return field
        return field.with_type(SECONDS_AND_NANOS if form is TimeForm.STAMP else pa.int64())

    def finish(self, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, dict[int, Reason]]:
        """Return rows of `schema` made of rows of `wire`, and by row number the reasons against some of them."""
        columns = list(rows.columns)
        refusals: dict[int, Reason] = {}
        for number, form in self._forms.items():
            dtype = self._schema.field(number).type
            column, bad, finer = self._times(columns[number], form, dtype)
            columns[number] = column
            self._changes.add(FRACTION, int((finer & ~bad).sum()))
            kind = hive_type_of(dtype)
            for at in np.flatnonzero(bad).tolist():
                text = f"column {self._labels[number]}: {rows.column(number)[at]} is beyond {kind}"
                refusals.setdefault(at, Reason(f"{self._format}.range", text, self._columns[number]))
        return pa.RecordBatch.from_arrays(columns, schema=self._schema), refusals

    def _times(self, column: pa.Array, form: TimeForm, dtype: pa.DataType) -> tuple[pa.Array, Mask, Mask]:
        """Return the times, the mask of those out of range, and the mask of those that lost a fraction of a microsecond."""
        if form is TimeForm.STAMP:
            times, no_time, beyond, finer = of_stamps(column, self._zone)
            return times, no_time | beyond, finer
        if form is TimeForm.DAYS:
            return (*of_epoch_numbers(column, dtype, "d", self._zone), np.zeros(len(column), np.bool_))
        finer = finer_than_micros(column, "ns")
        if form is TimeForm.INSTANT:
            return (*of_epoch_numbers(column, NAIVE, "ns", self._zone, truncate=True), finer)
        values = pc.fill_null(column, 0).to_numpy(zero_copy_only=False)
        nulls = mask_of(column.is_null())
        walls = pa.array(values // 1_000, pa.int64(), mask=nulls).cast(NAIVE)
        return walls, np.zeros(len(column), np.bool_), finer  # no bigint of nanoseconds is out of range


def of_stamps(column: pa.StructArray, zone: str) -> tuple[pa.Array, Mask, Mask, Mask]:
    """Return the times of a google.protobuf.Timestamp, and three masks.

    They are of values whose nanoseconds are none of a second, those out of range, and those finer than a microsecond.
    """
    is_valid = mask_of(column.is_valid())
    seconds, nanos = (
        np.where(is_valid, pc.fill_null(pc.struct_field(column, name), 0).to_numpy(zero_copy_only=False), 0)
        for name in ("seconds", "nanos")
    )
    no_time = (nanos < 0) | (nanos >= 10**9)
    far = (seconds < (EARLIEST - DAY) // 10**6) | (seconds > (LATEST + DAY) // 10**6)
    micros = np.where(no_time | far, 0, seconds) * 10**6 + np.where(no_time | far, 0, nanos) // 1_000
    numbers = pa.array(micros, pa.int64(), mask=~is_valid)
    times, beyond = of_epoch_numbers(numbers, NAIVE, "us", zone)
    return times, no_time, far | beyond, nanos % 1_000 != 0
