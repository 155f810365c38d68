"""The JSON objects in sampled values, their shape, and why there are none.

A value is one object, or holds several as lines or as an array.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa

from kafka2hive.config.keys.leeway import PLAIN_WORDS
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.framing.foreign_forms import foreign_form
from kafka2hive.decode.rows.json import split_arrays, split_lines
from kafka2hive.decode.values.json_values import ValueRefusal
from kafka2hive.decode.values.scalars import taker
from kafka2hive.model.text import counted
from kafka2hive.model.wall_clock import NAIVE
from kafka2hive.plugins import Decoder
from kafka2hive.service.draft.times import Form, forms_of

_DAY, _TIME = taker(pa.date32(), "UTC"), taker(NAIVE, "UTC")
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_FORMS = {
    "empty": re.compile(""),
    "quoted": _WHOLE,
    "pointed": re.compile(r"-?(0|[1-9][0-9]{0,17})\.[0-9]{1,18}"),
    "nan": re.compile(r"NaN|[+-]?(Infinity|INF|Inf|inf)|nan"),
    "far": re.compile(r"[+-]?infinity"),
    "comma": re.compile(r"-?[1-9][0-9]{0,2}(\.[0-9]{3})+,[0-9]+|-?[0-9]+,[0-9]{1,2}"),
    "grouped": re.compile(r"-?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]+)?"),
    "word": re.compile("|".join(PLAIN_WORDS.true + PLAIN_WORDS.false)),
}
"""Strings that may stand for another value."""
_DAY_PREFIX = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

Documents = Sequence[dict[str, Any] | None]


def documents_of(values: Sequence[bytes]) -> Documents:
    """Return the object that each value is, or None if the JSON decoder rejects it."""
    decoder = _json_checker()
    documents: list[dict[str, Any] | None] = [None] * len(values)
    for place in decoder.decode(pa.array(values, pa.binary())).accepted.to_pylist():
        with suppress(ValueError):  # Python refuses numbers of thousands of digits
            documents[place] = json.loads(values[place])
    for place, value in enumerate(values):
        if documents[place] is None and (b"NaN" in value or b"Infinity" in value):
            documents[place] = _with_non_finite(value)
    return documents


def _with_non_finite(value: bytes) -> dict[str, Any] | None:
    """Return the object that Python's parser reads, which accepts NaN and infinities; None if it is no object."""
    try:
        document = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def several_per_value(values: Sequence[bytes], known: Documents) -> tuple[str, Documents] | None:
    """Return the map's `rows` (`lines` or `array`) and all objects, if most values hold several objects; otherwise None.

    `known` has the values read as one object each; if that fits at least as many values, the result is None, too.
    """
    singles = sum(document is not None for document in known)
    for rows, split in (("lines", split_lines), ("array", split_arrays)):
        elements = split(pa.array(values, pa.binary()))
        documents = documents_of(elements.texts.to_pylist())
        bad = np.array([document is None for document in documents], np.bool_)
        message = np.repeat(np.arange(len(values)), elements.counts)
        whole = np.setdiff1d(message, message[bad])
        if len(whole) > singles and 2 * len(whole) >= len(values):
            return rows, documents
    return None


def reasons_for_none(values: Sequence[bytes]) -> list[str]:
    """Return at most one note: the format of most values if it is known, or why those that begin as objects are invalid."""
    forms = Counter(form for value in values if (form := foreign_form(value)) is not None)
    for form, count in forms.most_common(1):
        if 2 * count > len(values):
            own = "" if "`" in form else ": only a decoder of your own (format: plugin) can read them"
            return [f"most begin like {form}{own}"]
    objects = [value for value in values if value.lstrip(b" \t\r\n").startswith(b"{")]
    reasons = _json_checker().decode(pa.array(objects, pa.binary())).reasons
    codes = Counter(reason.code for reason in reasons)
    for code, count in codes.most_common(1):
        first = next(reason for reason in reasons if reason.code == code)
        return [f"{counted(count, 'record')} that begin like a JSON object are not valid, the first: {first}"]
    return []


