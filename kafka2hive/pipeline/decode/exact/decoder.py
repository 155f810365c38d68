"""The acceptance table, one message at a time: slow, plain, and final for every message that a faster way leaves out."""

import json
import re
from collections.abc import Sequence
from typing import Any, NoReturn

import pyarrow as pa

from kafka2hive.config.grammars.json_path import path_text
from kafka2hive.pipeline.decode.exact.depth import MAX_DEPTH, deeper_than
from kafka2hive.pipeline.decode.exact.json_values import (
    Fraction,
    Members,
    Refused,
    Take,
    Whole,
    kind_of,
    once_each,
    syntax_fault,
)
from kafka2hive.pipeline.decode.exact.takers import taker
from kafka2hive.pipeline.decode.protocol import Reason
from kafka2hive.pipeline.decode.sources import (
    Source,
    SourceTree,
    Spelling,
    as_it_stands,
    labels,
    own_columns,
    own_names,
    source_tree,
)

_BLANKS = b" \t\n\r"
_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def _no_constant(name: str) -> NoReturn:
    raise Refused("json.syntax", f"{name} is not JSON")


class _OfColumn(Exception):
    """A value that the column with this number refuses."""

    def __init__(self, number: int, refused: Refused) -> None:
        super().__init__(number)
        self.number = number
        self.refused = refused


class ExactDecoder:
    """Decodes one message after the other in Python; `decode` gives a row's values or the reason against it."""

    def __init__(
        self,
        schema: pa.Schema,
        zone: str,
        sources: Sequence[Source] = (),
        spelling: Spelling = as_it_stands,
    ) -> None:
        """`sources`: where the columns' values stand; none given: each at its own name."""
        sources = sources or own_names(schema.names)
        self._wanted = source_tree(sources, spelling)
        self._spelling = spelling
        self._takers: list[Take] = [
            taker(field.type, zone, spelling, source.unit)
            for field, source in zip(schema, sources, strict=True)
        ]
        self._columns = own_columns(schema.names, sources)
        self._labels = labels(schema.names, sources)
        self._expects = [source.expects for source in sources]
        self._json = json.JSONDecoder(
            object_pairs_hook=Members, parse_int=Whole, parse_float=Fraction, parse_constant=_no_constant
        )

    def decode(self, message: bytes) -> list[Any] | Reason:
        """The row's values in the schema's order, or why there is no row."""
        try:
            return self._row(self._document(message))
        except _OfColumn as refusal:
            number = refusal.number
            return refusal.refused.reason(self._columns[number], self._labels[number], self._expects[number])
        except Refused as refusal:
            return refusal.reason()

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
            raise Refused("json.syntax", syntax_fault(error)) from error
        if "\\u" in text and _SURROGATE.search(_PAIR.sub("", text.replace("\\\\", "\0"))):
            raise Refused("json.surrogate", "a \\u escape is half of a surrogate pair")
        if type(document) is not Members:
            raise Refused("json.object", "the value is JSON, but not an object")
        return document

    def _row(self, document: Members) -> list[Any]:
        row: list[Any] = [None] * len(self._takers)
        self._fill(row, document, self._wanted, ())
        return row

    def _fill(self, row: list[Any], members: Members, wanted: SourceTree, path: tuple[str, ...]) -> None:
        def what(key: str) -> str:
            columns = wanted.inner[key].columns
            return f"column {self._labels[columns[0]]}" if columns else f"the key {path_text((*path, key))}"

        def of_column(key: str, refusal: Refused) -> Exception:
            columns = wanted.inner[key].columns
            return _OfColumn(columns[0], refusal) if columns else refusal

        for key, value in once_each(
            members=members, wanted=wanted.inner, spelling=self._spelling, what=what, of_column=of_column
        ):
            if value is None:
                continue
            found = wanted.inner[key]
            for index in found.columns:
                try:
                    row[index] = self._takers[index](value, self._labels[index])
                except Refused as refusal:
                    raise _OfColumn(index, refusal) from None
            if not found.inner:
                continue
            if type(value) is not Members:
                raise Refused(
                    "json.type", f"{path_text((*path, key))} expects an object, got {kind_of(value)}"
                )
            self._fill(row, value, found, (*path, key))
