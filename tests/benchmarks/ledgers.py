"""Ledgers made by the product's own code, without Kafka and Spark: one that rests, one that died after its commit."""

import functools
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kafka2hive.config.load import load_map
from kafka2hive.ledger.commit import commit
from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.init import init
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import DataEpoch, FirstPositions
from kafka2hive.ledger.snapshot.draft import draft
from kafka2hive.ledger.start import StartOrder, start
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.layout import DataFileName, join
from kafka2hive.model.offset_accounting import OffsetAccounting, RangeAccounting
from kafka2hive.model.offsets import OffsetRange, Position, TopicPartition
from kafka2hive.service.shared.wiring import Wiring, wire
from kafka2hive.storage.port import write_file

_CONTENT = b"not read by recover: it compares lengths\n"
_WRITERS = 128  # closing a file takes HDFS half a second, whatever is in it
_NOW = "2013-01-01T00:00:00Z"


def resting(config: Path, topic: str) -> tuple[Wiring, OwnedLedger]:
    """The map's first table has a ledger and stands at offset 0 of the topic's partition 0."""
    wiring = wire(load_map(str(config), {}))
    table = wiring.map.tables[0]
    paths = wiring.paths(table.table)
    init(wiring.ports, paths, wiring.map.service, table.location)
    owner = f"bench-1-{uuid.uuid4().hex}"
    owned = start(wiring.ports, StartOrder(paths, lambda: None, lambda: owner, table.location)).owned
    change = FirstPositions(positions=(Position(TopicPartition(topic, 0), 0, 0),), location=table.location)
    return wiring, publish(wiring.ports, owned, change).owned


def died_after_commit(config: Path, topic: str, files: int, hive_partitions: int) -> None:
    """As `resting`, and then an epoch of so many files was committed, and nothing of it promoted."""
    wiring, owned = resting(config, topic)
    table, location = owned.state.table, owned.state.location
    ranges = (OffsetRange(TopicPartition(topic, 0), 0, files),)
    staged = []
    for number in range(files):
        bucket = f"dt=2013-{number % hive_partitions:04d}"
        name = DataFileName(
            slug=bucket,
            task=number,
            ledger=owned.state.ledger_id[:8],
            generation=owned.generation.number,
            epoch=owned.next_epoch,
            uuid=f"{number:032x}",
            extension="parquet",
        )
        partition = HivePartition(table, bucket, join(location, bucket))
        pending = join(location, "_tmp", name.in_state("pending"))
        final = join(partition.location, name.in_state("final"))
        size = len(_CONTENT)
        staged.append(
            DataFile(
                kind=FileKind.DATA,
                staged=pending,
                final=final,
                hive_partition=partition,
                length=size,
                rows=1,
                checksum="crc32:00000000",
                task=number,
                ranges=ranges,
            )
        )
    wiring.ports.files.mkdirs(join(location, "_tmp"))
    with ThreadPoolExecutor(_WRITERS) as pool:
        write = functools.partial(write_file, wiring.ports.files)
        for _ in pool.map(lambda file: write(file.staged, _CONTENT), staged):
            pass  # raises what a writer raised
    account = RangeAccounting(0, ranges[0], OffsetAccounting(read=files, written=files, bytes=300 * files))
    change = DataEpoch(files=tuple(staged), accounts=(account,))
    commit(wiring.ports, owned, draft(owned, wiring.map.service, _NOW, change))
