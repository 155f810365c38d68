"""Simulated Spark tasks: they stage data files through the same port, fail, are retried, and run twice.

They model what the protocol needs of a task (rule T): each name is used once, an error leads to a new attempt with new names,
and the result of one attempt is used.
"""

from binascii import crc32
from dataclasses import dataclass, replace

from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, RangeAccounting
from kafka2hive.model.paths.path import base_name, join
from kafka2hive.model.paths.table_directory import DataFileName, bucket_slug, ledger_tag, staging_directory
from kafka2hive.plan.contract import LETTERS_MISSING, TableFailure, TableManifest, TableTask
from kafka2hive.storage.port import NotFound, OutcomeUnknown, ParentMissing, StorageError, write_file
from tests.simulation.filesystem import SimulatedFileSystem
from tests.simulation.places import DEAD_LETTER_TABLE, TABLE, location_of
from tests.simulation.topic import letters_place, records_by_place, replay_of, row_place_of
from tests.simulation.world import World

ATTEMPTS = 3
SEAL = b"\n#"
"""The mark between a file's records and its footer, in worlds with footers."""


@dataclass(frozen=True, slots=True)
class Share:
    """The work of one task: its index in the epoch, the ledger, generation and epoch of its file names, and its ranges.

    `location` is the table's directory if the table has moved. `late_before_ms` is the plan's bound of late rows.
    """

    index: int
    ledger_id: str
    generation: int
    epoch: int
    ranges: tuple[OffsetRange, ...]
    table: str = TABLE
    location: str = ""
    late_before_ms: int | None = None

    @property
    def directory(self) -> str:
        return self.location or location_of(self.table)

    def placed(self, place: HivePartition) -> HivePartition:
        """Return the partition at the location where this task writes it."""
        mine = place.table == self.table and bool(self.location)
        return replace(place, location=join(self.location, place.path)) if mine else place


class TaskFailed(Exception):
    """All attempts failed; the driver gives the epoch up and plans it again."""


def run_task(world: World, files: SimulatedFileSystem, share: Share) -> tuple[DataFile, ...]:
    """Run attempts until one succeeds. Raises TaskFailed."""
    for _ in range(ATTEMPTS):
        staged = run_attempt(world, files, share)
        if staged is not None:
            return staged
    raise TaskFailed(str(share))


def run_attempt(world: World, files: SimulatedFileSystem, share: Share) -> tuple[DataFile, ...] | None:
    """Stage one file per bucket. Return None if anything failed; its files are then orphans."""
    return stage_places(
        world, files, share, records_by_place(share.ranges, share.table, share.late_before_ms)
    )


def stage_places(
    world: World, files: SimulatedFileSystem, share: Share, places: dict[HivePartition, list[str]]
) -> tuple[DataFile, ...] | None:
    """Stage one file for each of the partitions. Return None as run_attempt."""
    staged: list[DataFile] = []
    attempt = world.uuid() if world.seal else ""
    for bucket, records in places.items():
        place = share.placed(bucket)
        if world.random() < world.rates.task_fails:
            world.tell(files.who, f"task {share.index} fails")
            files.failed()
            return None
        data = "\n".join(records).encode()
        if world.seal:
            data += world.seal(share, place, len(records), attempt, len(staged) == len(places) - 1)
        file = describe(world.uuid(), share, place, data, len(records))
        try:
            _stage(files, file, data)
        except StorageError:
            return None
        staged.append(file)
    return tuple(staged)


def stage_compacted(
    world: World, files: SimulatedFileSystem, share: Share, home: HivePartition, records: list[str]
) -> list[DataFile]:
    """Stage the records of a unit as one or two files. Raises StorageError."""
    middle = len(records) // 2 if world.below(4) == 0 and len(records) > 1 else len(records)
    staged = []
    for part in (records[:middle], records[middle:]):
        if part:
            data = "\n".join(part).encode()
            if world.seal:
                data += world.seal(share, home, len(part), world.uuid(), False)
            uuid = world.uuid()
            file = replace(describe(uuid, share, home, data, len(part)), kind=FileKind.COMPACTED)
            _stage(files, file, data)
            staged.append(file)
    return staged


