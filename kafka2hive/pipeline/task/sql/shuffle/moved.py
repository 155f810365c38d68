"""What goes through the shuffle beside a row, and which part a row goes to."""

import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.model.offsets import OffsetRange
from kafka2hive.pipeline.task.bucket.bucketer import BucketIds
from kafka2hive.pipeline.task.chunk import Positions

Marks = npt.NDArray[np.uint64]

MOVED = pa.struct(
    [
        ("part", pa.int32()),
        ("path", pa.string()),
        ("range", pa.int32()),
        ("offset", pa.int64()),
        ("attempt", pa.int64()),
    ]
)
"""Where a row goes, its bucket, the number of its range in the table's whole epoch, its offset, and the attempt that read it."""

ROWS_TOGETHER = 100_000
"""Of one bucket in one task that are never split: less is not worth another file."""


class Parts:
    """Which of `count` parts the rows of a task go to: all of a bucket to one, and of a large bucket further rows to the next.

    A bucket is large when it holds more than an even part of the task's offsets: so the largest is spread over all parts.
    """

    def __init__(self, count: int, ranges: Sequence[OffsetRange], together: int = ROWS_TOGETHER) -> None:
        self._count = count
        self._together = max(together, -(-sum(map(len, ranges)) // count))
        self._first: list[int] = []
        self._seen = np.zeros(0, np.int64)

    def of_rows(self, ids: BucketIds, paths: Sequence[str]) -> npt.NDArray[np.int32]:
        self._first += [zlib.crc32(path.encode()) % self._count for path in paths[len(self._first) :]]
        self._seen = np.concatenate([self._seen, np.zeros(len(paths) - len(self._seen), np.int64)])
        order = np.argsort(ids, kind="stable")
        there, starts, counts = np.unique(ids[order], return_index=True, return_counts=True)
        place = np.empty(len(ids), np.int64)  # of each row among all rows of its bucket
        place[order] = np.arange(len(ids)) - np.repeat(starts, counts) + np.repeat(self._seen[there], counts)
        self._seen[there] += counts
        parts = (np.array(self._first, np.int64)[ids] + place // self._together) % self._count
        return parts.astype(np.int32)


def marks_of(of_range: Positions, offsets: Positions, ranges: int) -> Marks:
    """By range the sum of its offsets' hashes (splitmix64), whatever their order: a lost and a doubled row do not make up."""
    with np.errstate(over="ignore"):
        mixed = offsets.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
        sums = np.zeros(ranges, np.uint64)
        np.add.at(sums, of_range, mixed)
    return sums
