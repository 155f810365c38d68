"""A partition of many small files that is complete and not compacted yet: real flights, a real ledger, no run.

The ledger says that each file came from one record of a topic, which the caller produces; `verify --deep` would find
that the records do not hold these rows. Files with equal rows share their bytes, and so the footer of the first.
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
from kafka2hive.service.tables.hive_schemas import MapTables
from kafka2hive.service.tables.places import with_places
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
def _pieces() -> tuple[tuple[pa.RecordBatch, int], ...]:
    """The flights of the year in pieces of one file each, with the checksums of their rows."""
    whole = pa.Table.from_batches(list(decoded(DATA_SETS["flights"]))).combine_chunks().to_batches()[0]
    pieces = [whole.slice(start, _ROWS) for start in range(0, len(whole) - _ROWS, _ROWS)]
    return tuple((piece, batch_sum(piece, PATH.partition("=")[2], SHAPE)) for piece in pieces)


def stage(wiring: Wiring, table: str, topic: str, files: int) -> EarlyFiles:
    """Make the table's ledger, and one epoch of so many files, which is complete at once. The topic must exist."""
    owned = begin(wiring, table)
    pieces = _pieces()
    options = MapTables(wiring, None).settings(table).tables[table].writer
    numbers = range(files)
    encoded = [_encoded(owned, options, topic, n, pieces[n][0]) for n in numbers[: len(pieces)]]
    staged = [
        _file(owned, topic, n, encoded[n % len(pieces)], len(pieces[n % len(pieces)][0])) for n in numbers
    ]
    wiring.ports.files.mkdirs(staging_directory(owned.state.location))

    def write(number: int) -> None:
        write_file(wiring.ports.files, staged[number].staged, encoded[number % len(pieces)])

    Threads(_WRITERS).map(write, numbers)
    rows = sum(file.rows for file in staged)
    account = OffsetAccounting(read=files, written=files, bytes=files, more_rows=rows - files)
    change = DataEpoch(
        files=tuple(staged),
        accounts=(RangeAccounting(0, _range(topic, 0, files), account),),
        completeness=Completeness(
            through=_THROUGH, complete=frozenset({staged[0].hive_partition}), policy="watermark"
        ),
    )
    rule = next(rule for rule in wiring.map.tables if rule.table == table)
    publish(wiring.ports, owned, with_places(wiring.ports.files, owned.state, rule, change))
    checksum = sum(pieces[n % len(pieces)][1] for n in numbers) % (1 << 64)
    return EarlyFiles(table, files, rows, sum(file.length for file in staged), checksum)


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


def _encoded(
    owned: OwnedLedger, options: WriterOptions, topic: str, number: int, rows: pa.RecordBatch
) -> bytes:
    account = OffsetAccounting(read=1, written=1, bytes=1, more_rows=len(rows) - 1)
    footer = _destination(owned, topic, number).footer(PATH, len(rows), (account,))
    sink, first = pa.BufferOutputStream(), pa.Table.from_batches([rows])
    encoder = encoding_of(options).open(sink, first)
    encoder.write(first)
    encoder.end(footer.metadata())
    return bytes(sink.getvalue())


def _file(owned: OwnedLedger, topic: str, number: int, data: bytes, rows: int) -> DataFile:
    destination = _destination(owned, topic, number)
    name, partition = destination.new_name(PATH, "parquet"), destination.hive_partition(PATH)
    return DataFile(
        kind=FileKind.DATA,
        staged=join(destination.staging, name.in_state("pending")),
        final=join(partition.location, name.in_state("final")),
        hive_partition=partition,
        length=len(data),
        rows=rows,
        checksum=checksum_text(zlib.crc32(data)),
        task=number,
        ranges=destination.ranges,
    )
