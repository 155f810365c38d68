"""The destination of a task's rows: files (table_writer.py), or a command that shows them and writes nothing."""

from collections.abc import Callable, Sequence
from typing import Protocol

import pyarrow as pa

from kafka2hive.model.files import DataFile
from kafka2hive.model.offsets import OffsetAccounting
from kafka2hive.task.bucket.bucketer import BucketIds
from kafka2hive.task.write.bucket_split import SourceIds
from kafka2hive.task.write.destination import Destination


class RowSink(Protocol):
    """Takes one kind of rows of one table. Call `add`, then `finish`, then `results`; or `abandon` at any time."""

    rows: int
    """Return the number of rows added."""

    def add(self, rows: pa.RecordBatch, ids: BucketIds, paths: Sequence[str], sources: SourceIds) -> None:
        """Add rows, each with its index into `paths` and its source. `paths` may grow between calls but not change."""
        ...

    def finish(self, accounts: tuple[OffsetAccounting, ...] | None = None) -> None:
        """End the rows; `accounts` has one account per range that is not empty."""
        ...

    def results(self) -> list[DataFile]:
        """Return the files after `finish`; the list is empty if the rows went elsewhere."""
        ...

    def abandon(self) -> None:
        """Give up all rows and files; never raises."""
        ...


OpenSink = Callable[[Destination, pa.Schema], RowSink]
"""Opens the sink of one kind of rows, which have this schema."""


class PassingSink:
    """A sink that passes rows to a function and keeps none."""

    def __init__(self, take: Callable[[pa.RecordBatch, BucketIds, Sequence[str]], None]) -> None:
        self._take = take
        self.rows = 0

    def add(self, rows: pa.RecordBatch, ids: BucketIds, paths: Sequence[str], sources: SourceIds) -> None:
        if len(rows):
            self._take(rows, ids, paths)
            self.rows += len(rows)

    def finish(self, accounts: tuple[OffsetAccounting, ...] | None = None) -> None:
        """Do nothing: no rows wait."""

    def results(self) -> list[DataFile]:
        return []

    def abandon(self) -> None:
        """Do nothing: no rows are held."""
