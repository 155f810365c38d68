"""Formats `json`, and `json_schema`, whose JSON follows a head.

The compiled library decodes the messages of which it is certain, JsonExactDecoder all others.
"""

import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys import Framing
from kafka2hive.config.keys.json_path import path_text
from kafka2hive.config.native_library import LIBRARY
from kafka2hive.decode.columns import check_columns, of_named_columns, with_leeway
from kafka2hive.decode.compiled import NativeArrays, NativeJsonReader, PartReader, join_parts
from kafka2hive.decode.contract.forms import ElementTexts, Epoch
from kafka2hive.decode.contract.sources import (
    Source,
    SourceTree,
    Spelling,
    exact_spelling,
    labels,
    lower_case_spelling,
    names_in_table,
    same_name_sources,
    source_tree,
)
from kafka2hive.decode.contract.spec import Changes, DecoderSpec
from kafka2hive.decode.framing.foreign_forms import form_hint
from kafka2hive.decode.framing.frames import heads, json_id_hint, no_frames
from kafka2hive.decode.rows.decoder import MOST_ROWS, Elements, SeveralRowsDecoder
from kafka2hive.decode.rows.enclosed import EnclosedRowsDecoder
from kafka2hive.decode.rows.json import split_arrays, split_lines
from kafka2hive.decode.schemas.json import parse
from kafka2hive.decode.semantics.records import with_record_schemas
from kafka2hive.decode.values.batch import Places
from kafka2hive.decode.values.json_texts import TEXT_HINT, JsonTexts, RepeatedKey, characters
from kafka2hive.decode.values.json_values import (
    MAX_DEPTH,
    SHOWN,
    Fraction,
    Members,
    NonNumber,
    Take,
    ValueRefusal,
    WholeNumber,
    deeper_than,
    kind_of,
    once_each,
    syntax_fault,
)
from kafka2hive.decode.values.loose import loose, loose_forms, with_hints
from kafka2hive.decode.values.scalars import plain, taker
from kafka2hive.model.writer_schema import JSON, SchemaId, SchemaInvalid, WriterSchema
from kafka2hive.plugins import Decoded, Decoder, Reason

_BLANKS = b" \t\n\r"
_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


_NON_FINITE_HINT = "; the non_finite of a column of doubles takes NaN and infinities"


def _no_json(name: str) -> ValueRefusal:
    """Return the refusal of NaN and the infinities, which Python's parser accepts."""
    return ValueRefusal("json.syntax", f"{name} is not JSON{_NON_FINITE_HINT}")


class _ColumnRefusal(Exception):
    """Refuses a value for the column with this number."""

    def __init__(self, number: int, refusal: ValueRefusal) -> None:
        super().__init__(number)
        self.number = number
        self.refusal = refusal


