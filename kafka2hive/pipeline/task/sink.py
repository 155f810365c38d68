"""Where a task's rows go: into files (write.py), or to an audit that compares them with files that are there."""

from collections.abc import Callable, Sequence
from typing import Protocol

import pyarrow as pa

from kafka2hive.model.files import DataFile
from kafka2hive.model.offset_accounting import OffsetAccounting
from kafka2hive.pipeline.task.bucket.bucketer import BucketIds
from kafka2hive.pipeline.task.write.destination import Destination
from kafka2hive.pipeline.task.write.limits import TaskLimits
from kafka2hive.pipeline.task.write.row_sources import SourceIds
from kafka2hive.pipeline.task.write.write import TableWriter
from kafka2hive.pipeline.values import TableSettings
from kafka2hive.storage.port import FileSystem


class RowSink(Protocol):
    """Takes one kind of rows of one table: `add`, then `finish`, then `results`; or `abandon` at any time."""

    rows: int
    """How many came."""

    def add(self, rows: pa.RecordBatch, ids: BucketIds, paths: Sequence[str], sources: SourceIds) -> None:
        """`ids`: index into `paths` per row; `paths` may grow between calls, never change. `sources`: one per row."""
        ...

    def finish(self, accounts: tuple[OffsetAccounting, ...] | None = None) -> None:
        """No more rows come; `accounts` say what became of the records of each range that is not empty."""
        ...

    def results(self) -> list[DataFile]:
        """After `finish`: the files, none where the rows went elsewhere."""
        ...

    def abandon(self) -> None:
        """Give everything up; never raises."""
        ...


OpenSink = Callable[[Destination, pa.Schema], RowSink]
"""Makes the sink of one kind of rows; the schema is that of the rows."""


def to_files(
    table: TableSettings, files: FileSystem, limits: TaskLimits, progress: Callable[[], None]
) -> OpenSink:
    """The sinks of one table whose rows become files."""

    def open_sink(destination: Destination, schema: pa.Schema) -> RowSink:
        options = table.writer_of(destination.kind)
        return TableWriter(destination, files, schema, options, limits, progress)

    return open_sink
