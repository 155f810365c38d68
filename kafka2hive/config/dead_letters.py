"""The columns and directories of the dead-letter table, which are the same for every service."""

import datetime
from functools import lru_cache

from kafka2hive.config.keys import Column
from kafka2hive.config.keys.bucket_path import BucketEnds, read_bucket_path
from kafka2hive.model.paths.path import join, partition_path

DEAD_LETTER_COLUMNS: tuple[Column, ...] = (
    Column("topic", "string"),
    Column("partition", "int"),
    Column("offset", "bigint"),
    Column("timestamp", "timestamp"),  # the record's, UTC
    Column("reason", "string"),  # a stable code, e.g. `bucket.no_time`
    Column("detail", "string"),
    Column("key", "binary"),
    Column("value", "binary"),
    Column("headers", "array<struct<key:string,value:binary>>"),
    Column("epoch", "bigint"),
)

OUT_OF_RANGE, LATE, EXPIRED = "bucket.out_of_range", "bucket.late", "bucket.expired"
CLOSED = (LATE, EXPIRED)
"""The reasons of rows whose period is closed."""
OUT_OF_BOUNDS = (OUT_OF_RANGE, *CLOSED)
"""The reasons of rows whose event time the map's bounds refuse. They do not count towards the share of dead letters."""

_TABLE, _DAY = "source_table", "dt"
DEAD_LETTER_PARTITIONS: tuple[Column, ...] = (Column(_TABLE, "string"), Column(_DAY, "string"))
DEAD_LETTER_PATH = f"{_TABLE}={{{_TABLE}}}/{_DAY}=%Y-%m-%d"


def dead_letter_path(table: str, planned_at_ms: int) -> str:
    """Return the Hive partition of a table's letters of one epoch: the table and the UTC day of the plan."""
    day = datetime.datetime.fromtimestamp(planned_at_ms // 1000, datetime.UTC).date()
    return partition_path(((_TABLE, table), (_DAY, day.isoformat())))


@lru_cache(1)
def dead_letter_ends() -> BucketEnds:
    """Return what computes when the day of a Hive partition of dead letters ends."""
    return BucketEnds(read_bucket_path(DEAD_LETTER_PATH), "UTC")


def dead_letter_directory(location: str, table: str) -> str:
    """Return the directory of a table's letters, below the `location` of the dead-letter table."""
    return join(location, dead_letters_of(table))


def dead_letters_of(table: str) -> str:
    """Return how the Hive partitions of a table's letters begin."""
    return partition_path(((_TABLE, table),))