class JsonExactDecoder:
    """Decodes one message at a time in plain Python: slow and strict. Only this decoder refuses messages."""

    def __init__(
        self,
        schema: pa.Schema,
        zone: str,
        sources: Sequence[Source] = (),
        spelling: Spelling = exact_spelling,
        changes: Changes | None = None,
    ) -> None:
        """`sources`: where the columns' values are; empty: each at the key with the column's name.

        `changes`: counts the values that the sources' leeway changes.
        """
        sources = sources or same_name_sources(schema.names)
        self._wanted = source_tree(sources, spelling)
        self._spelling = spelling
        self._takers = [
            _column_taker(field.type, zone, spelling, source, changes=changes or Changes())
            for field, source in zip(schema, sources, strict=True)
        ]
        self._texts = JsonTexts(sources, spelling, changes or Changes())
        self._columns = names_in_table(schema.names, sources)
        self._labels = labels(schema.names, sources)
        self._expects = [source.expects for source in sources]
        self._json = json.JSONDecoder(
            object_pairs_hook=Members,
            parse_int=WholeNumber,
            parse_float=Fraction,
            parse_constant=self._non_number,
        )
        self._takes_non_finite = [source.leeway.non_finite != "refuse" for source in sources]
        self._elements = {
            number
            for number, s in enumerate(sources)
            if isinstance(s.form, ElementTexts) and s.form.non_finite
        }
        self._non_numbers = 0

    def _non_number(self, name: str) -> NonNumber:
        """Return NaN or an infinity, if a column may take it; `_row` refuses those that no column takes."""
        if not any(self._takes_non_finite) and not self._elements:
            raise _no_json(name)
        self._non_numbers += 1
        return NonNumber(name)

    def decode(self, message: bytes) -> list[Any] | Reason:
        """Return the row's values in the schema's order, or the reason why the message has no row."""
        try:
            row = self._row(self._document(message))
            self._texts.fill(row, message)
            return row
        except _ColumnRefusal as error:
            number = error.number
            return error.refusal.reason(self._columns[number], self._labels[number], self._expects[number])
        except RepeatedKey as error:
            label = self._labels[error.number]
            text = f"column {label}: the key {error.key[:SHOWN]} repeats in its object, which has no canonical text"
            return Reason("json.duplicate", text, self._columns[error.number])
        except ValueRefusal as refusal:
            return refusal.reason()

    def _document(self, message: bytes) -> Members:
        if not message.strip(_BLANKS):
            raise ValueRefusal("json.empty", "the value is empty")
        try:
            text = message.decode()
        except UnicodeDecodeError as error:
            raise ValueRefusal("json.utf8", f"not UTF-8 at byte {error.start}{form_hint(message)}") from error
        if deeper_than(message, MAX_DEPTH):
            raise ValueRefusal("json.depth", f"objects and arrays nest deeper than {MAX_DEPTH}")
        self._non_numbers = 0
        try:
            document = self._json.decode(text)
        except json.JSONDecodeError as error:
            raise ValueRefusal("json.syntax", f"{syntax_fault(error)}{form_hint(message)}") from error
        if "\\u" in text and _SURROGATE.search(_PAIR.sub("", text.replace("\\\\", "\0"))):
            raise ValueRefusal("json.surrogate", "a \\u escape is half of a surrogate pair")
        if type(document) is not Members:
            raise ValueRefusal("json.object", "the value is JSON, but not an object")
        return document

    def _row(self, document: Members) -> list[Any]:
        row: list[Any] = [None] * len(self._takers)
        for number in self._wanted.columns:
            row[number] = document  # the whole message, which JsonTexts replaces
        if self._non_numbers > self._takeable(document, self._wanted):
            raise _no_json("NaN or an infinity in a member without a column that takes it")
        self._fill(row, document, self._wanted, ())
        return row

    def _takeable(self, members: Members, wanted: SourceTree) -> int:
        """Return how many of the object's values are NaN or an infinity that columns take, or the decoder of elements judges."""
        if not self._non_numbers or wanted.columns:
            return 0  # a column that takes the object whole takes no NaN within it
        count = 0
        for key, value in members:
            node = wanted.inner.get(self._spelling(key))
            if node is None:
                continue
            if type(value) is NonNumber:
                count += not node.inner and all(self._takes_non_finite[number] for number in node.columns)
            elif type(value) is Members:
                count += self._takeable(value, node)
            elif type(value) is list and not node.inner and self._elements.issuperset(node.columns):
                count += _non_numbers_in(value)
        return count

    def _fill(self, row: list[Any], members: Members, wanted: SourceTree, path: tuple[str, ...]) -> None:
        def what(key: str) -> str:
            columns = wanted.inner[key].columns
            return f"column {self._labels[columns[0]]}" if columns else f"the key {path_text((*path, key))}"

        def with_column(key: str, refusal: ValueRefusal) -> Exception:
            columns = wanted.inner[key].columns
            return _ColumnRefusal(columns[0], refusal) if columns else refusal

        for key, value in once_each(
            members=members, wanted=wanted.inner, spelling=self._spelling, what=what, of_column=with_column
        ):
            if value is None:
                continue
            node = wanted.inner[key]
            for number in node.columns:
                try:
                    row[number] = self._takers[number](value, self._labels[number])
                except ValueRefusal as refusal:
                    raise _ColumnRefusal(number, refusal) from None
            if not node.inner:
                continue
            if type(value) is not Members:
                raise ValueRefusal(
                    "json.type", f"{path_text((*path, key))} expects an object, got {kind_of(value)}"
                )
            self._fill(row, value, node, (*path, key))


def _non_numbers_in(value: Any) -> int:
    """Return how many values within a value are NaN or an infinity."""
    if type(value) is Members:
        return sum(_non_numbers_in(inner) for _, inner in value)
    return sum(map(_non_numbers_in, value)) if type(value) is list else type(value) is NonNumber


