"""The production ledger at work on a real NameNode, without Spark and Kafka: one process that dumps one table.

It takes the table over, rolls forward, sweeps, then commits epoch after epoch until it is killed, fenced, or done. Its
tasks stage small files as real ones do; each line of a file is one record: `[topic, number, offset]`. Every fourth epoch
runs a task twice, so that orphans lie about. Starting it must be cheap: `warm_committer.py` forks it.
"""

import json
import logging
import random
import sys
import time
import zlib
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

from kafka2hive.ledger.cleanup import clean_up
from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.heartbeat import HEARTBEAT_SECONDS, Heartbeat
from kafka2hive.ledger.init import init
from kafka2hive.ledger.location import refuse_vanished_ledger
from kafka2hive.ledger.look import NoLedger
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.ports import Ports
from kafka2hive.ledger.snapshot.change import Change, Completeness, DataEpoch, FirstPositions
from kafka2hive.ledger.start import Owners, StartRequest, start
from kafka2hive.model.errors import (
    ExitCode,
    Fenced,
    Kafka2HiveError,
    ManualActionRequired,
    OwnedByLiveRun,
    TakeOverLost,
)
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, Position, RangeAccounting, TopicPartition
from kafka2hive.model.paths.ledger import Generation, LedgerPaths
from kafka2hive.model.paths.path import join
from kafka2hive.model.paths.table_directory import DataFileName, bucket_slug, ledger_tag, staging_directory
from kafka2hive.service.ownership import OwnershipCheck
from kafka2hive.service.process import HostProcesses, new_uuid
from kafka2hive.storage.concurrency import SystemClock, Threads
from kafka2hive.storage.hdfs import HdfsFileSystem
from kafka2hive.storage.logged import LoggedFileSystem
from kafka2hive.storage.port import ParentMissing, StorageError
from tests.drills.failpoint import Failpoint, Journal, Trap, TrappedFileSystem
from tests.harness.owner import new_owner

TOPIC_PARTITIONS = (TopicPartition("drill", 0), TopicPartition("drill", 1))
MOST_RECORDS = 6
BUCKET_RECORDS = 12
KEEP = 2
TIDY_EPOCHS = 3
TWIN_EPOCHS = 4
ATTEMPTS = 4
SERVICE = "committer"


@dataclass(frozen=True, slots=True)
class CommitterOrder:
    """`root` is `hdfs://host:port`, `ledgers` and `location` full paths; `epochs` None: until the end comes from outside.

    `beats`: tell others that it lives, at the price of half a second at the start.
    """

    root: str
    ledgers: str
    table: str
    location: str
    journal: str
    seed: int
    epochs: int | None = None
    take_over: bool = False
    beats: bool = False
    failpoint: Failpoint | None = None


