"""The tables with SQL of a run. Nothing of `sql` is imported before there is one, which a reload of the map may add."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from kafka2hive.config.keys import StorageOptions, TableSettings
from kafka2hive.plan.contract import TableManifest, TaskPlan, TaskSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka2hive.sql.job import SqlJobs
    from kafka2hive.sql.selects import Selects


class TablesWithSql:
    """Checks the SELECTs of tables, and runs their jobs (spark/jobs.py, SqlRunner). `settings` must be set before a job."""

    def __init__(self, spark: "SparkSession", storage: StorageOptions) -> None:
        self._spark = spark
        self._storage = storage
        self.settings: TaskSettings | None = None

    def check(self, table: TableSettings) -> None:
        """Plan the SELECT of a table. Raises what `Selects.check` raises; a table without SQL passes."""
        if table.sql is not None:
            self._selects.check(table)

    def is_for(self, table: str) -> bool:
        assert self.settings is not None
        return self.settings.tables[table].sql is not None

    def run(
        self, table: str, shares: Sequence[TaskPlan], is_abandoned: Callable[[], bool]
    ) -> list[TableManifest]:
        return self._jobs.run(table, shares, is_abandoned)

    @cached_property
    def _selects(self) -> "Selects":
        from kafka2hive.sql.selects import Selects

        return Selects(self._spark, self._storage)

    @cached_property
    def _jobs(self) -> "SqlJobs":
        from kafka2hive.sql.job import SqlJobs

        assert self.settings is not None
        return SqlJobs(self._spark, self.settings, self._selects)
