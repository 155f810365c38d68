"""A bucket path filled with a wall clock and the texts of fields. Pure; the grammar is that of config/bucket_path.py."""

import datetime
from collections.abc import Mapping

from kafka2hive.config.grammars.bucket_path import (
    BucketPath,
    Code,
    Field,
    Part,
    read_bucket_path,
)
from kafka2hive.model.errors import TableError
from kafka2hive.pipeline.wall_clock import DAY

_SPAN = {"H": 3_600_000_000, "M": 60_000_000}
"""Microseconds within which a code's text does not change; a day for all others."""


def sound_bucket_path(text: str) -> BucketPath:
    """Raises TableError with everything that is wrong with the path."""
    path = read_bucket_path(text)
    if path.faults:
        raise TableError("bucket.template", f"bucket path {text!r}: {'; '.join(path.faults)}")
    return path


def span(path: BucketPath) -> int | None:
    """Microseconds of wall clock within which the path cannot change; None when no time is needed."""
    return min((_SPAN.get(code, DAY) for code in path.codes), default=None)


def time_texts(path: BucketPath, wall: datetime.datetime) -> tuple[str, ...]:
    return tuple(_time_text(code, wall) for code in path.codes)


def fill(
    path: BucketPath, wall: datetime.datetime | None, texts: Mapping[str, str | None]
) -> tuple[tuple[str, str], ...]:
    """Partition columns and values. A level with a null field is Hive's default partition (the empty value)."""
    return tuple((name, _value(parts, wall, texts)) for name, parts in path.levels)


def _time_text(code: str, wall: datetime.datetime) -> str:
    match code:
        case "Y":  # C libraries pad differently below year 1000
            return f"{wall.year:04d}"
        case "G":
            return f"{wall.isocalendar().year:04d}"
        case _:
            return wall.strftime(f"%{code}")


def _value(parts: tuple[Part, ...], wall: datetime.datetime | None, texts: Mapping[str, str | None]) -> str:
    written = []
    for part in parts:
        match part:
            case Code(letter):
                if wall is None:
                    raise ValueError("the template needs a time")
                written.append(_time_text(letter, wall))
            case Field(column):
                text = texts[column]
                if text is None:
                    return ""
                written.append(text)
            case _:
                written.append(part)
    return "".join(written)
