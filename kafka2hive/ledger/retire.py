"""Retire the early files of partitions that have moved: rule K8 of docs/protocol.md."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import orjson

from kafka2hive.ledger.history import final_snapshots
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.ports import Ports, log
from kafka2hive.ledger.snapshot.change import PlaceUpdate
from kafka2hive.ledger.snapshot.compaction import counted_partitions
from kafka2hive.ledger.turns import Turns
from kafka2hive.model.errors import ManualActionRequired, TableError
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.footer import Footer
from kafka2hive.model.paths.ledger import LedgerPaths
from kafka2hive.model.paths.path import base_name, join, parent, parse_partition_path
from kafka2hive.model.paths.table_directory import DataFileName, RetirementName, is_early_place, ledger_tag
from kafka2hive.model.snapshot import ACCEPT_LOSS, REFETCH, MovedPartition, RetiredPartition, Snapshot
from kafka2hive.model.text import unix_seconds, utc_text
from kafka2hive.storage.port import AlreadyExists, FileStatus, FileSystem, StorageError, children, write_file

FRESH_SECONDS = 60.0
"""How long a look counts: Hive's location may change at any moment."""
MOST_RETIRED = 20
"""How many partitions one snapshot retires: each costs a listing of both its places and a read of the ledger's history."""
MOST_DELETES = 1_000
"""How many files one call deletes, so that no epoch waits long."""

FooterOf = Callable[[FileStatus], Footer | None]
"""Reads the footer of a data file. Raises StorageError."""


@dataclass(frozen=True, slots=True)
class Looks:
    """The results of the looks at Hive's locations of moved partitions since the last call.

    - `right`: the location was not at the early place; the value is the time of the look (Unix seconds).
    - `put_back`: the location was at the early place.
    """

    right: Mapping[HivePartition, float] = field(default_factory=dict)
    put_back: frozenset[HivePartition] = frozenset()


@dataclass(frozen=True, slots=True)
class RetirementResult:
    """Why due partitions are not retired, and how many early files were deleted."""

    problems: tuple[TableError, ...] = ()
    deleted: int = 0


@dataclass(frozen=True, slots=True)
class Deletion:
    """The retired partitions that have no early files left (`cleared`), and how many files were deleted."""

    cleared: frozenset[HivePartition]
    files: int


def keep_places(
    ports: Ports,
    owned: OwnedLedger,
    looks: Looks,
    *,
    keep_seconds: float,
    now: float,
    footer_of: FooterOf,
    publish: Callable[[PlaceUpdate], OwnedLedger],
    turns: Turns[HivePartition] | None = None,
) -> RetirementResult:
    """Record the looks, retire due partitions, and delete early files of retired partitions.

    A partition is due if no look has found Hive's location at its early place for `keep_seconds`. `now` is in Unix seconds.
    `publish` commits a change. `turns` remembers, from call to call, which partitions could not be retired or deleted.
    A crash before the commit changes nothing; after it, the next call goes on with the deletion.
    Raises as `publish` does.
    """
    turns = turns or Turns()
    before = delete_retired(ports, owned, footer_of, turns=turns, now=now)
    change, problems = _update(
        ports=ports,
        owned=owned,
        looks=looks,
        keep_seconds=keep_seconds,
        now=now,
        cleared=before.cleared,
        footer_of=footer_of,
        turns=turns,
    )
    deleted = before.files
    if change is not None:
        owned = publish(change)
        if change.retired:
            deleted += delete_retired(ports, owned, footer_of, turns=turns, now=now).files
    return RetirementResult(tuple(problems), deleted)


def _update(
    ports: Ports,
    owned: OwnedLedger,
    looks: Looks,
    keep_seconds: float,
    now: float,
    cleared: frozenset[HivePartition],
    footer_of: FooterOf,
    turns: Turns[HivePartition],
) -> tuple[PlaceUpdate | None, list[TableError]]:
    """Return the change for the next snapshot, None if there is none, and the problems for the result of keep_places."""
    state = owned.state
    counted = counted_partitions(state)
    fresh = {
        p: at for p, at in looks.right.items() if p not in looks.put_back and now - FRESH_SECONDS <= at <= now
    }
    moved = {each.partition: each for each in state.moved}
    over = (p for p, at in sorted(fresh.items()) if p in counted and _is_over(moved[p], at, keep_seconds))
    due = [moved[p] for p in turns.due(over, now)]
    retired: list[HivePartition] = []
    problems: list[TableError] = []
    for each in due[:MOST_RETIRED]:
        try:
            _refuse_changed_home(ports.files, owned, each, footer_of)
        except TableError as error:
            turns.fail(each.partition, now)
            problems.append(error)
        except StorageError as error:
            turns.fail(each.partition, now)
            log.warning("%s is not retired yet: %s", each.early, error)
        else:
            turns.succeed(each.partition)
            retired.append(each.partition)
    pending = frozenset(state.unregistered)  # R8 may correct their locations without a look that is recorded
    right = frozenset(p for p in fresh if p in moved and p not in counted | pending)
    put_back = looks.put_back & counted
    if not (right or put_back or retired or cleared):
        return None, problems
    change = PlaceUpdate(
        right=right,
        right_at=utc_text(now),
        put_back=put_back,
        retired=frozenset(retired),
        cleared=cleared,
    )
    return change, problems


