"""The columns of the dead-letter table: the same for every service, written by tasks, created by the driver."""

from kafka2hive.config.values import Column

DEAD_LETTER_COLUMNS: tuple[Column, ...] = (
    Column("topic", "string"),
    Column("partition", "int"),
    Column("offset", "bigint"),
    Column("timestamp", "timestamp"),  # of the record, UTC
    Column("reason", "string"),  # stable code, e.g. `bucket.no_time`
    Column("detail", "string"),
    Column("key", "binary"),
    Column("value", "binary"),
    Column("headers", "array<struct<key:string,value:binary>>"),
    Column("epoch", "bigint"),
)

DEAD_LETTER_PARTITIONS: tuple[Column, ...] = (Column("source_table", "string"), Column("dt", "string"))
DEAD_LETTER_PATH = "source_table={source_table}/dt=%Y-%m-%d"  # the UTC day of the epoch
