"""The acceptance table, one message at a time: slow, plain, and the last word on every message the fast way doubts."""

import json
import re
from typing import Any, NoReturn

import pyarrow as pa

from kafka2hive.pipeline.decode.exact_values import (
    Fraction,
    Members,
    Refused,
    Take,
    Whole,
    taker,
)
from kafka2hive.pipeline.decode.screens import MAX_DEPTH, deeper_than

_BLANKS = b" \t\n\r"
_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def _no_constant(name: str) -> NoReturn:
    raise Refused("json.syntax", f"{name} is not JSON")


class ExactDecoder:
    """Decodes one message after the other in Python; `decode` gives a row's values or the reason against it."""

    def __init__(self, schema: pa.Schema, zone: str) -> None:
        self._names = {field.name: index for index, field in enumerate(schema)}
        self._takers: list[Take] = [taker(field.type, zone) for field in schema]
        self._json = json.JSONDecoder(
            object_pairs_hook=Members, parse_int=Whole, parse_float=Fraction, parse_constant=_no_constant
        )

    def decode(self, message: bytes) -> list[Any] | str:
        """The row's values in the schema's order, or `<code>: <text>`."""
        try:
            return self._row(self._document(message))
        except Refused as refusal:
            return f"{refusal.code}: {refusal.text}"

    def _document(self, message: bytes) -> Members:
        if not message.strip(_BLANKS):
            raise Refused("json.empty", "the value is empty")
        try:
            text = message.decode()
        except UnicodeDecodeError as error:
            raise Refused("json.utf8", f"not UTF-8 at byte {error.start}") from error
        if deeper_than(message, MAX_DEPTH):
            raise Refused("json.depth", f"objects and arrays nest deeper than {MAX_DEPTH}")
        try:
            document = self._json.decode(text)
        except json.JSONDecodeError as error:
            raise Refused("json.syntax", f"{error.msg} at character {error.pos}") from error
        if "\\u" in text and _SURROGATE.search(_PAIR.sub("", text.replace("\\\\", "\0"))):
            raise Refused("json.surrogate", "a \\u escape is half of a surrogate pair")
        if type(document) is not Members:
            raise Refused("json.object", "the value is JSON, but not an object")
        return document

    def _row(self, document: Members) -> list[Any]:
        row: list[Any] = [None] * len(self._takers)
        seen = set()
        for name, value in document:
            index = self._names.get(name)
            if index is None:
                continue
            if index in seen:
                raise Refused("json.duplicate", f"column {name} stands twice in the object")
            seen.add(index)
            if value is not None:
                row[index] = self._takers[index](value, name)
        return row
