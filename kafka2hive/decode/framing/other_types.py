"""Fill columns from values that a writer's schema has in another type, if the columns' keys in the map allow it.

The decoder reads such values by a type that takes them, and whole columns are converted afterwards.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys.leeway import Leeway
from kafka2hive.decode.contract.sources import SchemaUnresolvable, Source, labels, names_in_table
from kafka2hive.decode.contract.spec import BEYOND, BOOLEANS, NON_FINITE, WHOLE, Changes
from kafka2hive.decode.framing.fine_times import SECONDS_AND_NANOS, of_stamps
from kafka2hive.decode.framing.numbers import BinaryRefusal, decimal
from kafka2hive.decode.values.batch import Mask, Places, mask_of
from kafka2hive.decode.values.clock_texts import CLOCK, NO_CLOCK, clock_nanos, clock_texts
from kafka2hive.decode.values.declared_times import has_declared_times
from kafka2hive.decode.values.epochs import finer_than_micros, of_epoch_numbers
from kafka2hive.decode.values.loose_texts import SchemaTexts
from kafka2hive.decode.values.map_keys import KeyedColumn
from kafka2hive.decode.values.texts import TextColumn
from kafka2hive.model.hive_types import hive_type_of
from kafka2hive.model.wall_clock import EARLIEST, LATEST, NAIVE
from kafka2hive.plugins import Reason

Converted = tuple[pa.Array, dict[int, Reason]]
"""A column, and by row number the reasons against values that it cannot hold."""
_EXACT_WHOLE = 2.0**63
_KEYS = (pa.string(), pa.date32(), pa.bool_(), pa.int64())
"""Types by which keys of Kafka Connect's maps are read, before they become texts."""


@dataclass(frozen=True, slots=True)
class EpochForm:
    """Numbers of `unit` since 1970: instants, or a wall clock."""

    unit: str
    is_instant: bool


class Stamps:
    """Messages of google.protobuf.Timestamp."""


TimeNumbers = EpochForm | Stamps
"""How a schema's values say a time."""


Clock = Literal["ms", "us", "ns", "message"]
"""The unit of numbers since midnight; `message` is google.type.TimeOfDay."""


class Conversion(Protocol):
    """Converts a column that was read as the type `wire`."""

    @property
    def wire(self) -> pa.DataType: ...

    def convert(self, values: pa.Array) -> Converted: ...


@dataclass(frozen=True, slots=True)
class OtherTarget:
    """A column of the table that takes values of other types. `label`: its name in the text of reasons."""

    format: str
    column: str
    label: str
    type: pa.DataType
    zone: str
    source: Source
    changes: Changes
    library: Any

    @property
    def leeway(self) -> Leeway:
        return self.source.leeway

    def refusals(self, values: pa.Array, bad: Mask, code: str, what: str) -> dict[int, Reason]:
        """Return the reason against each value in the mask."""
        return {
            place: Reason(
                f"{self.format}.{code}", f"column {self.label}: {values[place].as_py()} {what}", self.column
            )
            for place in np.flatnonzero(bad).tolist()
        }


class _Strings:
    """Strings that are read as the column's type."""

    wire = pa.string()

    def __init__(self, target: OtherTarget) -> None:
        column = TextColumn(
            column=target.column,
            dtype=target.type,
            zone=target.zone,
            unit=target.source.unit,
            family=target.format,
            leeway=target.leeway,
            changes=target.changes,
            label=target.label,
            library=target.library,
        )
        self._texts = SchemaTexts(
            column, target.zone, target.source.unit, target.leeway, changes=target.changes
        )

    def convert(self, values: pa.Array) -> Converted:
        return self._texts.read(values)


class _Words:
    """Integers whose digits are words for true and false."""

    wire = pa.int64()

    def __init__(self, target: OtherTarget) -> None:
        words = target.leeway.booleans
        assert words is not None
        self._target = target
        self._true, self._false = pa.array(words.true, pa.string()), pa.array(words.false, pa.string())

    def convert(self, values: pa.Array) -> Converted:
        digits = values.cast(pa.string())
        is_true, is_false = pc.is_in(digits, self._true), pc.is_in(digits, self._false)
        known = mask_of(pc.or_(is_true, is_false))
        self._target.changes.add(BOOLEANS, int(known.sum()))
        bad = mask_of(values.is_valid()) & ~known
        column = pc.if_else(pa.array(known), is_true, pa.scalar(None, pa.bool_()))
        return column, self._target.refusals(values, bad, "type", "is no word for true or false")