def _column_taker(
    dtype: pa.DataType, zone: str, spelling: Spelling, source: Source, changes: Changes
) -> Take:
    if isinstance(source.form, ElementTexts):
        return partial(_elements, path_text(source.keys))
    if source.leeway.json != "refuse":
        return lambda value, path: value  # JsonTexts replaces it
    if source.characters is not None:
        take = characters(source.characters, dtype)
    elif pa.types.is_string(dtype) and source.form is None:
        return plain(dtype, str, TEXT_HINT)
    leeway = loose_forms(dtype, source.leeway, source.form)
    unit = source.form.unit if isinstance(source.form, Epoch) else source.unit
    if source.characters is None:
        take = with_hints(taker(dtype, zone, spelling, unit=source.unit, form=source.form), dtype, unit)
    return loose(take, dtype, zone=zone, unit=unit, leeway=leeway, changes=changes)


def _elements(array: str, value: Any, _path: str) -> Any:
    """Return the elements of the array at the path `array`, which JsonTexts replaces."""
    if type(value) is not list:
        raise ValueRefusal("json.array", f"{array} expects an array, got {kind_of(value)}")
    return value


def make(spec: DecoderSpec) -> Decoder:
    """Make the decoder of either format. A message is one object, or has several if `rows` is `lines` or `array`.

    Raises ValueError; see check_columns.
    """
    if spec.format == "json":
        return _document_decoder(spec)
    inner = _document_decoder(replace(spec, format="json"))
    return FramedDecoder(inner, spec.wire.framing, _schemas_check(spec))


def _document_decoder(spec: DecoderSpec) -> Decoder:
    if spec.array:
        return EnclosedRowsDecoder(
            schema=spec.schema,
            sources=spec.source_of_each(),
            array=spec.array,
            open_decoder=lambda columns, of: of_named_columns(spec.of_columns(columns, of), of_records),
            spelling=_spelling(spec),
        )
    one = of_named_columns(spec, of_records)
    if spec.rows == "one":
        return one
    return SeveralRowsDecoder(one, split_lines if spec.rows == "lines" else array_split())


def array_split(library: Any = LIBRARY) -> Callable[[pa.BinaryArray], Elements]:
    """Return the function that splits arrays into elements. `library`: the compiled library; None: it splits in Python."""
    if library is None:
        return split_arrays
    return partial(split_arrays, compiled=NativeArrays(library, MOST_ROWS).split)


def _spelling(spec: DecoderSpec) -> Spelling:
    return lower_case_spelling if spec.any_case else exact_spelling


def of_records(spec: DecoderSpec, library: Any = LIBRARY) -> Decoder:
    """Return the decoder of objects that may carry schemas, for columns that may have leeway. See JsonDecoder."""

    def of_sources(sources: Sequence[Source]) -> Decoder:
        return with_leeway(
            schema=spec.schema,
            zone=spec.zone,
            sources=sources,
            changes=spec.changes,
            open_decoder=lambda columns, of: JsonDecoder(spec.of_columns(columns, of), library),
            library=library,
        )

    return with_record_schemas(spec.schema, spec.source_of_each(), _spelling(spec), of_sources)


class JsonDecoder:
    """Decodes one JSON object per message, by docs/decoding.md."""

    def __init__(self, spec: DecoderSpec, library: Any = LIBRARY) -> None:
        """`library`: the compiled library; None: the exact decoder reads everything."""
        check_columns(spec)
        self.schema = schema = spec.schema
        zone, sources = spec.zone, spec.source_of_each()
        spelling = _spelling(spec)
        self._compiled = (
            None
            if library is None
            else NativeJsonReader(
                library=library,
                schema=schema,
                zone=zone,
                sources=sources,
                spelling=spelling,
                any_case=spec.any_case,
            )
        )
        exact = JsonExactDecoder(schema, zone, sources, spelling, changes=spec.changes)
        self._reader = PartReader(schema, exact.decode, self._compiled, spec.changes)

    def decode(self, values: pa.BinaryArray) -> Decoded:
        """See Decoder."""
        result = join_parts(self.schema, [self._reader.read(values, np.arange(len(values)))])
        if self._compiled is None:
            return result
        return replace(result, new_keys=self._compiled.new_keys())


