"""The oracle: after a schedule it makes clean starts without faults, then checks every promise against the bare tree.

It knows the topic (which records must be visible) and the tree, and reads snapshots by its own parser. It uses production
code only for the names of places and for the clean starts.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from kafka2hive.model.errors import Kafka2HiveError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.model.paths.ledger import Generation, LedgerPaths, parse_snapshot_name
from kafka2hive.model.paths.path import base_name, join, parent
from kafka2hive.model.paths.table_directory import DataFileName, other_place, staging_directory
from kafka2hive.model.snapshot import REBUILT
from tests.simulation.code import Production
from tests.simulation.ledger_caller import KEEP, LedgerCaller
from tests.simulation.metastore import Hive
from tests.simulation.namenode import FileNode
from tests.simulation.places import (
    DEAD_LETTER_TABLE,
    LEDGER,
    LOCATION,
    STAGING,
    WAREHOUSE,
    location_of,
)
from tests.simulation.snapshot_text import SnapshotText, ToldCertificate, ToldFile, ToldLoss, read_snapshot
from tests.simulation.tasks import records_in
from tests.simulation.topic import (
    account_of,
    place_of,
    records_by_place,
    replay_of,
    row_place_of,
    windows_of,
)
from tests.simulation.watch import Violation, epoch_of
from tests.simulation.world import World

FOREIGN = DataFileName(
    slug="all", task=0, ledger="f" * 8, generation=0, epoch=0, uuid="0" * 32, extension="parquet"
).in_state("pending")
"""A staged file of another ledger, with the oldest name: no actor may touch it."""


def prepare(world: World) -> None:
    """Prepare the world for the first driver: a table's directory with a staged file of another ledger."""
    world.namenode.mkdirs(STAGING)
    world.namenode.create(join(STAGING, FOREIGN)).content = b"foreign"


def judge(world: World, hive: Hive, code: Production) -> None:
    """Recover cleanly, let every late RPC arrive, and commit one more epoch. Raises Violation."""
    if world.late and world.below(2):
        _recover(world, hive, code, "recover1")
    while world.late:
        world.execute_late()
    driver = _recover(world, hive, code, "recover2")
    check_tidiness(world, LEDGER, LOCATION)
    _go_on(driver)
    check_ledger(world, hive)


def check_ledger(world: World, hive: Hive) -> None:
    """Check every promise about the ledger's table, after an epoch without faults. Raises Violation."""
    snapshots = history(world, LEDGER)
    incomplete = {
        parent(path) for path in world.namenode.retired
    }  # not all files that they count are visible
    if withdrawn := [place for place in snapshots[-1].reopened if place.location not in incomplete]:
        raise Violation(f"nothing went wrong, and certificates are withdrawn: {withdrawn}")
    check_chain(snapshots)
    check_offsets(snapshots)
    check_accounts(snapshots)
    files, filtered = without_replayed(world, snapshots)
    check_files(world, files)
    check_records(world, files, snapshots, filtered)
    check_certificates(world, snapshots)
    check_hive(hive, files)


def without_replayed(
    world: World, snapshots: list[SnapshotText]
) -> tuple[list[ToldFile], Counter[tuple[HivePartition, str]]]:
    """Return the files that readers must see, and the letters that replays filtered: replayed files must be hidden whole.

    Each was replayed once, in a later epoch, and each of its letters is a row, filtered, or a letter of that epoch.
    """
    files: dict[str, ToldFile] = {}
    filtered: Counter[tuple[HivePartition, str]] = Counter()
    closed = {
        (each.range.topic_partition.number, offset): s.late_before_ms
        for s in snapshots
        for each in s.accounts
        for offset in range(each.range.start, each.range.end)
    }
    for snapshot in snapshots:
        for one in snapshot.replayed:
            file = files.pop(one.path, None)
            if file is None or file.kind != "dead_letter":
                raise Violation(
                    f"epoch {snapshot.epoch} replays {one.path}, which is no letters' file any more"
                )
            hidden = join(parent(one.path), f"_kafka2hive_{base_name(one.path)}.replayed")
            node, retired = world.namenode.node(hidden), world.namenode.retired
            content = retired.get(hidden) or retired.get(one.path, b"")
            if isinstance(node, FileNode):
                content = node.content
            if not content:
                raise Violation(f"epoch {snapshot.epoch} replays {one.path}, which is not hidden")
            by_record = {r: _fate(r, snapshot, closed) for r in records_in(content)}
            fates = Counter(by_record.values())
            filtered.update((file.hive_partition, r) for r, fate in by_record.items() if fate == "filtered")
            told = {"row": one.written, "filtered": one.filtered, "again": one.again}
            if len(content) != file.length or one.letters != file.rows or fates != Counter(told):
                raise Violation(f"epoch {snapshot.epoch} has {one}, the file holds {dict(fates)}")
        files.update({file.final: file for file in snapshot.files})
    return list(files.values()), filtered