class _WholeReals:
    """Floats that are whole numbers, for columns of integers, decimals, or times with a unit."""

    wire = pa.float64()

    def __init__(self, target: OtherTarget) -> None:
        self._target = target
        self._wide = pa.int64() if target.source.unit is not None else target.type

    def convert(self, values: pa.Array) -> Converted:
        target, dtype = self._target, self._target.type
        numbers = pc.fill_null(values, 0.0).to_numpy(zero_copy_only=False)
        finite: Mask = np.isfinite(numbers)
        others = ~finite if target.leeway.non_finite == "null" else np.zeros(len(values), np.bool_)
        target.changes.add(NON_FINITE, int(others.sum()))
        valid = mask_of(values.is_valid()) & ~others
        inexact = valid & finite & (np.floor(numbers) != numbers)
        refusals = target.refusals(values, inexact, "inexact", f"is not exact as {hive_type_of(dtype)}")
        refusals |= target.refusals(values, valid & ~finite, "range", f"is beyond {hive_type_of(dtype)}")
        good = valid & finite & ~inexact
        column, bad = self._column(numbers, good)
        far = "is beyond bigint" if target.source.unit is not None else f"is beyond {hive_type_of(dtype)}"
        refusals |= target.refusals(values, bad, "range", far)
        good &= ~bad
        if target.source.unit is not None:
            column, of_times = _Times(
                target, EpochForm(target.source.unit, True), is_strict=target.leeway.beyond == "refuse"
            ).convert(column)
            refusals |= of_times
            good[list(of_times)] = False
        target.changes.add(WHOLE, int(good.sum()))
        return column, refusals

    def _column(self, numbers: Any, good: Mask) -> tuple[pa.Array, Mask]:
        """Return the whole numbers in the mask, and the mask of those that are out of range."""
        bad = good & ~((numbers >= -_EXACT_WHOLE) & (numbers < _EXACT_WHOLE))
        if pa.types.is_decimal128(self._wide):
            return self._decimals(numbers, np.flatnonzero(good))
        limit = 2.0 ** (self._wide.bit_width - 1)
        bad |= good & ~((numbers >= -limit) & (numbers < limit))
        mask = ~good | bad
        whole = np.where(mask, 0.0, numbers).astype(np.int64)
        return pa.array(whole, pa.int64(), mask=mask).cast(self._wide), bad

    def _decimals(self, numbers: Any, places: Places) -> tuple[pa.Array, Mask]:
        values, bad = [None] * len(numbers), np.zeros(len(numbers), np.bool_)
        distinct: dict[float, Any] = {}
        for place, number in zip(places.tolist(), numbers[places].tolist(), strict=True):
            if number not in distinct:
                try:
                    distinct[number] = decimal(self._target.format, int(number), 0, self._wide)
                except BinaryRefusal:
                    distinct[number] = None
            values[place] = distinct[number]
            bad[place] = values[place] is None
        return pa.array(values, self._wide), bad


class _Finite:
    """Floats whose NaN and infinities become NULL."""

    def __init__(self, target: OtherTarget) -> None:
        self.wire = target.type
        self._changes = target.changes

    def convert(self, values: pa.Array) -> Converted:
        others = mask_of(pc.invert(pc.is_finite(values)))
        if not others.any():
            return values, {}
        self._changes.add(NON_FINITE, int(others.sum()))
        return pc.if_else(pa.array(others), pa.scalar(None, values.type), values), {}


class _Clocks:
    """Numbers since midnight, or messages of google.type.TimeOfDay, as texts."""

    def __init__(self, target: OtherTarget, clock: Clock) -> None:
        self._target, self._clock = target, clock
        self.wire = CLOCK if clock == "message" else pa.int64()

    def convert(self, values: pa.Array) -> Converted:
        if self._clock == "message":
            nanos, bad = clock_nanos(values)
            column, _ = clock_texts(nanos, "ns")
        else:
            column, bad = clock_texts(values, self._clock)
        return column, self._target.refusals(values, bad, "range", NO_CLOCK)


