"""Before the SELECT: a table's planned ranges become batches of rows with their coordinates, and dead letters.

All is counted as in a task without SQL. Dead letters do not go through the SELECT: their files are written here, and the
driver takes those of the very attempt whose rows were written (accounts.py).
"""

import time
from collections import defaultdict
from collections.abc import Iterator

import pyarrow as pa

from kafka2hive.model.errors import TableError
from kafka2hive.model.offset_accounting import AccountingMismatch
from kafka2hive.pipeline.delivered import Delivered
from kafka2hive.pipeline.task.accounts import TableAccounts
from kafka2hive.pipeline.task.chunk import Chunk
from kafka2hive.pipeline.task.chunk_decoder import ChunkDecoder
from kafka2hive.pipeline.task.fetch.consumer import ConsumerPort
from kafka2hive.pipeline.task.fetch.counted import CountedConsumer
from kafka2hive.pipeline.task.fetch.fetch import Fetch, TableRead, TableUnreadable
from kafka2hive.pipeline.task.fetch.requests import RangeRequest, waves
from kafka2hive.pipeline.task.refused.letters_of_task import LettersOfTask
from kafka2hive.pipeline.task.sink import OpenSink, to_files
from kafka2hive.pipeline.task.sql.coordinates import COORDINATES, coordinates
from kafka2hive.pipeline.task.table import manifest_of
from kafka2hive.pipeline.task.watchdog import Watchdog
from kafka2hive.pipeline.task.write.destination import new_attempt, to_dead_letters
from kafka2hive.pipeline.task.write.limits import TaskLimits
from kafka2hive.pipeline.values import TableManifest, TableSettings, TableTask, TaskPlan, TaskSettings
from kafka2hive.storage.port import FileSystem


class RecordsOfTask:
    """One table's share of a task up to the SELECT: `batches`, then `manifest`; `abandon` at any time."""

    def __init__(
        self,
        index: int,
        task: TableTask,
        table: TableSettings,
        settings: TaskSettings,
        decoder: ChunkDecoder,
        files: FileSystem,
        consumer: ConsumerPort,
        watchdog: Watchdog,
        open_sink: OpenSink | None = None,
        whole: TaskPlan | None = None,
    ) -> None:
        """`table` has the columns of the records. `open_sink` None: dead letters become files on `files`.

        `whole`: what the files are named by, where it is not the task itself.
        """
        self._index = index
        self._task = task
        self._stall_seconds = settings.stall_seconds
        self._decoder = decoder
        self._consumer = CountedConsumer(consumer)
        self._watchdog = watchdog
        self._accounts = TableAccounts(index, task.ranges)
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._rows = 0
        self._limits = TaskLimits(settings.memory_bytes, settings.open_files, settings.file_bytes)
        named = TaskPlan(index, (task,)) if whole is None else whole
        destination = to_dead_letters(named.index, named.tables[0], table, settings, new_attempt())
        open_sink = open_sink or to_files(table, files, self._limits, watchdog.touch)
        self._letters = LettersOfTask(task, destination, open_sink)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows with their coordinates. Raises what belongs to the table (see TABLE_ERRORS in run), or to no table."""
        delivered: tuple[Delivered, ...] = ()
        for wave in waves([RangeRequest(self._task.table, r) for r in self._task.ranges]):
            ranges = [item.range for item in wave]
            self._consumer.expect(ranges)
            fetch = Fetch(self._consumer, wave, self._stall_seconds, self._watchdog.touch)
            asked = time.perf_counter()
            for event in fetch:
                self._seconds["fetch"] += time.perf_counter() - asked
                match event:
                    case Chunk():
                        yield from self._take(event)
                    case TableUnreadable(_, failure):
                        raise TableError(failure.code, failure.message, failure.remedy)
                    case TableRead():
                        delivered = (*delivered, *self._consumer.delivered(ranges))
                asked = time.perf_counter()
        self._accounts.complete(delivered)
        self._letters.sink.finish()

    def _take(self, chunk: Chunk) -> Iterator[pa.RecordBatch]:
        begun = time.perf_counter()
        (decoded,) = self._decoder.decode(chunk)  # messages of one row each, says the map's check
        self._seconds["decode"] += time.perf_counter() - begun
        for positions, reasons in decoded.refused:
            self._letters.add(chunk, positions, reasons)
        self._accounts.count(
            chunk,
            dead_lettered=[positions for positions, _ in decoded.refused],
            filtered=(),
            tombstones=decoded.skipped,
        )
        for rows, chosen in decoded.batches:
            if len(rows):
                self._rows += len(rows)
                yield rows.append_column(
                    COORDINATES, coordinates(chunk, chosen, self._index, self._task.ranges)
                )

    def manifest(self) -> TableManifest:
        """Wait for the dead letters' files. `written` of the accounts are the rows that `batches` gave."""
        files = self._letters.sink.results()
        accounts = self._accounts.of_ranges()
        if self._letters.sink.rows != sum(a.account.dead_lettered for a in accounts):
            raise AccountingMismatch(
                f"{self._task.table}: {self._letters.sink.rows} rows in dead-letter files"
            )
        if self._rows != sum(a.account.written for a in accounts):
            raise AccountingMismatch(f"{self._task.table}: {self._rows} rows went to the SELECT")
        return manifest_of(
            self._index, self._task, files, self._accounts, self._letters, self._decoder, self._seconds
        )

    def abandon(self) -> None:
        """Give the files up that are not in a manifest; never raises."""
        self._letters.sink.abandon()

    def close(self) -> None:
        self._limits.closer.stop()