def _fate(record: str, snapshot: SnapshotText, closed: Mapping[tuple[int, int], int | None]) -> str:
    """Return what the epoch that replays the letter makes of it; `closed` has the bounds of late rows by its place."""
    number, offset = map(int, record.split(":"))
    late_before_ms = closed.get((number, offset))
    return replay_of(record, snapshot.epoch, snapshot.table, late_before_ms, snapshot.expired_before_ms)


def _recover(world: World, hive: Hive, code: Production, name: str) -> LedgerCaller:
    driver: LedgerCaller = code.ledger_caller.LedgerCaller(world, hive, code, name)
    try:
        driver.start()
    except Kafka2HiveError as error:
        raise Violation(f"a clean recover fails: {error}") from error
    return driver


def _go_on(driver: LedgerCaller) -> None:
    try:
        driver.epoch()
    except Kafka2HiveError as error:
        raise Violation(f"the service cannot go on: {error}") from error
    if driver.unregistered:
        raise Violation(f"Hive is up, yet pending registrations stay: {sorted(driver.unregistered)}")


def _generation(world: World, ledger: LedgerPaths) -> tuple[str, list[str]]:
    """Return path and child names of the only generation directory."""
    names = list(world.namenode.directory(ledger.table_directory) or ())
    if len(names) != 1 or Generation.parse(names[0]) is None:
        raise Violation(f"{ledger.table_directory} holds {names}, not one generation directory")
    path = join(ledger.table_directory, names[0])
    return path, list(world.namenode.directory(path) or ())


def check_tidiness(
    world: World,
    ledger: LedgerPaths,
    location: str,
    more: bool = False,
    since: int = 0,
    foreign: bool = True,
) -> None:
    """Check after a clean start, and perhaps `more` epochs, that no unreferenced file is left.

    If there was a `foreign` file, it must still be there.
    """
    path, children = _generation(world, ledger)
    finals = [n for n in children if (parse_snapshot_name(n) or (0, ""))[1] == "final"]
    kept = min(KEEP, len(history(world, ledger, since)))
    if len(finals) != len(children) or len(finals) < kept or (len(finals) > kept and not more):
        raise Violation(f"after a clean start {path} holds {sorted(children)}, not {kept} final snapshots")
    staging = staging_directory(location)
    staged = list(world.namenode.directory(staging) or ())
    if staged != [FOREIGN][: int(foreign)]:
        raise Violation(f"after a clean start {staging} holds {staged or 'nothing'}, not just {FOREIGN}")


def history(world: World, ledger: LedgerPaths, since: int = 0) -> list[SnapshotText]:
    """Return all snapshots by epoch, from `since` on: those in the archive and in the generation directory."""
    found: dict[int, SnapshotText] = {}
    archives = world.namenode.directory(ledger.archives) or {}
    directories = [join(ledger.archives, name) for name in archives] + [_generation(world, ledger)[0]]
    for directory in directories:
        for name in world.namenode.directory(directory) or ():
            epoch, _ = parse_snapshot_name(name) or (-1, "")
            if epoch in found or epoch < 0:
                raise Violation(f"{join(directory, name)} is unexpected")
            found[epoch] = read_snapshot(world.namenode.read(join(directory, name)))
            if found[epoch].epoch != epoch:
                raise Violation(f"{join(directory, name)} says epoch {found[epoch].epoch}")
    epochs = sorted(epoch for epoch in found if epoch >= since)
    if epochs != list(range(since, since + len(epochs))):
        raise Violation(f"epochs are missing: {epochs}")
    return [found[epoch] for epoch in epochs]


