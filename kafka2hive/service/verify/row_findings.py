"""Differences of rows as findings, each with topic partition, offsets and file. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kafka2hive.model.files import DataFile
from kafka2hive.model.text import counted
from kafka2hive.service.verify.result import Finding
from kafka2hive.service.verify.row_comparison import BucketDifference, PlaceDifferences
from kafka2hive.service.verify.rows import Indices, Numbers, Span

MOST = 1_000
"""The most findings of one code within one unit; one more says how many are left out."""


@dataclass(frozen=True, slots=True)
class FindingText:
    """The side that rows are compared with: `subject` begins a sentence, `negated` follows "no"."""

    subject: str = "Kafka's record is"
    negated: str = "record of Kafka's makes"


def place_findings(
    span: Span,
    differences: PlaceDifferences,
    files: Sequence[DataFile],
    paths: Sequence[str],
    what: str,
    text: FindingText = FindingText(),
) -> list[Finding]:
    """Return a finding for each run of adjoining offsets of one file. `what` is `row` or `dead letter`."""
    of_place = differences.files
    no_file = np.full(len(of_place), -1, np.int32)
    different = f"the {what} is another: {text.subject} not like it"
    groups = [
        ("verify.lost", differences.lost, no_file, f"{text.subject} no {what} in any file"),
        ("verify.extra", differences.extra, of_place, f"a {what} that no {text.negated}"),
        ("verify.doubled", differences.doubled, of_place, f"the {what} is there more than once"),
        ("verify.different", differences.different, of_place, different),
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
    """Return findings with counts by bucket, for rows without offsets; `extra` False leaves out those without a record."""
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
    """Return the `lost` places that missing files do not explain; those files have findings of their own.

    `absent` counts the rows of missing files by bucket. If a bucket lacks more rows, all of its places are returned.
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
    code: str, span: Span, places: Indices, owners: Numbers, files: Sequence[DataFile], text: str
) -> Iterator[Finding]:
    for owner in np.unique(owners[places]).tolist():
        path = f"; {files[owner].final}" if owner >= 0 else ""
        for run in span.runs(places[owners[places] == owner]):
            several = f"{len(run):,} times: " if len(run) > 1 else ""
            where = f"{run.topic_partition}@{run.start}" if len(run) == 1 else str(run)
            yield Finding(code, where, f"{several}{text}{path}")


def _capped(code: str, findings: Iterator[Finding]) -> list[Finding]:
    result = list(findings)
    if len(result) <= MOST:
        return result
    more = Finding(code, result[MOST].where, f"and {len(result) - MOST:,} findings like this")
    return [*result[:MOST], more]
