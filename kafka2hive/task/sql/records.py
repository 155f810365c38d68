"""The part of a task before the SELECT: settings for decoding, and the RowEnd (task/table.py) that passes rows to the SELECT.

The rows have their coordinates (coordinates.py). Records are counted as in a task without SQL. Dead letters do not go through
the SELECT: each attempt writes its dead-letter files before it, and the driver commits the files of the attempt whose rows
came through (sql/accounts.py).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from kafka2hive.config.keys import TableSettings, WriterOptions
from kafka2hive.model.files import DataFile
from kafka2hive.model.offsets import OffsetAccounting
from kafka2hive.plan.contract import TaskSettings
from kafka2hive.task.fetch.chunk import Chunk
from kafka2hive.task.fetch.records import Indices
from kafka2hive.task.part import PhaseTimes, TablePart, TaskEnvironment
from kafka2hive.task.rows import column_schema, row_schema
from kafka2hive.task.sql.coordinates import COORDINATES, TYPE, coordinates
from kafka2hive.task.table import Fates


def records_table(table: TableSettings) -> TableSettings:
    """Return the table's settings for decoding its records: with the records' columns and without the SELECT.

    The writer options are the defaults: the limits of the file format apply only to rows that come out of the SELECT.
    """
    return replace(
        table,
        columns=table.decoded_columns,
        records=(),
        sql=None,
        schema_evolution="ignore",
        writer=WriterOptions(),
    )


def with_records_of(table: str, settings: TaskSettings) -> TaskSettings:
    """Return the settings with only this table, as `records_table` changes it."""
    return replace(settings, tables={table: records_table(settings.tables[table])})


def records_schema(table: TableSettings) -> pa.Schema:
    """Return the schema of the rows that go into the SELECT."""
    before = records_table(table)
    return row_schema(column_schema(before), before.metadata).append(pa.field(COORDINATES, TYPE))


class RowsToSelect:
    """The RowEnd that passes rows to the SELECT. The map's checks make sure that a message has at most one row."""

    is_last = False

    def __init__(
        self, part: TablePart, environment: TaskEnvironment, attempt: str, times: PhaseTimes
    ) -> None:
        self.rows = 0
        self._part = part

    def take(
        self, chunk: Chunk, rows: pa.RecordBatch, indices: Indices | None, fates: Fates
    ) -> Iterator[pa.RecordBatch]:
        if len(rows):
            self.rows += len(rows)
            column = coordinates(chunk, indices, self._part.index, self._part.ranges)
            yield rows.append_column(COORDINATES, column)

    def finish(self, accounts: tuple[OffsetAccounting, ...]) -> None:
        """Do nothing: `take` passes all rows on at once."""

    def files(self) -> Sequence[DataFile]:
        return ()

    def abandon(self) -> None:
        """Do nothing: `take` passes all rows on at once."""
