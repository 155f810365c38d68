"""The side before the SELECT: the table's settings for decoding, and the end that passes rows on with coordinates.

Records are counted as in a task without SQL. Dead letters do not go through the SELECT: their files are written here, and
the driver takes those of the attempt whose rows were written (sql/accounts.py).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from kafka2hive.config.keys import TableSettings, WriterOptions
from kafka2hive.model.files import DataFile
from kafka2hive.model.offsets import OffsetAccounting
from kafka2hive.plan.contract import TaskSettings
from kafka2hive.task.fetch.chunk import Chunk
from kafka2hive.task.fetch.records import Positions
from kafka2hive.task.part import PhaseTimes, TablePart, TaskEnvironment
from kafka2hive.task.rows import column_schema, row_schema
from kafka2hive.task.sql.coordinates import COORDINATES, TYPE, coordinates
from kafka2hive.task.table import Fates


def records_table(table: TableSettings) -> TableSettings:
    """Return the table's settings for decoding its records: with the records' columns and without the SELECT.

    The writer's options are the defaults, because only rows that come out of the SELECT must fit into files.
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
    """Return the settings for the side before the SELECT."""
    return replace(settings, tables={table: records_table(settings.tables[table])})


def records_schema(table: TableSettings) -> pa.Schema:
    """Return the schema of the rows that go into the SELECT."""
    before = records_table(table)
    return row_schema(column_schema(before), before.metadata).append(pa.field(COORDINATES, TYPE))


class RowsToSelect:
    """Passes rows to the SELECT (see RowEnd). The map's checks allow one row per message; the accounts would reject more."""

    is_last = False

    def __init__(
        self, part: TablePart, environment: TaskEnvironment, attempt: str, times: PhaseTimes
    ) -> None:
        self.rows = 0
        self._part = part

    def take(
        self, chunk: Chunk, rows: pa.RecordBatch, positions: Positions | None, fates: Fates
    ) -> Iterator[pa.RecordBatch]:
        if len(rows):
            self.rows += len(rows)
            column = coordinates(chunk, positions, self._part.index, self._part.ranges)
            yield rows.append_column(COORDINATES, column)

    def finish(self, accounts: tuple[OffsetAccounting, ...]) -> None:
        """Do nothing: no rows wait."""

    def files(self) -> Sequence[DataFile]:
        return ()

    def abandon(self) -> None:
        """Do nothing: no rows are held."""
