"""Two sides of the same rows, compared: place by place where rows know theirs, as multisets otherwise. Pure."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kafka2hive.service.verify.row_hash import Hashes, mixed
from kafka2hive.service.verify.rows import OUTSIDE, Indices, Numbers, RowArrays

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class PlaceDifferences:
    """Places, ascending; `expected` is the side that says what should be, `actual` the one that is looked at.

    `lost`: expected and not there. `extra`: there and not expected. `doubled`: there more than once. `different`:
    another row. `misplaced`: the row in another bucket. Of a place with several rows: `lost` are some or all, `doubled` has
    more than expected, and any of them may be different or misplaced. A place stands in one of them at most, `doubled` first.
    `expected_buckets` and `files` (of the last row there) are indexed by place, -1 where there is none.
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
    """Compare rows at places 0 to `length`; rows OUTSIDE are left out. `buckets` False: any bucket is right."""
    wanted, found = _within(expected), _within(actual)
    there = np.bincount(found.places, minlength=length)
    wanted_there = np.bincount(wanted.places, minlength=length)
    should = wanted_there > 0
    several = bool((wanted_there > 1).any())
    hashes = np.zeros((2, length), np.uint64)
    placed = np.zeros((2, length), np.uint64)
    numbers = np.full((2, length), -1, np.int32)
    for side, rows in enumerate((wanted, found)):
        numbers[side, rows.places] = rows.buckets
        if several:  # the rows of a place are the same in any order
            np.add.at(hashes[side], rows.places, mixed(rows.hashes))
            np.add.at(placed[side], rows.places, mixed(rows.hashes + _numbered(rows.buckets)))
        else:
            hashes[side, rows.places] = rows.hashes
            placed[side, rows.places] = rows.buckets.astype(np.uint64)
    files = np.full(length, -1, np.int32)
    files[found.places] = found.files
    complete = should & (there == wanted_there)
    other = complete & (hashes[0] != hashes[1])
    moved = complete & ~other & (placed[0] != placed[1]) if buckets else np.zeros(length, np.bool_)
    return PlaceDifferences(
        lost=np.flatnonzero(there < wanted_there),
        extra=np.flatnonzero(~should & (there > 0)),
        doubled=np.flatnonzero(should & (there > wanted_there)),
        different=np.flatnonzero(other),
        misplaced=np.flatnonzero(moved),
        expected_buckets=numbers[0],
        files=files,
    )


def _numbered(buckets: Numbers) -> Hashes:
    return mixed(buckets.astype(np.uint64) + np.uint64(1))


def _within(rows: RowArrays) -> RowArrays:
    inside = rows.places != OUTSIDE
    if inside.all():
        return rows
    return RowArrays(rows.places[inside], rows.hashes[inside], rows.buckets[inside], rows.files[inside])


@dataclass(frozen=True, slots=True)
class BucketDifference:
    """How many rows of one bucket are only expected (`lost`), and only there (`extra`)."""

    bucket: int
    lost: int
    extra: int


def compare_as_multisets(
    expected: RowArrays, actual: RowArrays, buckets: bool = True
) -> list[BucketDifference]:
    """Compare rows that know no place; a row in another bucket is lost in one and extra in the other.

    `buckets` False: all rows count as one bucket, 0.
    """
    sides = (expected, actual)
    numbers = np.concatenate([rows.buckets if buckets else np.zeros(len(rows), np.int32) for rows in sides])
    hashes = np.concatenate([rows.hashes for rows in sides])
    keys = mixed(hashes + _numbered(numbers))
    signs = np.concatenate([np.ones(len(expected), np.int64), np.full(len(actual), -1, np.int64)])
    if not len(keys):
        return []
    order = np.argsort(keys)
    starts = np.flatnonzero(np.concatenate([np.ones(1, np.bool_), np.diff(keys[order]) != 0]))
    balance = np.add.reduceat(signs[order], starts)
    bucket_of = numbers[order][starts]
    found = []
    for bucket in np.unique(bucket_of[balance != 0]).tolist():
        here = balance[bucket_of == bucket]
        found.append(BucketDifference(bucket, int(here[here > 0].sum()), int(-here[here < 0].sum())))
    return found
