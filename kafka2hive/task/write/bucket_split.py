"""Split batches by bucket. If there are enough rows, also by topic partition, so that its rows are adjacent in a file."""

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.model.offsets import OffsetRange
from kafka2hive.task.fetch.chunk import Chunk
from kafka2hive.task.fetch.records import Indices
from kafka2hive.task.write.bucketer import BucketIds

SourceIds = npt.NDArray[np.int32]
"""The number of the topic partition per row; the rows of a row group are in the order of these numbers."""

_ROWS_PER_SLICE = 64  # below this average, gathering row by row is cheaper than slices
_ROWS_PER_PIECE = 256  # below this average, Parquet's cost per piece is high, so sources are not separated
_SOURCE_BITS = 32
_Pairs = npt.NDArray[np.int64]  # the bucket in the upper bits, the source in the lower ones


class RowSources:
    """The numbers of a table's topic partitions within a task, in the order of the topic partitions."""

    def __init__(self, ranges: Sequence[OffsetRange]) -> None:
        topic_partitions = sorted({r.topic_partition for r in ranges})
        self._numbers = {tp: number for number, tp in enumerate(topic_partitions)}
        self._by_range = np.array([self._numbers[r.topic_partition] for r in ranges], np.int32)

    def ids_of_rows(self, chunk: Chunk, indices: Indices) -> SourceIds:
        """Return the number of the topic partition of each message at `indices`."""
        numbers = [self._numbers[segment.range.topic_partition] for segment in chunk.segments]
        return np.repeat(np.array(numbers, np.int32), chunk.count_by_segment(indices))

    def ids_of_ranges(self, numbers: Indices) -> SourceIds:
        """Return the number of the topic partition per row; `numbers` has the index of each row's range."""
        numbers_of_rows: SourceIds = self._by_range[numbers]
        return numbers_of_rows


class BucketSlice(NamedTuple):
    """Rows of one bucket and one source. With the source 0 they may be rows of several sources that were not separated.

    So if several calls split the rows of a bucket, the rows of a source may be out of order.
    """

    bucket: int
    source: int
    batches: list[pa.RecordBatch]


def split_by_bucket(
    batches: list[pa.RecordBatch], ids: list[BucketIds], sources: list[SourceIds]
) -> Iterator[BucketSlice]:
    """Yield each row once, by bucket; `ids` has one bucket per row of each batch, `sources` one source.

    Rows of one bucket and source stay in the order in which they came. A slice shares no memory with the rows of other
    buckets, because a few rows of a slow bucket must not keep whole batches alive.
    """
    rows = sum(map(len, ids))
    buckets = [numbers.astype(np.int64) << _SOURCE_BITS for numbers in ids]
    pairs = [bucket | source for bucket, source in zip(buckets, sources, strict=True)]
    keys, cuts = pairs, [_cuts(numbers) for numbers in pairs]
    if rows < _ROWS_PER_PIECE * _slice_count(cuts):
        keys, cuts = buckets, [_cuts(numbers) for numbers in buckets]
    first = int(ids[0][0])
    if all((numbers == first).all() for numbers in ids):
        yield from _split_by_slices(batches, keys, cuts, copied=False)
    elif rows >= _ROWS_PER_SLICE * _slice_count(cuts):
        yield from _split_by_slices(batches, keys, cuts, copied=True)
    else:
        yield from _split_by_sorting(batches, pairs)


def _cuts(keys: _Pairs) -> list[int]:
    cuts: list[int] = (np.flatnonzero(keys[1:] != keys[:-1]) + 1).tolist()
    return cuts


def _slice_count(cuts: Sequence[list[int]]) -> int:
    return sum(len(cut) + 1 for cut in cuts)


def _split_by_slices(
    batches: list[pa.RecordBatch], pairs: list[_Pairs], cuts: list[list[int]], *, copied: bool
) -> Iterator[BucketSlice]:
    slices: dict[int, list[pa.RecordBatch]] = {}
    for batch, keys, cut in zip(batches, pairs, cuts, strict=True):
        for start, stop in itertools.pairwise([0, *cut, len(keys)]):
            slices.setdefault(int(keys[start]), []).append(batch.slice(start, stop - start))
    for key, parts in slices.items():
        batches_of_key = [pa.concat_batches(parts)] if copied else parts
        yield BucketSlice(key >> _SOURCE_BITS, key & ((1 << _SOURCE_BITS) - 1), batches_of_key)


def _split_by_sorting(batches: list[pa.RecordBatch], pairs: list[_Pairs]) -> Iterator[BucketSlice]:
    whole = pa.concat_batches(batches)
    keys = np.concatenate(pairs)
    order = np.argsort(keys, kind="stable")
    in_order = keys[order]
    together = len(keys) < _ROWS_PER_PIECE * _slice_count([_cuts(in_order)])
    buckets = in_order >> _SOURCE_BITS
    for start, stop in itertools.pairwise([0, *_cuts(buckets), len(keys)]):
        bucket = whole.take(pa.array(order[start:stop]))
        if together:
            yield BucketSlice(int(buckets[start]), 0, [bucket])
        else:
            yield from _split_by_slices(
                [bucket], [in_order[start:stop]], [_cuts(in_order[start:stop])], copied=False
            )
