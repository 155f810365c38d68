"""What both ends of a table with SQL say of their share of an epoch. The driver puts them together (sql/accounts.py)."""

from dataclasses import dataclass

from kafka2hive.model.files import DataFile
from kafka2hive.plan.contract import Refusal, TableFailure, TableManifest


@dataclass(frozen=True, slots=True)
class RecordsRead:
    """What a task read before the SELECT. `attempt` is Spark's number of the task's attempt.

    `manifest` counts as `written` the rows that were handed to the SELECT; its files are dead letters.
    """

    attempt: int
    manifest: TableManifest


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsWritten:
    """What a task wrote behind the SELECT.

    `rows` and `refused` by range, in the plan's order: rows in data files; and rows that have no bucket, or that the files
    cannot hold: their records are dead letters. `refusals`: why. Of a table with a shuffle the rows were sent to other
    tasks instead, with a `mark` of all of a range's offsets (moved.py); its files are dead letters.
    """

    attempt: int
    task: int
    rows: tuple[int, ...] = ()
    refused: tuple[int, ...] = ()
    marks: tuple[int, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    files: tuple[DataFile, ...] = ()
    seconds: tuple[tuple[str, float], ...] = ()
    failure: TableFailure | None = None


@dataclass(frozen=True, slots=True)
class Came:
    """Rows of one range that came from one attempt of the task that read it: how many, and the mark of their offsets."""

    range: int
    attempt: int
    rows: int
    mark: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsReceived:
    """What one part received behind the shuffle: its data files, and the rows by range of the table's whole epoch."""

    part: int
    came: tuple[Came, ...] = ()
    files: tuple[DataFile, ...] = ()
    seconds: tuple[tuple[str, float], ...] = ()
    failure: TableFailure | None = None
