"""Rows as delimited text: fields in the order of the columns, NULL as a text of its own."""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.values import TextOptions
from kafka2hive.formats.lines.texts import replaced, texts_of
from kafka2hive.formats.times import Bad


def text_lines(options: TextOptions) -> Callable[[pa.RecordBatch], pa.Array]:
    """One line per row."""

    def lines(rows: pa.RecordBatch) -> pa.Array:
        fields = [pc.fill_null(field_texts(column, options), options.null_text) for column in rows.columns]
        whole = pc.binary_join_element_wise(*fields, options.delimiter)
        return pc.binary_join_element_wise(whole, "\n", "")

    return lines


def field_texts(column: pa.Array, options: TextOptions) -> pa.Array:
    """Null where the value is; strings with the escape before what would end a field or a line."""
    if not pa.types.is_string(column.type):
        return texts_of(column)  # holds none of these
    escape, delimiter = options.escape, options.delimiter
    return replaced(
        column,
        (
            (escape, escape * 2),
            (delimiter, escape + delimiter),
            ("\n", escape + "n"),
            ("\r", escape + "r"),
        ),
    )


def null_texts(column: pa.Array, options: TextOptions) -> Bad | None:
    """Values whose text is the one of NULL; None: none."""
    escape, text = options.escape, options.null_text
    if text[:1] == escape and text[1:2] not in (escape, options.delimiter, "n", "r"):
        return None  # no value is written so
    same = pc.fill_null(pc.equal(field_texts(column, options), text), False)
    return same.to_numpy(zero_copy_only=False) if pc.any(same).as_py() else None
