"""The audit of the lines about dropped partitions. Pure."""

from collections.abc import Iterator

from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.verify.result import Finding, of_epoch

_CODE = "verify.retention"


def audit_dropped(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Audit the dropped lines of `after` against `before` and the files of `after`."""
    known = {line.partition: line for line in before.dropped}
    lines = {line.partition: line for line in after.dropped}
    has_expired = after.expired_before_ms > 0
    for home, line in lines.items():
        if home not in known and (line.epoch != after.epoch or line.gone_since or not has_expired):
            yield Finding(_CODE, home.location, f"epoch {after.epoch} drops it, though it had not expired")
        if home in known and line.epoch != known[home].epoch:
            yield Finding(
                _CODE, home.location, f"was dropped in epoch {known[home].epoch}, now in {line.epoch}"
            )
    for home in known.keys() - lines.keys():
        if not known[home].gone_since:
            text = f"epoch {after.epoch} says that its files are deleted, but Hive may still have had it"
            yield Finding(_CODE, home.location, text)
    filled = {file.hive_partition.name for file in after.files}
    for _, path in sorted({home.name for home in lines} & filled):
        yield of_epoch(after, _CODE, f"it has files for {path}, which was dropped")
