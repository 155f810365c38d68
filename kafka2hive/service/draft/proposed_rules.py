"""Rules for the columns of a draft, proposed from the rows that its records decode to. Pure."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.model.text import counted
from kafka2hive.service.draft.map_text import Draft, DraftColumn

LEAST_ROWS = 100
"""Fewer rows are no reason for a rule."""
MOST_VALUES = 12
ROWS_PER_VALUE = 20
"""A text is one of few values if each of them stands for so many rows on average."""
_LONGEST_VALUE = 40


def with_rules(draft: Draft, rows: pa.RecordBatch) -> Draft:
    """Return the draft with rules that all `rows` obey, and a note that they are proposals."""
    if len(rows) < LEAST_ROWS:
        note = f"no rules are proposed: {counted(len(rows), 'row')}, {LEAST_ROWS} are needed"
        return replace(draft, notes=(*draft.notes, note))
    columns = tuple(replace(c, rules=tuple(_rules(c, rows.column(c.name)))) for c in draft.columns)
    if not any(column.rules for column in columns):
        return replace(draft, notes=(*draft.notes, "no rules are proposed: no column seems to have one"))
    note = (
        f"the rules are proposals, which these {counted(len(rows), 'row')} obey: keep what must hold. With on_break: count,"
        " rows that break one are only counted; without that line their messages become dead letters"
    )
    return replace(draft, columns=columns, notes=(*draft.notes, note))


def _rules(column: DraftColumn, values: pa.Array) -> Iterator[str]:
    if not values.null_count:
        yield "required: true"
    kind = values.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        least = pc.min(values).as_py()
        if least is not None and least >= 0:
            yield "min: 0"
    if column.type == "string":
        distinct = sorted(value for value in pc.unique(values).to_pylist() if value is not None)
        are_short = all(len(value) <= _LONGEST_VALUE and value.isprintable() for value in distinct)
        filled = len(values) - values.null_count
        if 1 < len(distinct) <= MOST_VALUES and are_short and filled >= ROWS_PER_VALUE * len(distinct):
            yield f"values: {json.dumps(distinct, ensure_ascii=False)}"
