"""The destination of a task's rows: the files' directories, names and footers, and the sink that takes the rows.

A sink writes files (table_writer.py), or passes the rows to a command, which shows them and writes nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Protocol
from uuid import uuid4

import pyarrow as pa

from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.footer import Footer, Origin
from kafka2hive.model.offsets import OffsetAccounting
from kafka2hive.model.paths.path import join
from kafka2hive.model.paths.table_directory import DataFileName, bucket_slug, ledger_tag
from kafka2hive.task.write.bucket_split import SourceIds
from kafka2hive.task.write.bucketer import BucketIds
from kafka2hive.task.write.upload import CompleteFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination(Origin):
    """The origin of files and the Hive table that will hold them.

    `hive_table` and `location` name the Hive table that will hold the files; for dead letters it is the dead-letter table.
    `staging` is the staging directory of `table` in both cases.
    """

    hive_table: str
    location: str
    staging: str

    def hive_partition(self, path: str) -> HivePartition:
        return HivePartition(self.hive_table, path, join(self.location, path) if path else self.location)

    def new_name(self, path: str, extension: str) -> DataFileName:
        """Return a name that was never used before."""
        return DataFileName(
            slug=bucket_slug(path),
            task=self.task,
            ledger=ledger_tag(self.ledger_id),
            generation=self.generation,
            epoch=self.epoch,
            uuid=uuid4().hex,
            extension=extension,
        )

    def footer(self, path: str, rows: int, accounts: tuple[OffsetAccounting, ...] | None) -> Footer:
        origin = {field.name: getattr(self, field.name) for field in fields(Origin)}
        return Footer(**origin, rows=rows, partition=self.hive_partition(path), accounts=accounts)

    def data_file(self, path: str, staged: CompleteFile) -> DataFile:
        partition = self.hive_partition(path)
        return DataFile(
            kind=self.kind,
            staged=staged.upload.path,
            final=join(partition.location, staged.upload.name.in_state("final")),
            hive_partition=partition,
            length=staged.upload.length,
            rows=staged.rows,
            checksum=staged.upload.checksum,
            task=self.task,
            ranges=self.ranges,
        )


class RowSink(Protocol):
    """The destination of one kind of rows of one table. Call `add`, then `finish`, then `results`; or `abandon` any time."""

    rows: int
    """The number of rows added."""

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
"""Opens a sink for rows of this schema; the destination says which kind of rows."""


TakeRows = Callable[[pa.RecordBatch, BucketIds, Sequence[str]], None]
"""Takes rows, each with its index into the paths."""


def passing_sinks(data: TakeRows | None = None, letters: TakeRows | None = None) -> OpenSink:
    """Return an OpenSink whose sinks pass data rows to `data` and dead letters to `letters`; rows for None are only counted."""
    return lambda destination, _schema: PassingSink(data if destination.kind is FileKind.DATA else letters)


class PassingSink:
    """A sink that counts rows and passes them to a function, without writing files."""

    def __init__(self, take: TakeRows | None) -> None:
        self._take = take
        self.rows = 0

    def add(self, rows: pa.RecordBatch, ids: BucketIds, paths: Sequence[str], sources: SourceIds) -> None:
        if self._take is not None and len(rows):
            self._take(rows, ids, paths)
        self.rows += len(rows)

    def finish(self, accounts: tuple[OffsetAccounting, ...] | None = None) -> None:
        """Do nothing: `add` passes all rows on at once."""

    def results(self) -> list[DataFile]:
        return []

    def abandon(self) -> None:
        """Do nothing: `add` passes all rows on at once."""
