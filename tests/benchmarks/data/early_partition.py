"""A partition of many small files that is complete and not compacted yet: real flights, a real ledger, no run.

The ledger says that each file came from one record of a topic, which the caller produces; `verify --deep` would find
that the records do not hold these rows. The flights are repeated, but no two files begin with the same one: Spark reads
files in the order of their lengths, and would compress equal ones together.
"""

import zlib
from dataclasses import dataclass
from functools import cache
from uuid import uuid4

import pyarrow as pa

from kafka2hive.config.keys import WriterOptions
from kafka2hive.formats.files import encoding_of
from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import Completeness, DataEpoch
from kafka2hive.model.files import DataFile, FileKind, checksum_text
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, RangeAccounting, TopicPartition
from kafka2hive.model.paths.path import join
from kafka2hive.model.paths.table_directory import staging_directory
from kafka2hive.service.hive.places import with_places
from kafka2hive.service.hive.schemas import MapTables
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.concurrency import Threads
from kafka2hive.storage.port import write_file
from kafka2hive.task.write.destination import Destination
from tests.benchmarks.data.content import batch_sum
from tests.benchmarks.data.data_sets import DATA_SETS
from tests.benchmarks.throughput import decoded
from tests.harness.epochs import PLANNED_AT_MS, begin

SHAPE = DATA_SETS["flights"].shape
PATH = "dt=2013"
BUCKET = {"field": SHAPE.time, "path": "dt=%Y"}
_ROWS = 4_500  # 85 KB with zstd
_THROUGH = "2026-01-01T00:00:00Z"  # the table is read up to here, far beyond the period's end
_WRITERS = 32


@dataclass(frozen=True, slots=True)
class EarlyFiles:
    """What was staged. `checksum` is that of all rows, as `content` computes it."""

    table: str
    files: int
    rows: int
    bytes: int
    checksum: int

    @property
    def megabytes(self) -> float:
        return self.bytes / 1e6


@cache
def _flights() -> pa.RecordBatch:
    """The flights of the year."""
    return pa.Table.from_batches(list(decoded(DATA_SETS["flights"]))).combine_chunks().to_batches()[0]


def _rows(number: int) -> pa.Table:
    """The rows of a file; the year begins again after its last flight."""
    flights = _flights()
    start = number * _ROWS % len(flights)
    first = flights.slice(start, _ROWS)
    return pa.Table.from_batches([first, flights.slice(0, _ROWS - len(first))]).combine_chunks()


def _checksum(files: int) -> int:
    flights, bucket = _flights(), PATH.partition("=")[2]
    copies, rest = divmod(files * _ROWS, len(flights))
    whole = batch_sum(flights, bucket, SHAPE)
    return (copies * whole + batch_sum(flights.slice(0, rest), bucket, SHAPE)) % (1 << 64)


def stage(wiring: Wiring, table: str, topic: str, files: int) -> EarlyFiles:
    """Make the table's ledger, and one epoch of so many files, which is complete at once. The topic must exist."""
    owned = begin(wiring, table)
    options = MapTables(wiring, None).settings(table).tables[table].writer
    _flights()  # once, before the threads ask for it
    wiring.ports.files.mkdirs(staging_directory(owned.state.location))

    def write(number: int) -> DataFile:
        destination = _destination(owned, topic, number)
        data = _encoded(destination, options, _rows(number))
        file = _file(destination, data)
        write_file(wiring.ports.files, file.staged, data)
        return file

    written = Threads(_WRITERS).map(write, range(files))
    account = OffsetAccounting(read=files, written=files, bytes=files, more_rows=files * (_ROWS - 1))
    change = DataEpoch(
        files=tuple(written),
        accounts=(RangeAccounting(0, _range(topic, 0, files), account),),
        completeness=Completeness(
            through=_THROUGH, complete=frozenset({written[0].hive_partition}), policy="watermark"
        ),
    )
    rule = next(rule for rule in wiring.map.tables if rule.table == table)
    publish(wiring.ports, owned, with_places(wiring.ports.files, owned.state, rule, change))
    size = sum(file.length for file in written)
    return EarlyFiles(table, files, files * _ROWS, size, _checksum(files))


def _range(topic: str, start: int, end: int) -> OffsetRange:
    return OffsetRange(TopicPartition(topic, 0), start, end)


def _destination(owned: OwnedLedger, topic: str, number: int) -> Destination:
    state = owned.state
    return Destination(
        kind=FileKind.DATA,
        ledger_id=state.ledger_id,
        table=state.table,
        generation=owned.generation.number,
        epoch=owned.next_epoch,
        task=number,
        attempt=uuid4().hex,
        planned_at_ms=PLANNED_AT_MS,
        ranges=(_range(topic, number, number + 1),),
        hive_table=state.table,
        location=state.location,
        staging=staging_directory(state.location),
    )


def _encoded(destination: Destination, options: WriterOptions, rows: pa.Table) -> bytes:
    account = OffsetAccounting(read=1, written=1, bytes=1, more_rows=len(rows) - 1)
    footer = destination.footer(PATH, len(rows), (account,))
    sink = pa.BufferOutputStream()
    encoder = encoding_of(options).open(sink, rows)
    encoder.write(rows)
    encoder.end(footer.metadata())
    return bytes(sink.getvalue())


def _file(destination: Destination, data: bytes) -> DataFile:
    name, partition = destination.new_name(PATH, "parquet"), destination.hive_partition(PATH)
    return DataFile(
        kind=FileKind.DATA,
        staged=join(destination.staging, name.in_state("pending")),
        final=join(partition.location, name.in_state("final")),
        hive_partition=partition,
        length=len(data),
        rows=_ROWS,
        checksum=checksum_text(zlib.crc32(data)),
        task=destination.task,
        ranges=destination.ranges,
    )
