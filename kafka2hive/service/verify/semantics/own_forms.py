"""What a column must hold that takes values by keys of its own: any JSON as text, numbers in quotes, words, times by patterns.

Values are read by Python's own parsers. They are more lenient than a decoder, which does not matter: only rows are judged,
whose values a decoder has accepted.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from kafka2hive.config.keys.columns import Column, RecordPart
from kafka2hive.config.keys.leeway import STRICT
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.service.verify.semantics.masks import is_judged, masked
from kafka2hive.service.verify.semantics.texts import TextTimes
from kafka2hive.service.verify.semantics.tokens import Numeral, Token, canonical

_NOT_FINITE = re.compile(r"nan|[+-]?inf(inity)?", re.IGNORECASE)
_INFINITY = re.compile(r"([+-]?)infinity", re.IGNORECASE)
_FAR_YEAR = re.compile(r"([+-]?)([0-9]{4,})-[0-9]{2}-[0-9]{2}.*?( BC)?", re.DOTALL)
_LAST_YEAR = 9999
_MOST_DIGITS = 400


@dataclass(frozen=True, slots=True)
class Exactly:
    """What the row must have, even if it is NULL."""

    value: Any

    def __eq__(self, found: object) -> bool:
        are_nan = isinstance(found, float) and isinstance(self.value, float) and found != found
        return math.isnan(self.value) if are_nan else found == self.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __str__(self) -> str:
        return "NULL" if self.value is None else str(self.value)


class NotJudged(ValueError):
    """It is not known what the row must have."""


class OwnForms:
    """The values of one column. `mask_keys` are the map's keys; `nulls` the texts of NULL in CSV."""

    def __init__(
        self, column: Column, zone: ZoneInfo, mask_keys: Sequence[bytes] = (), nulls: Sequence[str] = ()
    ) -> None:
        self.column = column
        self.type = parse_hive_type(column.type)
        self._mask_keys = mask_keys
        self._nulls = nulls
        self._times: TextTimes | None = None
        if pa.types.is_timestamp(self.type) or pa.types.is_date(self.type):
            self._times = TextTimes(column, zone, pa.types.is_date(self.type))

    def of_message(self, message: Token) -> Exactly:
        """Return what the row of a message in JSON must have. Raises NotJudged."""
        if self.column.is_whole:
            return self._exactly(self._read(message))
        for path in (self.column.keys, *self.column.leeway.others):
            if (value := self._read(message.at(path))) is not None:
                return self._exactly(value)
        return self._exactly(None)

    def of_text(self, text: str | None) -> Exactly:
        """Return what the row must have for a field of CSV, a header or a key. Raises NotJudged."""
        if text is None:
            return self._exactly(None)
        if text in self._nulls:
            raise NotJudged("a field in quotes is never NULL")
        return self._exactly(self._read_text(text))

    def _exactly(self, value: Any) -> Exactly:
        if value is None and self.column.leeway.default is not None:
            raise NotJudged("the default")
        if value is None or self.column.mask is None:
            return Exactly(value)
        return Exactly(masked(str(value), self.column.mask, self._mask_keys))

    def _read(self, token: Token) -> Any:
        """Return the value that a column has of a value in JSON, None for NULL."""
        value, leeway = token.value, self.column.leeway
        if pa.types.is_string(self.type):
            if value is None or (isinstance(value, str) and not isinstance(value, Numeral)):
                return value
            if leeway.json == "refuse":
                raise NotJudged("a decoder refuses it")
            return token.text if leeway.json == "text" else canonical(value)
        if value is None or (value == "" and leeway.empty == "null"):
            return None
        if isinstance(value, bool):
            return self._boolean("true" if value else "false", is_plain=True)
        if isinstance(value, str):
            return self._read_scalar(value, is_number=isinstance(value, Numeral))
        if isinstance(value, list) and self._times is not None:
            return self._moment([self._whole(one) for one in value])
        raise NotJudged("a decoder refuses it")

    def _read_text(self, text: str) -> Any:
        """Return the value of a text that stands for itself: of a field, a header, or a key."""
        if pa.types.is_string(self.type):
            return text
        is_number = (
            self._times is None and not pa.types.is_boolean(self.type) and not self.column.leeway.numbers
        )
        return self._read_scalar(text, is_number=is_number or self.column.unit is not None)

    def _read_scalar(self, text: str, is_number: bool) -> Any:
        if pa.types.is_boolean(self.type):
            return self._boolean(text, is_plain=self.column.leeway.quoted == "accept" and not is_number)
        if self._times is not None:
            return self._time(text, is_number)
        if _NOT_FINITE.fullmatch(text):
            return self._not_finite(text)
        return self._number(text, is_number)

    def _boolean(self, text: str, is_plain: bool) -> bool:
        """Return the boolean; `is_plain`: `true` and `false` themselves are meant."""
        if not pa.types.is_boolean(self.type):
            raise NotJudged("a decoder refuses it")
        words = self.column.leeway.booleans
        if (text == "true" and (is_plain or words is None)) or (words is not None and text in words.true):
            return True
        if (text == "false" and (is_plain or words is None)) or (words is not None and text in words.false):
            return False
        raise NotJudged("no word")

    def _not_finite(self, text: str) -> float | None:
        if not pa.types.is_floating(self.type) or self.column.leeway.non_finite == "refuse":
            raise NotJudged("a decoder refuses it")
        return None if self.column.leeway.non_finite == "null" else float(text)

    def _number(self, text: str, is_number: bool) -> int | float | Decimal:
        marks, is_decimal = self.column.leeway.numbers, pa.types.is_decimal(self.type)
        if not is_number and marks is not None:
            text = (text.replace(marks.thousands, "") if marks.thousands else text).replace(
                marks.decimal, "."
            )
        elif not is_number and self.column.leeway.quoted == "refuse" and not is_decimal:
            raise NotJudged("a decoder refuses it")
        try:
            number = Decimal(text)
        except ArithmeticError as error:
            raise NotJudged("no number") from error
        if not number.is_finite() or abs(number.adjusted()) > _MOST_DIGITS:
            raise NotJudged("no number of a column")
        if is_decimal:
            return number
        if pa.types.is_integer(self.type) and number == number.to_integral_value():
            return int(number)
        if self.type == pa.float64():
            return float(text)
        raise NotJudged("a type that is not judged")

    def _time(self, text: str, is_number: bool) -> datetime | date | None:
        if self.column.unit is None and self.column.leeway.beyond != "refuse" and (far := _far(text)):
            return self._clamped(far > 0)
        if self.column.unit is not None:
            return self._moment(self._whole(text))
        return self._moment(int(text) if is_number and text.lstrip("-").isdecimal() else text)

    def _moment(self, value: Any) -> datetime | date | None:
        assert self._times is not None, "it is a column of times"
        try:
            moment = self._times.reading(value)
        except OverflowError:
            return self._clamped(value > 0)
        near = None if moment is None else moment.year
        if near is None or near in (1, _LAST_YEAR):
            raise NotJudged("several readings, none, or one that zones move beyond the years")
        return moment

    def _clamped(self, is_late: bool) -> datetime | date | None:
        match self.column.leeway.beyond:
            case "null":
                return None
            case "clamp":
                moment = datetime.max if is_late else datetime.min
                return moment.date() if pa.types.is_date(self.type) else moment
            case _:
                raise NotJudged("a decoder refuses it")

    def _whole(self, text: str) -> int | Decimal:
        try:
            number = Decimal(text)
        except (ArithmeticError, TypeError) as error:
            raise NotJudged("no number") from error
        if not number.is_finite() or abs(number.adjusted()) > _MOST_DIGITS:
            raise NotJudged("no number of a column")
        return int(number) if number == number.to_integral_value() else number


