"""Where the data files of a table belong, if the map has `compact`: rule K1 of docs/protocol.md."""

from collections.abc import Iterable

from kafka2hive.config.keys import TableRule
from kafka2hive.config.keys.bucket_path import BucketEnds, period_of, read_bucket_path
from kafka2hive.ledger.early_files import Rows
from kafka2hive.ledger.early_files import with_places as place
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.model.text import utc_text
from kafka2hive.storage.port import FileSystem


def with_places(files: FileSystem, state: Snapshot, rule: TableRule, change: Rows) -> Rows:
    """Return the epoch with each data file where it belongs. Tasks do not know places: they name every file's home.

    Nothing is looked at for a table that was never compacted. Raises AmbiguousOutcome.
    """
    if rule.compact is None and not state.early and not state.closed_through:
        return change
    closes = period_ends(rule, {f.hive_partition.path for f in change.files}) if rule.compact else {}
    return place(files, state, change, closes)


def period_ends(rule: TableRule, paths: Iterable[str]) -> dict[str, str]:
    """Return by path when each partition's period ends; without those that have no time."""
    path = read_bucket_path(rule.bucketing.path)
    if period_of(path) is None:
        return {}
    ends = BucketEnds(path, rule.bucketing.zone)
    found = {each: ends.end_ms(each) for each in paths}
    return {each: utc_text(end // 1000) for each, end in found.items() if end is not None}
