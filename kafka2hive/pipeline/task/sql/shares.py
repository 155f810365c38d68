"""What both ends of a table with SQL say of their share of an epoch. The driver puts them together (pipeline/sql/accounts.py)."""

from dataclasses import dataclass

from kafka2hive.model.files import DataFile
from kafka2hive.pipeline.values import Refusal, TableFailure, TableManifest


@dataclass(frozen=True, slots=True)
class RecordsRead:
    """Before the SELECT. `attempt` is Spark's number of the task's attempt.

    `manifest` counts as `written` the rows that were handed to the SELECT; its files are dead letters.
    """

    attempt: int
    manifest: TableManifest


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsWritten:
    """Behind the SELECT, of one task.

    `rows` and `refused` by range, in the plan's order: rows in data files; and rows that have no bucket, or that the files
    cannot hold: their records are dead letters. `refusals`: why.
    """

    attempt: int
    task: int
    rows: tuple[int, ...] = ()
    refused: tuple[int, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    files: tuple[DataFile, ...] = ()
    seconds: tuple[tuple[str, float], ...] = ()
    failure: TableFailure | None = None
