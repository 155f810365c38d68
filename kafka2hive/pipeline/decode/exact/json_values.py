"""JSON values as the exact way sees them, and the refusals they can end in.

Numbers are kept as their text, so that nothing passes through a double on its way to an integer or a decimal.
"""

import json
from collections.abc import Callable, Container, Iterator
from typing import Any

import pyarrow as pa

from kafka2hive.model.hive.types import hive_type_of
from kafka2hive.pipeline.decode.protocol import Reason
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
    """Why a message goes to the dead letters. `at`: the column as reasons name it, and the place within; empty: no column's.

    `got`: what stands there in place of what the column expects.
    """

    def __init__(self, code: str, text: str, at: str = "", got: str = "") -> None:
        super().__init__(code, text)
        self.code = code
        self.text = text
        self.at = at
        self.got = got

    def reason(self, column: str = "", label: str = "", expects: str = "") -> Reason:
        """`column`: the table's, `label`: as reasons name it, `expects`: what it takes, if not what this decoder reads."""
        text = self.text
        if expects and self.got and self.at == label:
            text = expectation(label, expects, self.got)
        return Reason(
            code=self.code, text=text, column=column, path=self.at.removeprefix(label), got=self.got
        )


def syntax_fault(error: json.JSONDecodeError) -> str:
    """What is wrong and where. Some of Python's messages end in a colon, or in an "at" of their own."""
    return f"{error.msg.rstrip(': ').removesuffix(' at')} at character {error.pos}"


def kind_of(value: Any) -> str:
    if isinstance(value, Fraction):
        return f"number {value[:SHOWN]}"
    names = {Whole: "number", str: "string", bool: "boolean", Members: "object", list: "array"}
    return names.get(type(value), "null")


def wrong_kind(dtype: pa.DataType, value: Any, path: str) -> Refused:
    got = kind_of(value)
    return Refused("json.type", expectation(path, hive_type_of(dtype), got), path, got)


def expectation(path: str, expects: str, got: str) -> str:
    return f"column {path} expects {expects}, got {got}"


def out_of_range(dtype: pa.DataType, value: str, path: str) -> Refused:
    return Refused("json.range", f"column {path}: {value[:SHOWN]} is beyond {hive_type_of(dtype)}", path)


def not_exact(dtype: pa.DataType, value: str, path: str) -> Refused:
    return Refused(
        "json.inexact", f"column {path}: {value[:SHOWN]} is not exact as {hive_type_of(dtype)}", path
    )


def once_each(
    members: Members,
    wanted: Container[str],
    spelling: Spelling,
    what: Callable[[str], str],
    of_column: Callable[[str, Refused], Exception] = lambda _, refusal: refusal,
) -> Iterator[tuple[str, Any]]:
    """The wanted members of an object, by the key they are wanted by. Refused where two of them are the same one.

    `of_column`: what is raised then for this key.
    """
    seen: dict[str, str] = {}
    for name, value in members:
        key = spelling(name)
        if key not in wanted:
            continue
        before = seen.get(key)
        if before == name:
            raise of_column(key, Refused("json.duplicate", f"{what(key)} stands twice in its object"))
        if before is not None:
            text = f"{what(key)} could take {before} and {name} of its object"
            raise of_column(key, Refused("json.ambiguous", text))
        seen[key] = name
        yield key, value