class _Pairs:
    """Arrays of records with a key and a value, as Kafka Connect writes maps whose keys are no strings."""

    def __init__(self, target: OtherTarget, wire: pa.DataType) -> None:
        self.wire, self._target = wire, target
        self._maps = KeyedColumn(
            name=target.column,
            label=target.label,
            type=target.type,
            zone=target.zone,
            family=target.format,
        )

    def convert(self, values: pa.Array) -> Converted:
        keys, items = values.flatten().flatten()
        reason = Reason(
            f"{self._target.format}.type", f"column {self._target.label}: a key is null", self._target.column
        )
        nulls = dict.fromkeys(np.flatnonzero(mask_of(keys.is_null())).tolist(), reason)
        return self._maps.joined(
            values, keys=keys.cast(pa.string()), items=items, dtype=self._target.type, refusals=nulls
        )


class _Times:
    """Numbers or messages that are times, some of them outside the years 1 to 9999."""

    def __init__(self, target: OtherTarget, form: TimeNumbers, is_strict: bool = False) -> None:
        """`is_strict`: a time outside these years is refused."""
        self._target, self._form, self._is_strict = target, form, is_strict
        self.wire = pa.int64() if isinstance(form, EpochForm) else SECONDS_AND_NANOS
        self._edges: Sequence[int | None] = (None, None)
        if target.leeway.beyond == "clamp":
            self._edges = (EARLIEST, LATEST)

    def convert(self, values: pa.Array) -> Converted:
        target, dtype = self._target, self._target.type
        none = np.zeros(len(values), np.bool_)
        if isinstance(self._form, EpochForm):
            zone = target.zone if self._form.is_instant else "UTC"
            column, bad = of_epoch_numbers(values, dtype, self._form.unit, zone)
            finer = finer_than_micros(values, self._form.unit) & bad if dtype == NAIVE else none
            far, no_time, numbers = bad & ~finer, none, values
        else:
            column, no_time, far, finer = of_stamps(values, target.zone)
            far, finer = far & ~no_time, finer & ~no_time & ~far
            numbers = pc.struct_field(values, "seconds")
        refusals = target.refusals(values, finer, "inexact", f"is not exact as {hive_type_of(dtype)}")
        refused = no_time | far if self._is_strict else no_time
        refusals |= target.refusals(values, refused, "range", f"is beyond {hive_type_of(dtype)}")
        if far.any() and not self._is_strict:
            target.changes.add(BEYOND, int(far.sum()))
            signs = mask_of(pc.greater_equal(numbers, 0))
            ends = [self._edges[bool(sign)] for sign in signs[far].tolist()]
            edges = pa.array(ends, pa.int64()).cast(NAIVE).cast(dtype)
            where = np.arange(len(values))
            where[far] = len(values) + np.arange(len(edges))
            column = pa.concat_arrays([column, edges]).take(pa.array(where))
        return column, refusals


class OtherTypes:
    """Converts columns for the messages of one schema.

    A decoder reads rows of the schema `wire` from `sources`; `finish` converts them to rows of the table.
    """

    def __init__(
        self, schema: pa.Schema, sources: Sequence[Source], conversions: Mapping[int, Conversion]
    ) -> None:
        self._schema = schema
        self._conversions = conversions
        self.wire = pa.schema(
            [
                field.with_type(conversions[n].wire) if n in conversions else field
                for n, field in enumerate(schema)
            ]
        )
        self.sources = [
            replace(source, unit=None) if n in conversions else source for n, source in enumerate(sources)
        ]

    def finish(self, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, Mapping[int, Reason]]:
        """Return rows of the table made of rows of `wire`, and by row number the reasons against some of them."""
        columns = list(rows.columns)
        refusals: dict[int, Reason] = {}
        for number, conversion in self._conversions.items():
            columns[number], bad = conversion.convert(columns[number])
            refusals = {**bad, **refusals}
        return pa.RecordBatch.from_arrays(columns, schema=self._schema), refusals