def decode_letters(
    world: World, files: SimulatedFileSystem, index: int, task: TableTask, location: str = ""
) -> TableManifest:
    """Decode the letters of a file. Nothing is staged if all of them stay letters. Raises TaskFailed.

    As for retention (W3), no RPC about the file may be under way when its place becomes free.
    """
    assert task.replay is not None
    path, count = task.replay.path, world.count
    share = Share(
        index,
        task.ledger_id,
        task.generation,
        task.epoch,
        task.ranges,
        task.table,
        location or location_of(task.table),
    )
    manifest = TableManifest(table=task.table, task=index, generation=task.generation, epoch=task.epoch)
    missing = replace(manifest, failure=TableFailure(LETTERS_MISSING, "is not there"))
    parsed = DataFileName.parse(base_name(path))
    assert parsed is not None
    staged = join(staging_directory(share.directory), parsed[0].in_state("pending"))
    if any(parsed[0].uuid in request.path for request in world.late) or world.namenode.node(staged):
        return missing
    try:
        records = records_in(files.read(path))
    except NotFound:
        count["letters not there"] += 1
        return missing
    except StorageError as error:
        if world.below(2):
            raise TaskFailed(str(error)) from error
        return replace(manifest, failure=TableFailure("storage.unavailable", str(error)))
    late = None if task.bounds is None else task.bounds.late_before_ms
    expired = None if task.bounds is None else task.bounds.expired_before_ms or None
    fates: dict[str, list[str]] = {"row": [], "again": [], "filtered": []}
    for record in records:
        fates[replay_of(record, task.epoch, task.table, late, expired)].append(record)
    account = OffsetAccounting(
        read=len(records),
        written=len(fates["row"]),
        filtered=len(fates["filtered"]),
        dead_lettered=len(fates["again"]),
    )
    accounts = (RangeAccounting(index, task.ranges[0], account),)
    manifest = replace(manifest, accounts=accounts, chosen=len(records))
    if len(fates["again"]) == len(records):
        count["files whose letters stay"] += 1
        return manifest
    places: dict[HivePartition, list[str]] = {}
    for record in fates["again"]:
        places.setdefault(letters_place(int(record.split(":")[1]), task.table), []).append(record)
    for record in fates["row"]:
        number, offset = map(int, record.split(":"))
        places.setdefault(row_place_of(number, offset, task.table), []).append(record)
    written = stage_places(world, files, share, places)
    if written is None:
        raise TaskFailed(str(share))
    count["files replayed by order"] += 1
    count["letters that became rows"] += len(fates["row"])
    count["letters that stay letters"] += len(fates["again"])
    count["letters filtered by a replay"] += len(fates["filtered"])
    return replace(manifest, files=written)


def records_in(content: bytes) -> list[str]:
    """Return the records of a file, without its footer."""
    return content.partition(SEAL)[0].decode().split("\n")


def describe(uuid: str, share: Share, place: HivePartition, data: bytes, rows: int) -> DataFile:
    """Return the manifest's entry for one file, with its future names."""
    dead = place.table == DEAD_LETTER_TABLE
    name = DataFileName(
        slug=bucket_slug(place.path),
        task=share.index,
        ledger=ledger_tag(share.ledger_id),
        generation=share.generation,
        epoch=share.epoch,
        uuid=uuid,
        extension=("parquet", "json.gz")[share.index % 2],
    )
    return DataFile(
        kind=FileKind.DEAD_LETTER if dead else FileKind.DATA,
        staged=join(staging_directory(share.directory), name.in_state("pending")),
        final=join(place.location, name.in_state("final")),
        hive_partition=place,
        length=len(data),
        rows=rows,
        checksum=f"crc32:{crc32(data):08x}",
        task=share.index,
        ranges=share.ranges,
    )


def _stage(files: SimulatedFileSystem, file: DataFile, data: bytes) -> None:
    writing = file.staged.replace(".pending", ".in-progress")
    try:
        write_file(files, writing, data)
    except ParentMissing:
        files.mkdirs(writing.rsplit("/", 1)[0])
        write_file(files, writing, data)
    try:
        files.rename(writing, file.staged)
    except OutcomeUnknown:
        if files.stat(file.staged).length != file.length:
            raise