class Committer:
    """One run. `work` gives its exit code."""

    def __init__(self, order: CommitterOrder) -> None:
        self._order = order
        self._journal = Journal(Path(order.journal))
        trap = Trap(order.failpoint, self._journal)
        files = LoggedFileSystem(TrappedFileSystem(HdfsFileSystem(order.root), trap))
        self._ports = Ports(files, Threads(16), SystemClock(), new_uuid)
        self._paths = LedgerPaths(order.ledgers, order.table)
        self._chance = random.Random(order.seed)
        owner, processes = new_owner(), HostProcesses()
        self._ownership = OwnershipCheck(self._ports, order.ledgers, processes, take_over=order.take_over)
        self._beat = Heartbeat(self._ports, order.ledgers, SERVICE, owner, processes.me())
        self._beat_at = 0.0
        self._owners = Owners(new_owner)

    def work(self) -> int:
        """Until it is done, fenced or stopped; everything else begins again with a take-over (R0)."""
        published = 0
        while True:
            try:
                owned = self._begin()
                self._journal.note("started", generation=owned.generation.number, epoch=owned.state.epoch)
                while self._order.epochs is None or published < self._order.epochs:
                    owned = self._epoch(owned)
                    published += 1
                    self._journal.note("published", epoch=owned.state.epoch, owner=owned.state.owner)
                return int(ExitCode.DONE)
            except (Fenced, TakeOverLost, OwnedByLiveRun, ManualActionRequired) as end:
                self._journal.note("ended", error=str(end))
                return int(end.exit_code)
            except (Kafka2HiveError, StorageError) as error:
                self._journal.note("again", error=str(error))
                time.sleep(0.2)

    def _begin(self) -> OwnedLedger:
        self._keep_beating()
        self._ownership.look_again()
        order = StartRequest(self._paths, self._judged, self._owners, self._order.location, KEEP)
        try:
            return start(self._ports, order).owned
        except NoLedger:
            location = self._order.location
            refuse_vanished_ledger(self._ports.files, location, self._paths.table_directory)
            init(self._ports, self._paths, SERVICE, location)
            return start(self._ports, order).owned

    def _judged(self) -> Generation:
        return self._ownership.check(self._paths, self._order.location)

    def _epoch(self, owned: OwnedLedger) -> OwnedLedger:
        self._keep_beating()
        change: Change = (
            self._epoch_loop(owned)
            if owned.state.positions
            else FirstPositions(positions=tuple(Position(tp, 0, 0) for tp in TOPIC_PARTITIONS))
        )
        change = replace(change, completeness=_complete(owned))
        done = publish(self._ports, owned, change).owned
        if done.state.epoch % TIDY_EPOCHS == 0:
            clean_up(self._ports, done, self._order.location, KEEP)
        return done

    def _epoch_loop(self, owned: OwnedLedger) -> DataEpoch:
        """One task for each topic partition, side by side."""
        ranges = [
            OffsetRange(p.topic_partition, p.end, p.end + self._chance.randint(1, MOST_RECORDS))
            for p in owned.state.positions
        ]
        tasks = list(enumerate(ranges))
        if owned.next_epoch % TWIN_EPOCHS == 0:
            tasks.append(tasks[0])
        staged = self._ports.concurrency.map(lambda task: self._attempts(owned, *task), tasks)
        return DataEpoch(
            files=tuple(file for files in staged[: len(ranges)] for file in files),
            accounts=tuple(
                RangeAccounting(task, r, OffsetAccounting(read=len(r), written=len(r)))
                for task, r in enumerate(ranges)
            ),
        )

    def _attempts(self, owned: OwnedLedger, task: int, records: OffsetRange) -> list[DataFile]:
        """As Spark does it: an attempt that fails (another owner swept its file) is tried again under new names."""
        for _ in range(ATTEMPTS - 1):
            try:
                return self._task(owned, task, records)
            except StorageError as error:
                self._journal.note("attempt lost", task=task, error=str(error))
        return self._task(owned, task, records)

    def _task(self, owned: OwnedLedger, task: int, records: OffsetRange) -> list[DataFile]:
        buckets: defaultdict[str, list[int]] = defaultdict(list)
        for offset in range(records.start, records.end):
            buckets[f"b={offset // BUCKET_RECORDS:05d}"].append(offset)
        return self._ports.concurrency.map(
            lambda bucket: self._stage(owned, task, records, *bucket), buckets.items()
        )

    def _stage(
        self, owned: OwnedLedger, task: int, records: OffsetRange, bucket: str, offsets: list[int]
    ) -> DataFile:
        """Create, write, close, rename, as `task/write/upload.py` does it."""
        ledger, directory = ledger_tag(owned.state.ledger_id), staging_directory(self._order.location)
        name = DataFileName(
            slug=bucket_slug(bucket),
            task=task,
            ledger=ledger,
            generation=owned.generation.number,
            epoch=owned.next_epoch,
            uuid=new_uuid(),
            extension="parquet",
        )
        topic_partition = records.topic_partition
        lines = [json.dumps([topic_partition.topic, topic_partition.number, offset]) for offset in offsets]
        data = ("\n".join(lines) + "\n").encode()
        staged, place = (
            join(directory, name.in_state("pending")),
            join(self._order.location, bucket),
        )
        draft_path = join(directory, name.in_state("in-progress"))
        files = self._ports.files
        try:
            writer = files.create(draft_path)
        except ParentMissing:
            files.mkdirs(directory)
            writer = files.create(draft_path)
        writer.write(data)
        writer.close()
        files.rename(draft_path, staged)
        return DataFile(
            kind=FileKind.DATA,
            staged=staged,
            final=join(place, name.in_state("final")),
            hive_partition=HivePartition(self._order.table, bucket, place),
            length=len(data),
            rows=len(offsets),
            checksum=f"crc32:{zlib.crc32(data):08x}",
            task=task,
            ranges=(records,),
        )

    def _keep_beating(self) -> None:
        now = time.monotonic()
        if self._order.beats and now - self._beat_at >= HEARTBEAT_SECONDS:
            self._beat.send()
            self._beat_at = now


def _complete(owned: OwnedLedger) -> Completeness:
    """The oldest open partition of all is complete with every epoch."""
    oldest = [each.partition for each in owned.state.open][:1]
    return Completeness(
        through="2026-11-21T00:00:00Z", complete=frozenset(oldest), policy="drill", success_file="_SUCCESS"
    )


def run_committer(order: CommitterOrder) -> int:
    """One run in this process; gives its exit code."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, force=True)
    return Committer(order).work()
