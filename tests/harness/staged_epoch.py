"""A ledger whose newest epoch is committed, its files staged and nothing promoted: what a `kill -9` after C2 leaves."""

from collections.abc import Sequence
from functools import partial

from kafka2hive.ledger.draft import draft
from kafka2hive.ledger.epoch import commit
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import Completeness, DataEpoch
from kafka2hive.model.files import DataFile, HivePartition
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, RangeAccounting
from kafka2hive.model.paths.path import join
from kafka2hive.model.paths.table_directory import staging_directory
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.concurrency import Threads
from kafka2hive.storage.port import write_file
from tests.harness.values import data_file, file_name

CONTENT = b"not really parquet"
_WRITERS = 128  # closing a file takes HDFS half a second, whatever is in it


def commit_staged(
    wiring: Wiring,
    owned: OwnedLedger,
    ranges: OffsetRange,
    buckets: Sequence[str],
    completeness: Completeness | None = None,
) -> tuple[DataFile, ...]:
    """One file for each of `buckets`, which share the records of `ranges` evenly."""
    state, location, read = owned.state, owned.state.location, len(ranges)
    files = []
    for number, bucket in enumerate(buckets):
        generation, uuid = owned.generation.number, f"{number:032x}"
        name = file_name(state.ledger_id, generation, owned.next_epoch, slug=bucket, uuid=uuid)
        partition = HivePartition(state.table, bucket, join(location, bucket))
        file = data_file(
            staged=join(staging_directory(location), name.in_state("pending")),
            final=join(partition.location, name.in_state("final")),
            hive_partition=partition,
            length=len(CONTENT),
            rows=read // len(buckets),
            checksum="crc32:00000000",
            task=name.task,
            ranges=(ranges,),
        )
        files.append(file)
    wiring.ports.files.mkdirs(staging_directory(location))
    write = partial(write_file, wiring.ports.files, data=CONTENT)
    Threads(_WRITERS).map(write, [file.staged for file in files])
    account = RangeAccounting(0, ranges, OffsetAccounting(read=read, written=read, bytes=30 * read))
    epoch = DataEpoch(
        files=tuple(files), accounts=(account,), newest_ms=1_356_998_400_000, completeness=completeness
    )
    commit(wiring.ports, owned, draft(owned, wiring.map.service, "2013-01-01T00:00:10Z", epoch))
    return tuple(files)
