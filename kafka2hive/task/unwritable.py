"""Rows that the table's file format cannot hold, which become dead letters."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from kafka2hive.config.keys import WriterOptions
from kafka2hive.formats.contract.times import Bad, rows_not_in_millis
from kafka2hive.formats.lines.delimited import null_texts
from kafka2hive.formats.orc.encoding import unwritable_rows
from kafka2hive.plugins import Reason
from kafka2hive.task.fetch.chunk import Positions


@dataclass(frozen=True, slots=True)
class Unwritable:
    """A check of one format: `rows` finds the bad rows of a column, `reason` is their code, `fault` the message."""

    rows: Callable[[pa.Array], Bad | None]
    reason: str
    fault: str


_ORC = Unwritable(unwritable_rows, "orc.timestamp", "is before 1970 with a fraction of a second")
_PART_OF_MILLISECOND = "is no whole number of milliseconds"
_MILLIS = Unwritable(rows_not_in_millis, "parquet.timestamp", _PART_OF_MILLISECOND)
_AVRO = Unwritable(rows_not_in_millis, "avro.timestamp", _PART_OF_MILLISECOND)


def unwritable_of(options: WriterOptions) -> Unwritable | None:
    """Return the check for these options; None if their files can hold every row."""
    if options.format == "orc":
        return _ORC
    if options.format == "avro":
        return _AVRO
    if options.format == "text":
        texts = partial(null_texts, options=options.text)
        return Unwritable(texts, "text.null", "has the text that stands for NULL")
    return _MILLIS if options.timestamps == "millis" else None


def rows_not_held(rows: pa.RecordBatch, unwritable: Unwritable) -> tuple[Positions, list[Reason]]:
    """Return the indexes of the rows that a file cannot hold, with one reason each."""
    reasons: dict[int, Reason] = {}
    for field, column in zip(rows.schema, rows.columns, strict=True):
        bad = unwritable.rows(column)
        if bad is not None:
            reason = Reason(unwritable.reason, f"column {field.name} {unwritable.fault}", field.name)
            reasons = dict.fromkeys(np.flatnonzero(bad).tolist(), reason) | reasons
    places = sorted(reasons)
    return np.array(places, dtype=np.int64), [reasons[row] for row in places]
