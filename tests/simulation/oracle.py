"""The oracle: after a schedule, faults off, clean starts; then every promise is checked against the bare tree.

It knows the topic (which records must be visible) and the tree; of the production code it uses the snapshot codec.
"""

import json
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from kafka2hive.ledger.snapshot.codec import decode
from kafka2hive.model.completeness import Certificate
from kafka2hive.model.errors import Kafka2HiveError
from kafka2hive.model.files import DataFile, HivePartition
from kafka2hive.model.offsets import OffsetRange
from kafka2hive.model.paths.data_file import DataFileName
from kafka2hive.model.paths.ledger import Generation, LedgerPaths, parse_snapshot_name
from kafka2hive.model.paths.path import join
from kafka2hive.model.paths.table_directory import staging_directory
from kafka2hive.model.snapshot import Snapshot
from tests.simulation.code import Production
from tests.simulation.ledger_caller import KEEP, LedgerCaller
from tests.simulation.metastore import Hive
from tests.simulation.namenode import FileNode
from tests.simulation.places import LEDGER, LOCATION, STAGING, WAREHOUSE
from tests.simulation.tasks import records_in
from tests.simulation.topic import records_by_place
from tests.simulation.watch import Violation
from tests.simulation.world import World

snapshot_of = lru_cache(128)(decode)
"""What these very bytes say; the oracle reads a ledger's history again and again."""

FOREIGN = DataFileName(
    slug="all", task=0, ledger="f" * 8, generation=0, epoch=0, uuid="0" * 32, extension="parquet"
).in_state("pending")
"""Another ledger's staged file, older by name than anything: nobody here may touch it."""


def prepare(world: World) -> None:
    """The world before the first driver: a table's directory with a file another ledger once staged there."""
    world.namenode.mkdirs(STAGING)
    world.namenode.create(join(STAGING, FOREIGN)).content = b"foreign"


def judge(world: World, hive: Hive, code: Production) -> None:
    """Recover cleanly, let every late RPC arrive, go on for an epoch. Raises Violation."""
    if world.late and world.below(2):
        _recover(world, hive, code, "recover1")
    while world.late:
        world.execute_late()
    driver = _recover(world, hive, code, "recover2")
    check_tidiness(world, LEDGER, LOCATION)
    _go_on(driver)
    snapshots = history(world, LEDGER)
    check_chain(snapshots)
    check_offsets(snapshots)
    files = [file for snapshot in snapshots for file in snapshot.files]
    check_files(world, files)
    check_records(world, files, snapshots[-1])
    check_certificates(world, snapshots)
    check_hive(hive, files)


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
    """Path and child names of the one generation directory."""
    names = list(world.namenode.directory(ledger.table_directory) or ())
    if len(names) != 1 or Generation.parse(names[0]) is None:
        raise Violation(f"{ledger.table_directory} holds {names}, not one generation directory")
    path = join(ledger.table_directory, names[0])
    return path, list(world.namenode.directory(path) or ())


def check_tidiness(
    world: World, ledger: LedgerPaths, location: str, more: bool = False, since: int = 0
) -> None:
    """After a clean start, and `more` epochs perhaps: nothing unreferenced is left, nothing of others is gone."""
    path, children = _generation(world, ledger)
    finals = [n for n in children if (parse_snapshot_name(n) or (0, ""))[1] == "final"]
    kept = min(KEEP, len(history(world, ledger, since)))
    if len(finals) != len(children) or len(finals) < kept or (len(finals) > kept and not more):
        raise Violation(f"after a clean start {path} holds {sorted(children)}, not {kept} final snapshots")
    staging = staging_directory(location)
    staged = list(world.namenode.directory(staging) or ())
    if staged != [FOREIGN]:
        raise Violation(f"after a clean start {staging} holds {staged or 'nothing'}, not just {FOREIGN}")


def history(world: World, ledger: LedgerPaths, since: int = 0) -> list[Snapshot]:
    """All snapshots of all time by epoch, from `since` on: those archived and those in the generation directory."""
    found: dict[int, Snapshot] = {}
    archives = world.namenode.directory(ledger.archives) or {}
    directories = [join(ledger.archives, name) for name in archives] + [_generation(world, ledger)[0]]
    for directory in directories:
        for name in world.namenode.directory(directory) or ():
            epoch, _ = parse_snapshot_name(name) or (-1, "")
            if epoch in found or epoch < 0:
                raise Violation(f"{join(directory, name)} is unexpected")
            found[epoch] = snapshot_of(world.namenode.read(join(directory, name)))
            if found[epoch].epoch != epoch:
                raise Violation(f"{join(directory, name)} says epoch {found[epoch].epoch}")
    epochs = sorted(epoch for epoch in found if epoch >= since)
    if epochs != list(range(since, since + len(epochs))):
        raise Violation(f"epochs are missing: {epochs}")
    return [found[epoch] for epoch in epochs]


def check_chain(snapshots: list[Snapshot]) -> None:
    """Every snapshot names the checksum of the one before it, and its pending registrations and columns follow from that
    one's.
    """
    for before, snapshot in pairwise(snapshots):
        if snapshot.previous != before.checksum:
            raise Violation(f"epoch {snapshot.epoch} was written after {snapshot.previous}")
        added = snapshot.added[len(before.added) :]
        if (*before.added, *added) != snapshot.added or any(a.epoch != snapshot.epoch for a in added):
            raise Violation(f"epoch {snapshot.epoch} has {snapshot.added}, before it {before.added}")
        touched = {file.hive_partition for file in snapshot.files}
        if set(snapshot.unregistered) != (set(before.unregistered) - set(snapshot.registered)) | touched:
            raise Violation(
                f"epoch {snapshot.epoch} has pending {snapshot.unregistered}, before it {before.unregistered}"
            )


