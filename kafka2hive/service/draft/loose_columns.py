"""Columns for values some of which have another form than the others: their type, and the keys that take all of them."""

from collections.abc import Iterator
from dataclasses import dataclass

from kafka2hive.model.text import counted
from kafka2hive.service.draft.documents import DocumentShape

TEXT_FORMS = ("quoted", "pointed", "empty", "nan", "far", "comma", "grouped", "word")
"""Strings that may stand for another value."""
_NUMBERS = frozenset({"whole", "point", "fraction", "non_finite"})
_MARKED = frozenset({"comma", "grouped"})
_KEYS = {
    "quoted": "quoted: accept",
    "pointed": "quoted: accept",
    "empty": "empty: null",
    "point": "whole: accept",
    "nan": "non_finite: null",
    "non_finite": "non_finite: null",
    "far": "beyond: clamp",
    "comma": 'numbers: {thousands: ".", decimal: ","}',
    "grouped": 'numbers: {thousands: ",", decimal: "."}',
    "word": "booleans: words",
    "whole": "booleans: words",
}
_NOUNS = {
    "quoted": ("whole number", " in quotes"),
    "pointed": ("decimal", " in quotes"),
    "empty": ("empty string", " in quotes"),
    "point": ("number", " such as 1.0"),
    "nan": ("string", " such as NaN"),
    "non_finite": ("NaN or infinite number", ""),
    "far": ("infinite time", ""),
    "comma": ("string", " such as 1.234,5"),
    "grouped": ("string", " such as 1,234.5"),
    "word": ("word", " for true or false"),
    "whole": ("number", " for true or false"),
}


@dataclass(frozen=True, slots=True)
class LooseColumn:
    """The column's type, and how many of its `values` have each of the other forms."""

    type: str
    counts: dict[str, int]
    values: int

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_KEYS[form] for form in self.counts))

    def notes(self, place: str) -> Iterator[str]:
        """Yield what the values at a place are, and the keys that take them."""
        by_suffix: dict[str, list[str]] = {}
        for form, count in self.counts.items():
            noun, suffix = _NOUNS[form]
            by_suffix.setdefault(suffix, []).append(counted(count, noun))
        texts = [f"{' and '.join(numbers)}{suffix}" for suffix, numbers in by_suffix.items()]
        among = " among other values" if sum(self.counts.values()) < self.values else ""
        yield f"{place} has {', '.join(texts)}{among}: {', '.join(self.keys)}"


def loose_column(shape: DocumentShape) -> LooseColumn | None:
    """Return the column if some values have another form, and keys take all of them; otherwise None."""
    kinds = set(shape.kinds)
    texts, others = kinds.intersection(TEXT_FORMS), kinds.difference(TEXT_FORMS)
    kind, forms = "", texts
    if texts <= {"word", "empty"} and _are_booleans(shape, others):
        kind, forms = "boolean", texts | (others & {"whole"})
    elif others <= _NUMBERS and (others or texts & _MARKED):
        kind, forms = _number(shape, texts, others)
    elif others in ({"date"}, {"timestamp"}) and texts <= {"far", "empty"}:
        (kind,) = others
    if not kind or not forms or (kind.startswith("decimal") and forms & {"quoted", "point"}):
        return None
    return LooseColumn(kind, {form: shape.kinds[form] for form in _KEYS if form in forms}, shape.filled)


def _are_booleans(shape: DocumentShape, others: set[str]) -> bool:
    """Return whether the values are true, false, and the numbers 0 and 1."""
    is_digit = "whole" not in others or (shape.low >= 0 and shape.high <= 1)
    is_certain = "boolean" in others or ("whole" in others and shape.kinds["word"] > 0)
    return is_certain and is_digit and others <= {"boolean", "whole"}


def _number(shape: DocumentShape, texts: set[str], others: set[str]) -> tuple[str, set[str]]:
    """Return the type of numbers some of which have other forms, and these forms; an empty type if no keys take them all."""
    if texts & {"far", "word"} or texts >= _MARKED or {"comma", "pointed"} <= texts:
        return "", texts
    if not others and "grouped" in texts and "pointed" not in texts:
        return "", texts  # 1,234 may also have a decimal comma
    is_double = bool(
        others & {"fraction", "non_finite"} or texts & {"nan", "pointed", *_MARKED} or "whole" not in others
    )
    forms = texts | (others & {"non_finite"}) | (others & {"point"} if not is_double else set())
    if texts & _MARKED:
        forms -= {"quoted", "pointed"}  # the marks read them, too
    return "double" if is_double else number_type(shape, whole=True), forms


def number_type(shape: DocumentShape, whole: bool = False) -> str:
    """Return the type of numbers. `whole`: those with a point are whole numbers, too."""
    if shape.kinds["fraction"] or shape.kinds["non_finite"] or (shape.kinds["point"] and not whole):
        return "double"
    if shape.low >= -(2**63) and shape.high < 2**63:
        return "bigint"
    digits = len(str(max(abs(shape.low), abs(shape.high))))
    return f"decimal({digits},0)" if digits <= 38 else "double"
