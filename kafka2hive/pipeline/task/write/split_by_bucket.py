"""Split batches by bucket: by slices where time runs in order, by sorting where it does not."""

import itertools
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from kafka2hive.pipeline.task.bucket.bucketer import BucketIds

_ROWS_PER_SLICE = 64  # below this average, gathering row by row is cheaper than slices


def split_by_bucket(
    batches: list[pa.RecordBatch], ids: list[BucketIds]
) -> Iterator[tuple[int, list[pa.RecordBatch]]]:
    """The rows of each bucket, in the order in which they came; `ids` has one bucket per row of each batch.

    What comes out shares no memory with `batches` unless there is one bucket only: a few rows of a slow bucket must
    not keep whole batches alive.
    """
    first = int(ids[0][0])
    if all((numbers == first).all() for numbers in ids):
        yield first, batches
        return
    cuts = [np.flatnonzero(np.diff(numbers)) + 1 for numbers in ids]
    if sum(map(len, ids)) >= _ROWS_PER_SLICE * sum(len(cut) + 1 for cut in cuts):
        yield from _by_slices(batches, ids, cuts)
    else:
        yield from _by_sorting(batches, ids)


def _by_slices(
    batches: list[pa.RecordBatch],
    ids: list[BucketIds],
    cuts: list[np.ndarray[tuple[int], np.dtype[np.int64]]],
) -> Iterator[tuple[int, list[pa.RecordBatch]]]:
    slices: dict[int, list[pa.RecordBatch]] = {}
    for batch, numbers, cut in zip(batches, ids, cuts, strict=True):
        for start, stop in itertools.pairwise([0, *cut.tolist(), len(numbers)]):
            slices.setdefault(int(numbers[start]), []).append(batch.slice(start, stop - start))
    for number, pieces in slices.items():
        yield number, [pa.concat_batches(pieces)]


def _by_sorting(
    batches: list[pa.RecordBatch], ids: list[BucketIds]
) -> Iterator[tuple[int, list[pa.RecordBatch]]]:
    whole = pa.concat_batches(batches)
    numbers = np.concatenate(ids)
    order = np.argsort(numbers, kind="stable")
    in_order = numbers[order]
    starts = [0, *(np.flatnonzero(np.diff(in_order)) + 1).tolist(), len(numbers)]
    for start, stop in itertools.pairwise(starts):
        yield int(in_order[start]), [whole.take(pa.array(order[start:stop]))]
