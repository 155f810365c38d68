"""JSON values in other forms than their column's type, which the column's keys in the map allow."""

import re
from typing import Any

import pyarrow as pa

from kafka2hive.config.keys.leeway import BooleanWords, Leeway, NonFinite, NumberMarks
from kafka2hive.decode.contract.forms import Form, Mismatch, Unscaled
from kafka2hive.decode.contract.spec import BOOLEANS, EMPTY, NON_FINITE, NUMBERS, QUOTED, WHOLE, Changes
from kafka2hive.decode.values.far_times import INFINITY, far_times
from kafka2hive.decode.values.json_values import (
    LONGEST_BIGINT,
    Fraction,
    NonNumber,
    Take,
    ValueRefusal,
    WholeNumber,
    out_of_range,
    wrong_kind,
)
from kafka2hive.model.wall_clock import NAIVE

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_PARTS = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?")
_WORDS = {"true": True, "false": False}
_OF_FORMS = ("json.type", "json.date", "json.timestamp")
_NON_FINITE = re.compile(r"nan|([+-]?)inf(?:inity)?", re.IGNORECASE)


def loose_forms(dtype: pa.DataType, leeway: Leeway, form: Form | None) -> Leeway:
    """Return the leeway for values that the decoder reads as `dtype`, by the form that the record's schema says."""
    is_number = pa.types.is_integer(dtype) or pa.types.is_floating(dtype) or pa.types.is_decimal(dtype)
    other = isinstance(form, Mismatch)
    return Leeway(
        quoted=leeway.quoted,
        empty=leeway.empty,
        whole=leeway.whole,
        booleans=leeway.booleans if pa.types.is_boolean(dtype) and not other else None,
        numbers=leeway.numbers if is_number and not isinstance(form, Mismatch | Unscaled) else None,
        non_finite=leeway.non_finite if pa.types.is_floating(dtype) and not other else "refuse",
        beyond=leeway.beyond if (dtype == NAIVE or pa.types.is_date32(dtype)) and not other else "refuse",
    )


def loose(
    take: Take, dtype: pa.DataType, zone: str, unit: str | None, leeway: Leeway, changes: Changes
) -> Take:
    """Return the function that takes values in the forms of `leeway`, which `loose_forms` returned, and counts them.

    `unit`: the unit of numbers of time; None: the column's type decides.
    """
    if leeway.beyond != "refuse":
        take = far_times(take, dtype, zone=zone, unit=unit, beyond=leeway.beyond, changes=changes)
    if leeway.whole == "accept" and (unit is not None or pa.types.is_integer(dtype)):
        take = _whole(take, pa.int64() if unit is not None else dtype, changes)
    if leeway.quoted == "accept":
        take = _quoted(take, changes)
    if leeway.numbers is not None:
        take = _marked(take, dtype, leeway.numbers, changes)
    if leeway.booleans is not None:
        take = _words(take, leeway.booleans, changes)
    if leeway.non_finite != "refuse":
        take = _non_finite(take, leeway.non_finite, changes)
    return _empty(take, changes) if leeway.empty == "null" else take


def with_hints(take: Take, dtype: pa.DataType, unit: str | None) -> Take:
    """Return the function, with the key that would take a value named in the text of its refusal."""

    def hinted(value: Any, path: str) -> Any:
        try:
            return take(value, path)
        except ValueRefusal as refusal:
            hint = _hint(value, dtype, unit)
            if not hint or refusal.code not in _OF_FORMS:
                raise
            raise ValueRefusal(refusal.code, refusal.text + hint, refusal.at, refusal.got) from None

    return hinted


def _hint(value: Any, dtype: pa.DataType, unit: str | None) -> str:
    is_time = dtype == NAIVE or pa.types.is_date32(dtype)
    if type(value) is Fraction and (unit is not None or pa.types.is_integer(dtype)):
        return "; the column's whole: accept takes numbers such as 1.0 and 1e3"
    if pa.types.is_boolean(dtype) and isinstance(value, str):
        return "; the column's booleans takes words such as yes and 1"
    if pa.types.is_floating(dtype) and type(value) is str and _NON_FINITE.fullmatch(value):
        return "; the column's non_finite takes NaN and infinities"
    if is_time and type(value) is str and INFINITY.fullmatch(value):
        return "; the column's beyond takes infinity and times outside the years 1 to 9999"
    return ""