def check_chain(snapshots: list[SnapshotText]) -> None:
    """Check that each snapshot has the checksum of the one before it.

    Its pending registrations and columns must follow from those of that one.
    """
    for before, snapshot in pairwise(snapshots):
        if snapshot.previous != before.checksum:
            raise Violation(f"epoch {snapshot.epoch} was written after {snapshot.previous}")
        if (snapshot.ledger_id, snapshot.table) != (before.ledger_id, before.table):
            raise Violation(f"epoch {snapshot.epoch} is of another ledger or table than the one before it")
        if snapshot.generation < before.generation:
            raise Violation(f"epoch {snapshot.epoch} has generation {snapshot.generation}")
        _check_decisions(before, snapshot)
        waiting = {each.name for each in snapshot.withheld}
        ended = {each for each in before.withheld if each.name not in waiting}
        if not set(snapshot.registered) <= set(before.unregistered) | ended:
            raise Violation(f"epoch {snapshot.epoch} has registered {snapshot.registered}")
        touched = {file.hive_partition for file in snapshot.files}
        given_up = {each.partition for each in snapshot.forgotten}
        dropped = {line.partition for line in snapshot.dropped if line.epoch == snapshot.epoch}
        pending = (set(before.unregistered) | ended) - set(snapshot.registered) | set(snapshot.lapsed)
        owed = pending - dropped | touched
        if set(snapshot.unregistered) != owed - given_up - set(snapshot.withheld):
            raise Violation(
                f"epoch {snapshot.epoch} has pending {snapshot.unregistered}, before it {before.unregistered}"
            )


def _check_decisions(before: SnapshotText, snapshot: SnapshotText) -> None:
    """Check that decisions stay in all later snapshots, and that new ones have the epoch of their snapshot."""
    for what in ("added", "gaps", "losses", "forgotten"):
        old, now = getattr(before, what), getattr(snapshot, what)
        if now[: len(old)] != old or any(each.epoch != snapshot.epoch for each in now[len(old) :]):
            raise Violation(f"epoch {snapshot.epoch} has the {what} {now}, before it {old}")


def check_windows(snapshots: list[SnapshotText]) -> None:
    """Check that the counts by time of each epoch are those of the records that it read; a rebuilt epoch has none."""
    for snapshot in snapshots:
        read = () if snapshot.owner == REBUILT else snapshot.accounts
        expected = [
            window
            for each in read
            for window in windows_of(each.range, snapshot.table, snapshot.late_before_ms)
        ]
        if sorted(snapshot.windows) != sorted(expected):
            raise Violation(f"epoch {snapshot.epoch} counts {snapshot.windows}, it read {expected}")


def check_accounts(snapshots: list[SnapshotText]) -> None:
    """Check that every offset that an epoch moved is in exactly one account, with what became of it."""
    for snapshot in snapshots:
        moved = {p.topic_partition: (p.start, p.end) for p in snapshot.positions if p.end > p.start}
        told: dict[TopicPartition, list[OffsetRange]] = {}
        for each in snapshot.accounts:
            told.setdefault(each.range.topic_partition, []).append(each.range)
            if each.account != account_of(each.range, snapshot.table, snapshot.late_before_ms):
                raise Violation(f"epoch {snapshot.epoch} accounts for {each}")
        for gap in snapshot.gaps:  # a rebuilt epoch may begin with a gap: offsets of which no file is left
            if gap.epoch == snapshot.epoch and gap.range.topic_partition in told:
                told[gap.range.topic_partition].append(gap.range)
        for topic_partition, ranges in told.items():
            ranges.sort()
            whole = all(a.end == b.start for a, b in pairwise(ranges))
            if not whole or moved.pop(topic_partition, None) != (ranges[0].start, ranges[-1].end):
                raise Violation(f"epoch {snapshot.epoch} has accounts of {ranges}, moved was otherwise")
        if moved:
            raise Violation(f"epoch {snapshot.epoch} has no account of {moved}")


