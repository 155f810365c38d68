"""Auditing what snapshots say of complete partitions: counted anew from the file lines, one snapshot after the other. Pure.

By code of its own: it shares nothing with what drafts these lines.
"""

from collections.abc import Iterator

from kafka2hive.ledger.audit.finding import Finding, of_epoch
from kafka2hive.model.files import FileKind
from kafka2hive.model.paths.data_file import DataFileName
from kafka2hive.model.snapshot import Snapshot

_CODE = "verify.completeness"
Counts = tuple[int, int, int]
"""Since which epoch, files, rows."""


def audit_completeness(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Open partitions and certificates of a snapshot follow from the one before it, its own data files, and its losses."""
    if after.tracking is None:
        if after.open or after.certificates:
            yield of_epoch(after, _CODE, "partitions are open or complete, though none are tracked")
        return
    yield from _tracking(before, after)
    strange = set(after.reopened) - {each.partition for each in before.certificates}
    if strange:
        yield of_epoch(after, _CODE, f"{min(strange).path} is open again, and had no certificate before")
    left = _counted(before, after)
    for certificate in after.certificates:
        known = left.pop(certificate.partition.path, None)
        told = (certificate.since, certificate.files, certificate.rows)
        if known != told:
            wanted = (
                "nothing" if known is None else f"{known[1]} files, {known[2]} rows since epoch {known[0]}"
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
        if left.pop(each.partition.path, None) != (each.since, each.files, each.rows):
            yield Finding(
                _CODE, each.partition.location, f"epoch {after.epoch}: its counts of open files are wrong"
            )
        if (late := _opened_before(before, each.partition.path)) is not None and each.opened_at > late:
            yield Finding(
                _CODE, each.partition.location, f"epoch {after.epoch}: it was open since {late} already"
            )
    for path in sorted(left):
        yield of_epoch(after, _CODE, f"{path} is neither open nor complete")


def _opened_before(before: Snapshot, path: str) -> str | None:
    if before.tracking is None:
        return None
    return next((each.opened_at for each in before.open if each.partition.path == path), None)


def _counted(before: Snapshot, after: Snapshot) -> dict[str, Counts]:
    """By path of the Hive partition: what no certificate counts, without this snapshot's own."""
    parts = [
        (each.partition.path, (each.since, each.files, each.rows))
        for each in (before.open if before.tracking is not None else ())
    ]
    parts += [
        (each.partition.path, (each.since, each.files, each.rows))
        for each in before.certificates
        if each.partition in after.reopened
    ]
    parts += [
        (file.hive_partition.path, (after.epoch, 1, file.rows))
        for file in after.files
        if file.kind is FileKind.DATA
    ]
    places = {path: set[str]() for path, _ in parts}
    for known in (*(o.partition for o in before.open), *(c.partition for c in before.certificates)):
        places.setdefault(known.path, set()).add(known.location)
    sums: dict[str, Counts] = {}
    for path, (since, files, rows) in parts:
        sofar = sums.get(path, (since, 0, 0))
        sums[path] = (min(sofar[0], since), sofar[1] + files, sofar[2] + rows)
    for loss in after.losses[len(before.losses) :]:
        directory, _, name = loss.path.rpartition("/")
        parsed = DataFileName.parse(name)
        for path, (since, files, rows) in list(sums.items()):
            at_path = bool(path) and directory.endswith("/" + path) and "/source_table=" not in directory
            if parsed and (directory in places[path] or at_path) and parsed[0].epoch >= since:
                sums[path] = (since, files - 1, rows - loss.rows)
    return {path: counts for path, counts in sums.items() if counts[1]}


def _tracking(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    assert after.tracking is not None
    since = after.epoch if before.tracking is None else before.tracking.since
    if after.tracking.since != since:
        yield of_epoch(after, _CODE, f"partitions are tracked since {after.tracking.since}, not {since}")
    if before.tracking is not None and after.tracking.through < before.tracking.through:
        yield of_epoch(
            after, _CODE, f"read through {after.tracking.through}, before {before.tracking.through}"
        )
