"""A table's columns for the decoder: their types, and where they stand in the value."""

import pyarrow as pa

from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.pipeline.decode import Source
from kafka2hive.pipeline.values import TableSettings


def value_schema(table: TableSettings) -> pa.Schema:
    """The columns that come from the value."""
    return pa.schema([(column.name, parse_hive_type(column.type)) for column in table.columns])


def value_sources(table: TableSettings) -> list[Source]:
    """Where each of them stands in the value."""
    return [Source(column.path or (column.name,), column.unit) for column in table.columns]