def _json_checker() -> Decoder:
    """Return a decoder with a single column that no object fills, so that it only checks the JSON."""
    return make_decoder(DecoderSpec("json", pa.schema([(f"no key {uuid4().hex}", pa.bool_())])))


@dataclass(slots=True)
class DocumentShape:
    """Statistics of the values at one place of the documents.

    `kinds` counts them as boolean, whole, point (`1.0`), fraction, non_finite (NaN, an infinity), string, date, timestamp,
    finer (a timestamp with nanoseconds), object or array; and strings as quoted (a whole number), pointed (`1.5`), empty, nan (no
    finite number), far (an infinite time), comma (`1.234,5`), grouped (`1,234.5`) or word (for a boolean).
    `low` and `high` are the bounds of the whole numbers, `thousands` is true if all of these are multiples of 1000. `members`
    has the shape of each key of the objects, `elements` that of the elements of all arrays. `forms` counts the values
    by the forms of times that they have.
    """

    nulls: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    forms: Counter[Form] = field(default_factory=Counter)
    low: int = 0
    high: int = 0
    thousands: bool = True
    members: "dict[str, DocumentShape]" = field(default_factory=dict)
    elements: "DocumentShape | None" = None

    @property
    def filled(self) -> int:
        """The number of values that are not null."""
        return self.kinds.total()

    def add(self, value: Any) -> None:
        if value is None:
            self.nulls += 1
            return
        kind = _kind(value)
        if kind == "whole":
            self.low = min(value, self.low) if self.kinds[kind] else value
            self.high = max(value, self.high) if self.kinds[kind] else value
            self.thousands = self.thousands and value % 1000 == 0
        elif kind == "object":
            for key, inner in value.items():
                self.members.setdefault(key, DocumentShape()).add(inner)
        elif kind == "array":
            self.elements = self.elements or DocumentShape()
            for inner in value:
                self.elements.add(inner)
        self.kinds[kind] += 1
        self.forms.update(forms_of(value))


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "whole"
        case float():
            if not math.isfinite(value):
                return "non_finite"
            return "point" if value.is_integer() and abs(value) < 2**53 else "fraction"
        case str():
            return next((kind for kind, form in _FORMS.items() if form.fullmatch(value)), kind_of_text(value))
        case dict():
            return "object"
        case _:
            return "array"


def is_not_finite(text: str) -> bool:
    """Return whether a string stands for NaN or an infinity."""
    return _FORMS["nan"].fullmatch(text) is not None


def kind_of_text(text: str) -> str:
    """Return `date`, `timestamp`, `finer` or `string`, by what the JSON decoder accepts as a date or a timestamp.

    `finer` is a timestamp with a fraction beyond microseconds.
    """
    if _DAY_PREFIX.match(text):
        for kind, take in (("date", _DAY), ("timestamp", _TIME)):
            try:
                take(text, "")
            except ValueRefusal as refusal:
                if refusal.code == "json.inexact":
                    return "finer"
                continue
            return kind
    return "string"


def merge(shapes: Iterable[DocumentShape]) -> DocumentShape:
    """Return the shape of the values of all shapes together."""
    total = DocumentShape()
    for shape in shapes:
        if shape.kinds["whole"]:
            has_bounds = total.kinds["whole"]
            total.low = min(total.low, shape.low) if has_bounds else shape.low
            total.high = max(total.high, shape.high) if has_bounds else shape.high
        total.thousands = total.thousands and shape.thousands
        total.nulls += shape.nulls
        total.kinds += shape.kinds
        total.forms += shape.forms
        elements = [s for s in (total.elements, shape.elements) if s is not None]
        total.elements = merge(elements) if elements else None
        for key, member in shape.members.items():
            known = total.members.get(key)
            total.members[key] = member if known is None else merge((known, member))
    return total
