"""The grammar of `bucket.path`: `dt=%Y-%m-%d/hr=%H/c={country}`.

Levels are separated by `/`, each is `name=template`; a template mixes plain text, strftime codes (`%%` is a percent sign)
and `{column}` fields (`{{` and `}}` are braces). All time codes are numeric: names of days and months depend on the
machine's locale, and a replay on another machine must land in the same bucket.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

TIME_CODES = "YymdHMjGV"
_LEVEL_NAME = re.compile(r"[a-z0-9_]+")
_PIECE = re.compile(r"%(?P<code>.?)|(\{\{|\}\})|\{(?P<field>[^{}]*)\}|(?P<brace>[{}])|(?P<text>[^%{}]+)")


@dataclass(frozen=True, slots=True)
class Code:
    """A strftime code, e.g. `Y`."""

    letter: str


@dataclass(frozen=True, slots=True)
class Field:
    """The text of a column of the row."""

    column: str


Part = str | Code | Field


@dataclass(frozen=True, slots=True)
class BucketPath:
    """`levels`: partition column and the parts of its value, from the outermost directory on; `faults` in words."""

    levels: tuple[tuple[str, tuple[Part, ...]], ...]
    faults: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.levels)

    @property
    def codes(self) -> tuple[str, ...]:
        """strftime codes in order of appearance."""
        return tuple(part.letter for part in self._parts() if isinstance(part, Code))

    @property
    def fields(self) -> tuple[str, ...]:
        """Columns in order of appearance."""
        return tuple(part.column for part in self._parts() if isinstance(part, Field))

    def _parts(self) -> Iterator[Part]:
        for _, parts in self.levels:
            yield from parts


def read_bucket_path(text: str) -> BucketPath:
    """What a partition path template is made of, with everything that is wrong with it. Empty: no levels."""
    levels: list[tuple[str, tuple[Part, ...]]] = []
    faults: list[str] = []
    for level in text.split("/") if text else []:
        name, equals, template = level.partition("=")
        if not equals or not template:
            faults.append(f"each part must be name=value, found {level!r}")
            continue
        if not _LEVEL_NAME.fullmatch(name):
            faults.append(f"{name!r} is no name for a partition column: use a-z, 0-9 and _")
        elif any(name == known for known, _ in levels):
            faults.append(f"the partition column {name} stands here twice")
        levels.append((name, tuple(_parts(template, level, faults))))
    return BucketPath(tuple(levels), tuple(faults))


def _parts(template: str, level: str, faults: list[str]) -> Iterator[Part]:
    for piece in _PIECE.finditer(template):
        code, field, brace = piece["code"], piece["field"], piece["brace"]
        if code is not None and code != "%":
            if code not in TIME_CODES or not code:
                allowed = " ".join(f"%{known}" for known in TIME_CODES)
                faults.append(f"%{code} is not supported; there are {allowed} and %%")
            yield Code(code)
        elif field is not None:
            yield Field(field)
        elif brace:
            faults.append(f"a single {brace} in {level!r}: write {brace * 2} for a brace")
        else:
            yield piece["text"] or piece[0][0]
