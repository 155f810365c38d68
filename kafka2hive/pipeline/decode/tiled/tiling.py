"""The fastest way: messages that follow one template, decoded column by column without a parser.

Proof by tiling. A message is accepted only if it is, byte for byte, prefix 1 + value 1 + prefix 2 + ... + suffix. The
prefixes and the suffix are those of a template read off a message that has the form of a flat object, names distinct;
each value matches JSON's grammar of a string without escapes, a number, true, false or null. Every byte is accounted
for, so the message is that JSON object and no other. Whatever does not tile is left to the other ways, which costs
time and nothing else.

Where values end is known from the quotes alone: no message with a backslash takes this way, so a string ends at the
next quote, and any other value ends where the next prefix, whose first quote is the next quote, begins.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.pipeline.decode.columns import convert, wire_type
from kafka2hive.pipeline.decode.epochs import of_epoch_numbers
from kafka2hive.pipeline.decode.message_bytes import MessageBytes
from kafka2hive.pipeline.decode.tiled.digits import PADDING, FindingText, Index, Mask, whole_numbers, words_of
from kafka2hive.pipeline.decode.tiled.template import Template, template_of
from kafka2hive.pipeline.decode.tolerant_cast import cast_or_null
from kafka2hive.pipeline.decode.wanted import (
    Source,
    Spelling,
    Wanted,
    as_it_stands,
    wanted_values,
)

_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$"
_PLAIN_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?$"
_MOST_IGNORED = 64  # members the table does not have
_BLANK, _QUOTE, _MINUS, _BACKSLASH = ord(" "), ord('"'), ord("-"), ord("\\")


def _word(text: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(text, "little"))


def _first(count: int) -> np.uint64:
    """Mask of a word's first `count` bytes."""
    return np.uint64((1 << (8 * count)) - 1)


def _strange(raw: npt.NDArray[np.uint8]) -> Index:
    """Positions of what no tiling message holds: control characters and backslashes. Mostly there are none."""
    if len(raw) == 0 or (raw.min() >= _BLANK and b"\\" not in raw.tobytes()):
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero((raw < _BLANK) | (raw == _BACKSLASH))


def _column_of_words(rows: npt.NDArray[np.void], offset: int) -> FindingText:
    """A view: of each row the eight bytes at `offset`."""
    return np.ndarray(len(rows), dtype="<u8", buffer=rows, offset=offset, strides=(rows.itemsize,))


@dataclass(slots=True)
class _Values:
    """One member's values of all messages: where, how long, and which are strings or null."""

    start: Index
    length: Index
    string: Mask
    null: Mask
    begin: FindingText  # the first eight bytes


