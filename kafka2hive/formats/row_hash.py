"""Hashes of rows: 64 bits per row, computed column by column. Two rows with the same hash count as equal.

Every value becomes a word (see _words). A row's hash is the keyed sum (see _keyed) of its words, each multiplied by an odd
factor of its column. All factors are random per process, so nobody can construct collisions. Hashes of two processes cannot be
compared: the process that compares two sides hashes both of them, and no hash is stored.

Two rows that differ in one number other than a decimal, or in one value of up to seven bytes, never collide. Others collide
with a probability of at most about 2^-42; values that differ only in their highest bits are the worst. Longer values, lists
and structs are hashed to 64 bits first, a long value by Python's hash of bytes, which is random per process unless
PYTHONHASHSEED is set.

Columns are identified by name, so their order does not matter. A float is compared by its bits: NaN equals NaN, and 0.0
differs from -0.0.
"""

import secrets
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.model.errors import Kafka2HiveError

Hashes = npt.NDArray[np.uint64]

_NULL = np.uint64(secrets.randbits(64))
_KEY = np.uint64(secrets.randbits(64) | 1)
_SHIFT = np.uint64(42)
_ROUNDS = (
    (np.uint64(0xBF58476D1CE4E5B9), np.uint64(27)),
    (np.uint64(0x94D049BB133111EB), np.uint64(31)),
)
_WORD = 8  # bytes
_SHORT = 7  # bytes that fit into a word together with their number
_MASKS = np.array([(1 << 8 * length) - 1 for length in range(_SHORT + 1)], np.uint64)


@cache
def _factor(name: str) -> np.uint64:
    """Return the factor of a name in this process. It is odd, so the multiplication maps words one to one."""
    return np.uint64(secrets.randbits(64) | 1)


def row_hashes(columns: Iterable[tuple[str, pa.Array]], rows: int) -> Hashes:
    """Hash each of `rows` rows over the named columns."""
    result = np.zeros(rows, np.uint64)
    for name, column in columns:
        words = _words(column)
        words *= _factor(name)
        result += words
    return _keyed(result)


def mix_words(words: Hashes) -> Hashes:
    """Mix each word one to one so that every bit affects every bit (Stafford's variant 13 of MurmurHash3's finaliser)."""
    result = words >> np.uint64(30)
    result ^= words
    for factor, shift in _ROUNDS:
        result *= factor
        result ^= result >> shift
    return result


def comparable(type: pa.DataType) -> pa.DataType:
    """Return the type to which values are cast for comparison: widths of numbers, and names within lists, do not matter."""
    if pa.types.is_integer(type) or pa.types.is_boolean(type):
        return pa.int64()
    if pa.types.is_floating(type):
        return pa.float64()
    if pa.types.is_string(type) or pa.types.is_binary(type):
        return pa.binary()
    if pa.types.is_map(type):
        pair = [("key", comparable(type.key_type)), ("value", comparable(type.item_type))]
        return pa.list_(pa.struct(pair))
    if pa.types.is_list(type):
        return pa.list_(comparable(type.value_type))
    if pa.types.is_struct(type):
        return pa.struct([(field.name, comparable(field.type)) for field in type])
    return type


def _words(column: pa.Array) -> Hashes:
    """Return one word per value; all nulls have the same word."""
    words = _values(column)
    if column.null_count:
        words[column.is_null().to_numpy(zero_copy_only=False)] = _NULL
    return words


def _values(column: pa.Array) -> Hashes:
    """Return one word per value, in a new array; the words of nulls are undefined."""
    kind = column.type
    if pa.types.is_boolean(kind):
        return _keyed(column.cast(pa.int8()).fill_null(0).to_numpy().astype(np.int64).view(np.uint64))
    if pa.types.is_integer(kind):
        return _keyed(_fixed(column, kind.to_pandas_dtype()).astype(np.int64, copy=False).view(np.uint64))
    if pa.types.is_date32(kind):
        return _keyed(_fixed(column, np.int32).astype(np.int64).view(np.uint64))
    if pa.types.is_timestamp(kind):
        return _keyed(_fixed(column, np.uint64))
    if pa.types.is_floating(kind):
        return _keyed(column.cast(pa.float64()).fill_null(0.0).to_numpy().view(np.uint64))
    if pa.types.is_decimal(kind):
        return _decimals(column)
    if pa.types.is_dictionary(kind):
        if len(column.dictionary) > len(column):  # as of a small part of a row group
            return _words(column.dictionary_decode())
        words = _words(column.dictionary)
        codes = column.indices.fill_null(0).to_numpy()
        return words[codes] if len(words) else np.zeros(len(column), np.uint64)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _bytes(column)
    if pa.types.is_map(kind):
        return _values(column.cast(comparable(kind)))
    if pa.types.is_list(kind):
        return _lists(column)
    if pa.types.is_struct(kind):
        parts = zip(kind, column.flatten(), strict=True)
        return row_hashes(((f".{field.name}", part) for field, part in parts), len(column))
    raise Kafka2HiveError(
        "audit.column_type",
        f"columns of type {kind} cannot be compared",
        "please report this bug; no row is damaged",
    )


