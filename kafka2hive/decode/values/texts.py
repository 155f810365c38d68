"""Convert a column of strings to a column of the table.

Arrow's kernels convert strings that they certainly read correctly; the exact path converts the rest.

The kernels accept more than the acceptance table does (docs/decoding.md, "What the libraries get wrong"), but they do not
round. Every row that they may have accepted wrongly is marked, and the exact path reads it again.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys.leeway import STRICT, Leeway
from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode.contract.spec import FRACTION, Changes
from kafka2hive.decode.values.batch import Mask, Places, cast_or_null, mask_of
from kafka2hive.decode.values.declared_times import DeclaredTimes, has_declared_times
from kafka2hive.decode.values.epochs import UNIT_HINT, finer_than_micros, of_epoch_numbers
from kafka2hive.decode.values.json_values import Fraction, ValueRefusal, WholeNumber
from kafka2hive.decode.values.scalars import epoch_number, standard_base64, taker
from kafka2hive.model.hive_types import hive_type_of
from kafka2hive.model.wall_clock import EARLIEST, LATEST, NAIVE, wall_clock
from kafka2hive.plugins import Reason

TakeText = Callable[[str, str], Any]
"""Converts a string to a value that pyarrow.array accepts; the second argument is the column's label. Raises ValueRefusal."""
ReadTexts = Callable[[pa.StringArray], tuple[pa.Array, dict[int, Reason]]]
NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_NUMBER = re.compile(NUMBER)
_BOOLEANS = {"true": True, "false": False}
_FINER = (
    r"^([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6})[0-9]*[1-9][0-9]*(Z|[+-][0-9:]+)?$"
)
_SHORTEST = len("2013-01-01T05:00:00.1234567")
_WHOLE_LIMIT = {pa.float64(): 2.0**53, pa.float32(): 2.0**24}
"""From this number on a float type does not hold every integer."""
_FIRST_DATE, _LAST_DATE = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31, days since 1970-01-01


@dataclass(frozen=True, slots=True)
class KernelColumn:
    """A column, and the mask of rows that the exact path must read."""

    column: pa.Array
    doubtful: Mask