Counted = tuple[int, int, int]
"""The first epoch, files and rows of a certificate."""
Standing = dict[HivePartition, list[tuple[int, Counted]]]
"""The certificates that no snapshot has withdrawn so far, each with its epoch."""


def _withdrawn(
    snapshot: SnapshotText,
    losses: Sequence[ToldLoss],
    standing: Standing,
    complete: dict[HivePartition, Counted],
) -> dict[HivePartition, list[Counted]]:
    """Return what the snapshot opens again, and take it from the `standing` certificates.

    A repair withdraws all certificates of a partition if one of them counts a file that it gives up or fetches again; every
    other snapshot can only withdraw those of the one before.
    """
    for unit in snapshot.units:
        standing.pop(
            replace(unit.partition, location=other_place(unit.partition.location, unit.partition.path)), None
        )
    repaired = {
        place
        for place, told in standing.items()
        for epoch, (since, _, _) in told
        if any(
            parent(loss.path) == place.location and since <= epoch_of(loss.path) <= epoch for loss in losses
        )
    }
    reopened = set(snapshot.reopened)
    if kept := repaired - reopened:
        raise Violation(f"epoch {snapshot.epoch} repairs files of {kept}, whose certificates stay")
    if strange := reopened - repaired - complete.keys():
        raise Violation(f"epoch {snapshot.epoch} opens {strange} again, which were not complete before")
    result = {}
    for place in snapshot.reopened:
        told = standing.pop(place)
        result[place] = [each for _, each in (told if place in repaired else told[-1:])]
        if place not in repaired:
            standing[place] = told[:-1]
    return result


def check_certificates(
    world: World, snapshots: list[SnapshotText], refused: bool = False, dropped: frozenset[str] = frozenset()
) -> None:
    """Recount open partitions, certificates and their files from the file and loss lines alone.

    A certificate that could not be written is withdrawn by the next snapshot, which opens its partition again. If `refused`, this
    table can have no certificate; those at `dropped` places may be gone. A partition is known by its path, and is at the location
    of its newest file. One that moves has only its compacted files, which count since its first early one.
    """
    counts: dict[str, tuple[int, int, int]] = {}
    where: dict[str, HivePartition] = {}
    complete: dict[HivePartition, tuple[int, int, int]] = {}
    standing: Standing = {}
    seen_losses = 0
    early: dict[str, int] = {}
    for snapshot, following in zip(snapshots, [*snapshots[1:], None], strict=True):
        losses, seen_losses = snapshot.losses[seen_losses:], len(snapshot.losses)
        if snapshot.tracking is None:
            counts, complete = {}, {}
            continue
        for place, opened in _withdrawn(snapshot, losses, standing, complete).items():
            world.count["certificates withdrawn"] += 1
            where[place.path] = place
            for since, files, rows in opened:
                known = counts.get(place.path, (since, 0, 0))
                counts[place.path] = (min(known[0], since), known[1] + files, known[2] + rows)
        for file in snapshot.files:
            if file.kind != "dead_letter":
                path = file.hive_partition.path
                first = early.get(path, snapshot.epoch) if file.kind == "compacted" else snapshot.epoch
                since, files, rows = counts.get(path, (first, 0, 0))
                counts[path] = (since, files + 1, rows + file.rows)
                where[path] = file.hive_partition
        for loss in losses:
            for path, (since, files, rows) in list(counts.items()):
                if parent(loss.path) == where[path].location and epoch_of(loss.path) >= since:
                    counts[path] = (since, files - 1, rows - loss.rows)
        counts = {path: told for path, told in counts.items() if told[1]}
        if (
            snapshot.owner == REBUILT and snapshot is snapshots[0]
        ):  # only what waits for a certificate is open
            waiting = {each.path for each in snapshot.withheld}
            counts = {path: told for path, told in counts.items() if path in waiting}
        complete = {}
        withdrawn = set() if following is None else set(following.reopened)
        for each in snapshot.certificates:
            complete[each.partition] = told = (each.since, each.files, each.rows)
            standing.setdefault(each.partition, []).append((snapshot.epoch, told))
            if counts.pop(each.partition.path, None) != told or where[each.partition.path] != each.partition:
                raise Violation(f"epoch {snapshot.epoch} certifies {each}")
            if refused and following is not None and each.partition not in withdrawn:
                raise Violation(f"epoch {snapshot.epoch} certifies {each}, which was never written")
            untracked = following is not None and following.tracking is None
            gone = each.partition.location in dropped
            unsure = refused or untracked or gone or each.partition in withdrawn
            _check_certificate(world, snapshot, each, unsure)
        early = {each.partition.path: each.since for each in snapshot.early}
        still = {where[path]: told for path, told in counts.items()}
        if {o.partition: (o.since, o.files, o.rows) for o in snapshot.open} != still:
            raise Violation(f"epoch {snapshot.epoch} has the open partitions {snapshot.open}, not {still}")


