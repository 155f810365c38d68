"""The destination of one writer's files: their directories, names and footers."""

from dataclasses import dataclass, fields
from uuid import uuid4

from kafka2hive.model.files import DataFile, HivePartition
from kafka2hive.model.footer import Footer, Origin
from kafka2hive.model.offsets import OffsetAccounting
from kafka2hive.model.paths.data_file import DataFileName, bucket_slug, ledger_tag
from kafka2hive.model.paths.path import join
from kafka2hive.task.write.upload import CompleteFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination(Origin):
    """The origin of files and the table that will hold them.

    `hive_table` and `location` are those of the table that will hold the files, which for dead letters is the
    dead-letter table; `staging` is always the staging directory of `table`.
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