CheckSchema = Callable[[SchemaId], None]
"""Checks the schema of this id. Raises the errors of a SchemaCheck, and SchemaRegistryUnavailable."""


def _schemas_check(spec: DecoderSpec) -> CheckSchema | None:
    """Return the check of the schemas that messages name; None if their columns do not follow schemas."""
    check, writers = spec.check, spec.writers
    if check is None or writers is None or isinstance(writers, WriterSchema):
        return None

    def check_schema(schema_id: SchemaId) -> None:
        writer = writers.get(schema_id)
        if writer is not None and writer.kind == JSON:
            with suppress(
                SchemaInvalid
            ):  # such a schema says nothing of its messages, which are decoded without it
                schema = parse(writer)
                check.json(schema_id, schema)

    return check_schema


MOST_CHECKED = 1000
"""Limit of ids of schemas that were checked. At the limit all of them are forgotten."""
_TO_THE_END = 2**31 - 1


class FramedDecoder:
    """Takes the head off each message and decodes the rest with `inner`. Rejects messages without a head as `json.frame`."""

    def __init__(
        self, inner: Decoder, framing: Framing = "id4", check_schema: CheckSchema | None = None
    ) -> None:
        self.schema = inner.schema
        self._check_schema = check_schema
        self._checked: set[SchemaId] = set()
        self._inner = inner
        self._framing = framing

    def decode(self, values: pa.BinaryArray) -> Decoded:
        places, bodies, bare = self._bodies(values)
        decoded = self._with_hints(self._inner.decode(bodies), values, places)
        if len(places) == len(values):
            return decoded
        rejected = np.concatenate([places[decoded.rejected.to_numpy()], bare])
        reasons = [
            *decoded.reasons,
            *no_frames(format="json", what="the JSON", values=values, places=bare, framing=self._framing),
        ]
        order = np.argsort(rejected, kind="stable")
        return Decoded(
            rows=decoded.rows,
            accepted=pa.array(places[decoded.accepted.to_numpy()], pa.int32()),
            rejected=pa.array(rejected[order], pa.int32()),
            reasons=[reasons[at] for at in order],
            without_rows=None
            if decoded.without_rows is None
            else pa.array(places[decoded.without_rows.to_numpy()], pa.int32()),
        )

    def _check(self, schema_id: SchemaId | None) -> None:
        if self._check_schema is None or schema_id is None or schema_id in self._checked:
            return
        self._check_schema(schema_id)
        if len(self._checked) >= MOST_CHECKED:
            self._checked.clear()
        self._checked.add(schema_id)

    def _with_hints(self, decoded: Decoded, values: pa.BinaryArray, places: Places) -> Decoded:
        """Add hints to the reasons. `places`: where the decoded messages, those with a head, are in `values`."""
        if not len(decoded.rejected):
            return decoded
        messages = values.take(pa.array(places[decoded.rejected.to_numpy()])).to_pylist()
        reasons = [
            replace(reason, text=reason.text + json_id_hint(message, self._framing))
            for reason, message in zip(decoded.reasons, messages, strict=True)
        ]
        return replace(decoded, reasons=reasons)

    def _bodies(self, values: pa.BinaryArray) -> tuple[Places, pa.BinaryArray, Places]:
        """Return the places of messages with a head, the bytes after it, and the places of the others; all ascending."""
        by_length: dict[int, list[Places]] = {}  # length 0: messages without a head
        for head, places_of_head in heads(values, self._framing):
            self._check(head.schema_id)
            by_length.setdefault(head.length, []).append(places_of_head)
        bare = np.sort(np.concatenate(by_length.pop(0, [np.empty(0, np.int64)])))
        if len(by_length) == 1 and not len(bare):
            return np.arange(len(values)), pc.binary_slice(values, next(iter(by_length)), _TO_THE_END), bare
        places, bodies = np.empty(0, np.int64), pa.array([], pa.binary())
        for length, groups in by_length.items():
            of_length = np.concatenate(groups)
            sliced = pc.binary_slice(values.take(pa.array(of_length)), length, _TO_THE_END)
            places, bodies = np.concatenate([places, of_length]), pa.concat_arrays([bodies, sliced])
        order = np.argsort(places, kind="stable")
        return places[order], bodies.take(pa.array(order)), bare
