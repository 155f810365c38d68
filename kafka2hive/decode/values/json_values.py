"""JSON values in the form that the exact decoder parses, and their refusals.

Numbers are kept as strings, so no integer or decimal passes through a double.
"""

import json
import re
from collections.abc import Callable, Container, Iterator
from typing import Any

import pyarrow as pa

from kafka2hive.decode.contract.sources import Spelling
from kafka2hive.model.hive_types import hive_type_of
from kafka2hive.plugins import Reason

Take = Callable[[Any, str], Any]
"""(JSON value, never null; column and JSON path) -> what pyarrow.array accepts. Raises ValueRefusal."""

SHOWN = 60
"""The number of characters of a value that a reason quotes."""

LONGEST_BIGINT = len(str(-(2**63)))
"""The number of characters of the longest bigint; JSON allows no leading zeros, so a longer number is beyond a bigint."""

MAX_DEPTH = 64
"""Limit of objects and arrays that are open at once, including the message itself."""
_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_NOT_STRUCTURE = bytes(b for b in range(256) if b not in b'"{}[]')
_ONE_BRACKET = bytes.maketrans(b"[]", b"{}")


class WholeNumber(str):
    """The text of a JSON number without fraction and exponent."""

    __slots__ = ()


class Fraction(str):
    """The text of a JSON number with a fraction or an exponent."""

    __slots__ = ()


class NonNumber(str):
    """`NaN`, `Infinity` or `-Infinity` outside quotes, which is not JSON."""

    __slots__ = ()


class Members(list[tuple[str, Any]]):
    """The members of a JSON object in order, including duplicates."""

    __slots__ = ()


class ValueRefusal(Exception):
    """Refuses a message. `at`: the column's label and the path of the value within it; empty if no column is the cause.

    `got`: the kind of value that the message has instead of what the column expects.
    """

    def __init__(self, code: str, text: str, at: str = "", got: str = "") -> None:
        super().__init__(code, text)
        self.code = code
        self.text = text
        self.at = at
        self.got = got

    def reason(self, column: str = "", label: str = "", expects: str = "") -> Reason:
        """Return the reason. `label`: the column's name in messages; `expects`: what it takes, if the decoder reads another."""
        text = self.text
        if expects and self.got and self.at == label:
            text = expectation(label, expects, self.got)
        return Reason(
            code=self.code, text=text, column=column, path=self.at.removeprefix(label), got=self.got
        )


def syntax_fault(error: json.JSONDecodeError) -> str:
    """Return the fault and its place, without the trailing colon or "at" of some of Python's messages."""
    return f"{error.msg.rstrip(': ').removesuffix(' at')} at character {error.pos}"


def kind_of(value: Any) -> str:
    if isinstance(value, Fraction):
        return f"number {value[:SHOWN]}"
    names = {WholeNumber: "number", str: "string", bool: "boolean", Members: "object", list: "array"}
    return names.get(type(value), "null")


def wrong_kind(dtype: pa.DataType, value: Any, path: str, hint_for_numbers: str = "") -> ValueRefusal:
    got = kind_of(value)
    hint = hint_for_numbers if isinstance(value, WholeNumber) else ""
    return ValueRefusal("json.type", expectation(path, hive_type_of(dtype), got) + hint, path, got)


def expectation(path: str, expects: str, got: str) -> str:
    return f"column {path} expects {expects}, got {got}"


def out_of_range(dtype: pa.DataType, value: str, path: str) -> ValueRefusal:
    return ValueRefusal("json.range", f"column {path}: {value[:SHOWN]} is beyond {hive_type_of(dtype)}", path)


def not_exact(dtype: pa.DataType, value: str, path: str, hint: str = "") -> ValueRefusal:
    what = f"column {path}: {value[:SHOWN]} is not exact as {hive_type_of(dtype)}"
    return ValueRefusal("json.inexact", what + hint, path)


def once_each(
    members: Members,
    wanted: Container[str],
    spelling: Spelling,
    what: Callable[[str], str],
    of_column: Callable[[str, ValueRefusal], Exception] = lambda _, refusal: refusal,
) -> Iterator[tuple[str, Any]]:
    """Yield the wanted members of an object, each with its key in `wanted`.

    Two members with the same key are refused: `of_column` returns the exception to raise, `what` names the key in its text.
    """
    seen: dict[str, str] = {}
    for name, value in members:
        key = spelling(name)
        if key not in wanted:
            continue
        before = seen.get(key)
        if before == name:
            raise of_column(key, ValueRefusal("json.duplicate", f"{what(key)} repeats in its object"))
        if before is not None:
            text = f"{what(key)} could take {before} and {name} of its object"
            raise of_column(key, ValueRefusal("json.ambiguous", text))
        seen[key] = name
        yield key, value


def deeper_than(message: bytes, limit: int) -> bool:
    """Return whether more than `limit` objects and arrays are open at once, as far as the message is valid JSON."""
    if message.count(b"{") + message.count(b"[") <= limit:
        return False  # too few brackets, even if each is nested in the one before
    if b"\\" in message:
        message = _ESCAPE.sub(b"", message)
    outside_strings = message.translate(None, _NOT_STRUCTURE).split(b'"')[::2]
    brackets = b"".join(outside_strings).translate(_ONE_BRACKET)
    nested = brackets
    for _ in range(limit):  # each round removes the innermost level
        nested = nested.replace(b"{}", b"")
        if not nested:
            return False
    depth = 0  # the brackets nest too deep, or are not balanced: count which comes first
    for bracket in brackets:
        depth += 1 if bracket == ord("{") else -1
        if depth < 0:
            return False  # a syntax error, at which the parser stops
        if depth > limit:
            return True
    return False