def _keyed(words: Hashes) -> Hashes:
    """Map words one to one so that the results seldom differ by a multiple of a high power of two.

    An odd factor does not change a difference of 2^63, so such differences of two columns would cancel. The shift makes
    words that differ by a multiple of 2^n, n >= 42, differ from bit n - 42 on; for a smaller n the key suffices.
    """
    result: Hashes = words * _KEY
    result ^= result >> _SHIFT
    return result


def _fixed(column: pa.Array, dtype: Any) -> npt.NDArray[Any]:
    """Return the values' memory without a copy; nulls are undefined."""
    if not len(column):
        return np.zeros(0, dtype)
    return np.frombuffer(column.buffers()[1], dtype, len(column) + column.offset)[column.offset :]


def _decimals(column: pa.Array) -> Hashes:
    halves = column.type.bit_width // 64
    if not len(column):
        return np.zeros(0, np.uint64)
    whole = np.frombuffer(column.buffers()[1], np.uint64, (len(column) + column.offset) * halves)
    parts = whole[column.offset * halves :].reshape(-1, halves)
    result = np.zeros(len(column), np.uint64)
    for number in range(halves):
        result += _keyed(parts[:, number]) * _factor(f"decimal {number}")
    return _keyed(result)


def _bytes(column: pa.Array) -> Hashes:
    """Put values of up to seven bytes and their length into the word; hash longer ones with Python's hash (SipHash)."""
    lengths, first_bytes = _first_bytes(column)
    words = (first_bytes & _MASKS[np.minimum(lengths, _SHORT)]) | lengths.astype(np.uint64) << np.uint64(56)
    long = lengths > _SHORT
    if long.any():
        words[long] = _hashed(column.filter(pa.array(long)))
    return _keyed(words)


def _first_bytes(column: pa.Array) -> tuple[npt.NDArray[np.int32], Hashes]:
    """Return the length in bytes of each string or binary value, and a word that begins with its first bytes."""
    if not len(column):
        return np.zeros(0, np.int32), np.zeros(0, np.uint64)
    _, bounds, data = column.buffers()
    ends = np.frombuffer(bounds, np.int32, len(column) + 1 + column.offset)[column.offset :]
    if data is None or data.size < _WORD:
        data = (data.to_pybytes() if data is not None else b"").ljust(_WORD, b"\0")
    starts = ends[:-1]
    # a word at every byte up to the last whole word; a value that begins later is shifted out of the last word
    words = np.ndarray(len(memoryview(data)) - _WORD + 1, "<u8", data, strides=(1,))
    last = len(words) - 1
    shifts = np.maximum(starts - last, 0).astype(np.uint64) * np.uint64(8)
    return np.diff(ends), words[np.minimum(starts, last)] >> shifts


def _hashed(values: pa.Array) -> Hashes:
    """Apply Python's hash: to each distinct string once, but to every binary value, because these seldom repeat."""
    if pa.types.is_string(values.type):
        encoded = values.dictionary_encode()
        hashes = _hashed(encoded.dictionary.cast(pa.binary()))
        if not len(hashes):
            return np.zeros(len(values), np.uint64)
        codes: npt.NDArray[np.int32] = encoded.indices.fill_null(0).to_numpy()
        return hashes[codes]
    objects = values.to_numpy(zero_copy_only=False)
    return np.fromiter(map(hash, objects), np.int64, len(objects)).view(np.uint64)


def _lists(column: pa.Array) -> Hashes:
    """Sum the words of a list's elements, each mixed with its index, and the list's length."""
    lengths = pc.list_value_length(column).fill_null(0).to_numpy().astype(np.int64)
    elements = _words(column.flatten())
    ends = np.cumsum(lengths)
    indices = np.arange(1, len(elements) + 1) - np.repeat(ends - lengths, lengths)
    words = mix_words(elements + indices.astype(np.uint64) * _factor("place in a list"))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(words, dtype=np.uint64)])
    result: Hashes = sums[ends] - sums[ends - lengths] + lengths.view(np.uint64) * _factor("length of a list")
    return result
