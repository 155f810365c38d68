"""Columns of times whose texts have declared forms (`time_pattern`, `time_of_day`, `epoch: decimal`), and what these keys change.

The compiled library reads whole columns; texts of which it is not certain, or all texts without it, are read one by one.
"""

import logging
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.config.keys.leeway import STRICT, Leeway
from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode.contract.spec import FRACTION, TIME_OF_DAY, Changes
from kafka2hive.decode.values.batch import CArray, Mask, Places, mask_of
from kafka2hive.decode.values.json_values import SHOWN, ValueRefusal, not_exact, out_of_range
from kafka2hive.decode.values.time_forms import (
    DAY_ONLY,
    INSTANT,
    DecimalEpoch,
    NoSuchTime,
    TextForm,
    WrittenTime,
    time_forms,
)
from kafka2hive.model.time_patterns import ISO
from kafka2hive.model.wall_clock import (
    DAY,
    EARLIEST,
    LATEST,
    NAIVE,
    check_zone,
    has_wall_clock,
    wall_clock,
    wall_clock_of,
    zone_instants,
)

FRACTION_HINT = "; the column's fraction: truncate cuts off what is finer than a microsecond"
"""The end of the reason against a time that is finer than its column."""
_DROP_HINT = "; the column's time_of_day: drop takes the day"
_MIDNIGHT_HINT = "; the column's time_of_day: midnight takes a day"
_KIND, _FINER = 3, 4
"""Bits of the library's marks: what a text says (0: in doubt), and whether it is finer than a microsecond."""


def has_declared_times(leeway: Leeway) -> bool:
    """Return whether a column of times has its own forms."""
    return (leeway.time_pattern, leeway.time_of_day, leeway.epoch) != (
        STRICT.time_pattern,
        STRICT.time_of_day,
        STRICT.epoch,
    )


Numbers = npt.NDArray[Any]
_log = logging.getLogger(__name__)