def check_certificates(world: World, snapshots: list[Snapshot]) -> None:
    """Recounted from the file lines alone: open partitions, what certificates say, and their files beside the data."""
    counts: dict[HivePartition, tuple[int, int, int]] = {}
    for snapshot in snapshots:
        if snapshot.tracking is None:
            counts = {}
            continue
        for file in snapshot.files:
            if file.kind.value == "data":
                since, files, rows = counts.get(file.hive_partition, (snapshot.epoch, 0, 0))
                counts[file.hive_partition] = (since, files + 1, rows + file.rows)
        for each in snapshot.certificates:
            told = (each.since, each.files, each.rows)
            if counts.pop(each.partition, None) != told:
                raise Violation(f"epoch {snapshot.epoch} certifies {each}")
            _check_certificate(world, snapshot, each)
        if {o.partition: (o.since, o.files, o.rows) for o in snapshot.open} != counts:
            raise Violation(f"epoch {snapshot.epoch} has the open partitions {snapshot.open}, not {counts}")


def _check_certificate(world: World, snapshot: Snapshot, certificate: Certificate) -> None:
    directory = certificate.partition.location
    name = (
        f"_kafka2hive_complete-{snapshot.ledger_id[:8]}-g{snapshot.generation:06d}-e{snapshot.epoch:06d}.json"
    )
    node = world.namenode.node(join(directory, name))
    if not isinstance(node, FileNode):
        raise Violation(f"{directory} has no certificate of epoch {snapshot.epoch}")
    text = json.loads(node.content)
    told = (text["epochs"], text["files"], text["rows"], text["complete_through"], text["partition"])
    said = ([certificate.since, snapshot.epoch], certificate.files, certificate.rows, certificate.through)
    if told != (*said, certificate.partition.path):
        raise Violation(f"{directory} has the certificate {text}, its epoch says {certificate}")
    ends = {(p["topic"], p["number"]): p["end"] for p in text["positions"]}
    if ends != {(p.topic_partition.topic, p.topic_partition.number): p.end for p in snapshot.positions}:
        raise Violation(f"{directory} has a certificate of {ends}, its epoch of {snapshot.positions}")
    if certificate.success_file and not world.namenode.node(join(directory, certificate.success_file)):
        raise Violation(f"{directory} has a certificate and no {certificate.success_file}")


def check_offsets(snapshots: list[Snapshot]) -> None:
    """I3: every snapshot begins where the one before it ended, at 0 what is new."""
    ends = {p.topic_partition: p.end for p in snapshots[0].positions}
    for snapshot in snapshots[1:]:
        starts = {p.topic_partition: p.start for p in snapshot.positions}
        for gap in snapshot.gaps:
            if gap.epoch == snapshot.epoch:  # an operator accepted that this one resumes elsewhere
                ends[gap.range.topic_partition] = starts[gap.range.topic_partition]
        if starts != dict.fromkeys(starts, 0) | ends:
            raise Violation(f"I3: epoch {snapshot.epoch} starts at {starts}, the one before ended at {ends}")
        ends = {p.topic_partition: p.end for p in snapshot.positions}


def check_files(world: World, files: list[DataFile], given_up: frozenset[str] = frozenset()) -> None:
    """Exactly the committed files lie where readers look; what lies in places that were given up does not matter."""
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


def check_records(world: World, files: list[DataFile], newest: Snapshot) -> None:
    """Every record below the newest positions is visible exactly once, whole, in its own bucket."""
    ranges = tuple(OffsetRange(p.topic_partition, 0, p.end) for p in newest.positions)
    check_exactly(world, files, ranges, newest.table)


def check_exactly(
    world: World,
    files: list[DataFile],
    ranges: Iterable[OffsetRange],
    table: str,
    lost: Counter[tuple[str, str]] | None = None,
) -> None:
    """Every record of the ranges (by its bucket's place) is visible once for each range, but for the `lost` ones."""
    seen: Counter[tuple[str, str]] = Counter()
    for file in files:
        content = world.namenode.retired.get(file.final) or world.namenode.read(file.final)
        if len(content) != file.length:
            raise Violation(f"{file.final} has {len(content)} bytes, not {file.length}")
        seen.update((file.hive_partition.location, record) for record in records_in(content))
    wanted = Counter(
        (place.location, record)
        for r in ranges
        for place, records in records_by_place((r,), table).items()
        for record in records
    )
    wanted -= lost or Counter()
    if seen != wanted:
        raise Violation(f"lost: {sorted(wanted - seen)}, duplicated: {sorted(seen - wanted)}")


def check_hive(hive: Hive, files: list[DataFile]) -> None:
    """I6 at the end: every Hive partition with data is registered where it lies."""
    for partition in {file.hive_partition for file in files}:
        if hive.registered.get((partition.table, partition.path)) != partition.location:
            raise Violation(
                f"I6: {partition.table} {partition.path} holds data, is not registered and in no pending registrations"
            )