def _is_over(moved: MovedPartition, at: float, keep_seconds: float) -> bool:
    since = unix_seconds(moved.right_since)
    return since is not None and at - since >= keep_seconds


def _refuse_changed_home(
    files: FileSystem, owned: OwnedLedger, moved: MovedPartition, footer_of: FooterOf
) -> None:
    """Raise TableError unless the compacted files are whole at home, because only they have the rows once the early files go.

    The end of each file is read, because a listing shows the full length even of a file whose blocks are lost. After a reset,
    a `moved` line that began with late data has neither compacted nor early files of this ledger. Raises StorageError.
    """
    compacted = _compacted(files, owned, moved)
    at_home = {child.path: child for child in children(files, moved.partition.location)}
    given_up = {loss.path for loss in owned.state.losses if loss.remedy == ACCEPT_LOSS}
    changed = [
        f.final
        for f in compacted
        if f.final in given_up or not _is_whole(files, at_home.get(f.final), f, footer_of)
    ]
    if changed or (not compacted and own_files(children(files, moved.early), owned.state, moved.epoch)):
        raise TableError(
            "compact.home_changed",
            f"{changed[0] if changed else moved.partition.location} is not as compaction wrote it, so the files at"
            f" {moved.early}, which have the same rows, are kept",
            f"restore it from a backup, or keep both; `kafka2hive verify --table {owned.state.table} -c MAP` names what is"
            " missing",
        )


def _is_whole(files: FileSystem, status: FileStatus | None, file: DataFile, footer_of: FooterOf) -> bool:
    if status is None or status.length != file.length:
        return False
    footer = footer_of(status)
    if footer is None:  # some formats have none
        return bool(files.tail(status.path, 1))
    return footer.rows == file.rows


def _compacted(files: FileSystem, owned: OwnedLedger, moved: MovedPartition) -> list[DataFile]:
    """Return the compacted files of the move, and those that repairs wrote for such as were fetched again."""
    home = moved.partition.location
    refetched = [x for x in owned.state.losses if x.remedy == REFETCH and parent(x.path) == home]
    compacted: list[DataFile] = []
    try:
        for epoch in sorted({moved.epoch, *(loss.epoch for loss in refetched)}):
            snapshot = snapshot_of_move(files, owned.paths, owned.directory, replace(moved, epoch=epoch))
            compacted += [] if snapshot is None else compacted_files(snapshot, moved.partition)
    except ManualActionRequired as damage:
        raise TableError(damage.code, damage.message, damage.remedy) from damage
    replaced = {loss.path for loss in refetched}
    return [file for file in compacted if file.final not in replaced]


def snapshot_of_move(
    files: FileSystem, paths: LedgerPaths, directory: str, moved: MovedPartition
) -> Snapshot | None:
    """Return the snapshot in which the partition's line began. None if it was the ledger's before a reset.

    Raises ManualActionRequired, StorageError.
    """
    newest = next(final_snapshots(files, paths, directory, moved.epoch), None)
    return newest if newest is not None and newest.epoch == moved.epoch else None


def compacted_files(snapshot: Snapshot, home: HivePartition) -> list[DataFile]:
    return [f for f in snapshot.files if f.kind is FileKind.COMPACTED and f.hive_partition == home]


def delete_retired(
    ports: Ports, owned: OwnedLedger, footer_of: FooterOf, turns: Turns[HivePartition], now: float
) -> Deletion:
    """Delete the early files of the partitions that the newest snapshot has retired, at most MOST_DELETES.

    Before that, a text file is put there: it makes queries at this place fail, and has the footers of all files that will be
    deleted. A storage error, or a home that has changed since the commit, is logged, and a later call tries again.
    """
    cleared: set[HivePartition] = set()
    deleted = 0
    retired = {each.partition: each for each in owned.state.retired}
    for partition in turns.due(retired, now):
        each = retired[partition]
        try:
            present = children(ports.files, each.early)
            own = own_files(present, owned.state, each.through)
            if own:  # the home is checked again, because the commit may be long ago
                home = MovedPartition(partition=each.partition, early=each.early, epoch=each.through, late=0)
                _refuse_changed_home(ports.files, owned, home, footer_of)
            mark = RetirementName(ledger_tag(owned.state.ledger_id), each.epoch)
            if mark.text not in {child.name for child in present}:
                _put_mark(ports=ports, retired=each, mark=mark, own=own, footer_of=footer_of)
            if not own:
                cleared.add(each.partition)
            deleted += sum(ports.concurrency.map(partial(_delete, ports), own[: MOST_DELETES - deleted]))
        except (StorageError, TableError) as error:
            turns.fail(partition, now)
            log.warning("the files at %s are deleted later: %s", each.early, error)
        else:
            turns.succeed(partition)
        if deleted >= MOST_DELETES:
            break
    return Deletion(frozenset(cleared), deleted)


