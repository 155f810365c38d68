"""Rows that the table's file format cannot hold: they become dead letters."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.config.values import WriterOptions
from kafka2hive.formats.delimited.values import null_texts
from kafka2hive.formats.orc.values import unwritable_rows
from kafka2hive.formats.parquet.values import rows_not_in_millis
from kafka2hive.formats.times import Bad

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Unwritable:
    """`rows` finds those of a column; `reason` is the dead letters' code, `fault` says what is wrong with the value."""

    rows: Callable[[pa.Array], Bad | None]
    reason: str
    fault: str


_ORC = Unwritable(unwritable_rows, "orc.timestamp", "is before 1970 with a fraction of a second")
_MILLIS = Unwritable(rows_not_in_millis, "parquet.timestamp", "is no whole number of milliseconds")


def unwritable_of(options: WriterOptions) -> Unwritable | None:
    """None: files written so hold every row."""
    if options.format == "orc":
        return _ORC
    if options.format == "text":
        texts = partial(null_texts, options=options.text)
        return Unwritable(texts, "text.null", "has the text that stands for NULL")
    return _MILLIS if options.timestamps == "millis" else None


def held_by_files(
    rows: pa.RecordBatch, chosen: Positions | None, unwritable: Unwritable
) -> tuple[pa.RecordBatch, Positions | None, tuple[Positions, list[str]] | None]:
    """The rows that Hive can read from a file, and their positions; those of the others, with one reason each.

    `chosen`: the positions of all rows; None: they are the first ones, in their order.
    """
    reasons: dict[int, str] = {}
    for field, column in zip(rows.schema, rows.columns, strict=True):
        bad = unwritable.rows(column)
        if bad is not None:
            reason = f"{unwritable.reason}: column {field.name} {unwritable.fault}"
            reasons = dict.fromkeys(np.flatnonzero(bad).tolist(), reason) | reasons
    if not reasons:
        return rows, chosen, None
    positions = np.arange(len(rows)) if chosen is None else chosen
    kept = np.ones(len(rows), np.bool_)
    kept[list(reasons)] = False
    refused = positions[~kept], [reasons[row] for row in sorted(reasons)]
    return rows.filter(pa.array(kept)), positions[kept], refused
