"""Replay a dead-letter file: decode its letters again as a task whose records are these letters (rule R11).

The letters are decoded first without writing, because most letters stay letters, and then there is nothing to stage.
"""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from io import BytesIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka2hive.config.dead_letters import EXPIRED, LATE, OUT_OF_RANGE
from kafka2hive.config.keys import MetadataColumn
from kafka2hive.model.errors import TableError
from kafka2hive.model.files import UNKNOWN_CHECKSUM, checksum_text
from kafka2hive.model.offsets import OffsetRange
from kafka2hive.model.snapshot import EventBounds
from kafka2hive.plan.contract import (
    LETTERS_DAMAGED,
    LETTERS_MISSING,
    NEVER,
    ClientCounts,
    LetterFile,
    TableFailure,
    TableManifest,
    TaskPlan,
)
from kafka2hive.storage.port import FileSystem, NotFound
from kafka2hive.task.dead_letters import StoredLetters, letter_chunks
from kafka2hive.task.failures import TableErrors, needs_spark
from kafka2hive.task.fetch.consumer import process_consumer
from kafka2hive.task.fetch.fetch import CHUNK_BYTES
from kafka2hive.task.letter_payload import lacking
from kafka2hive.task.part import TablePart, TaskEnvironment, task_environment
from kafka2hive.task.table import TableRun
from kafka2hive.task.write.destination import OpenSink, passing_sinks

_BATCH_ROWS = 10_000
_TIMES = "metadata.timestamp"
"""The reason of records whose timestamp does not fit into a letter: they are never decoded again."""
_UNREADABLE = (pa.ArrowException, OSError, KeyError)


class LettersTask:
    """A task whose records are the letters of dead-letter files, one file for each table's part of the plan."""

    def __init__(self, plan: TaskPlan, environment: TaskEnvironment) -> None:
        self._environment = environment
        settings = environment.settings
        known = {name: replace(table, schema_evolution="ignore") for name, table in settings.tables.items()}
        self._parts = tuple(
            TablePart(index=plan.index, task=task, settings=replace(settings, tables=known))
            for task in plan.tables
        )

    def outputs(self) -> Iterator[TableManifest]:
        """Yield the manifests; a manifest has no files if all letters of its file stay letters."""
        try:
            for part in self._parts:
                yield self._manifest(part)
        finally:
            self._environment.close()

    def _manifest(self, part: TablePart) -> TableManifest:
        files, progress = self._environment.files, self._environment.progress
        with TableErrors() as errors:
            trial = try_letters(part, files, progress)
            if trial.failure is not None or not _has_changes(trial):
                return trial
            return stage_letters(part, files, progress)
        assert errors.failure is not None
        return part.failure_manifest(errors.failure)


def _has_changes(manifest: TableManifest) -> bool:
    """Return whether any letter became a row, was filtered, or became a tombstone."""
    return any(entry.account.read > entry.account.dead_lettered for entry in manifest.accounts)


def try_letters(
    part: TablePart, files: FileSystem, progress: Callable[[], None] = lambda: None
) -> TableManifest:
    """Decode the file's letters without writing. The manifest has accounts or a failure, and no files.

    The failure is LETTERS_MISSING or LETTERS_DAMAGED if the file is gone or differs from the committed file. Raises
    TableError for any other error of the table.
    """
    try:
        return _replay_file(part, files, progress, passing_sinks())
    except NotFound:
        return part.failure_manifest(TableFailure(LETTERS_MISSING, "does not exist"))
    except _DamagedLetters as error:
        return part.failure_manifest(TableFailure(LETTERS_DAMAGED, error.why))
    except _UNREADABLE as error:
        return part.failure_manifest(TableFailure(LETTERS_DAMAGED, f"is damaged: {error}"))


def stage_letters(
    part: TablePart, files: FileSystem, progress: Callable[[], None] = lambda: None
) -> TableManifest:
    """Decode the file's letters and stage their rows and the remaining letters. A crash leaves orphans.

    Raises TableError (also if the file differs from the committed file), NotFound, pa.ArrowException.
    """
    return _replay_file(part, files, progress, None)


class _DamagedLetters(TableError):
    """A dead-letter file differs from the committed file; `why` says how."""

    def __init__(self, file: LetterFile, why: str) -> None:
        self.why = why
        remedy = "`kafka2hive verify --contents -c MAP` names all such files; nothing was changed"
        super().__init__("replay.damaged", f"{file.path} {why}", remedy)


