"""Data files as the ledger, the tasks and the publisher speak of them."""

from dataclasses import dataclass
from enum import Enum

from kafka2hive.model.offsets import OffsetRange

UNKNOWN_CHECKSUM = "-"
"""A file whose bytes nobody read when it was listed (`recover --rebuild-ledger`)."""


class FileKind(Enum):
    DATA = "data"
    DEAD_LETTER = "dead_letter"


@dataclass(frozen=True, slots=True, order=True)
class HivePartition:
    """One partition of a Hive table.

    `table` is `db.table`; `path` the partition's path below the table, already escaped as Hive does it
    (`dt=2013-01-01/hr=05`), empty for an unpartitioned table; `location` the full directory.
    """

    table: str
    path: str
    location: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One file of an epoch with its staged (`.pending`) and final address, full paths both.

    `length` in bytes, `checksum` is `crc32:<8 hex digits>` of the whole file or UNKNOWN_CHECKSUM, `ranges` are the
    offset ranges of the task whose records the file may hold, `task` the index of the task within its epoch.
    """

    kind: FileKind
    staged: str
    final: str
    hive_partition: HivePartition
    length: int
    rows: int
    checksum: str
    task: int
    ranges: tuple[OffsetRange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMoves:
    """How the files of one table's epoch came to their final places: `created = renamed + already_there + given_up`.

    `already_there`: an earlier attempt or run had moved them. `given_up`: `recover --accept-loss` or `--refetch` left
    them out. `retried` counts attempts, not files: renames that were tried again.
    """

    created: int = 0
    renamed: int = 0
    already_there: int = 0
    given_up: int = 0
    retried: int = 0

    @property
    def unaccounted(self) -> int:
        """Number of files whose outcome is unknown; 0 unless there is a bug."""
        return self.created - self.renamed - self.already_there - self.given_up
