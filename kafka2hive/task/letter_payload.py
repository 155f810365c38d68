"""What dead letters of tables with masks hold of their records (`dead_letters.payload`), and which letters lack their bytes."""

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys import TableSettings
from kafka2hive.config.keys.masks import LetterPayload

PAYLOAD_HEADER = "kafka2hive.payload"
"""The last header of a letter without its record's bytes; its value is `hash` or `drop`. Such a letter cannot be replayed."""
_PAYLOAD = ("key", "value")


def payload_of(table: TableSettings, payload: LetterPayload) -> LetterPayload:
    """Return what letters of the table hold: only tables with masks lose anything."""
    return payload if any(column.mask is not None for column in table.decoded_columns) else "keep"


def with_payload(letters: pa.RecordBatch, payload: LetterPayload) -> pa.RecordBatch:
    """Return the letters with what `payload` lets them hold. A letter that already lacks its bytes stays as it is."""
    if payload == "keep" or not len(letters):
        return letters
    whole = np.flatnonzero(~lacking(letters["headers"]))
    columns = {name: letters[name].to_pylist() for name in (*_PAYLOAD, "headers")}
    for row in whole.tolist():
        for name in _PAYLOAD:
            columns[name][row] = _reduced(columns[name][row], payload)
        headers = columns["headers"][row] or [] if payload == "hash" else []
        reduced = [{"key": h["key"], "value": _reduced(h["value"], payload)} for h in headers]
        columns["headers"][row] = [*reduced, {"key": PAYLOAD_HEADER, "value": payload.encode()}]
    arrays: list[Any] = [
        pa.array(columns[field.name], field.type) if field.name in columns else letters[field.name]
        for field in letters.schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=letters.schema)


def lacking(headers: pa.ListArray | pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    """Return a mask of the letters that lack their records' bytes, by their headers."""
    mask = np.zeros(len(headers), np.bool_)
    names = pc.struct_field(pc.list_flatten(headers), "key")
    rows = pc.list_parent_indices(headers)
    mask[np.asarray(rows.filter(pc.fill_null(pc.equal(names, PAYLOAD_HEADER), False)))] = True
    return mask


def _reduced(data: bytes | None, payload: LetterPayload) -> bytes | None:
    if data is None or payload == "drop":
        return None
    return hashlib.sha256(data).hexdigest().encode()