def _empty(take: Take, changes: Changes) -> Take:
    def taken(value: Any, path: str) -> Any:
        if type(value) is not str or value:
            return take(value, path)
        changes.add(EMPTY, 1)
        return None

    return taken


def _quoted(take: Take, changes: Changes) -> Take:
    def taken(value: Any, path: str) -> Any:
        if type(value) is not str or (bare := _bare(value)) is None:
            return take(value, path)
        result = take(bare, path)
        changes.add(QUOTED, 1)
        return result

    return taken


def _bare(text: str) -> Any:
    """Return the number or boolean that a text is in JSON; None for any other text."""
    if match := _NUMBER.fullmatch(text):
        return Fraction(text) if match[1] or match[2] else WholeNumber(text)
    return _WORDS.get(text)


def _marked(take: Take, dtype: pa.DataType, marks: NumberMarks, changes: Changes) -> Take:
    """Take numbers in strings only with these marks."""
    form, thousands = marked_number(marks), marks.thousands

    def taken(value: Any, path: str) -> Any:
        if type(value) is not str:
            return take(value, path)
        if form.fullmatch(value) is None:
            why = wrong_kind(dtype, value, path)
            what = " that is not a number with the marks of the column's numbers"
            raise ValueRefusal(why.code, why.text + what, why.at, why.got + what)
        plain = (value.replace(thousands, "") if thousands else value).replace(marks.decimal, ".")
        result = take(_bare(plain), path)
        changes.add(NUMBERS, 1)
        return result

    return taken


def marked_number(marks: NumberMarks) -> re.Pattern[str]:
    """Return the pattern of numbers with these marks: JSON's numbers, all digits before the fraction in groups, or none."""
    group = f"|[1-9][0-9]{{0,2}}(?:{re.escape(marks.thousands)}[0-9]{{3}})+" if marks.thousands else ""
    fraction = f"(?:{re.escape(marks.decimal)}[0-9]+)?"
    return re.compile(rf"-?(?:0|[1-9][0-9]*{group}){fraction}(?:[eE][+-]?[0-9]+)?")


def _words(take: Take, words: BooleanWords, changes: Changes) -> Take:
    values = dict.fromkeys(words.true, True) | dict.fromkeys(words.false, False)

    def taken(value: Any, path: str) -> Any:
        if not isinstance(value, str) or (result := values.get(str(value))) is None:
            return take(value, path)
        changes.add(BOOLEANS, 1)
        return result

    return taken


def _non_finite(take: Take, kept: NonFinite, changes: Changes) -> Take:
    def taken(value: Any, path: str) -> Any:
        if type(value) not in (str, NonNumber) or (match := _NON_FINITE.fullmatch(value)) is None:
            return take(value, path)
        changes.add(NON_FINITE, 1)
        if kept == "null":
            return None
        if match[1] is None:
            return float("nan")
        return float("-inf") if match[1] == "-" else float("inf")

    return taken


def _whole(take: Take, dtype: pa.DataType, changes: Changes) -> Take:
    def taken(value: Any, path: str) -> Any:
        if type(value) is not Fraction or (whole := _digits(value, dtype, path)) is None:
            return take(value, path)
        result = take(WholeNumber(whole), path)
        changes.add(WHOLE, 1)
        return result

    return taken


def _digits(text: str, dtype: pa.DataType, path: str) -> str | None:
    """Return the digits of a number with a fraction or an exponent, None if it is not whole. Raises ValueRefusal."""
    match = _PARTS.fullmatch(text)
    assert match is not None
    fraction = match[3] or ""
    significant = (match[2] + fraction).lstrip("0")
    digits = significant.rstrip("0")
    if not digits:
        return "0"
    exponent_text = match[4] or "0"
    if len(exponent_text.lstrip("+-0")) > 9:
        exponent = -1 if exponent_text.startswith("-") else LONGEST_BIGINT
    else:
        exponent = int(exponent_text) - len(fraction) + len(significant) - len(digits)
    if exponent < 0:
        return None
    if len(digits) + exponent > LONGEST_BIGINT:
        raise out_of_range(dtype, text, path)
    return match[1] + digits + "0" * exponent
