"""The bucket template `dt=%Y-%m-%d/hr=%H/c={country}`: parsed once, filled per bucket.

The grammar is that of kafka2hive.config.bucket_path. All its time codes are numeric: names of days and months depend
on the machine's locale, and a replay on another machine must land in the same bucket.
"""

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass

from kafka2hive.config.bucket_path import read_bucket_path
from kafka2hive.model.errors import TableError

_TOKEN = re.compile(r"%(?P<code>.)|(?P<brace>\{\{|\}\})|\{(?P<field>[^{}]*)\}")

DAY, HOUR, MINUTE = 86_400_000_000, 3_600_000_000, 60_000_000
_SPAN = {
    "H": HOUR,
    "M": MINUTE,
}  # microseconds within which a code's text does not change; a day for all others


@dataclass(frozen=True, slots=True)
class Code:
    """A strftime code."""

    letter: str

    def text(self, wall: datetime.datetime) -> str:
        match self.letter:
            case "Y":  # C libraries pad differently below year 1000
                return f"{wall.year:04d}"
            case "G":
                return f"{wall.isocalendar().year:04d}"
            case _:
                return wall.strftime(f"%{self.letter}")


@dataclass(frozen=True, slots=True)
class Field:
    """The text of a column of the row."""

    column: str


Part = str | Code | Field


@dataclass(frozen=True, slots=True)
class Template:
    """`levels`: Hive partition column and the parts of its value, from the outermost directory on."""

    levels: tuple[tuple[str, tuple[Part, ...]], ...]

    @property
    def partition_columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.levels)

    @property
    def fields(self) -> tuple[str, ...]:
        """Columns the template needs, each once, in order of appearance."""
        names = [part.column for _, parts in self.levels for part in parts if isinstance(part, Field)]
        return tuple(dict.fromkeys(names))

    @property
    def span(self) -> int | None:
        """Microseconds of wall clock within which the path cannot change; None when no time is needed."""
        spans = [
            _SPAN.get(part.letter, DAY)
            for _, parts in self.levels
            for part in parts
            if isinstance(part, Code)
        ]
        return min(spans, default=None)

    def time_texts(self, wall: datetime.datetime) -> tuple[str, ...]:
        """The texts of all codes, in order."""
        codes = (part for _, parts in self.levels for part in parts if isinstance(part, Code))
        return tuple(code.text(wall) for code in codes)

    def fill(
        self, wall: datetime.datetime | None, texts: Mapping[str, str | None]
    ) -> tuple[tuple[str, str], ...]:
        """Partition columns and values. A level with a null field is Hive's default partition (the empty value)."""
        return tuple((name, _value(parts, wall, texts)) for name, parts in self.levels)


def _value(parts: tuple[Part, ...], wall: datetime.datetime | None, texts: Mapping[str, str | None]) -> str:
    written = []
    for part in parts:
        match part:
            case Code():
                if wall is None:
                    raise ValueError("the template needs a time")
                written.append(part.text(wall))
            case Field():
                text = texts[part.column]
                if text is None:
                    return ""
                written.append(text)
            case _:
                written.append(part)
    return "".join(written)


def parse_template(path: str) -> Template:
    """Empty path: no levels. Raises TableError with everything that is wrong with the path."""
    faults = read_bucket_path(path).faults
    if faults:
        raise TableError("bucket.template", f"bucket path {path!r}: {'; '.join(faults)}")
    levels = (level.partition("=") for level in path.split("/") if level)
    return Template(tuple((name, tuple(_parts(text))) for name, _, text in levels))


def _parts(text: str) -> list[Part]:
    parts: list[Part] = []
    at = 0
    for found in _TOKEN.finditer(text):
        if found.start() > at:
            parts.append(text[at : found.start()])
        at = found.end()
        if found["field"] is not None:
            parts.append(Field(found["field"]))
        elif found["brace"] or found["code"] == "%":
            parts.append(found[0][0])
        else:
            parts.append(Code(found["code"]))
    if at < len(text):
        parts.append(text[at:])
    return parts
