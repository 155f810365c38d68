"""Where a task's rows go: into files (table_writer.py), or to a command that looks at them and writes nothing."""

from collections.abc import Callable, Sequence
from typing import Protocol

import pyarrow as pa

from kafka2hive.model.files import DataFile
from kafka2hive.model.offset_accounting import OffsetAccounting
from kafka2hive.task.bucket.bucketer import BucketIds
from kafka2hive.task.write.bucket_split import SourceIds
from kafka2hive.task.write.destination import Destination


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
        """After `finish`: the files; no files if the rows went elsewhere."""
        ...

    def abandon(self) -> None:
        """Give everything up; never raises."""
        ...


OpenSink = Callable[[Destination, pa.Schema], RowSink]
"""Makes the sink of one kind of rows; the schema is that of the rows."""


class PassingSink:
    """Hands rows on and keeps none."""

    def __init__(self, take: Callable[[pa.RecordBatch, BucketIds, Sequence[str]], None]) -> None:
        self._take = take
        self.rows = 0

    def add(self, rows: pa.RecordBatch, ids: BucketIds, paths: Sequence[str], sources: SourceIds) -> None:
        if len(rows):
            self._take(rows, ids, paths)
            self.rows += len(rows)

    def finish(self, accounts: tuple[OffsetAccounting, ...] | None = None) -> None:
        """Nothing waits."""

    def results(self) -> list[DataFile]:
        return []

    def abandon(self) -> None:
        """Nothing is held."""
