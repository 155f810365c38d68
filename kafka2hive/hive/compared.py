"""The text of a table of the map that a ledger keeps when Hive's table matched it. Pure."""

from collections.abc import Sequence

from kafka2hive.config.values import Column
from kafka2hive.hive.tables import TableSpec
from kafka2hive.model.snapshot import ComparedTable


def compared_table(spec: TableSpec) -> ComparedTable:
    """Of two equal ones, a comparison with Hive that holds for one holds for the other."""
    return ComparedTable(
        table=spec.table,
        location=spec.location,
        format="parquet",
        columns=_columns(spec.columns),
        partition_columns=_columns(spec.partition_columns),
    )


def _columns(columns: Sequence[Column]) -> str:
    return ", ".join(f"{column.name} {column.type}" for column in columns)
