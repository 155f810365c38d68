"""Where the files of one writer go, and what stands in their names and footers."""

from dataclasses import dataclass
from uuid import uuid4

from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.footer import Footer
from kafka2hive.model.layout import DataFileName, bucket_slug, join, ledger_tag
from kafka2hive.model.offset_accounting import OffsetAccounting
from kafka2hive.model.offsets import OffsetRange
from kafka2hive.pipeline.task.write.staged_file import EXTENSION, Staged


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """`table` is the table whose ledger commits the files; `hive_table` and `location` are those of the table that will
    hold them (another one for dead letters); `staging` is always `table`'s. `attempt`: see Footer.
    """

    kind: FileKind
    table: str
    hive_table: str
    location: str
    staging: str
    ledger_id: str
    generation: int
    epoch: int
    task: int
    ranges: tuple[OffsetRange, ...]
    attempt: str
    planned_at_ms: int

    def hive_partition(self, path: str) -> HivePartition:
        return HivePartition(self.hive_table, path, join(self.location, path) if path else self.location)

    def new_name(self, path: str) -> DataFileName:
        """Used once, ever."""
        slug, ledger = bucket_slug(path), ledger_tag(self.ledger_id)
        return DataFileName(
            slug=slug,
            task=self.task,
            ledger=ledger,
            generation=self.generation,
            epoch=self.epoch,
            uuid=uuid4().hex,
            extension=EXTENSION,
        )

    def footer(self, path: str, rows: int, accounts: tuple[OffsetAccounting, ...] | None) -> Footer:
        return Footer(
            kind=self.kind,
            ledger_id=self.ledger_id,
            table=self.table,
            generation=self.generation,
            epoch=self.epoch,
            task=self.task,
            attempt=self.attempt,
            planned_at_ms=self.planned_at_ms,
            ranges=self.ranges,
            rows=rows,
            partition=self.hive_partition(path),
            accounts=accounts,
        )

    def data_file(self, path: str, staged: Staged) -> DataFile:
        partition = self.hive_partition(path)
        return DataFile(
            kind=self.kind,
            staged=staged.path,
            final=join(partition.location, staged.name.in_state("final")),
            hive_partition=partition,
            length=staged.length,
            rows=staged.rows,
            checksum=staged.checksum,
            task=self.task,
            ranges=self.ranges,
        )