def _delete(ports: Ports, file: FileStatus) -> bool:
    done = ports.files.delete(file.path)
    log.debug("delete %s: retired", file.path)
    return done


def own_files(present: Iterable[FileStatus], state: Snapshot, through: int) -> list[FileStatus]:
    """Return the ledger's data files of epochs up to `through` among those that are present at an early place."""
    own = []
    for child in present:
        name, kind = DataFileName.parse(child.name) or (None, "")
        if name and kind == "final" and name.ledger == ledger_tag(state.ledger_id) and name.epoch <= through:
            own.append(child)
    return own


def _put_mark(
    ports: Ports, retired: RetiredPartition, mark: RetirementName, own: list[FileStatus], footer_of: FooterOf
) -> None:
    """Put the text file in place. Raises StorageError.

    It is written under a draft name, then renamed, and never replaced, so a delayed RPC cannot leave an empty one.
    """
    footers = ports.concurrency.map(footer_of, own)
    text = retirement_text(retired, list(zip(own, footers, strict=True)))
    path = join(retired.early, mark.text)
    draft = join(retired.early, mark.draft(ports.new_uuid()))
    ports.files.mkdirs(retired.early)
    write_file(ports.files, draft, text)
    try:
        ports.files.rename(draft, path)
    except AlreadyExists:
        return
    log.info("%s is retired: queries that Hive sends there fail from now on", retired.early)


def retirement_text(retired: RetiredPartition, files: list[tuple[FileStatus, Footer | None]]) -> bytes:
    """Return the text file: lines for people who read it, then names, lengths and footers of the files, to rebuild a ledger."""
    home = retired.partition
    values = ", ".join(f"{name}='{value}'" for name, value in parse_partition_path(home.path))
    lines = [
        f"The files of {home.table} {home.path} that were here are at {home.location} now, compacted.",
        f"If Hive reads this file: ALTER TABLE {home.table} PARTITION ({values}) SET LOCATION '{home.location}'",
    ]
    for status, footer in files:
        if footer is not None:
            row = {"name": status.name, "length": status.length, "footer": footer.metadata()}
            lines.append(f"file {orjson.dumps(row).decode()}")
    return ("\n".join(lines) + "\n").encode()


@dataclass(frozen=True, slots=True)
class RetiredFile:
    """An early file that was, or will be, deleted at a place that is retired."""

    path: str
    name: DataFileName
    length: int
    footer: Footer


def retired_files(path: str, text: bytes) -> list[RetiredFile]:
    """Return the files that the text file at `path` names. Raises ValueError if it is damaged."""
    files = []
    for line in text.decode().splitlines():
        tag, _, content = line.partition(" ")
        if tag != "file":
            continue
        row = orjson.loads(content)
        parsed = DataFileName.parse(row["name"])
        footer = Footer.parse({key.encode(): value.encode() for key, value in row["footer"].items()})
        if parsed is None or footer is None:
            raise ValueError(f"{path}: {row['name']} is not a data file")
        files.append(RetiredFile(join(parent(path), row["name"]), parsed[0], row["length"], footer))
    return files


def is_retired(state: Snapshot, file: DataFile) -> bool:
    """Return whether a `retired` line of this snapshot covers a committed file, so that the file may be gone.

    Nothing else proves it: an early file that no such line covers must be promoted, or is a loss.
    """
    name, _ = DataFileName.parse(base_name(file.final)) or (None, "")
    place = file.hive_partition.location
    return name is not None and any(
        each.early == place and name.epoch <= each.through for each in state.retired
    )


def was_retired(files: FileSystem, state: Snapshot, file: DataFile) -> bool:
    """Return whether a committed file is or was retired: the text file stays after the `retired` line ends.

    Raises StorageError.
    """
    place = file.hive_partition
    name, _ = DataFileName.parse(base_name(file.final)) or (None, "")
    if file.kind is not FileKind.DATA or name is None or not is_early_place(place.location, place.path):
        return False
    if is_retired(state, file):
        return True
    marks = (RetirementName.parse(child.name) for child in children(files, place.location))
    return any(mark and mark.ledger == name.ledger and name.epoch < mark.epoch for mark in marks)
