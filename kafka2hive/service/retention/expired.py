"""The expired partitions of a table and of its dead letters, by the map's `retain`: rules E1 and E2 of docs/protocol.md."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from kafka2hive.config.dead_letters import DEAD_LETTER_PARTITIONS, dead_letter_ends, dead_letters_of
from kafka2hive.config.keys import CompletionOptions, TableRule
from kafka2hive.config.keys.bucket_path import BucketEnds, read_bucket_path
from kafka2hive.ledger.ports import first_line
from kafka2hive.ledger.retention import is_own
from kafka2hive.ledger.snapshot.expiry import NEEDS_HIVE, reasons_to_keep, unknown_to_hive
from kafka2hive.model.files import HivePartition
from kafka2hive.model.paths.table_directory import DataFileName, letters_name
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.model.text import counted, utc_text
from kafka2hive.service.tables.ledgers import no_answer_about
from kafka2hive.service.tables.read_through import expired_before
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import FileStatus, StorageError, Unavailable, children

_SLICE = 200
"""How many partitions are listed at a time."""


@dataclass(frozen=True, slots=True)
class ExpiredPartition:
    """A Hive partition whose period has expired, with its files of rows or dead letters at its home.

    `waits` says why the partition cannot be dropped now, for example because it is already being dropped; "" if it can. `foreign`
    is the number of files there that others wrote; the partition waits if there are any.
    """

    partition: HivePartition
    files: int
    length: int
    waits: str = ""
    foreign: int = 0


@dataclass(frozen=True, slots=True)
class ExpiredPeriods:
    """What has expired by now: periods that ended at or before `before_ms` (milliseconds since 1970; 0: none).

    The partitions are in the order in which their periods ended. `more` counts those that may be dropped and were not listed.
    `unreadable` has the directories that could not be listed, each with the error; what is below them stays.
    """

    before_ms: int
    partitions: tuple[ExpiredPartition, ...]
    more: int = 0
    unreadable: tuple[tuple[str, str], ...] = ()

    @property
    def before_text(self) -> str:
        return utc_text(self.before_ms // 1000) if self.before_ms else ""

    @staticmethod
    def of(
        wiring: Wiring,
        rule: TableRule,
        state: Snapshot,
        certified: frozenset[HivePartition] | None = None,
        most: float = math.inf,
    ) -> "ExpiredPeriods":
        """List the homes of the table's partitions and of those of its dead letters, until `most` of them may be dropped.

        `certified` is as in reasons_to_keep. Raises ServiceUnavailable if no directory of a level can be listed.
        """
        before_ms = expired_before(rule, state, wiring.ports.clock.epoch_ms())
        if not before_ms:
            return ExpiredPeriods(0, ())
        kept = reasons_to_keep(state, certified, has_hive=wiring.map.hive is not None)
        try:
            places = _places_of_rows(rule, state), _places_of_letters(wiring, state)
            listing = _Listing(wiring)
            ended = [each for kind in places for each in _ended(listing, kind, before_ms)]
            expired = [(home, kept.get(home.name, "")) for _, home in sorted(ended)]
            found: list[ExpiredPartition] = []
            while expired and sum(not each.waits for each in found) < most:
                listed, expired = expired[:_SLICE], expired[_SLICE:]
                slices = wiring.ports.concurrency.map(partial(_listed, listing, state), listed)
                found += [each for each in slices if each is not None]
        except StorageError as error:
            raise no_answer_about(state.location, error) from error
        more = sum(not why for _, why in expired)
        return ExpiredPeriods(before_ms, tuple(found), more, tuple(sorted(listing.unreadable.items())))


def success_files(rule: TableRule) -> frozenset[str]:
    """Return the names of empty files that complete partitions may have: the map's, and the default of earlier maps."""
    return frozenset({rule.success_file, CompletionOptions().success_file or ""} - {""})


@dataclass(frozen=True, slots=True)
class _Places:
    """Where a Hive table has partitions of periods: `levels` of directories below `root`, a path in it ("" for all of it)."""

    table: str
    location: str
    levels: tuple[str, ...]
    ends: BucketEnds
    root: str = ""


def _places_of_rows(rule: TableRule, state: Snapshot) -> _Places:
    path = read_bucket_path(rule.bucketing.path)
    return _Places(state.table, state.location, path.names, BucketEnds(path, rule.bucketing.zone))


def _places_of_letters(wiring: Wiring, state: Snapshot) -> _Places:
    letters = wiring.map.dead_letters
    levels = tuple(column.name for column in DEAD_LETTER_PARTITIONS[1:])
    root = dead_letters_of(state.table)
    return _Places(
        table=letters.table, location=letters.location, levels=levels, ends=dead_letter_ends(), root=root
    )


class _Listing:
    """Lists directories. One that cannot be listed keeps no other from its turn."""

    def __init__(self, wiring: Wiring) -> None:
        self.wiring = wiring
        self.unreadable: dict[str, str] = {}

    def children(self, directory: str) -> tuple[FileStatus, ...]:
        """Return the children of a directory, () if it cannot be listed."""
        try:
            return children(self.wiring.ports.files, directory)
        except StorageError as error:
            self.unreadable[directory] = first_line(error)
            return ()

    def each(self, directories: Sequence[str]) -> list[tuple[FileStatus, ...]]:
        """List all directories. Raises StorageError if none of them can be listed."""
        if len(directories) == 1:
            return [children(self.wiring.ports.files, directories[0])]
        listings = self.wiring.ports.concurrency.map(self.children, directories)
        if directories and self.unreadable.keys() >= set(directories):
            raise Unavailable(directories[0], self.unreadable[directories[0]])
        return listings


def _ended(listing: _Listing, places: _Places, before_ms: int) -> list[tuple[int, HivePartition]]:
    """Return the partitions with a directory whose period ended at or before `before_ms`, each with that end.

    Directories that have only later periods below them, or whose level has another name, are not listed. Raises StorageError.
    """
    location, paths = places.location, [places.root]
    for level in places.levels:
        directories = [f"{location}/{path}" if path else location for path in paths]
        below = (
            child.path[len(location) + 1 :]
            for present in listing.each(directories)
            for child in present
            if child.is_directory and child.name.startswith(f"{level}=")
        )
        paths = [path for path in below if places.ends.may_have_ended(path, before_ms)]
    return [
        (end, HivePartition(places.table, path, f"{location}/{path}"))
        for path in paths
        if (end := places.ends.end_ms(path)) is not None and end <= before_ms
    ]


def _listed(
    listing: _Listing, state: Snapshot, expired: tuple[HivePartition, str]
) -> ExpiredPartition | None:
    """Return an expired partition with its files, None if it has none and no step of dropping it is under way."""
    partition, waits = expired
    present = listing.children(partition.location)
    data = [
        child
        for child in present
        if DataFileName.parse(letters_name(child.name)) and is_own(child, state, state.epoch)
    ]
    foreign = [] if waits else [child for child in present if _is_foreign(child, state)]
    if not data and not waits:
        return None
    if not waits and listing.wiring.map.hive is None and partition not in unknown_to_hive(state):
        return ExpiredPartition(partition, len(data), sum(child.length for child in data), NEEDS_HIVE)
    if foreign:
        waits = (
            f"this ledger did not write {counted(len(foreign), 'file')} there, for example {foreign[0].path}"
        )
    return ExpiredPartition(
        partition=partition,
        files=len(data),
        length=sum(child.length for child in data),
        waits=waits,
        foreign=len(foreign),
    )


def _is_foreign(child: FileStatus, state: Snapshot) -> bool:
    return child.is_visible and not is_own(child, state, state.epoch)