class _Sheet:
    """The batch's bytes, and which messages still tile (`alive`); what is kept of the others means nothing."""

    def __init__(self, messages: MessageBytes, sound: Mask, template: Template) -> None:
        raw, offsets = messages.raw, messages.offsets
        margin = max(len(member.prefix) for member in template.members) + len(template.suffix)
        self.raw = np.concatenate([raw, np.zeros(PADDING + margin, dtype=np.uint8)])
        self.words = words_of(self.raw)
        self.begin = offsets[:-1].astype(np.int64)
        self.end = offsets[1:].astype(np.int64)
        self.alive = sound.copy()
        self.alive[np.searchsorted(offsets, _strange(raw), side="right") - 1] = False
        quotes = np.flatnonzero(raw == _QUOTE)
        self.next_quote = np.searchsorted(quotes, self.begin)  # index into quotes, per message
        spare = np.full(4 * len(template.members) + 2, len(raw), dtype=np.int64)
        self.quotes = np.concatenate([quotes, spare])
        self.at = self.begin

    def skip(self, text: bytes) -> FindingText:
        """All alive messages must go on with `text`; returns the eight bytes behind it."""
        size = len(text)
        windows = np.ndarray(len(self.raw) - size - 7, dtype=f"V{size + 8}", buffer=self.raw, strides=(1,))
        here = windows[self.at]  # one look at each message; the rest happens in this small copy
        for step in range(0, size, 8):
            part = text[step : step + 8]
            self.alive &= (_column_of_words(here, step) & _first(len(part))) == _word(part)
        self.at = self.at + size
        return _column_of_words(here, size).copy()

    def values(self, prefix: bytes, following: bytes, last: bool) -> _Values:
        """Skips `prefix` and takes the values up to `following`: the next prefix or, behind the last, the suffix.

        The prefix holds two quotes, so the next quote is a string's own first one, or the first of `following`.
        """
        begin = self.skip(prefix)
        start = self.at
        string = (begin & _first(1)) == np.uint64(_QUOTE)
        quote = self.quotes[self.next_quote + 2 + string]
        end = np.where(string, quote + 1, self.end - len(following) if last else quote - following.find(b'"'))
        self.alive &= (end > start) & (end <= self.end)
        length = end - start
        null = (length == 4) & ((begin & _first(4)) == _word(b"null"))
        self.at = np.where(self.alive, end, self.begin)
        self.next_quote = self.next_quote + 2 + 2 * string
        return _Values(start, length, string, null, begin)

    def texts(self, start: Index, length: Index, wanted: Mask) -> pa.StringArray:
        """The texts at `start`, null where not wanted; `wanted` must be alive. One copy, made by Arrow's take.

        An Arrow array over the batch's own bytes whose elements are in turn a text and the gap behind it.
        """
        borders = np.empty(2 * len(start), dtype=np.int32)
        borders[::2] = np.where(wanted, start, self.begin)
        borders[1::2] = np.where(wanted, start + length, self.begin)
        both = pa.StringArray.from_buffers(len(borders) - 1, pa.py_buffer(borders), pa.py_buffer(self.raw))
        return both.take(pa.array(np.arange(0, len(borders), 2), mask=None if wanted.all() else ~wanted))


class TilingReader:
    """Reads what tiles into the table's columns."""

    def __init__(
        self,
        schema: pa.Schema,
        zone: str,
        sources: Sequence[Source] = (),
        spelling: Spelling = as_it_stands,
    ) -> None:
        """`sources`: where the columns' values stand; none given: each at its own name."""
        self._schema = schema
        self._zone = zone
        self._types = schema.types
        self._sources = sources or [Source((name,)) for name in schema.names]
        self._wanted = wanted_values(self._sources, spelling).inner
        self._spelling = spelling

    def read(self, first: bytes, messages: MessageBytes, sound: Mask) -> tuple[pa.RecordBatch, Mask] | None:
        """Rows of the messages that tile by the template of `first`, and their mask; None where less than half do.

        `sound` marks the messages that are UTF-8; only they are looked at.
        """
        template = template_of(first, len(self._types) + _MOST_IGNORED)
        if template is None:
            return None
        wanted = [self._wanted.get(self._spelling(member.name)) for member in template.members]
        if not self._is_flat([value for value in wanted if value is not None]):
            return None
        sheet = _Sheet(messages, sound, template)
        found = self._columns(template, wanted, sheet)
        if found is None:
            return None
        nothing = len(sheet.begin)
        columns = [
            found[i] if i in found else pa.nulls(nothing, dtype) for i, dtype in enumerate(self._types)
        ]
        rows = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        return (rows if sheet.alive.all() else rows.filter(pa.array(sheet.alive))), sheet.alive

    def _is_flat(self, values: list[Wanted]) -> bool:
        """No value is wanted for what lies within it, and no two keys of the template are one (by their small letters)."""
        return len({id(value) for value in values}) == len(values) and not any(
            value.inner or any(pa.types.is_nested(self._types[number]) for number in value.columns)
            for value in values
        )

    def _columns(
        self, template: Template, wanted: Sequence[Wanted | None], sheet: _Sheet
    ) -> dict[int, pa.Array] | None:
        followings = [m.prefix for m in template.members[1:]] + [template.suffix]
        found: dict[int, pa.Array] = {}
        steps = zip(template.members, wanted, followings, strict=True)
        for number, (member, value, following) in enumerate(steps, 1):
            values = sheet.values(member.prefix, following, number == len(followings))
            if value is None:
                _ignored(sheet, values)
            else:
                for column in value.columns:
                    found[column] = self._column(sheet, values, column)
            if 2 * np.count_nonzero(sheet.alive) < len(sheet.alive):
                return None
        sheet.skip(template.suffix)
        sheet.alive &= sheet.at == sheet.end
        return found

    def _column(self, sheet: _Sheet, values: _Values, number: int) -> pa.Array:
        dtype, unit = self._types[number], self._sources[number].unit
        if unit is not None:
            times, bad = of_epoch_numbers(_integers(sheet, values, pa.int64()), dtype, unit, self._zone)
            sheet.alive &= ~bad
            return times
        if pa.types.is_integer(dtype):
            return _integers(sheet, values, dtype)
        if pa.types.is_boolean(dtype):
            true = (values.length == 4) & ((values.begin & _first(4)) == _word(b"true"))
            false = (values.length == 5) & ((values.begin & _first(5)) == _word(b"false"))
            sheet.alive &= true | false | values.null
            return pa.array(true, mask=values.null)
        if pa.types.is_floating(dtype) or pa.types.is_decimal(dtype):
            return _other_numbers(sheet, values, dtype, self._zone)
        sheet.alive &= values.string | values.null
        texts = sheet.texts(values.start + 1, values.length - 2, sheet.alive & values.string)
        converted = convert(texts, dtype, self._zone)
        if converted.suspect is not None:
            sheet.alive &= ~converted.suspect
        return converted.column