class TextColumn:
    """Converts strings to a column of `dtype`. Raises ValueError for an array, a map or a struct.

    `label`: the column's name in the text of reasons; None: its own name. `family`: the first part of reasons' codes, as `csv`
    in `csv.range`.
    """

    def __init__(  # noqa: PLR0913  what a column is read by, by keyword
        self,
        column: str,
        dtype: pa.DataType,
        zone: str,
        unit: str | None = None,
        family: str = "text",
        leeway: Leeway = STRICT,
        changes: Changes | None = None,
        label: str | None = None,
        library: Any = LIBRARY,
    ) -> None:
        """`library`: the compiled library, which reads times in declared forms; None: they are read in Python."""
        if pa.types.is_nested(dtype):
            raise ValueError(f"column {label or column}: a text fills no {dtype}")
        self.dtype = dtype
        self._column = column
        self.label = label or column
        self._zone = zone
        self._unit = unit
        self._family = family
        self._truncates = leeway.fraction == "truncate" and dtype == NAIVE
        self._take = text_taker(dtype, zone, unit, self._truncates)
        self._changes = changes or Changes()
        self._has_forms = has_declared_times(leeway)
        self._times: DeclaredTimes | None = None
        if self._has_forms or (self._truncates and unit is None and library is not None):
            self._times = DeclaredTimes(
                dtype=dtype, zone=zone, unit=unit, leeway=leeway, changes=self._changes, library=library
            )
            self._take = self._times.take if self._has_forms else self._take

    def read(self, texts: pa.StringArray) -> tuple[pa.Array, dict[int, Reason]]:
        """Return the column, with null where a string is null or refused, and by position the reasons against refused strings."""
        if self.dtype == pa.string():
            return texts, {}
        if self._times is None:
            return self._read_cut(texts) if self._truncates else self._read(texts, self._fast(texts))
        fast = KernelColumn(*self._times.read(texts))
        if self._has_forms:
            return self._read(texts, fast)
        # ISO times: what the library is not certain of is read as without it
        column, places = fast.column, _doubtful(texts, fast)
        if not len(places):
            return column, {}
        rest, refusals = self._read_cut(texts.take(pa.array(places)))
        return _with_values(column, places, rest), {int(places[at]): why for at, why in refusals.items()}

    def _read_cut(self, texts: pa.StringArray) -> tuple[pa.Array, dict[int, Reason]]:
        """Return as `read` the column of times that are cut to microseconds."""
        if self._unit is None:
            texts, finer = cut_to_micros(texts)
        else:
            finer = finer_numbers(texts, self._unit)
        column, refusals = self._read(texts, self._fast(texts))
        self._changes.add(FRACTION, int(finer.sum()) - sum(bool(finer[place]) for place in refusals))
        return column, refusals

    def _read(self, texts: pa.StringArray, fast: KernelColumn) -> tuple[pa.Array, dict[int, Reason]]:
        places = _doubtful(texts, fast)
        return self._exactly(texts, fast.column, places) if len(places) else (fast.column, {})

    def read_bytes(
        self, values: pa.BinaryArray, read: ReadTexts | None = None
    ) -> tuple[pa.Array, dict[int, Reason]]:
        """Return as `read` the column made of bytes: a binary column takes them unchanged, any other as UTF-8.

        `read`: reads the strings instead of this column's own `read`.
        """
        if self.dtype == pa.binary():
            return values, {}
        texts, bad = cast_or_null(values, pa.string())
        column, refusals = (read or self.read)(texts)
        for place in np.flatnonzero(bad).tolist():
            refusals[place] = Reason(
                f"{self._family}.utf8", f"column {self.label}: not valid UTF-8", self._column
            )
        return column, refusals

    def _fast(self, texts: pa.StringArray) -> KernelColumn:
        """Convert with Arrow's kernels; rows that are not marked as doubtful are right."""
        dtype = self.dtype
        if pa.types.is_boolean(dtype):
            column = pc.equal(texts, "true")
            return KernelColumn(column, mask_of(pc.invert(pc.or_(column, pc.equal(texts, "false")))))
        if self._unit is not None or pa.types.is_integer(dtype):
            return self._whole_numbers(texts)
        if not (pa.types.is_floating(dtype) or pa.types.is_decimal(dtype)):
            return of_texts(texts, dtype, self._zone)
        pattern = _plain_decimal(dtype) if pa.types.is_decimal(dtype) else f"^{NUMBER}$"
        doubtful = mask_of(pc.invert(pc.match_substring_regex(texts, pattern)))
        plain = pc.if_else(pa.array(doubtful), None, texts) if doubtful.any() else texts
        numbers, bad = cast_or_null(plain, dtype)
        if pa.types.is_floating(dtype):
            bad = bad | beyond_exactness(numbers)
        return KernelColumn(numbers, doubtful | bad)

    def _whole_numbers(self, texts: pa.StringArray) -> KernelColumn:
        numbers, doubtful = cast_or_null(texts, self.dtype if self._unit is None else pa.int64())
        # a string that is not the number's own has an extra sign, zero or blank, or a form that only Arrow accepts
        doubtful = doubtful | mask_of(pc.not_equal(numbers.cast(pa.string()), texts))
        if self._unit is None:
            return KernelColumn(numbers, doubtful)
        column, bad = of_epoch_numbers(
            numbers=numbers, dtype=self.dtype, unit=self._unit, zone=self._zone, truncate=self._truncates
        )
        return KernelColumn(column, doubtful | bad)

    def _exactly(
        self, texts: pa.StringArray, column: pa.Array, places: Places
    ) -> tuple[pa.Array, dict[int, Reason]]:
        """Return the column with the strings at `places` converted exactly, and the reasons against some of them."""
        refusals: dict[int, Reason] = {}
        values: list[Any] = []
        for place, text in zip(places.tolist(), texts.take(pa.array(places)).to_pylist(), strict=True):
            try:
                values.append(self._take(text, self.label))
            except ValueRefusal as refusal:
                values.append(None)
                refusals[place] = self.reason(refusal, text)
        return _with_values(column, places, pa.array(values, self.dtype)), refusals

    def reason(self, refusal: ValueRefusal, text: str) -> Reason:
        """Return the reason against a text; the refusal names the column by its label."""
        reason = refusal.reason(self._column, self.label)
        code = reason.code.removeprefix("json.")
        is_bare = not self._has_forms and code in ("date", "timestamp") and text.isdecimal()
        hint = UNIT_HINT if is_bare else ""
        return replace(reason, code=f"{self._family}.{code}", text=reason.text + hint)


