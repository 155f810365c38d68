"""The reports of both sides of a SELECT about their share of an epoch, which the driver combines (sql/accounts.py)."""

from dataclasses import dataclass

from kafka2hive.model.files import DataFile
from kafka2hive.plan.contract import Refusal, TableFailure, TableManifest


@dataclass(frozen=True, slots=True)
class RecordsRead:
    """The report of a task before the SELECT. `attempt` is Spark's id of the task attempt.

    `manifest` counts the rows that went into the SELECT as `written`; its files are dead letters.
    """

    attempt: int
    manifest: TableManifest


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsWritten:
    """The report of a task after the SELECT.

    `rows` and `refused` are by range, in the plan's order. `rows` counts the rows in data files. `refused` counts the rows
    without a bucket or that the files cannot hold; their records are dead letters, and `refusals` has the reasons.
    `out_of_range` and `late` are the parts of `refused` that the map's bounds of event time refuse.
    If the table has a shuffle, the rows were sent to other tasks, `marks` has a hash of each range's offsets
    (`marks_of` in shuffle.py), and the files are dead letters.
    """

    attempt: int
    task: int
    rows: tuple[int, ...] = ()
    refused: tuple[int, ...] = ()
    out_of_range: tuple[int, ...] = ()
    late: tuple[int, ...] = ()
    marks: tuple[int, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    files: tuple[DataFile, ...] = ()
    seconds: tuple[tuple[str, float], ...] = ()
    failure: TableFailure | None = None


@dataclass(frozen=True, slots=True)
class ArrivalCount:
    """The number of rows of one range that arrived from one attempt of its task, and the mark of their offsets."""

    range: int
    attempt: int
    rows: int
    mark: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsReceived:
    """The report of one part after the shuffle: its data files, and its rows by range of the table's whole epoch."""

    part: int
    arrivals: tuple[ArrivalCount, ...] = ()
    files: tuple[DataFile, ...] = ()
    seconds: tuple[tuple[str, float], ...] = ()
    failure: TableFailure | None = None
