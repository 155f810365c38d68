"""Differences of rows as findings: topic partition, offsets and file path of each. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kafka2hive.model.files import DataFile
from kafka2hive.model.text import counted
from kafka2hive.service.verify.result import Finding
from kafka2hive.service.verify.row_comparison import BucketDifference, PlaceDifferences
from kafka2hive.service.verify.rows import Indices, Numbers, Span

MOST = 1_000  # findings of one code within one unit; the rest is counted in one more


@dataclass(frozen=True, slots=True)
class FindingText:
    """What is compared with: `subject` begins a sentence and `negated` follows "no"."""

    subject: str = "Kafka's record is"
    negated: str = "record of Kafka's makes"


def place_findings(
    span: Span,
    found: PlaceDifferences,
    files: Sequence[DataFile],
    paths: Sequence[str],
    what: str,
    text: FindingText = FindingText(),
) -> list[Finding]:
    """One finding per run of adjoining offsets with the same file. `what`: `row` or `dead letter`."""
    of_file = found.files
    nobody = np.full(len(of_file), -1, np.int32)
    groups = (
        ("verify.lost", found.lost, nobody, f"{text.subject} no {what} in any file"),
        ("verify.extra", found.extra, of_file, f"a {what} that no {text.negated}"),
        ("verify.doubled", found.doubled, of_file, f"the {what} is there more than once"),
        ("verify.different", found.different, of_file, f"the {what} is another: {text.subject} not like it"),
    )
    result: list[Finding] = []
    for code, places, owners, message in groups:
        result += _capped(
            code, _by_file(code=code, span=span, places=places, owners=owners, files=files, text=message)
        )
    misplaced = found.misplaced
    for bucket in np.unique(found.expected_buckets[misplaced]).tolist():
        here = misplaced[found.expected_buckets[misplaced] == bucket]
        message = f"the {what} belongs to bucket {paths[bucket]}"
        result += _capped(
            "verify.misplaced",
            _by_file(
                code="verify.misplaced", span=span, places=here, owners=of_file, files=files, text=message
            ),
        )
    return result


def multiset_findings(
    where: str, differences: Sequence[BucketDifference], paths: Sequence[str], extra: bool
) -> list[Finding]:
    """Rows that know no offset: how many of which bucket. `extra` False: those that are only there are explained."""
    result = []
    for found in differences:
        bucket = f"bucket {paths[found.bucket] or '(none)'}" if found.bucket < len(paths) else "any bucket"
        if found.lost:
            text = f"{bucket}: {found.lost:,} of Kafka's records are no such row in any file"
            result.append(Finding("verify.lost", where, text))
        if found.extra and extra:
            text = f"{bucket}: {counted(found.extra, 'row')} that no record of Kafka's makes"
            result.append(Finding("verify.extra", where, text))
    return result


def without_absent(lost: Indices, buckets: Numbers, absent: Mapping[int, int], by_bucket: bool) -> Indices:
    """`lost` without what was in files that are not there: those files are told by themselves.

    `absent`: rows of such files by bucket number. A bucket that lacks more rows than they held stays whole.
    """
    if not len(lost) or not absent:
        return lost
    if not by_bucket:
        return lost[:0] if len(lost) <= sum(absent.values()) else lost
    numbers = buckets[lost]
    counts = Counter(numbers.tolist())
    fine = [bucket for bucket, count in counts.items() if count <= absent.get(bucket, 0)]
    return lost[~np.isin(numbers, fine)]


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
    every = list(findings)
    if len(every) <= MOST:
        return every
    more = Finding(code, every[MOST].where, f"and {len(every) - MOST:,} findings like this")
    return [*every[:MOST], more]
