"""Texts of JSON values: `json: text` for columns of strings."""

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

import pyarrow as pa

from kafka2hive.decode.contract.forms import ElementTexts
from kafka2hive.decode.contract.sources import Characters, Source, SourceTree, Spelling, source_tree
from kafka2hive.decode.contract.spec import OTHER_JSON, Changes
from kafka2hive.decode.values.json_values import Fraction, Members, Take, WholeNumber, wrong_kind

TEXT_HINT = "; the column's json: text takes any value as its text"
"""The end of the reason against another value than a string in a column of strings."""

_BLANKS = re.compile(r"[ \t\n\r]*")
_JSON = json.JSONDecoder(parse_int=str, parse_float=str)


def characters(wanted: Characters, dtype: pa.DataType) -> Take:
    """Return the function that takes these values as they are written, an array without white space."""
    kinds = (WholeNumber, Fraction) if wanted is Characters.NUMBERS else (str, WholeNumber)

    def take(value: Any, path: str) -> str:
        if type(value) in kinds:
            return str(value)
        is_array = wanted is Characters.TIMES_AND_ARRAYS and type(value) is list
        if not is_array or any(type(element) is not WholeNumber for element in value):
            raise wrong_kind(dtype, value, path)
        return f"[{','.join(value)}]"

    return take


class JsonTexts:
    """Fills the columns that take texts of JSON values, of messages that the exact decoder has read."""

    def __init__(self, sources: Sequence[Source], spelling: Spelling, changes: Changes) -> None:
        self._modes = {
            n: source.leeway.json for n, source in enumerate(sources) if source.leeway.json != "refuse"
        }
        self._arrays = {
            number for number, source in enumerate(sources) if isinstance(source.form, ElementTexts)
        }
        self._tree = source_tree(sources, spelling)
        self._spelling = spelling
        self._changes = changes

    def fill(self, row: list[Any], message: bytes) -> None:
        """Replace the columns' values that are no strings by their texts, and count them.

        A column of elements gets the characters of each element. Raises RepeatedKey if an object that becomes a canonical text
        has a key twice.
        """
        others = [number for number in self._modes if type(row[number]) not in (str, type(None))]
        wanted = {number for number in others if self._modes[number] == "text"}
        for number in others:
            if number not in wanted:
                try:
                    row[number] = canonical(row[number])
                except ValueError as error:
                    raise RepeatedKey(number, str(error)) from None
        arrays = {number for number in self._arrays if row[number] is not None}
        if wanted or arrays:
            text = message.decode()
            for number, value in _texts(text, _after_blanks(text, 0), self._tree, self._spelling):
                if number in wanted:
                    row[number] = value
                elif number in arrays:
                    row[number] = list(_elements(value))
        self._changes.add(OTHER_JSON, len(others))


class RepeatedKey(Exception):
    """An object in the value of the column with this `number` has `key` twice."""

    def __init__(self, number: int, key: str) -> None:
        super().__init__(number, key)
        self.number = number
        self.key = key


def canonical(value: Any) -> str:
    """Return the canonical text of a value that the exact decoder has parsed. Raises ValueError with a key that repeats."""
    if type(value) is Members:
        for (key, _), (other, _) in itertools.pairwise(sorted(value, key=itemgetter(0))):
            if key == other:
                raise ValueError(key)
        members = (f"{_quoted(key)}:{canonical(inner)}" for key, inner in sorted(value, key=itemgetter(0)))
        return "{" + ",".join(members) + "}"
    if type(value) is list:
        return "[" + ",".join(map(canonical, value)) + "]"
    if type(value) is str:
        return _quoted(value)
    return str(value) if isinstance(value, WholeNumber | Fraction) else json.dumps(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _texts(text: str, at: int, tree: SourceTree, spelling: Spelling) -> Iterator[tuple[int, str]]:
    """Yield the number of each column with a value in the object that begins at character `at`, and the characters."""
    if tree.columns:
        _, end = _JSON.raw_decode(text, at)
        yield from ((number, text[at:end]) for number in tree.columns)
    for key, start, end in _members(text, at):
        node = tree.inner.get(spelling(key))
        if node is None:
            continue
        if text[start] != "{":
            yield from ((number, text[start:end]) for number in node.columns)
        else:
            yield from _texts(text, start, node, spelling)


def _members(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    """Yield the key of each member of the object that begins at character `at`, and where its value begins and ends.

    The text is valid JSON.
    """
    at = _after_blanks(text, at + 1)
    while text[at] != "}":
        key, at = _JSON.raw_decode(text, at)
        start = _after_blanks(text, _after_blanks(text, at) + 1)
        _, end = _JSON.raw_decode(text, start)
        yield key, start, end
        at = _after_blanks(text, end)
        if text[at] == ",":
            at = _after_blanks(text, at + 1)


def _elements(text: str) -> Iterator[str]:
    """Yield the characters of each element of an array. The text is valid JSON."""
    at = _after_blanks(text, 1)
    while text[at] != "]":
        _, end = _JSON.raw_decode(text, at)
        yield text[at:end]
        at = _after_blanks(text, end)
        if text[at] == ",":
            at = _after_blanks(text, at + 1)


def _after_blanks(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    assert blanks is not None
    return blanks.end()