def _doubtful(texts: pa.StringArray, fast: KernelColumn) -> Places:
    """Return the places of the strings that the exact path must read."""
    doubtful = fast.doubtful
    return np.flatnonzero(doubtful & mask_of(texts.is_valid()) if texts.null_count else doubtful)


def _with_values(column: pa.Array, places: Places, values: pa.Array) -> pa.Array:
    """Return the column with these values at these places."""
    where = np.arange(len(column))
    where[places] = len(column) + np.arange(len(places))
    return pa.concat_arrays([column, values]).take(pa.array(where))


def _plain_decimal(dtype: pa.Decimal128Type) -> str:
    """Return the pattern of decimals whose digits fit before and after the point; beyond 38 digits Arrow is silently wrong."""
    before, after = dtype.precision - dtype.scale, dtype.scale
    return f"^-?{f'[0-9]{{1,{before}}}' if before else '0'}{f'([.][0-9]{{1,{after}}})?' if after else ''}$"


def text_taker(dtype: pa.DataType, zone: str, unit: str | None = None, truncate: bool = False) -> TakeText:
    """Return the function that converts a string to a value of a type that is not nested.

    `unit`: the unit of epoch numbers, None for other values; `truncate`: cut fractions of a microsecond.
    """
    take = taker(dtype, zone, unit=unit) if unit is None else epoch_number(dtype, zone, unit, truncate)
    if unit is not None or pa.types.is_integer(dtype) or pa.types.is_floating(dtype):
        return lambda text, column: take(_number(text, dtype, column), column)
    if pa.types.is_boolean(dtype):
        return lambda text, column: take(_boolean(text, column), column)
    return take


def _number(text: str, dtype: pa.DataType, column: str) -> str:
    if _NUMBER.fullmatch(text) is None:
        raise ValueRefusal(
            "json.type",
            f"column {column} expects {hive_type_of(dtype)}, got text that is not a number",
            column,
        )
    return Fraction(text) if any(mark in text for mark in ".eE") else WholeNumber(text)


def _boolean(text: str, column: str) -> bool:
    if text not in _BOOLEANS:
        raise ValueRefusal(
            "json.type", f"column {column} expects boolean, got text other than true and false", column
        )
    return _BOOLEANS[text]


def cut_to_micros(texts: pa.StringArray) -> tuple[pa.StringArray, Mask]:
    """Cut ISO times to microseconds. Return the strings, and the mask of those that lost digits other than 0."""
    if (pc.max(pc.binary_length(texts)).as_py() or 0) < _SHORTEST:
        return texts, np.zeros(len(texts), np.bool_)
    finer = mask_of(pc.match_substring_regex(texts, _FINER))
    shorter = pc.replace_substring_regex(texts, _FINER, r"\1\2")
    return shorter, finer


def finer_numbers(texts: pa.StringArray, unit: str) -> Mask:
    """Return the mask of epoch numbers, written as in JSON, that are not whole microseconds."""
    numbers, _ = cast_or_null(texts, pa.int64())
    is_plain = mask_of(pc.equal(numbers.cast(pa.string()), texts))
    finer: Mask = finer_than_micros(numbers, unit) & is_plain
    return finer


def of_texts(texts: pa.StringArray, dtype: pa.DataType, zone: str) -> KernelColumn:
    """Convert strings to timestamps, dates or binary."""
    if dtype == NAIVE:
        return KernelColumn(*parse_timestamps(texts, zone))
    return _dates(texts) if dtype == pa.date32() else _binary(texts)


