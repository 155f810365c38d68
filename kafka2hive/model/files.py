"""Data files and Hive partitions."""

from dataclasses import dataclass
from enum import Enum

from kafka2hive.model.offsets import OffsetRange

UNKNOWN_CHECKSUM = "-"
"""The checksum of a file that `recover --rebuild-ledger` listed without reading its bytes."""


def checksum_text(crc32: int) -> str:
    """Return a file's checksum as ledgers record it; `crc32` covers the whole file."""
    return f"crc32:{crc32:08x}"


class FileKind(Enum):
    """What a file holds: rows of records, dead letters, or rows that compaction copied from data files."""

    DATA = "data"
    DEAD_LETTER = "dead_letter"
    COMPACTED = "compacted"


@dataclass(frozen=True, slots=True, order=True)
class HivePartition:
    """A partition of a Hive table.

    `table` is `db.table`. `path` is the partition's path below the table, escaped as Hive does it (`dt=2013-01-01/hr=05`),
    and empty for an unpartitioned table. `location` is the full directory.
    """

    table: str
    path: str
    location: str

    @property
    def name(self) -> tuple[str, str]:
        """The table and the path, which stay the same if the partition moves."""
        return self.table, self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A file of an epoch. `staged` (`.pending`) and `final` are its full paths before and after it is promoted.

    `length` is in bytes. `checksum` is `crc32:<8 hex digits>` of the whole file, or UNKNOWN_CHECKSUM. `task` is the index of
    the task within its epoch. `ranges` are all offset ranges of that task; the file's records may come from any of them.
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
    """How the files of a table's epoch reached their final places: `created = renamed + already_there + given_up`.

    `already_there` counts files that an earlier attempt or run moved. `given_up` counts files that `recover --accept-loss` or
    `--refetch` left out. `retried` counts repeated renames, not files.
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
