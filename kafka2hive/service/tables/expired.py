"""The partitions of a table that have expired, by the map's `retain`: rules E1 and E2 of docs/protocol.md."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from kafka2hive.config.keys import TableRule
from kafka2hive.config.keys.bucket_path import BucketEnds, read_bucket_path
from kafka2hive.ledger.retention import is_own
from kafka2hive.ledger.snapshot.expiry import reasons_to_keep
from kafka2hive.model.files import HivePartition
from kafka2hive.model.paths.table_directory import DataFileName
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.model.text import counted, utc_text
from kafka2hive.service.tables.ledgers import no_answer_about
from kafka2hive.service.tables.read_through import expired_before
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import FileStatus, StorageError, children


@dataclass(frozen=True, slots=True)
class ExpiredPartition:
    """A Hive partition whose period has expired, with its data files at its home.

    `waits` says why it is not dropped yet, "" if it is, or may be. It waits because of `foreign` files that others wrote there.
    """

    partition: HivePartition
    files: int
    length: int
    waits: str = ""
    foreign: int = 0


@dataclass(frozen=True, slots=True)
class Expired:
    """What has expired by now: periods that ended at or before `before_ms` (milliseconds since 1970; 0: none)."""

    before_ms: int
    partitions: tuple[ExpiredPartition, ...]

    @property
    def before_text(self) -> str:
        return utc_text(self.before_ms // 1000) if self.before_ms else ""

    @staticmethod
    def of(
        wiring: Wiring,
        rule: TableRule,
        state: Snapshot,
        certified: frozenset[HivePartition] | None = None,
    ) -> "Expired":
        """List the homes of the table's partitions. `certified` is as in reasons_to_keep. Raises ServiceUnavailable."""
        before_ms = expired_before(rule, state, wiring.ports.clock.epoch_ms())
        if not before_ms:
            return Expired(0, ())
        kept = reasons_to_keep(state, certified)
        try:
            expired = [
                (HivePartition(state.table, path, f"{state.location}/{path}"), kept.get(path, ""))
                for path in _expired_paths(wiring, rule, state.location, before_ms)
            ]
            found = wiring.ports.concurrency.map(partial(_listed, wiring, state), expired)
        except StorageError as error:
            raise no_answer_about(state.location, error) from error
        return Expired(before_ms, tuple(each for each in found if each is not None))


def _expired_paths(wiring: Wiring, rule: TableRule, location: str, before_ms: int) -> Sequence[str]:
    """Return the sorted paths of partitions with a directory whose period ended at or before `before_ms`.

    Directories that have only later periods below them are not listed. Raises StorageError.
    """
    bucket_path = read_bucket_path(rule.bucketing.path)
    ends = BucketEnds(bucket_path, rule.bucketing.zone)
    paths = [""]
    for _ in bucket_path.levels:
        directories = [f"{location}/{path}" if path else location for path in paths]
        listings = wiring.ports.concurrency.map(partial(children, wiring.ports.files), directories)
        below = (
            child for listing in listings for child in listing if child.is_directory and child.is_visible
        )
        paths = [
            path for child in below if ends.may_have_ended(path := child.path[len(location) + 1 :], before_ms)
        ]
    return sorted(path for path in paths if (end := ends.end_ms(path)) is not None and end <= before_ms)


def _listed(wiring: Wiring, state: Snapshot, expired: tuple[HivePartition, str]) -> ExpiredPartition | None:
    """Return an expired partition with its files, None if it has none and no step of dropping it is under way."""
    partition, waits = expired
    present = children(wiring.ports.files, partition.location)
    data = [
        child for child in present if DataFileName.parse(child.name) and is_own(child, state, state.epoch)
    ]
    foreign = [] if waits else [child for child in present if _is_foreign(child, state)]
    if not data and not waits:
        return None
    if foreign:
        waits = (
            f"this ledger did not write {counted(len(foreign), 'file')} there, for example {foreign[0].path}"
        )
    return ExpiredPartition(partition, len(data), sum(child.length for child in data), waits, len(foreign))


def _is_foreign(child: FileStatus, state: Snapshot) -> bool:
    return child.is_visible and not is_own(child, state, state.epoch)