@dataclass(frozen=True, slots=True)
class WriterPlans:
    """A writer's type.

    `resolve`: returns the plan that fills columns; raises SchemaUnresolvable if the type cannot fill them. `time_numbers`:
    returns by column how a plan's values say a time, if all of them do it in the same way. `clock_of`: returns how the values at
    a path say a time of day, None if they say none.
    """

    resolve: Callable[[pa.Schema, Sequence[Source]], Any]
    time_numbers: Callable[[Any], Mapping[int, TimeNumbers]]
    clock_of: Callable[[tuple[str, ...]], Clock | None]


def other_types(
    format: str,
    schema: pa.Schema,
    sources: Sequence[Source],
    zone: str,
    changes: Changes,
    library: Any,
    plans: WriterPlans,
) -> OtherTypes | None:
    """Return the conversions of the values of a schema, None if no value needs one."""
    names, texts = names_in_table(schema.names, sources), labels(schema.names, sources)
    conversions: dict[int, Conversion] = {}
    for number, (field, source) in enumerate(zip(schema, sources, strict=True)):
        is_text = pa.types.is_string(field.type) and source.leeway.json == "refuse"
        clock = plans.clock_of(source.keys) if is_text else None
        if clock is None and not (_may_differ(source.leeway) or pa.types.is_map(field.type)):
            continue
        target = OtherTarget(
            format=format,
            column=names[number],
            label=texts[number],
            type=field.type,
            zone=zone,
            source=source,
            changes=changes,
            library=library,
        )
        if clock is not None:
            conversions[number] = _Clocks(target, clock)
        elif (conversion := _conversion(target, _Resolution(field, source, plans))) is not None:
            conversions[number] = conversion
    return OtherTypes(schema, sources, conversions) if conversions else None


def _may_differ(leeway: Leeway) -> bool:
    refuse = ("refuse", "refuse", "refuse", "refuse", None, None)
    keys = (leeway.quoted, leeway.whole, leeway.non_finite, leeway.beyond, leeway.booleans, leeway.numbers)
    return keys != refuse or has_declared_times(leeway)


@dataclass(frozen=True, slots=True)
class _Resolution:
    """Resolves one column as several types."""

    field: pa.Field
    source: Source
    plans: WriterPlans

    def plan(self, dtype: pa.DataType) -> Any:
        """Return the plan that fills the column as this type; None if the writer's schema cannot."""
        source = self.source if dtype == self.field.type else replace(self.source, unit=None)
        try:
            return self.plans.resolve(pa.schema([self.field.with_type(dtype)]), [source])
        except SchemaUnresolvable:
            return None


def _conversion(target: OtherTarget, resolution: _Resolution) -> Conversion | None:
    leeway, dtype = target.leeway, target.type
    if (plan := resolution.plan(dtype)) is not None:
        if leeway.non_finite == "null" and pa.types.is_floating(dtype):
            return _Finite(target)
        form = resolution.plans.time_numbers(plan).get(0) if leeway.beyond != "refuse" else None
        return None if form is None else _Times(target, form)
    if pa.types.is_map(dtype):
        wires = (_pairs(key, dtype.item_type) for key in _KEYS)
        wire = next((wire for wire in wires if resolution.plan(wire) is not None), None)
        return None if wire is None else _Pairs(target, wire)
    if _takes_strings(target) and resolution.plan(pa.string()) is not None:
        return _Strings(target)
    if leeway.booleans is not None and resolution.plan(pa.int64()) is not None:
        return _Words(target)
    if leeway.whole == "accept" and resolution.plan(pa.float64()) is not None:
        return _WholeReals(target)
    return None


def _pairs(key: pa.DataType, item: pa.DataType) -> pa.DataType:
    return pa.list_(pa.struct([("key", key), ("value", item)]))


def _takes_strings(target: OtherTarget) -> bool:
    leeway = target.leeway
    is_text_of_time = leeway.beyond != "refuse" and target.source.unit is None
    return (
        leeway.quoted == "accept"
        or leeway.booleans is not None
        or leeway.numbers is not None
        or is_text_of_time
        or has_declared_times(leeway)
    )