def _far(text: str) -> int:
    """Return 1 for a text of a time after all years, -1 for one before them, 0 for another. Raises NotJudged."""
    if infinity := _INFINITY.fullmatch(text):
        return -1 if infinity[1] == "-" else 1
    if year := _FAR_YEAR.fullmatch(text):
        number = int(year[2][:_MOST_DIGITS])
        if number in (0, _LAST_YEAR + 1):
            raise NotJudged("a year that an offset moves within the years")
        if year[1] == "-" or year[3]:
            return -1
        return 1 if number > _LAST_YEAR else 0
    return 0


def has_own_forms(column: Column, mask_keys: Sequence[bytes]) -> bool:
    """Return whether the column takes values by keys of its own, and may be judged."""
    leeway = column.leeway
    if column.mask is not None and not is_judged(column.mask, mask_keys):
        return False
    if column.part is RecordPart.MESSAGE or leeway.decimals != "text" or leeway.unknown_enum != "refuse":
        return False
    if column.part is not RecordPart.VALUE:
        return True
    keys = (
        "json",
        "quoted",
        "empty",
        "whole",
        "non_finite",
        "beyond",
        "time_pattern",
        "time_of_day",
        "epoch",
    )
    return (
        any(getattr(leeway, key) != getattr(STRICT, key) for key in keys)
        or leeway.booleans is not None
        or leeway.numbers is not None
    )
