"""JSON values as the exact way sees them, and the refusals they can end in.

Numbers are kept as their text, so that nothing passes through a double on its way to an integer or a decimal.
"""

import json
from collections.abc import Callable, Container, Iterator
from typing import Any

import pyarrow as pa

from kafka2hive.model.hive.types import hive_type_of
from kafka2hive.pipeline.decode.sources import Spelling

Take = Callable[[Any, str], Any]
"""(JSON value, never null; column and JSON path) -> what pyarrow.array understands. Raises Refused."""

SHOWN = 60
"""Characters of a value that a reason quotes."""

LONGEST_BIGINT = len(str(-(2**63)))
"""Characters; JSON's whole numbers have no zeros in front, so a longer one is beyond a bigint."""


class Whole(str):
    """The text of a JSON number without fraction and exponent."""

    __slots__ = ()


class Fraction(str):
    """The text of a JSON number with a fraction or an exponent."""

    __slots__ = ()


class Members(list[tuple[str, Any]]):
    """The members of a JSON object as they stand, duplicates too."""

    __slots__ = ()


class Refused(Exception):
    """Why a message goes to the dead letters."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(code, text)
        self.code = code
        self.text = text


def syntax_fault(error: json.JSONDecodeError) -> str:
    """What is wrong and where. Some of Python's messages end in a colon, or in an "at" of their own."""
    return f"{error.msg.rstrip(': ').removesuffix(' at')} at character {error.pos}"


def kind_of(value: Any) -> str:
    if isinstance(value, Fraction):
        return f"number {value[:SHOWN]}"
    names = {Whole: "number", str: "string", bool: "boolean", Members: "object", list: "array"}
    return names.get(type(value), "null")


def wrong_kind(dtype: pa.DataType, value: Any, path: str) -> Refused:
    return Refused("json.type", f"column {path} expects {hive_type_of(dtype)}, got {kind_of(value)}")


def out_of_range(dtype: pa.DataType, value: str, path: str) -> Refused:
    return Refused("json.range", f"column {path}: {value[:SHOWN]} is beyond {hive_type_of(dtype)}")


def not_exact(dtype: pa.DataType, value: str, path: str) -> Refused:
    return Refused("json.inexact", f"column {path}: {value[:SHOWN]} is not exact as {hive_type_of(dtype)}")


def once_each(
    members: Members, wanted: Container[str], spelling: Spelling, what: Callable[[str], str]
) -> Iterator[tuple[str, Any]]:
    """The wanted members of an object, by the key they are wanted by. Refused where two of them are the same one."""
    seen: dict[str, str] = {}
    for name, value in members:
        key = spelling(name)
        if key not in wanted:
            continue
        before = seen.get(key)
        if before == name:
            raise Refused("json.duplicate", f"{what(key)} stands twice in its object")
        if before is not None:
            raise Refused("json.ambiguous", f"{what(key)} could take {before} and {name} of its object")
        seen[key] = name
        yield key, value