def _check_certificate(
    world: World, snapshot: SnapshotText, certificate: ToldCertificate, withdrawn: bool
) -> None:
    directory = certificate.partition.location
    name = (
        f"_kafka2hive_complete-{snapshot.ledger_id[:8]}-g{snapshot.generation:06d}-e{snapshot.epoch:06d}.json"
    )
    node = world.namenode.node(join(directory, name))
    if withdrawn and not isinstance(node, FileNode):
        return
    if not isinstance(node, FileNode):
        raise Violation(f"{directory} has no certificate of epoch {snapshot.epoch}")
    if withdrawn and not node.content:
        return  # a repeated create and a delayed rename of a deleted draft
    text = json.loads(node.content)
    told = (text["epochs"], text["files"], text["rows"], text["complete_through"], text["partition"])
    said = ([certificate.since, snapshot.epoch], certificate.files, certificate.rows, certificate.through)
    if told != (*said, certificate.partition.path):
        raise Violation(f"{directory} has the certificate {text}, its epoch says {certificate}")
    ends = {(p["topic"], p["number"]): p["end"] for p in text["positions"]}
    if ends != {(p.topic_partition.topic, p.topic_partition.number): p.end for p in snapshot.positions}:
        raise Violation(f"{directory} has a certificate of {ends}, its epoch of {snapshot.positions}")
    lost = {loss.path for loss in snapshot.losses if parent(loss.path) == directory}
    early = other_place(directory, certificate.partition.path) if certificate.partition.path else directory
    at_early_place = {loss.path for loss in snapshot.losses if parent(loss.path) == early}
    if not lost <= set(text["given_up"]) <= lost | at_early_place:
        raise Violation(f"{directory} has a certificate without {lost - set(text['given_up'])}, given up")
    if (
        certificate.success_file
        and not withdrawn
        and not world.namenode.node(join(directory, certificate.success_file))
    ):
        raise Violation(f"{directory} has a certificate and no {certificate.success_file}")


def check_offsets(snapshots: list[SnapshotText]) -> None:
    """Check that each snapshot begins where the one before it ended, and new topic partitions at 0 (I3)."""
    ends = {p.topic_partition: p.end for p in snapshots[0].positions}
    for snapshot in snapshots[1:]:
        starts = {p.topic_partition: p.start for p in snapshot.positions}
        for gap in snapshot.gaps:
            if gap.epoch != snapshot.epoch:
                continue
            tp = gap.range.topic_partition
            if gap.moved_to:  # the same Kafka cluster has another name in the map: the offsets are the same
                ends[TopicPartition(gap.moved_to, tp.number)] = ends.pop(tp)
            else:  # an operator accepted that this one resumes elsewhere
                ends[tp] = starts[tp]
        if starts != dict.fromkeys(starts, 0) | ends:
            raise Violation(f"I3: epoch {snapshot.epoch} starts at {starts}, the one before ended at {ends}")
        ends = {p.topic_partition: p.end for p in snapshot.positions}


