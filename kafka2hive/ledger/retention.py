"""Drop expired partitions from Hive and delete their files: rules E2 to E4 of docs/protocol.md."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice

from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.ports import Ports, log
from kafka2hive.ledger.snapshot.change import Expiry
from kafka2hive.ledger.turns import Turns
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import MetastoreRefused, MetastoreUnavailable, PartitionDropper
from kafka2hive.model.paths.path import base_name, parent, same_location
from kafka2hive.model.paths.table_directory import (
    CertificateName,
    DataFileName,
    RetirementName,
    certificate_of_draft,
    ledger_tag,
    letters_name,
    other_place,
)
from kafka2hive.model.snapshot import DroppedPartition, Snapshot
from kafka2hive.model.text import unix_seconds, utc_text
from kafka2hive.storage.port import Clock, FileStatus, OutcomeUnknown, StorageError, Unavailable, children

KEEP_SECONDS = 86_400.0
"""How long the files stay after Hive has dropped their partition: a query that began before may still read them."""
FRESH_SECONDS = 600.0
"""How long a look counts that has not found a partition: somebody may add it to Hive at any moment."""
MOST_DROPPED = 1_000
"""How many dropped partitions a snapshot may list: every epoch repeats each line until the files are deleted."""


@dataclass(frozen=True, slots=True)
class DropLook:
    """The result of a look for dropped partitions in Hive.

    - `gone`: Hive does not have the partition.
    - `present`: Hive has it at one of its two places.
    - `refused`: Hive refused a request, or has it elsewhere; the value says which.
    - `outage`: the first error; the partitions after it were not looked at.
    """

    gone: frozenset[HivePartition] = frozenset()
    present: frozenset[HivePartition] = frozenset()
    refused: Mapping[HivePartition, str] = field(default_factory=dict)
    outage: MetastoreUnavailable | None = None


def look_for_dropped(metastore: PartitionDropper, dropped: Iterable[HivePartition]) -> DropLook:
    """Ask Hive for each dropped partition. Changes nothing."""
    gone, present = set[HivePartition](), set[HivePartition]()
    refused: dict[HivePartition, str] = {}
    outage = None
    try:
        for home, where in metastore.locations(sorted(dropped)):
            if isinstance(where, MetastoreRefused):
                refused[home] = str(where)
            elif where is None:
                gone.add(home)
            elif any(same_location(where, place) for place in _places(home)):
                present.add(home)
            else:
                refused[home] = f"Hive has it at {where}, where this ledger has no files"
    except MetastoreUnavailable as error:
        outage = error
    return DropLook(frozenset(gone), frozenset(present), refused, outage)


def drop_from_hive(
    metastore: PartitionDropper, present: Iterable[HivePartition], clock: Clock
) -> tuple[DropLook, float]:
    """Drop the partitions that a look found in Hive, and look again (E3). A second call changes nothing.

    Return the second look and when it began (Unix seconds), which is after all the drops.
    """
    asked: list[HivePartition] = []
    refused: dict[HivePartition, str] = {}
    try:
        for home, refusal in metastore.drop_partitions(sorted(present)):
            if refusal is None:
                asked.append(home)
                log.info("%s %s: dropped from Hive", home.table, home.path)
            else:
                refused[home] = str(refusal)
    except MetastoreUnavailable as error:
        return DropLook(refused=refused, outage=error), clock.epoch_ms() / 1000
    at = clock.epoch_ms() / 1000
    look = look_for_dropped(metastore, asked)
    return replace(look, refused={**look.refused, **refused}), at


@dataclass(frozen=True, slots=True)
class Removal:
    """The partitions that have no files of this ledger left, how many files were deleted, and the files that it did not write.

    `error` is the first storage error, None if there was none. Each partition with an error waits for a later call.
    """

    cleared: tuple[HivePartition, ...] = ()
    files: int = 0
    foreign: tuple[str, ...] = ()
    error: StorageError | None = None


def is_over(dropped: DroppedPartition, now: float) -> bool:
    """Return whether Hive has not had the partition for the time to keep its files. `now` is in Unix seconds."""
    since = unix_seconds(dropped.gone_since)
    return since is not None and now - since >= KEEP_SECONDS


def never_in_hive(state: Snapshot) -> frozenset[HivePartition]:
    """Return the partitions that were dropped without Hive, and whose table no run has compared with Hive since."""
    compared = {each.table for each in state.compared}
    homes = (each.partition for each in state.dropped if each.gone_since)
    return frozenset(home for home in homes if home.table not in compared)


@dataclass(frozen=True, slots=True)
class _EmptiedPartition:
    """How many files of one partition were deleted, and the files that this ledger did not write.

    `is_clear` says that the listings showed no data file or certificate of this ledger, so that none had to be deleted.
    """

    files: int
    is_clear: bool
    foreign: tuple[str, ...] = ()


def _delete_files(
    ports: Ports, state: Snapshot, dropped: DroppedPartition, success_files: Collection[str]
) -> _EmptiedPartition:
    """Delete the ledger's files of a dropped partition at both of its places, then its directories that are empty (E4).

    Files that this ledger did not write stay, and so do the directories with such files. A call after a crash deletes the
    rest. Raises StorageError.
    """
    deleted, is_clear, foreign, home = 0, True, list[str](), dropped.partition
    for place in _places(home):
        present = children(ports.files, place)
        own = [child.path for child in present if is_own(child, state, dropped.epoch)]
        if not own:
            own = [child.path for child in present if child.name in success_files and not child.length]
        else:
            is_clear = False
        deleted += sum(ports.concurrency.map(partial(_delete, ports), own))
        others = [child.path for child in present if child.path not in own]
        foreign += [path for path in others if base_name(path) not in success_files]
        if not others and is_clear:
            _delete_empty(ports, place, home.location.removesuffix("/" + home.path))
    return _EmptiedPartition(deleted, is_clear, tuple(foreign))


def is_own(child: FileStatus, state: Snapshot, through: int) -> bool:
    """Return whether this ledger wrote the file: data or dead letters of epochs up to `through`, also hidden ones that were
    replayed; a certificate; or a retirement's text file.
    """
    tag = ledger_tag(state.ledger_id)
    data, stage = DataFileName.parse(letters_name(child.name)) or (None, "")
    if data is not None:
        return stage == "final" and data.ledger == tag and data.epoch <= through
    mark = (
        CertificateName.parse(child.name)
        or RetirementName.parse(child.name)
        or certificate_of_draft(child.name)
    )
    return mark is not None and mark.ledger == tag


class Retention:
    """Drops the expired partitions of one table, whose ledger this process owns. `owned` is its state after each step.

    `has_hive`: the map has a `hive` section; without it, only partitions of tables that Hive never had are dropped.
    `turns` remembers, from call to call, which partitions could not be deleted.
    `publish` commits a change. Each step raises as `publish` does; a crash between two steps leaves partitions that are
    recorded as dropped, and the next process goes on with them.
    """

    def __init__(
        self,
        ports: Ports,
        owned: OwnedLedger,
        publish: Callable[[Expiry], OwnedLedger],
        success_files: Collection[str],
        *,
        has_hive: bool = True,
        turns: Turns[HivePartition] | None = None,
    ) -> None:
        self.owned = owned
        self._ports = ports
        self._commit = publish
        self._success_files = success_files
        self._has_hive = has_hive
        self._turns = turns or Turns()

    @property
    def room(self) -> int:
        """How many more partitions may be dropped now."""
        return max(MOST_DROPPED - len(self.owned.state.dropped), 0)

    def expire(self, before_ms: int, homes: Iterable[HivePartition], now: float) -> frozenset[HivePartition]:
        """Record what has expired, and drop `homes` from now on, at most MOST_DROPPED at a time (E2). Return the dropped ones.

        `now` is in Unix seconds; without Hive, the partitions' files are kept from then on.
        """
        state = self.owned.state
        dropped = frozenset(islice(homes, self.room))
        if dropped or before_ms > state.expired_before_ms:
            change = Expiry(expired_before_ms=before_ms, dropped=dropped, gone_at=utc_text(now))
            self._publish(replace(change, without_hive=not self._has_hive))
        return dropped

    @property
    def never_in_hive(self) -> frozenset[HivePartition]:
        """The dropped partitions that need no look, because the map has no `hive` section and Hive never had their table."""
        return frozenset() if self._has_hive else never_in_hive(self.owned.state)

    def record(self, look: DropLook, at: float) -> None:
        """Record a look that began `at` (Unix seconds): when Hive first did not have a partition, and that it has one again."""
        since = {each.partition: each.gone_since for each in self.owned.state.dropped}
        gone = frozenset(home for home in look.gone if since.get(home) == "")
        back = frozenset(home for home in look.present if since.get(home))
        if gone or back:
            self._publish(Expiry(gone=gone, gone_at=utc_text(at), back=back))

    def delete(self, absent: frozenset[HivePartition], now: float, most: float = math.inf) -> Removal:
        """Delete the files of partitions that Hive has not had for KEEP_SECONDS, and record which have none left (E4).

        `absent` are the partitions that looks of the last FRESH_SECONDS did not find, and no look since has found, and those of
        `never_in_hive`. No further partition is begun after `most` files. A partition with a storage error is left to a later
        call, and keeps no other from its turn.
        """
        cleared = set[HivePartition]()
        deleted, foreign, error = 0, list[str](), None
        over = {
            each.partition: each
            for each in self.owned.state.dropped
            if each.partition in absent and is_over(each, now)
        }
        for partition in self._turns.due(over, now):
            if deleted >= most:
                break
            try:
                emptied = self._empty(over[partition])
            except StorageError as failure:
                self._turns.fail(partition, now)
                error = error or failure
                continue
            self._turns.succeed(partition)
            deleted += emptied.files
            foreign += emptied.foreign
            if emptied.is_clear:
                cleared.add(partition)
        if cleared:
            self._publish(Expiry(cleared=frozenset(cleared)))
        return Removal(tuple(sorted(cleared)), deleted, tuple(foreign), error)

    def _empty(self, dropped: DroppedPartition) -> _EmptiedPartition:
        first = _delete_files(self._ports, self.owned.state, dropped, self._success_files)
        if first.is_clear:
            return first
        again = _delete_files(self._ports, self.owned.state, dropped, self._success_files)
        return replace(again, files=first.files + again.files)

    def _publish(self, change: Expiry) -> None:
        self.owned = self._commit(change)


def _places(home: HivePartition) -> tuple[str, str]:
    return home.location, other_place(home.location, home.path)


def _delete(ports: Ports, path: str) -> bool:
    done = ports.files.delete(path)
    log.debug("delete %s: expired", path)
    return done


def _delete_empty(ports: Ports, directory: str, table_location: str) -> None:
    """Delete an empty directory, and its parents below the table's directory that are empty then.

    Raises Unavailable or OutcomeUnknown, so that the partition is not cleared before its directory is gone.
    """
    while directory != table_location and directory.startswith(table_location + "/"):
        try:
            if children(ports.files, directory):
                return
            ports.files.delete(directory)
        except (Unavailable, OutcomeUnknown):
            raise
        except StorageError as error:  # such as a lack of permission
            log.debug("%s stays: %s", directory, error)
            return
        directory = parent(directory)