def _replay_file(
    part: TablePart, files: FileSystem, progress: Callable[[], None], open_sink: OpenSink | None
) -> TableManifest:
    """Decode the file's letters again. Their rows go to `open_sink`, or into staged files if it is None.

    The accounts of the manifest count an offset without a letter as absent. A crash or an error leaves orphans. Raises
    TableError if the table's task fails.
    """
    file = part.task.replay
    assert file is not None
    reader = _open(file, files)
    if part.table.sql is not None:
        raise needs_spark(part.task.table)
    consumer = partial(
        process_consumer, part.settings.kafka
    )  # required by the environment; a replay never calls it
    environment = task_environment(part.settings, files, consumer, progress, other_sink=open_sink)
    counts, chosen, without_bytes = dict.fromkeys(part.ranges, 0), 0, 0
    with TableErrors() as errors:
        run = TableRun(part, environment)
        try:
            for rows in stored_letters(reader):
                wanted = _chosen_letters(part, file, rows)
                mask = pc.and_(wanted, pa.array(~lacking(rows["headers"].combine_chunks())))
                without_bytes += (pc.sum(wanted).as_py() or 0) - (pc.sum(mask).as_py() or 0)
                chosen += pc.sum(mask).as_py() or 0
                for chunk in letter_chunks(part.task.table, rows.filter(mask), part.ranges, CHUNK_BYTES):
                    counts[chunk.segments[0].range] += len(chunk)
                    for _ in run.take(chunk):
                        pass  # rows go to the sink
                others = rows.filter(pa.array(~np.asarray(mask)))
                for chunk in letter_chunks(part.task.table, others, part.ranges, CHUNK_BYTES):
                    counts[chunk.segments[0].range] += len(chunk)
                    assert isinstance(chunk.records, StoredLetters)
                    run.keep(chunk, chunk.records.reasons())
            run.complete([_counts_of_letters(source, count) for source, count in counts.items()])
            manifest = replace(run.manifest(), chosen=chosen, without_bytes=without_bytes)
        except BaseException:
            run.abandon()
            raise
        finally:
            environment.close()
    if errors.failure is not None:
        raise errors.failure.error
    return manifest


def _open(file: LetterFile, files: FileSystem) -> pq.ParquetFile:
    """Open the file. Raises _DamagedLetters if it differs from the committed file, NotFound, pa.ArrowException."""
    data = files.read(file.path)
    checksum = checksum_text(zlib.crc32(data))
    if file.checksum not in (UNKNOWN_CHECKSUM, checksum):
        raise _DamagedLetters(file, f"has {checksum}, but {file.checksum} was committed")
    reader = pq.ParquetFile(BytesIO(data), coerce_int96_timestamp_unit="us")
    if reader.metadata.num_rows != file.rows:
        raise _DamagedLetters(
            file, f"holds {reader.metadata.num_rows} letters, but {file.rows} were committed"
        )
    return reader


def _chosen_letters(part: TablePart, file: LetterFile, rows: pa.Table) -> pa.Array:
    """Return the mask of the letters to decode again: they match the reason and the time of `file`.

    Two kinds of letters are never decoded again: late, expired and out-of-range letters if the ledger was rebuilt, because it
    lacks the bounds that refused them; and letters without a timestamp if the table has a column of record timestamps, because
    the record may have a timestamp that does not fit into a letter.
    """
    mask = pc.not_equal(rows["reason"], _TIMES)
    if file.reason:
        mask = pc.and_(mask, pc.equal(rows["reason"], file.reason))
    if file.since:
        since = pa.scalar(datetime.fromisoformat(file.since), pa.timestamp("us"))
        mask = pc.and_(mask, pc.greater_equal(rows["timestamp"].cast(pa.timestamp("us")), since))
    mask = pc.fill_null(mask, False).combine_chunks()
    if unknown := _reasons_without_bound(part.task.bounds or EventBounds()):
        refused = pc.is_in(rows["reason"], value_set=pa.array(unknown))
        mask = pc.and_(mask, pc.invert(refused.combine_chunks()))
    if any(column is MetadataColumn.TIMESTAMP for column, _ in part.table.metadata):
        mask = pc.and_(mask, pc.is_valid(rows["timestamp"]).combine_chunks())
    return mask


def _reasons_without_bound(bounds: EventBounds) -> list[str]:
    """Return the reasons of letters that some bound refused, if that bound is unknown."""
    has_range = (bounds.max_future_ms, bounds.max_past_ms) != (None, None)
    known = {
        OUT_OF_RANGE: has_range,
        LATE: bounds.late_before_ms is not None,
        EXPIRED: bounds.expired_before_ms > 0,
    }
    return [reason for reason, is_known in known.items() if not is_known]


def stored_letters(file: pq.ParquetFile) -> Iterator[pa.Table]:
    """Yield the letters of a dead-letter file in batches of about CHUNK_BYTES, estimated from its row groups' mean row size."""
    for number in range(file.num_row_groups):
        group = file.metadata.row_group(number)
        rows = max(1, group.num_rows * CHUNK_BYTES // max(group.total_byte_size, 1))
        for batch in file.iter_batches(min(rows, _BATCH_ROWS), row_groups=[number]):
            yield pa.Table.from_batches([batch])


def _counts_of_letters(source: OffsetRange, letters: int) -> ClientCounts:
    """Return the counts that a client would report if the range held only the letters."""
    return ClientCounts(
        range=source,
        begun=source.start,
        records=letters,
        absent=len(source) - letters,
        position=source.end,
        log_end=NEVER,
    )