def _integers(sheet: _Sheet, values: _Values, dtype: pa.DataType) -> pa.Array:
    numbers, right = _whole(sheet, values)
    if dtype != pa.int64():
        limit = 1 << (dtype.bit_width - 1)
        right &= (numbers >= -limit) & (numbers < limit)
    sheet.alive &= right | values.null
    return pa.array(numbers.astype(dtype.to_pandas_dtype()), mask=values.null if values.null.any() else None)


def _whole(sheet: _Sheet, values: _Values) -> tuple[Index, Mask]:
    negative = (values.begin & _first(1)) == np.uint64(_MINUS)
    return whole_numbers(sheet.words, values.begin, values.start, values.length, negative)


def _other_numbers(sheet: _Sheet, values: _Values, dtype: pa.DataType, zone: str) -> pa.Array:
    if dtype == pa.float64():
        numbers, right = _whole(sheet, values)
        zero_or_large = (numbers == 0) | (np.abs(numbers) >= 1 << 53)  # -0 is a double of its own
        if not (sheet.alive & ~values.null & (~right | zero_or_large & (values.length != 1))).any():
            return pa.array(numbers.astype(np.float64), mask=values.null if values.null.any() else None)
    texts = sheet.texts(values.start, values.length, sheet.alive & ~values.string & ~values.null)
    decimal = pa.types.is_decimal(dtype)
    spelled = _is_true(pc.match_substring_regex(texts, _PLAIN_NUMBER if decimal else _NUMBER))
    if decimal:
        spelled &= values.length <= 38
    sheet.alive &= spelled | values.null
    column, lost = cast_or_null(
        pc.if_else(pa.array(spelled), texts, pa.scalar(None, pa.string())), wire_type(dtype)
    )
    converted = convert(column, dtype, zone)
    for doubtful in (lost, converted.suspect, converted.large):
        if doubtful is not None:
            sheet.alive &= ~doubtful
    return converted.column


def _ignored(sheet: _Sheet, values: _Values) -> None:
    literal = values.null | values.string
    literal |= (values.length == 4) & ((values.begin & _first(4)) == _word(b"true"))
    literal |= (values.length == 5) & ((values.begin & _first(5)) == _word(b"false"))
    right = literal | _whole(sheet, values)[1]
    rest = sheet.alive & ~right
    if rest.any():
        right |= _is_true(pc.match_substring_regex(sheet.texts(values.start, values.length, rest), _NUMBER))
    sheet.alive &= right


def _is_true(answers: pa.Array) -> Mask:
    mask: Mask = pc.fill_null(answers, False).to_numpy(zero_copy_only=False)
    return mask
