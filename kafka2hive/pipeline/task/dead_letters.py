"""Records that cannot become rows: where they were, why, and every byte of them."""

import datetime
from collections.abc import Sequence

import pyarrow as pa

from kafka2hive.config.values import MetadataColumn
from kafka2hive.model.partition_path import partition_path
from kafka2hive.pipeline.task.chunk import HEADERS, Chunk, Positions
from kafka2hive.pipeline.task.rows import metadata_column

DEAD_LETTER_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us")),
        ("reason", pa.string()),
        ("detail", pa.string()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", HEADERS),
        ("epoch", pa.int64()),
    ]
)


def dead_letter_path(table: str, planned_at_ms: int) -> str:
    """Partition of the dead-letter table: the source table and the UTC day on which the epoch was planned."""
    day = datetime.datetime.fromtimestamp(planned_at_ms // 1000, datetime.UTC).date()
    return partition_path((("source_table", table), ("dt", day.isoformat())))


def dead_letters(chunk: Chunk, positions: Positions, reasons: Sequence[str], epoch: int) -> pa.RecordBatch:
    """One row per position; a reason is `<stable code>: <detail>`. Headers with names that are not UTF-8 are null."""
    split = [reason.partition(": ") for reason in reasons]
    columns = [
        chunk.topics(positions),
        chunk.numbers(positions),
        chunk.offsets(positions),
        metadata_column(chunk, MetadataColumn.TIMESTAMP, "UTC", positions),
        pa.array([code for code, _, _ in split], pa.string()),
        pa.array([detail for _, _, detail in split], pa.string()),
        chunk.keys(positions),
        chunk.values(positions),
        chunk.headers(positions),
        pa.array([epoch] * len(positions), pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=DEAD_LETTER_SCHEMA)
