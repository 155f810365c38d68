"""Records that cannot become rows: where they were, why, and every byte of them."""

from collections.abc import Sequence

import pyarrow as pa

from kafka2hive.config.dead_letters import DEAD_LETTER_COLUMNS
from kafka2hive.config.values import MetadataColumn
from kafka2hive.model.hive.types import parse_hive_type
from kafka2hive.pipeline.task.chunk import Chunk, Positions
from kafka2hive.pipeline.task.rows import metadata_column

DEAD_LETTER_SCHEMA = pa.schema(
    [(column.name, parse_hive_type(column.type)) for column in DEAD_LETTER_COLUMNS]
)


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