def parse_timestamps(texts: pa.StringArray, zone: str) -> tuple[pa.Array, Mask]:
    """Return naive timestamps, and the mask of rows that only the exact path can decide."""
    zoned = _has_offset(texts)
    if not zoned.any():
        parsed, bad = cast_or_null(_without_trailing_zeros(texts), NAIVE)
    elif zoned.all():
        parsed, bad = _parse_zoned(texts, zone)
    else:
        bad = np.zeros(len(texts), dtype=np.bool_)
        naive, bad[~zoned] = cast_or_null(_without_trailing_zeros(texts.filter(pa.array(~zoned))), NAIVE)
        moved, bad[zoned] = _parse_zoned(texts.filter(pa.array(zoned)), zone)
        order = np.empty(len(texts), dtype=np.int64)
        order[np.concatenate([np.flatnonzero(~zoned), np.flatnonzero(zoned)])] = np.arange(len(texts))
        parsed = pa.concat_arrays([naive, moved]).take(pa.array(order))
    return parsed, bad | _has_no_minutes(texts) | _beyond(parsed)


def _parse_zoned(texts: pa.StringArray, zone: str) -> tuple[pa.Array, Mask]:
    instants, bad = cast_or_null(_without_trailing_zeros(texts), pa.timestamp("us", tz="UTC"))
    return wall_clock(instants, zone), bad


def _without_trailing_zeros(texts: pa.StringArray) -> pa.StringArray:
    """Shorten fractions such as `.123456000` to `.123456`, which is the same time."""
    longest = pc.max(pc.binary_length(texts)).as_py() or 0
    if longest <= len("2013-01-01T05:00:00.123456"):
        return texts
    return pc.replace_substring_regex(texts, pattern=r"(\.[0-9]{6})0+(Z|[+-][0-9:]+)?$", replacement=r"\1\2")


def _has_offset(texts: pa.StringArray) -> Mask:
    """Return the mask of strings with an offset. Nulls count as strings with one if any string has one, to save a second cast."""
    utc = pc.ends_with(texts, "Z")
    if pc.all(utc, min_count=0).as_py():
        return np.ones(len(texts), dtype=np.bool_)
    if (pc.max(pc.binary_length(texts)).as_py() or 0) <= len("2013-01-01T05:00"):
        return np.zeros(len(texts), dtype=np.bool_)
    zoned = pc.match_substring_regex(texts, r"(Z|:[0-9.]+[+-][0-9:]+)$")
    mask: Mask = pc.fill_null(zoned, bool(pc.any(zoned).as_py())).to_numpy(zero_copy_only=False)
    return mask


def _has_no_minutes(texts: pa.StringArray) -> Mask:
    colon = pc.equal(pc.utf8_slice_codeunits(texts, 13, 14), ":")
    return mask_of(pc.invert(colon))


def _beyond(parsed: pa.Array) -> Mask:
    micros = pc.fill_null(parsed.cast(pa.int64()), 0).to_numpy()
    mask: Mask = (micros < EARLIEST) | (micros > LATEST)
    return mask


def beyond_exactness(numbers: pa.Array) -> Mask:
    """Return the mask of floats that are infinite, NaN, or so large that an integer may have been rounded to them."""
    values = pc.fill_null(numbers, 0.0).to_numpy(zero_copy_only=False)
    mask: Mask = ~(np.abs(values) < _WHOLE_LIMIT[numbers.type])
    return mask


def _dates(texts: pa.StringArray) -> KernelColumn:
    dates, bad = cast_or_null(texts, pa.date32())
    days = pc.fill_null(dates.cast(pa.int32()), 0).to_numpy()
    return KernelColumn(dates, bad | (days < _FIRST_DATE) | (days > _LAST_DATE))


def _binary(texts: pa.StringArray) -> KernelColumn:
    bad = np.zeros(len(texts), dtype=np.bool_)
    values: list[bytes | None] = []
    for row, text in enumerate(texts.to_pylist()):
        value = None if text is None else standard_base64(text)
        bad[row] = text is not None and value is None
        values.append(value)
    return KernelColumn(pa.array(values, pa.binary()), bad)
