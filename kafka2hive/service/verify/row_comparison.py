"""The comparison of two sides of the same rows, and the findings about their differences. Pure.

Rows with offsets are compared place by place, other rows as multisets.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kafka2hive.formats.row_hash import Hashes, mix_words
from kafka2hive.model.files import DataFile
from kafka2hive.model.text import counted
from kafka2hive.service.verify.result import Finding
from kafka2hive.service.verify.rows import OUTSIDE, Indices, Numbers, RowArrays, Span, SparseSpan

Mask = npt.NDArray[np.bool_]
MOST_FINDINGS = 1_000
"""Maximum number of findings of one code within one unit; one more says how many are left out."""


@dataclass(frozen=True, slots=True)
class PlaceDifferences:
    """The differences of the actual rows from the expected rows, as ascending places.

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


@dataclass(frozen=True, slots=True)
class BucketDifference:
    """How many rows of one bucket are only expected (`lost`), or only actual (`extra`)."""

    bucket: int
    lost: int
    extra: int


@dataclass(frozen=True, slots=True)
class FindingText:
    """The messages of findings; `{what}` stands for `row` or `dead letter`."""

    lost: str = "Kafka's record has no {what} in any file"
    extra: str = "a {what} without a record in Kafka"
    different: str = "the {what} has different values than Kafka's record"


def compare_by_place(
    length: int, expected: RowArrays, actual: RowArrays, buckets: bool = True
) -> PlaceDifferences:
    """Compare rows at the places below `length`; rows OUTSIDE are ignored, and with `buckets` False also the rows' buckets."""
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


def place_findings(
    span: Span | SparseSpan,
    differences: PlaceDifferences,
    files: Sequence[DataFile],
    paths: Sequence[str],
    what: str,
    text: FindingText = FindingText(),
) -> list[Finding]:
    """Return a finding for each run of consecutive offsets in one file. `what` is `row` or `dead letter`."""
    of_place = differences.files
    no_file = np.full(len(of_place), -1, np.int32)
    groups = [
        ("verify.lost", differences.lost, no_file, text.lost.format(what=what)),
        ("verify.extra", differences.extra, of_place, text.extra.format(what=what)),
        ("verify.doubled", differences.doubled, of_place, f"the {what} occurs more than once"),
        ("verify.different", differences.different, of_place, text.different.format(what=what)),
    ]
    misplaced, buckets = differences.misplaced, differences.expected_buckets[differences.misplaced]
    groups += [
        (
            "verify.misplaced",
            misplaced[buckets == bucket],
            of_place,
            f"the {what} belongs to bucket {paths[bucket]}",
        )
        for bucket in np.unique(buckets).tolist()
    ]
    findings: list[Finding] = []
    for code, places, owners, message in groups:
        findings += _capped(
            code, _by_file(code=code, span=span, places=places, owners=owners, files=files, text=message)
        )
    return findings


def multiset_findings(
    where: str, differences: Sequence[BucketDifference], paths: Sequence[str], extra: bool
) -> list[Finding]:
    """Return findings with counts by bucket, for rows without offsets; with `extra` False only the lost rows."""
    findings = []
    for difference in differences:
        number = difference.bucket
        bucket = f"bucket {paths[number] or '(none)'}" if number < len(paths) else "any bucket"
        if difference.lost:
            text = f"{bucket}: {difference.lost:,} of Kafka's records have no row in any file"
            findings.append(Finding("verify.lost", where, text))
        if difference.extra and extra:
            text = f"{bucket}: {counted(difference.extra, 'row')} without a record in Kafka"
            findings.append(Finding("verify.extra", where, text))
    return findings


def without_absent(lost: Indices, buckets: Numbers, absent: Mapping[int, int], by_bucket: bool) -> Indices:
    """Return the `lost` places that missing files do not explain; missing files are reported separately.

    `absent` counts the rows of missing files by bucket. If a bucket lacks more rows than that, all of its places are returned.
    """
    if not len(lost) or not absent:
        return lost
    if not by_bucket:
        return lost[:0] if len(lost) <= sum(absent.values()) else lost
    numbers = buckets[lost]
    counts = Counter(numbers.tolist())
    explained = [bucket for bucket, count in counts.items() if count <= absent.get(bucket, 0)]
    return lost[~np.isin(numbers, explained)]


def _by_file(
    code: str, span: Span | SparseSpan, places: Indices, owners: Numbers, files: Sequence[DataFile], text: str
) -> Iterator[Finding]:
    for owner in np.unique(owners[places]).tolist():
        path = f"; {files[owner].final}" if owner >= 0 else ""
        for run in span.runs(places[owners[places] == owner]):
            several = f"{len(run):,} times: " if len(run) > 1 else ""
            where = f"{run.topic_partition}@{run.start}" if len(run) == 1 else str(run)
            yield Finding(code, where, f"{several}{text}{path}")


def _capped(code: str, findings: Iterator[Finding]) -> list[Finding]:
    result = list(findings)
    if len(result) <= MOST_FINDINGS:
        return result
    more = Finding(
        code, result[MOST_FINDINGS].where, f"and {len(result) - MOST_FINDINGS:,} findings like this"
    )
    return [*result[:MOST_FINDINGS], more]


def _bucket_words(buckets: Numbers) -> Hashes:
    return mix_words(buckets.astype(np.uint64) + np.uint64(1))


def _inside(rows: RowArrays) -> RowArrays:
    inside = rows.places != OUTSIDE
    if inside.all():
        return rows
    return RowArrays(rows.places[inside], rows.hashes[inside], rows.buckets[inside], rows.files[inside])
