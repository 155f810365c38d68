"""The masks of a table's columns: applied to decoded rows, and to the texts of reasons, before anything is written.

A table without masks has no step. Values are masked once per distinct value of a batch.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys import Column, MetadataColumn, TableSettings
from kafka2hive.config.keys.masks import Mask
from kafka2hive.config.mask_keys import fingerprint_of
from kafka2hive.plugins import Reason
from kafka2hive.task.rejections import Rejections

MaskArray = Callable[[pa.Array], pa.Array]
_WITHOUT_VALUES = frozenset(
    (
        *("decode.oversized", "headers.utf8", "rows.many", "raw.utf8", "csv.utf8", "csv.fields"),
        *("json.empty", "json.utf8", "json.depth", "json.array", "json.object", "json.surrogate"),
    )
)
"""The reasons whose text has only counts and places, whatever the message holds."""
_HIDDEN = "*"
_BLOCK = 64
"""The block of SHA-256 in bytes."""


_NOT_SHOWN = "what is wrong is not shown, because the table has columns with a mask"


def _text_of(column: str) -> str:
    return f"column {column}: the value is not shown, because the column has a mask"


class Masks:
    """The masks of one table."""

    def __init__(self, columns: Mapping[str, MaskArray], plain: frozenset[str]) -> None:
        """`columns` has the mask of each column by name; reasons against the columns `plain` keep their text."""
        self._columns = columns
        self._plain = plain

    def rows(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows with masked columns."""
        columns = [
            self._columns[name](column) if name in self._columns else column
            for name, column in zip(rows.schema.names, rows.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=rows.schema)

    def rejections(self, rejections: Rejections) -> Rejections:
        """Return the rejections with the texts that may be written."""
        indices, reasons = rejections
        return indices, [self._reason(reason) for reason in reasons]

    def _reason(self, reason: Reason) -> Reason:
        if reason.column in self._plain or reason.code in _WITHOUT_VALUES:
            return reason
        text = _text_of(reason.column) if reason.column in self._columns else _NOT_SHOWN
        return Reason(reason.code, text, reason.column)

    def stored_reason(self, reason: Reason) -> Reason:
        """Return the reason of a stored letter, which does not name its column, with the text that may be written again."""
        own = {_NOT_SHOWN, *map(_text_of, self._columns)}
        return reason if reason.text in own else self._reason(reason)


def masks_of(table: TableSettings, keys: Sequence[bytes]) -> Masks | None:
    """Return the masks of the table's decoded columns, None if it has none. `keys`: the first is that of `hmac`."""
    masks = {column.name: _mask_array(column, column.mask, keys) for column in table.columns if column.mask}
    if not masks:
        return None
    for kind, name in table.metadata:
        if kind is MetadataColumn.MASK_KEY:
            masks[name] = _constant(fingerprint_of(keys[0]))
    # a plug-in's decoder writes what it likes into its reasons
    is_known = table.format != "plugin"
    plain = frozenset(column.name for column in table.columns if column.mask is None and is_known)
    return Masks(masks, plain)


def _constant(text: str) -> MaskArray:
    return lambda values: pa.repeat(text, len(values))


def _mask_array(column: Column, mask: Mask, keys: Sequence[bytes]) -> MaskArray:
    """Return the function that masks the values of a column; its result has the same type."""
    match mask.kind:
        case "drop":
            return lambda values: pa.nulls(len(values), values.type)
        case "partial":
            return lambda values: _partial(values, mask.first, mask.last)
        case "hash":
            return lambda values: _each_distinct(values, lambda text: hashlib.sha256(text).hexdigest())
        case "hmac":
            if not keys:
                raise ValueError(f"column {column.name}: hmac without a key")
            digest = hmac_sha256(keys[0])
            return lambda values: _each_distinct(values, digest)


def hmac_sha256(key: bytes) -> Callable[[bytes], str]:
    """Return the function that computes HMAC-SHA256 in hexadecimal, as RFC 2104 defines it.

    The blocks of the key are hashed once, so it takes half the time of Python's `hmac` for short texts.
    """
    block = (hashlib.sha256(key).digest() if len(key) > _BLOCK else key).ljust(_BLOCK, b"\0")
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block))
    outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in block))

    def digest(text: bytes) -> str:
        first, second = inner.copy(), outer.copy()
        first.update(text)
        second.update(first.digest())
        return second.hexdigest()

    return digest


def _each_distinct(values: pa.Array, digest: Callable[[bytes], str]) -> pa.Array:
    """Return `digest` of the UTF-8 bytes of each value; each distinct value is computed once."""
    encoded = values.dictionary_encode()
    digests = map(digest, encoded.dictionary.cast(pa.binary()).to_pylist())
    return pa.array(digests, values.type).take(encoded.indices)


def _partial(values: pa.Array, first: int, last: int) -> pa.Array:
    """Return the texts with `first` and `last` characters; texts of no more characters are hidden whole."""
    lengths = pc.utf8_length(values)
    hidden = pc.subtract(lengths, first + last)
    is_longer = pc.greater(hidden, 0)
    parts = [pc.binary_repeat(_HIDDEN, pc.if_else(is_longer, hidden, lengths))]
    if first:
        head = pc.utf8_slice_codeunits(values, 0, first)
        parts.insert(0, pc.if_else(is_longer, head, ""))
    if last:
        parts.append(pc.if_else(is_longer, pc.utf8_slice_codeunits(values, -last), ""))
    return pc.binary_join_element_wise(*parts, "")
