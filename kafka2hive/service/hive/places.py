"""The places of a table's data files if the map has `compact`, and what waits for a certificate: rules K1, K8 and G1."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

from kafka2hive.config.keys import CompactOptions, TableRule
from kafka2hive.config.keys.bucket_path import BucketEnds, period_of, read_bucket_path
from kafka2hive.ledger.early_files import Rows
from kafka2hive.ledger.early_files import with_places as place
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.ports import Ports
from kafka2hive.ledger.retire import Looks, RetirementResult
from kafka2hive.ledger.retire import keep_places as keep
from kafka2hive.ledger.snapshot.change import PlaceUpdate
from kafka2hive.ledger.turns import Turns
from kafka2hive.ledger.withhold import new_partitions
from kafka2hive.model.files import HivePartition
from kafka2hive.model.footer import Footer
from kafka2hive.model.paths.table_directory import DataFileName
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.model.text import utc_text
from kafka2hive.storage.port import FileStatus, FileSystem, NotFound


@dataclass(frozen=True, slots=True)
class LocationCorrection:
    """A statement had put the locations of these partitions back. The registrar has corrected them, or will (K8)."""

    partitions: frozenset[HivePartition]


@dataclass(frozen=True, slots=True)
class LocationLook:
    """The result of a look at locations that began at `at` (Unix seconds); `right` and `put_back` are as in LocationCheck.

    A partition in `put_back` is corrected only when the ledger has recorded it (K8).
    """

    right: frozenset[HivePartition]
    put_back: frozenset[HivePartition]
    at: float


def with_places(files: FileSystem, state: Snapshot, rule: TableRule, change: Rows) -> Rows:
    """Return the change with each data file at its place, and with the partitions to withhold from Hive.

    Tasks do not know places; they name every file's home. For a table that was never compacted and has `register: first`,
    storage is not read. Raises AmbiguousOutcome.
    """
    if rule.compact is not None or state.early or state.closed_through:
        closes = period_ends(rule, {f.hive_partition.path for f in change.files}) if rule.compact else {}
        change = place(files, state, change, closes)
    if not rule.registers_complete:
        return change
    withheld = new_partitions(files, state, change, partial(may_be_complete, rule))
    return replace(change, withheld=withheld)


def may_be_complete(rule: TableRule, partition: HivePartition) -> bool:
    """Return whether the table's policy may ever choose the partition; the built-in one needs a period."""
    by_plugin = rule.completion is not None and rule.completion.plugin is not None
    return by_plugin or partition.path in period_ends(rule, [partition.path])


def period_ends(rule: TableRule, paths: Iterable[str]) -> dict[str, str]:
    """Return the end of each partition's period by path; partitions without a period are left out."""
    path = read_bucket_path(rule.bucketing.path)
    if period_of(path) is None:
        return {}
    ends = BucketEnds(path, rule.bucketing.zone)
    ends_ms = {path: ends.end_ms(path) for path in paths}
    return {path: utc_text(end // 1000) for path, end in ends_ms.items() if end is not None}


def keep_places(
    ports: Ports,
    owned: OwnedLedger,
    rule: TableRule,
    looks: Looks,
    publish: Callable[[PlaceUpdate], OwnedLedger],
    turns: Turns[HivePartition] | None = None,
) -> RetirementResult:
    """Record looks at Hive's locations, and retire and delete early files (K8). Raises as `publish` does."""
    return keep(
        ports,
        owned,
        looks,
        keep_seconds=keep_seconds(rule),
        now=ports.clock.epoch_ms() / 1000,
        footer_of=partial(footer_at, ports.files),
        publish=publish,
        turns=turns,
    )


def keep_seconds(rule: TableRule) -> float:
    """Return how long early files stay after the move (K8).

    They stay forever if the map has neither `compact` nor `retain`. With `retain` alone, the usual time holds, because a
    partition cannot be dropped as long as it has early files.
    """
    compact = rule.compact or (CompactOptions() if rule.retain is not None else None)
    return math.inf if compact is None else compact.keep_seconds


def footer_at(files: FileSystem, status: FileStatus) -> Footer | None:
    """Return a file's footer; None if kafka2hive did not write the file, or if it is damaged or has a wrong row count.

    Raises StorageError.
    """
    from kafka2hive.formats.files import UNREADABLE, end_of

    parsed = DataFileName.parse(status.name)
    if parsed is None:
        return None
    try:
        end = end_of(parsed[0].extension, status.length, lambda count: files.tail(status.path, count))
    except (NotFound, *UNREADABLE):
        return None
    footer = None if end is None else Footer.parse(end.metadata)
    return footer if end is not None and footer is not None and footer.rows == end.rows else None
