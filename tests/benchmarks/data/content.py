"""What a peer has really written: rows, bytes, and a checksum that does not depend on order, files or engine.

Every row has a hash over its values; the checksum is the sum of all hashes. Timestamps count as microseconds,
whatever type a file keeps them in. A row that is lost, doubled, changed or in another bucket changes the sum.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tests.benchmarks.peers.shape import Shape
from tests.oracle.data_files import visible_files
from tests.oracle.tree import Tree

Hashes = npt.NDArray[np.uint64]
_STEP = np.uint64(0x9E3779B97F4A7C15)  # odd: multiplying loses nothing
_OF_TEXT = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)
_NULL = np.uint64(0xD1B54A32D192ED03)


@dataclass(frozen=True, slots=True)
class Content:
    """`file_bytes` of all visible files; `checksum` 0 when it was not asked for."""

    rows: int
    file_bytes: int
    files: int
    checksum: int


def content(tree: Tree, location: str, shape: Shape, deep: bool) -> Content:
    """Rows from the footers; with `deep` all values are read."""
    sizes = tree.files(location)
    paths = visible_files(tree, location)
    rows = checksum = 0
    for path in paths:
        file = _opened(tree.read(path), shape)
        rows += file.metadata.num_rows
        if deep:
            bucket = unquote(path.removeprefix(location + "/").rpartition("/")[0].partition("=")[2])
            for batch in file.iter_batches(500_000, columns=list(shape.columns)):
                checksum = (checksum + batch_sum(batch, bucket, shape)) % (1 << 64)
    return Content(rows, sum(sizes[path] for path in paths), len(paths), checksum)


def _opened(data: bytes, shape: Shape) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(io.BytesIO(data))
    except pa.ArrowInvalid as error:
        if "Map keys" not in str(error):
            raise
    return pq.ParquetFile(io.BytesIO(maps_as_lists(data, shape)))


def maps_as_lists(data: bytes, shape: Shape) -> bytes:
    """Flink declares a map's keys optional, which pyarrow refuses: with this footer maps are lists of pairs.

    In Thrift's compact protocol: the column's name, its one child, the converted type and the logical type.
    """
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    footer = data[start:]
    for name, kind in shape.columns.items():
        if kind.startswith("map<"):
            head = name.encode() + b"\x15\x02\x15"
            footer = footer.replace(head + b"\x02\x4c\x2c", head + b"\x06\x4c\x3c")
    return data[:start] + footer


def expected(records: Iterator[pa.RecordBatch], shape: Shape) -> tuple[int, int]:
    """Rows and checksum of decoded records; of copies of them both are that many times as much, modulo 2^64."""
    rows = checksum = 0
    for batch in records:
        times = batch.column(shape.time).to_numpy(zero_copy_only=False).astype("datetime64[s]")
        buckets = times.astype(f"datetime64[{shape.numpy_unit}]")
        for bucket in np.unique(buckets):
            chosen = batch.filter(pa.array(buckets == bucket))
            rows += len(chosen)
            checksum += batch_sum(chosen, bucket.item().strftime(shape.strftime), shape)
    return rows, checksum % (1 << 64)


def batch_sum(batch: pa.RecordBatch, bucket: str, shape: Shape) -> int:
    """The sum of the rows' hashes, modulo 2^64."""
    hashes = np.full(len(batch), _of_text([bucket])[0], dtype=np.uint64)
    for name in shape.columns:
        hashes = _mixed(hashes, _hashes(_as_map(batch.column(name), shape.columns[name])))
    return int(np.add.reduce(hashes, dtype=np.uint64))


def _as_map(column: pa.Array, kind: str) -> pa.Array:
    if not kind.startswith("map<") or pa.types.is_map(column.type):
        return column
    pairs = column.values
    return pa.MapArray.from_arrays(
        column.offsets, pairs.field("key"), pairs.field("value"), mask=column.is_null()
    )


def _hashes(column: pa.Array) -> Hashes:
    """One hash per value, the same for equal values of whatever physical type."""
    kind = column.type
    if pa.types.is_struct(kind):
        fields = sorted(kind, key=lambda field: str(field.name))
        parts = [_hashes(pc.struct_field(column, field.name)) for field in fields]
        result = reduce(_mixed, parts, np.full(len(column), _STEP))
    elif pa.types.is_list(kind):
        result = _of_list(column)
    elif pa.types.is_map(kind):
        result = _of_map(column)
    elif pa.types.is_decimal(kind):
        result = _hashes(column.cast(pa.string()))
    elif pa.types.is_dictionary(kind) or any(is_kind(kind) for is_kind in _OF_TEXT):
        encoded = column if pa.types.is_dictionary(kind) else column.dictionary_encode()
        of_value = np.append(_of_text(encoded.dictionary.to_pylist()), _NULL)
        result = of_value[encoded.indices.fill_null(len(of_value) - 1).to_numpy(zero_copy_only=False)]
    else:
        result = _of_numbers(column)
    if column.null_count:
        result = np.where(column.is_null().to_numpy(zero_copy_only=False), _NULL, result)
    return result


def _of_numbers(column: pa.Array) -> Hashes:
    if pa.types.is_timestamp(column.type):  # Flink writes INT96, which is read as nanoseconds
        column = column.cast(pa.timestamp("us", tz=column.type.tz)).cast(pa.int64())
    return _hashed(column.fill_null(0).to_numpy(zero_copy_only=False))


def _of_text(values: list[str] | list[bytes]) -> Hashes:
    if not values:
        return np.array([], np.uint64)
    return _hashed(np.array(values, dtype=object))


def _hashed(values: npt.NDArray[Any]) -> Hashes:
    """Each value's hash. Pandas is imported here: that takes a second, of every process that collects the tests."""
    from pandas.util import hash_array

    found: Hashes = hash_array(values, categorize=False)
    return found


def _of_list(column: pa.ListArray) -> Hashes:
    """Depends on order: each element's hash is weighted by its place in the list."""
    items = _hashes(column.flatten())
    lengths = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    ends = np.cumsum(lengths)
    place = np.arange(len(items)) - np.repeat(ends - lengths, lengths)
    weighted = items * (np.uint64(2) * place.astype(np.uint64) + np.uint64(1))
    sums: Hashes = np.append(np.uint64(0), np.cumsum(weighted, dtype=np.uint64))
    found: Hashes = sums[ends] - sums[ends - lengths] + lengths.astype(np.uint64)
    return found


def _of_map(column: pa.MapArray) -> Hashes:
    """Does not depend on order: engines that hold a map as a hash table write its entries as they come."""
    bounds = column.offsets.to_numpy()
    entries = _mixed(_hashes(column.keys), _hashes(column.items))
    sums: Hashes = np.append(np.uint64(0), np.cumsum(entries, dtype=np.uint64))
    found: Hashes = sums[bounds[1:]] - sums[bounds[:-1]] + np.diff(bounds).astype(np.uint64)
    return found


def _mixed(so_far: Hashes, further: Hashes) -> Hashes:
    mixed = (so_far ^ (so_far >> np.uint64(29))) * _STEP + further
    return mixed ^ (mixed >> np.uint64(32))
