"""Texts that are a number and also the base64 of another one."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.pipeline.decode.change_logs.images import Open, Wanted, opened
from kafka2hive.pipeline.decode.change_logs.rows import rows_of
from kafka2hive.pipeline.decode.protocol import Reason

BOTH = re.compile(r"\+?[0-9]+(?:[eE]\+?[0-9]+)?")
"""What numbers are spelled with and base64, too; of a length that four divides it is both."""

_ESCAPE = r"\\u"
_SHOWN = 40
_ROOM = 76
"""Digits, more than any column has."""


def ambiguous(
    values: pa.BinaryArray, column: pa.Array, wanted: Wanted, open_decoder: Open
) -> dict[int, Reason]:
    """Which records have such a text for this decimal, and why they are refused.

    `column` has been read of the same records as texts or numbers: only a whole number that is not negative may be one.
    """
    wide = column.cast(
        pa.decimal256(_ROOM, column.type.scale)
    )  # in the column's own digits Arrow may fail to round
    whole = pc.and_(pc.equal(wide, pc.trunc(wide)), pc.greater_equal(wide, pa.scalar(0, wide.type)))
    return {
        place: Reason(
            "change_log.decimal",
            f'column {wanted.name}: "{text[:_SHOWN]}" is a number, and also the base64 of another one:'
            " set source: {debezium: {decimals: text}} (decimal.handling.mode string or double), or base64 (precise)",
            wanted.name,
        )
        for place, text in texts_among(values, whole, wanted, open_decoder).items()
        if len(text) % 4 == 0 and BOTH.fullmatch(text)
    }


def texts_among(
    values: pa.BinaryArray, candidates: pa.BooleanArray, wanted: Wanted, open_decoder: Open
) -> dict[int, str]:
    """The texts that stand for a column in the candidates among some records; numbers and nulls are none.

    They are read only where a quote stands behind the key.
    """
    key = wanted.source.keys[-1]
    if key.isascii():
        quoted = rf'(?i)"{re.escape(key)}"[ \t\r\n]*:[ \t\r\n]*"|{_ESCAPE}'
        candidates = pc.and_(candidates, pc.match_substring_regex(values, quoted))
    places = np.flatnonzero(pc.fill_null(candidates, False).to_numpy(zero_copy_only=False))
    if not len(places):
        return {}
    decoder = opened([Wanted(wanted.name, pa.string(), wanted.source)], open_decoder)
    texts = rows_of(decoder.decode(values.take(pa.array(places)))).at(places)
    found = zip(texts.places.tolist(), texts.rows.column(0).to_pylist(), strict=True)
    return {place: text for place, text in found if text is not None}
