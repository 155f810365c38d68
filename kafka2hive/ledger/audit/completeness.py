"""Auditing what snapshots say of complete partitions: counted anew from the file lines, one snapshot after the other. Pure."""

from collections.abc import Iterator

from kafka2hive.ledger.audit.finding import Finding, of_epoch
from kafka2hive.ledger.snapshot.completeness import open_partitions
from kafka2hive.model.snapshot import Snapshot

_CODE = "verify.completeness"


def audit_completeness(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Open partitions and certificates of a snapshot follow from the one before it and from its own data files."""
    if after.tracking is None:
        if after.open or after.certificates:
            yield of_epoch(after, _CODE, "partitions are open or complete, though none are tracked")
        return
    yield from _tracking(before, after)
    left = dict(open_partitions(before, after))
    for certificate in after.certificates:
        known = left.pop(certificate.partition, None)
        told = (certificate.since, certificate.files, certificate.rows)
        if known is None or (known.since, known.files, known.rows) != told:
            wanted = (
                "nothing"
                if known is None
                else f"{known.files} files, {known.rows} rows since epoch {known.since}"
            )
            yield Finding(
                _CODE,
                certificate.partition.location,
                f"epoch {after.epoch}: its certificate counts {certificate.files} files, {certificate.rows} rows since epoch"
                f" {certificate.since}; its snapshots have {wanted}",
            )
        if certificate.through > after.tracking.through:
            yield Finding(
                _CODE,
                certificate.partition.location,
                f"epoch {after.epoch}: its certificate says read through {certificate.through}, its snapshot"
                f" {after.tracking.through}",
            )
    for each in after.open:
        if left.pop(each.partition, None) != each:
            yield Finding(
                _CODE, each.partition.location, f"epoch {after.epoch}: its counts of open files are wrong"
            )
    for partition in sorted(left):
        yield Finding(_CODE, partition.location, f"epoch {after.epoch}: it is neither open nor complete")


def _tracking(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    assert after.tracking is not None
    since = after.epoch if before.tracking is None else before.tracking.since
    if after.tracking.since != since:
        yield of_epoch(after, _CODE, f"partitions are tracked since {after.tracking.since}, not {since}")
    if before.tracking is not None and after.tracking.through < before.tracking.through:
        yield of_epoch(
            after, _CODE, f"read through {after.tracking.through}, before {before.tracking.through}"
        )
