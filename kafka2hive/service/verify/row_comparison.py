"""The comparison of two sides of the same rows: place by place if the rows have offsets, otherwise as multisets. Pure."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kafka2hive.formats.row_hash import Hashes, mix_words
from kafka2hive.service.verify.rows import OUTSIDE, Indices, Numbers, RowArrays

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class PlaceDifferences:
    """The differences of an actual side from an expected one, as ascending places.

    Each place is in one list at most. `lost` has fewer rows than expected, `extra` has rows where none are expected,
    `doubled` has more rows than expected, `different` has other rows, `misplaced` has the same rows in other buckets.
    `expected_buckets`, and `files` (of the last actual row), are indexed by place; -1 means that there is no row.
    """

    lost: Indices
    extra: Indices
    doubled: Indices
    different: Indices
    misplaced: Indices
    expected_buckets: Numbers
    files: Numbers


def compare_by_place(
    length: int, expected: RowArrays, actual: RowArrays, buckets: bool = True
) -> PlaceDifferences:
    """Compare rows at the places 0 to `length`, without rows OUTSIDE; with `buckets` False buckets are not compared."""
    expected, actual = _inside(expected), _inside(actual)
    expected_counts = np.bincount(expected.places, minlength=length)
    counts = np.bincount(actual.places, minlength=length)
    is_expected = expected_counts > 0
    has_several = bool((expected_counts > 1).any())
    hashes = np.zeros((2, length), np.uint64)
    bucket_hashes = np.zeros((2, length), np.uint64)
    numbers = np.full((2, length), -1, np.int32)
    for side, rows in enumerate((expected, actual)):
        numbers[side, rows.places] = rows.buckets
        if has_several:  # sums, because the order of a place's rows does not matter
            np.add.at(hashes[side], rows.places, mix_words(rows.hashes))
            np.add.at(bucket_hashes[side], rows.places, mix_words(rows.hashes + _bucket_words(rows.buckets)))
        else:
            hashes[side, rows.places] = rows.hashes
            bucket_hashes[side, rows.places] = rows.buckets.astype(np.uint64)
    files = np.full(length, -1, np.int32)
    files[actual.places] = actual.files
    same_count = is_expected & (counts == expected_counts)
    different = same_count & (hashes[0] != hashes[1])
    misplaced = same_count & ~different & (bucket_hashes[0] != bucket_hashes[1])
    return PlaceDifferences(
        lost=np.flatnonzero(counts < expected_counts),
        extra=np.flatnonzero(~is_expected & (counts > 0)),
        doubled=np.flatnonzero(is_expected & (counts > expected_counts)),
        different=np.flatnonzero(different),
        misplaced=np.flatnonzero(misplaced) if buckets else np.zeros(0, np.int64),
        expected_buckets=numbers[0],
        files=files,
    )


def _bucket_words(buckets: Numbers) -> Hashes:
    return mix_words(buckets.astype(np.uint64) + np.uint64(1))


def _inside(rows: RowArrays) -> RowArrays:
    inside = rows.places != OUTSIDE
    if inside.all():
        return rows
    return RowArrays(rows.places[inside], rows.hashes[inside], rows.buckets[inside], rows.files[inside])


@dataclass(frozen=True, slots=True)
class BucketDifference:
    """How many rows of one bucket are only on the expected side (`lost`), or only on the actual one (`extra`)."""

    bucket: int
    lost: int
    extra: int


def compare_as_multisets(
    expected: RowArrays, actual: RowArrays, buckets: bool = True
) -> list[BucketDifference]:
    """Compare rows without places; a row in another bucket is lost in one bucket and extra in the other.

    With `buckets` False all rows belong to bucket 0.
    """
    sides = (expected, actual)
    numbers = np.concatenate([rows.buckets if buckets else np.zeros(len(rows), np.int32) for rows in sides])
    hashes = np.concatenate([rows.hashes for rows in sides])
    keys = mix_words(hashes + _bucket_words(numbers))
    signs = np.concatenate([np.ones(len(expected), np.int64), np.full(len(actual), -1, np.int64)])
    if not len(keys):
        return []
    order = np.argsort(keys)
    starts = np.flatnonzero(np.concatenate([np.ones(1, np.bool_), np.diff(keys[order]) != 0]))
    balance = np.add.reduceat(signs[order], starts)
    bucket_of = numbers[order][starts]
    differences = []
    for bucket in np.unique(bucket_of[balance != 0]).tolist():
        counts = balance[bucket_of == bucket]
        lost, extra = int(counts[counts > 0].sum()), int(-counts[counts < 0].sum())
        differences.append(BucketDifference(bucket, lost, extra))
    return differences
