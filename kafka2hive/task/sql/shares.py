"""What tasks before and after a SELECT report about their share of an epoch; the driver combines it (sql/accounts.py)."""

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

    All counts are by range, in the plan's order.

    - `rows`: the rows in data files, or, with a shuffle, the rows sent to other tasks.
    - `refused`: rows without a bucket, or that the file format cannot hold. Their records become dead letters.
    - `out_of_range`, `late`: the part of `refused` that the map's bounds of event time refuse.
    - `refusals`: the most frequent reasons of `refused`.
    - `marks`: with a shuffle, a hash of each range's offsets (`marks_of` in shuffle.py).
    - `files`: data files and dead letters; with a shuffle, only dead letters.
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
    """The rows of one range that arrived from one attempt of its task: their number, and the mark of their offsets."""

    range: int
    attempt: int
    rows: int
    mark: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsReceived:
    """The report of one part of a table's rows after the shuffle. A range's index counts the ranges of the whole epoch."""

    part: int
    arrivals: tuple[ArrivalCount, ...] = ()
    files: tuple[DataFile, ...] = ()
    seconds: tuple[tuple[str, float], ...] = ()
    failure: TableFailure | None = None