def check_files(world: World, files: list[ToldFile], given_up: frozenset[str] = frozenset()) -> None:
    """Check that exactly the committed files are where readers look; files at places that were given up are ignored."""
    visible = set()
    for table in world.namenode.directory(WAREHOUSE) or ():
        visible |= {path for path in world.namenode.files_below(join(WAREHOUSE, table)) if _is_visible(path)}
    committed = {file.final for file in files} - world.namenode.retired.keys() - given_up
    visible -= given_up
    if visible != committed:
        raise Violation(
            f"missing: {sorted(committed - visible)}, belonging to no epoch: {sorted(visible - committed)}"
        )


def _is_visible(path: str) -> bool:
    return not any(name.startswith(("_", ".")) for name in path.split("/")[3:])


def check_records(
    world: World,
    files: list[ToldFile],
    snapshots: list[SnapshotText],
    lost: Counter[tuple[HivePartition, str]] | None = None,
) -> None:
    """Check that every record below the newest positions is visible exactly once, whole, in its bucket.

    A late one is a dead letter, by the bound of the epoch that read it.
    """
    newest = snapshots[-1]
    closed = {each.range: s.late_before_ms for s in snapshots for each in s.accounts}
    if set(closed.values()) <= {None}:
        closed = {OffsetRange(p.topic_partition, 0, p.end): None for p in newest.positions}
    if sum(map(len, closed)) != sum(p.end for p in newest.positions):
        raise Violation(f"{newest.table}: {closed} are not the records below {newest.positions}")
    check_exactly(world, files, closed, newest.table, lost, closed=closed)


def check_exactly(
    world: World,
    files: list[ToldFile],
    ranges: Iterable[OffsetRange],
    table: str,
    lost: Counter[tuple[HivePartition, str]] | None = None,
    moved_to: str = "",
    closed: Mapping[OffsetRange, int | None] | None = None,
) -> None:
    """Check that every record of the ranges is visible once for each range, except the `lost` ones.

    Files of a table that has moved may be at either location. `closed` has the bound of late rows by range.
    """
    seen: Counter[tuple[HivePartition, str]] = Counter()
    for file in files:
        content = world.namenode.retired.get(file.final) or world.namenode.read(file.final)
        if len(content) != file.length:
            raise Violation(f"{file.final} has {len(content)} bytes, not {file.length}")
        place = bucket_of(file.hive_partition, table, moved_to)
        if parent(file.final) != file.hive_partition.location:
            raise Violation(f"{file.final} does not lie in {file.hive_partition.location}")
        seen.update((_origin(world, place, record), record) for record in records_in(content))
    wanted = Counter(
        (place, record)
        for r in ranges
        for place, records in records_by_place((r,), table, (closed or {}).get(r)).items()
        for record in records
    )
    wanted -= lost or Counter()
    if seen != wanted:
        raise Violation(f"lost: {sorted(wanted - seen)}, duplicated: {sorted(seen - wanted)}")


def _origin(world: World, place: HivePartition, record: str) -> HivePartition:
    """Return the letters' partition of a record that is a row after a replay, otherwise its place."""
    if not world.replays or "#" in record:
        return place
    number, offset = map(int, record.split(":"))
    if place.table == DEAD_LETTER_TABLE:
        return place
    origin = place_of(number, offset, place.table)
    return origin if origin is not None and place == row_place_of(number, offset, place.table) else place


def bucket_of(place: HivePartition, table: str, moved_to: str) -> HivePartition:
    """Return the partition at the table's first location."""
    if moved_to and place == HivePartition(table, place.path, join(moved_to, place.path)):
        return replace(place, location=join(location_of(table), place.path))
    return place


def check_hive(hive: Hive, files: list[ToldFile], moved: Mapping[str, str] | None = None) -> None:
    """Check I6 at the end: each Hive partition with data is registered at its location, or where somebody `moved` it."""
    for partition in {file.hive_partition for file in files}:
        wanted = (moved or {}).get(partition.location, partition.location)
        if hive.registered.get((partition.table, partition.path)) != wanted:
            raise Violation(
                f"I6: {partition.table} {partition.path} holds data, is not registered and in no pending registrations"
            )
