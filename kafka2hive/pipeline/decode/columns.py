"""What every format that fills named columns asks of a table."""

import pyarrow as pa

from kafka2hive.model.hive.types import hive_type_of
from kafka2hive.pipeline.wall_clock import check_zone


def check_columns(format: str, schema: pa.Schema, zone: str) -> None:
    """Raises ValueError (no columns, or two of one name; an unknown zone), HiveTypeError."""
    if len(schema) == 0 or len(set(schema.names)) != len(schema):
        raise ValueError(
            f"format {format} needs columns with names of their own, the table has: {schema.names}"
        )
    for field in schema:
        hive_type_of(field.type)  # raises HiveTypeError for a type outside the acceptance table
    check_zone(zone)
