"""Patterns of times: the letters of java.time whose texts have one meaning, as steps that every reader follows.

A pattern that cannot be exact is a PatternError: one without a day, with 12 hours but no AM or PM, or with digits that could
be divided in two ways.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

ISO, ARRAY = "iso", "array"
"""Words instead of patterns: ISO 8601 as columns take it without patterns, and the arrays of Jackson."""
MOST_ALTERNATIVES = 32
"""Limit of the ways in which the optional parts of one pattern may be there."""

_TOKEN = re.compile(r"([A-Za-z])\1*|'((?:[^']|'')*)'|(.)", re.DOTALL)
_FIELDS = {
    "yyyy": ("year", 4, 4),
    "uuuu": ("year", 4, 4),
    "yy": ("short year", 2, 2),
    "M": ("month", 1, 2),
    "MM": ("month", 2, 2),
    "MMM": ("month name", 3, 3),
    "MMMM": ("month name", 9, 9),
    "d": ("day", 1, 2),
    "dd": ("day", 2, 2),
    "H": ("hour", 1, 2),
    "HH": ("hour", 2, 2),
    "h": ("clock hour", 1, 2),
    "hh": ("clock hour", 2, 2),
    "m": ("minute", 1, 2),
    "mm": ("minute", 2, 2),
    "s": ("second", 1, 2),
    "ss": ("second", 2, 2),
    "a": ("half", 2, 2),
    **{"S" * digits: ("fraction", digits, digits) for digits in range(1, 10)},
    "E": ("weekday", 3, 3),
    "EE": ("weekday", 3, 3),
    "EEE": ("weekday", 3, 3),
    "EEEE": ("weekday", 9, 9),
    "VV": ("zone", 0, 0),
}
_OFFSETS = {
    **{"X" * size: "X" * size for size in (1, 2, 3)},
    **{"x" * size: "x" * size for size in (1, 2, 3)},
    "Z": "xx",
    "ZZ": "xx",
    "ZZZ": "xx",
    "ZZZZZ": "XXX",
}
_ADVICE = {
    "y": "write yyyy for the year, or yy with pivot",
    "u": "write uuuu for the year",
    "S": "write one S for each digit of the fraction, at most 9",
    "k": "write HH for the hours 00 to 23",
    "K": "write hh for the hours 01 to 12",
    "z": "write VV for a zone by its name, or Z or XXX for an offset",
    "O": "write Z, X or XXX for an offset",
    "D": "write M and d for the day: days of the year are not read",
    "Y": "Y is the year of the week: write yyyy",
    "V": "write VV for a zone by its name",
    "L": "write M for the month",
}
_DIGITS = frozenset(
    {"year", "short year", "month", "day", "hour", "clock hour", "minute", "second", "fraction"}
)
_SAME = {"short year": "year", "month name": "month", "clock hour": "hour"}
"""Fields that say the same as another one."""
_OF_ZONES = re.compile(r"[A-Za-z0-9_+/-]")


class PatternError(ValueError):
    """A pattern that is not read, or that cannot be exact."""


@dataclass(frozen=True, slots=True)
class PatternPart:
    """One part of a text. `kind` is a field or `literal`; `least` and `most` are its digits, or 3 and 9 for names short and long.

    `text` is the literal, or the letters of an offset: `X`, `XX`, `XXX` (with `Z` for UTC), `x`, `xx`, `xxx` (without).
    """

    kind: str
    least: int = 0
    most: int = 0
    text: str = ""


PatternParts = tuple[PatternPart, ...]


@dataclass(frozen=True, slots=True)
class TimePattern:
    """A pattern of the map. `alternatives`: its steps for each way in which its optional parts may be there, longest first."""

    text: str
    alternatives: tuple[PatternParts, ...]

    def fields(self) -> Iterator[frozenset[str]]:
        """Yield the kinds of the fields of each alternative."""
        for steps in self.alternatives:
            yield frozenset(step.kind for step in steps)

    @property
    def has_short_year(self) -> bool:
        return any("short year" in kinds for kinds in self.fields())

    @property
    def may_have_time(self) -> bool:
        return any(has_time(steps) for steps in self.alternatives)

    @property
    def may_lack_time(self) -> bool:
        return not all(has_time(steps) for steps in self.alternatives)


def has_time(steps: PatternParts) -> bool:
    """Return whether texts of these steps have a time of day."""
    return any(step.kind in ("hour", "clock hour") for step in steps)


def parse_pattern(text: str) -> TimePattern:
    """Read a pattern. Raises PatternError."""
    nodes, rest = _nodes(list(_TOKEN.finditer(text)), 0, is_inner=False)
    assert rest == len(_TOKEN.findall(text))
    if not nodes:
        raise PatternError("the pattern is empty")
    ways = [_joined(way) for way in _ways(nodes)]
    if field := _repeated(ways[-1]):
        raise PatternError(f"{field} occurs twice")
    alternatives = [way for way in ways if not _repeated(way)]  # [.SSSSSS][.SSS]: one of both
    for steps in alternatives:
        _check(steps)
    return TimePattern(text, tuple(dict.fromkeys(alternatives)))


_Nodes = Sequence["PatternPart | _Nodes"]
"""PatternParts, and optional parts as sequences within."""


def _nodes(tokens: list[re.Match[str]], at: int, is_inner: bool) -> tuple[_Nodes, int]:
    nodes: list[PatternPart | _Nodes] = []
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token[1]:
            nodes.append(_field(token[0]))
        elif token[2] is not None:
            nodes.append(PatternPart("literal", text=token[2].replace("''", "'") or "'"))
        elif token[3] == "[":
            inner, at = _nodes(tokens, at, is_inner=True)
            nodes.append(inner)
        elif token[3] == "]":
            if not is_inner:
                raise PatternError("] without [")
            return nodes, at
        elif token[3] == "'":
            raise PatternError("a quote is not closed; '' is one quote")
        elif token[3] in "{}#":
            raise PatternError(f"{token[3]} is reserved: write it in quotes, as '{token[3]}'")
        else:
            nodes.append(PatternPart("literal", text=token[3]))
    if is_inner:
        raise PatternError("[ without ]")
    return nodes, at


def _field(letters: str) -> PatternPart:
    if letters in _OFFSETS:
        return PatternPart("offset", text=_OFFSETS[letters])
    if letters not in _FIELDS:
        raise PatternError(
            f"{letters} is not read: {_ADVICE.get(letters[0], 'write literal text in single quotes')}"
        )
    return PatternPart(*_FIELDS[letters])


def _ways(nodes: _Nodes) -> list[list[PatternPart]]:
    """Return the steps with and without each optional part, those with it first."""
    ways: list[list[PatternPart]] = [[]]
    for node in nodes:
        more = [[node]] if isinstance(node, PatternPart) else [*_ways(node), []]
        ways = [[*before, *after] for before in ways for after in more]
        if len(ways) > MOST_ALTERNATIVES:
            raise PatternError("there are too many optional parts: write several patterns")
    return ways


def _joined(steps: list[PatternPart]) -> PatternParts:
    """Return the steps with neighbouring literals as one."""
    joined: list[PatternPart] = []
    for step in steps:
        if step.kind == "literal" and joined and joined[-1].kind == "literal":
            joined[-1] = PatternPart("literal", text=joined[-1].text + step.text)
        else:
            joined.append(step)
    return tuple(joined)


def _repeated(steps: PatternParts) -> str:
    """Return a field that occurs twice, empty if none does."""
    kinds = [_SAME.get(step.kind, step.kind) for step in steps if step.kind != "literal"]
    return next((f"the {kind}" for kind in kinds if kinds.count(kind) > 1), "")


def _check(steps: PatternParts) -> None:
    kinds = {_SAME.get(step.kind, step.kind) for step in steps}
    for kind in ("year", "month", "day"):
        if kind not in kinds:
            raise PatternError(f"the {kind} is missing")
    for finer, coarser in (
        ("minute", "hour"),
        ("second", "minute"),
        ("fraction", "second"),
        ("half", "hour"),
    ):
        if finer in kinds and coarser not in kinds:
            raise PatternError(f"it has the {finer} without the {coarser}")
    is_of_twelve = any(step.kind == "clock hour" for step in steps)
    if is_of_twelve != ("half" in kinds):
        raise PatternError("h and a (AM or PM) need each other; the hours 00 to 23 are HH")
    if kinds & {"offset", "zone"} and "hour" not in kinds:
        raise PatternError("it has a zone without a time of day")
    for before, after in pairwise(steps):
        if _runs_into(before, after):
            raise PatternError(
                f"where {_name(before)} ends before {_name(after)} is ambiguous: use two letters (MM, dd), or something between"
            )


def _runs_into(before: PatternPart, after: PatternPart) -> bool:
    """Return whether the end of a step may be the beginning of the next one."""
    first = after.text[:1] if after.kind == "literal" else ""
    if (before.kind in _DIGITS and before.least < before.most) or before.kind == "offset":
        return after.kind in _DIGITS or first.isdecimal() or (before.kind == "offset" and first == ":")
    if before.kind == "zone":
        return after.kind != "literal" or _OF_ZONES.match(first) is not None
    return False


def _name(step: PatternPart) -> str:
    return repr(step.text) if step.kind == "literal" else f"the {step.kind}"