class DeclaredTimes:
    """Reads the texts of one column of timestamps or dates. Counts what it changes in `changes`."""

    def __init__(
        self,
        dtype: pa.DataType,
        zone: str,
        unit: str | None,
        leeway: Leeway,
        changes: Changes,
        library: Any = LIBRARY,
    ) -> None:
        """`library`: the compiled library; None: every text is read exactly. Raises PatternError."""
        self._dtype = dtype
        self._is_day = dtype != NAIVE
        self._zone = zone
        self._forms: Sequence[TextForm] = (
            time_forms(leeway.time_pattern or (ISO,), leeway.pivot, zone)
            if unit is None
            else (DecimalEpoch(unit),)
        )
        self._of_unit = unit is not None
        self._truncates = leeway.fraction == "truncate" or self._is_day
        self._time_of_day = leeway.time_of_day
        self._changes = changes
        self._compiled = None if library is None else library.Times([form.words() for form in self._forms])

    def take(self, text: str, path: str) -> Any:
        """Return the value of one text; see Take."""
        try:
            written = self._time_of(text, path)
        except OverflowError:
            raise out_of_range(self._dtype, text, path) from None
        changes_day = written.kind == DAY_ONLY and not self._is_day
        changes_time = written.kind != DAY_ONLY and self._is_day and not self._of_unit
        if changes_day and self._time_of_day != "midnight":
            raise self._no_time(f"{text[:SHOWN]} has no time of day{_MIDNIGHT_HINT}", path)
        if changes_time and self._time_of_day != "drop":
            raise self._no_time(f"{text[:SHOWN]} has a time of day{_DROP_HINT}", path)
        if written.finer and not self._truncates:
            raise not_exact(self._dtype, text, path, FRACTION_HINT)
        micros = written.micros
        if written.kind == INSTANT:
            if not EARLIEST - DAY <= micros <= LATEST + DAY:
                raise out_of_range(self._dtype, text, path)
            micros = wall_clock_of(micros, self._zone)
        if not EARLIEST <= micros <= LATEST:
            raise out_of_range(self._dtype, text, path)
        self._changes.add(TIME_OF_DAY, changes_day or changes_time)
        if self._is_day:
            return date(1970, 1, 1) + timedelta(days=micros // DAY)
        self._changes.add(FRACTION, written.finer)
        return micros

    def _time_of(self, text: str, path: str) -> WrittenTime:
        fault = ""
        for form in self._forms:
            try:
                if (written := form.read(text)) is not None:
                    return written
            except NoSuchTime as error:
                fault = fault or str(error)
        if fault:
            raise self._no_time(f"{fault}: {text[:SHOWN]}", path)
        names = " or ".join(dict.fromkeys(form.name for form in self._forms))
        raise self._no_time(f"the text does not match {names}", path)

    def _no_time(self, what: str, path: str) -> ValueRefusal:
        code = "json.type" if self._of_unit else "json.date" if self._is_day else "json.timestamp"
        return ValueRefusal(code, f"column {path}: {what}", path)

    def read(self, texts: pa.StringArray) -> tuple[pa.Array, Mask]:
        """Return the column, and the mask of texts that only `take` can decide; changes of the other texts are counted."""
        valid = mask_of(texts.is_valid())
        micros, marks = self._marked(texts, valid)
        kinds, finer = marks & _KIND, (marks & _FINER) != 0
        bad = (kinds == 0) | (finer & (not self._truncates))
        of_day = kinds == DAY_ONLY
        changed = ~of_day if self._is_day else of_day
        if self._of_unit:
            changed = np.zeros(len(texts), np.bool_)
        elif self._time_of_day != ("drop" if self._is_day else "midnight"):
            bad |= changed
        instants = (kinds == INSTANT) & ~bad & (micros >= EARLIEST - DAY) & (micros <= LATEST + DAY)
        walls = micros
        if instants.any():
            walls = micros.copy()
            moved = wall_clock(pa.array(micros[instants]).cast(NAIVE), self._zone)
            walls[instants] = moved.cast(pa.int64()).to_numpy()
        bad |= (walls < EARLIEST) | (walls > LATEST)
        good = valid & ~bad
        self._changes.add(TIME_OF_DAY, int((changed & good).sum()))
        if not self._is_day:
            self._changes.add(FRACTION, int((finer & good).sum()))
            return pa.array(walls, pa.int64(), mask=_nulls(good)).cast(NAIVE), ~good
        days = (walls // DAY).astype(np.int32)
        return pa.array(days, pa.int32(), mask=_nulls(good)).cast(pa.date32()), ~good

    def _marked(self, texts: pa.StringArray, valid: Mask) -> tuple[Numbers, Numbers]:
        """Return for each text its microseconds since 1970, and the library's mark."""
        micros, marks = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.uint8)
        if self._compiled is None:
            return micros, marks
        try:
            filled = texts.drop_null() if texts.null_count else texts
            arrays, names = self._compiled.read(filled.cast(pa.binary()))
        except RuntimeError as error:
            _log.error("%s; texts of times are read on, but slowly; please report this", error)
            self._compiled = None
            return micros, marks
        numbers, kinds, zones, offsets = (
            pa.array(CArray(dtype, array)).to_numpy()
            for dtype, array in zip((pa.int64(), pa.uint8(), pa.int32(), pa.int32()), arrays, strict=True)
        )
        if names:
            numbers, kinds = numbers.copy(), kinds.copy()
        for number, name in enumerate(names):
            self._resolve(
                np.flatnonzero(zones == number), name, offsets=offsets, numbers=numbers, kinds=kinds
            )
        if not texts.null_count:
            return numbers, kinds
        micros[valid], marks[valid] = numbers, kinds
        return micros, marks

    def _resolve(self, places: Places, zone: str, offsets: Numbers, numbers: Numbers, kinds: Numbers) -> None:
        """Replace the wall clocks at these places, which are in this zone, by instants; mark those without certain ones."""
        walls = numbers[places]
        has_offset = kinds[places] & _KIND == INSTANT
        if zone == self._zone:
            places, walls, has_offset = places[has_offset], walls[has_offset], has_offset[has_offset]
        try:
            check_zone(zone)
        except ValueError:
            kinds[places] = 0
            return
        instants, certain = zone_instants(walls, zone)
        declared = walls - offsets[places].astype(np.int64) * 1_000_000
        exists = has_offset & has_wall_clock(declared, walls, zone)
        numbers[places] = np.where(has_offset, declared, instants)
        kinds[places] = np.where(np.where(has_offset, exists, certain), kinds[places] & _FINER | INSTANT, 0)


def _nulls(good: Mask) -> Mask | None:
    return None if good.all() else ~good
