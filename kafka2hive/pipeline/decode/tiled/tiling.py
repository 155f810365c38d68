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

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.pipeline.decode.columns import convert, wire_type
from kafka2hive.pipeline.decode.epochs import of_epoch_numbers
from kafka2hive.pipeline.decode.message_bytes import MessageBytes
from kafka2hive.pipeline.decode.sources import (
    Source,
    SourceTree,
    Spelling,
    as_it_stands,
    own_names,
    source_tree,
)
from kafka2hive.pipeline.decode.tiled.digits import Index, Mask, whole_numbers
from kafka2hive.pipeline.decode.tiled.sheet import MemberValues, Sheet, first_bytes, word
from kafka2hive.pipeline.decode.tiled.template import Template, template_of
from kafka2hive.pipeline.decode.tolerant_cast import cast_or_null

_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$"
_PLAIN_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?$"
_MOST_IGNORED = 64  # members the table does not have
_MINUS = ord("-")


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
        self._sources = sources or own_names(schema.names)
        self._wanted = source_tree(self._sources, spelling).inner
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
        sheet = Sheet(messages, sound, template)
        found = self._columns(template, wanted, sheet)
        if found is None:
            return None
        nothing = len(sheet.begin)
        columns = [
            found[i] if i in found else pa.nulls(nothing, dtype) for i, dtype in enumerate(self._types)
        ]
        rows = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        return (rows if sheet.fits.all() else rows.filter(pa.array(sheet.fits))), sheet.fits

    def _is_flat(self, values: list[SourceTree]) -> bool:
        """No value is wanted for what lies within it, and no two keys of the template are one (by their small letters)."""
        return len({id(value) for value in values}) == len(values) and not any(
            value.inner or any(pa.types.is_nested(self._types[number]) for number in value.columns)
            for value in values
        )

    def _columns(
        self, template: Template, wanted: Sequence[SourceTree | None], sheet: Sheet
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
            if 2 * np.count_nonzero(sheet.fits) < len(sheet.fits):
                return None
        sheet.skip(template.suffix)
        sheet.fits &= sheet.at == sheet.end
        return found

    def _column(self, sheet: Sheet, values: MemberValues, number: int) -> pa.Array:
        dtype, unit = self._types[number], self._sources[number].unit
        if unit is not None:
            times, bad = of_epoch_numbers(_integers(sheet, values, pa.int64()), dtype, unit, self._zone)
            sheet.fits &= ~bad
            return times
        if pa.types.is_integer(dtype):
            return _integers(sheet, values, dtype)
        if pa.types.is_boolean(dtype):
            true = (values.length == 4) & ((values.begin & first_bytes(4)) == word(b"true"))
            false = (values.length == 5) & ((values.begin & first_bytes(5)) == word(b"false"))
            sheet.fits &= true | false | values.null
            return pa.array(true, mask=values.null)
        if pa.types.is_floating(dtype) or pa.types.is_decimal(dtype):
            return _other_numbers(sheet, values, dtype, self._zone)
        sheet.fits &= values.string | values.null
        texts = sheet.texts(values.start + 1, values.length - 2, sheet.fits & values.string)
        converted = convert(texts, dtype, self._zone)
        if converted.suspect is not None:
            sheet.fits &= ~converted.suspect
        return converted.column


def _integers(sheet: Sheet, values: MemberValues, dtype: pa.DataType) -> pa.Array:
    numbers, right = _whole(sheet, values)
    if dtype != pa.int64():
        limit = 1 << (dtype.bit_width - 1)
        right &= (numbers >= -limit) & (numbers < limit)
    sheet.fits &= right | values.null
    return pa.array(numbers.astype(dtype.to_pandas_dtype()), mask=values.null if values.null.any() else None)


def _whole(sheet: Sheet, values: MemberValues) -> tuple[Index, Mask]:
    negative = (values.begin & first_bytes(1)) == np.uint64(_MINUS)
    return whole_numbers(sheet.words, values.begin, values.start, values.length, negative)


def _other_numbers(sheet: Sheet, values: MemberValues, dtype: pa.DataType, zone: str) -> pa.Array:
    if dtype == pa.float64():
        numbers, right = _whole(sheet, values)
        zero_or_large = (numbers == 0) | (np.abs(numbers) >= 1 << 53)  # -0 is a double of its own
        if not (sheet.fits & ~values.null & (~right | zero_or_large & (values.length != 1))).any():
            return pa.array(numbers.astype(np.float64), mask=values.null if values.null.any() else None)
    texts = sheet.texts(values.start, values.length, sheet.fits & ~values.string & ~values.null)
    decimal = pa.types.is_decimal(dtype)
    spelled = _is_true(pc.match_substring_regex(texts, _PLAIN_NUMBER if decimal else _NUMBER))
    if decimal:
        spelled &= values.length <= 38
    sheet.fits &= spelled | values.null
    column, lost = cast_or_null(
        pc.if_else(pa.array(spelled), texts, pa.scalar(None, pa.string())), wire_type(dtype)
    )
    converted = convert(column, dtype, zone)
    for doubtful in (lost, converted.suspect, converted.large):
        if doubtful is not None:
            sheet.fits &= ~doubtful
    return converted.column


def _ignored(sheet: Sheet, values: MemberValues) -> None:
    literal = values.null | values.string
    literal |= (values.length == 4) & ((values.begin & first_bytes(4)) == word(b"true"))
    literal |= (values.length == 5) & ((values.begin & first_bytes(5)) == word(b"false"))
    right = literal | _whole(sheet, values)[1]
    rest = sheet.fits & ~right
    if rest.any():
        right |= _is_true(pc.match_substring_regex(sheet.texts(values.start, values.length, rest), _NUMBER))
    sheet.fits &= right


def _is_true(answers: pa.Array) -> Mask:
    mask: Mask = pc.fill_null(answers, False).to_numpy(zero_copy_only=False)
    return mask
