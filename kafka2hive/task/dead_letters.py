"""The dead letters of one table in one task: files with every byte of the records, and counts of the reasons."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from kafka2hive.config.dead_letters import DEAD_LETTER_COLUMNS, dead_letter_path
from kafka2hive.config.keys import MetadataColumn
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.plan.contract import Refusal
from kafka2hive.plugins import Reason
from kafka2hive.task.fetch.chunk import Chunk
from kafka2hive.task.fetch.records import Positions
from kafka2hive.task.part import TablePart, TaskEnvironment
from kafka2hive.task.rows import metadata_column
from kafka2hive.task.write.bucket_split import RowSources

DEAD_LETTER_SCHEMA = pa.schema(
    [(column.name, parse_hive_type(column.type)) for column in DEAD_LETTER_COLUMNS]
)
MOST_REASONS = 10


class DeadLetterFiles:
    """Collects rejected messages with `add`. The caller finishes or abandons `sink` and takes its results."""

    def __init__(self, part: TablePart, environment: TaskEnvironment, attempt: str) -> None:
        self.sink = environment.open_sink(part.table, part.dead_letters(attempt), DEAD_LETTER_SCHEMA)
        self._epoch = part.task.epoch
        self._paths = (dead_letter_path(part.task.table, part.task.planned_at_ms),)
        self._sources = RowSources(part.ranges)
        self._reasons = Reasons()

    def add(self, chunk: Chunk, positions: Positions, reasons: Sequence[Reason]) -> None:
        """Add the messages at `positions`, with a reason for each."""
        self._reasons.add(chunk, positions, reasons)
        letters = dead_letter_rows(chunk, positions, reasons, self._epoch)
        bucket = np.zeros(len(letters), np.int32)
        self.sink.add(letters, bucket, self._paths, self._sources.of_rows(chunk, positions))

    def refusals(self) -> tuple[Refusal, ...]:
        return self._reasons.most_frequent()


def dead_letter_rows(
    chunk: Chunk, positions: Positions, reasons: Sequence[Reason], epoch: int
) -> pa.RecordBatch:
    """Return one row per position, with its reason. Headers are null if a header's name is not UTF-8."""
    columns = [
        chunk.topics(positions),
        chunk.numbers(positions),
        chunk.offsets(positions),
        metadata_column(chunk, MetadataColumn.TIMESTAMP, "UTC", positions),
        pa.array([reason.code for reason in reasons], pa.string()),
        pa.array([reason.text for reason in reasons], pa.string()),
        chunk.keys(positions),
        chunk.values(positions),
        chunk.headers(positions),
        pa.array([epoch] * len(positions), pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=DEAD_LETTER_SCHEMA)


class Reasons:
    """Counts of dead letters by reason and column, each with one record as an example.

    The number of counts is bounded by the number of reasons times the number of the table's columns.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Refusal] = {}

    def add(self, chunk: Chunk, positions: Positions, reasons: Sequence[Reason]) -> None:
        """Count the messages at `positions`; `reasons` has one per position."""
        counts: dict[tuple[str, str], int] = {}
        first: dict[tuple[str, str], tuple[int, str]] = {}
        for position, reason in zip(positions.tolist(), reasons, strict=True):
            key = reason.code, reason.column
            counts[key] = counts.get(key, 0) + 1
            first.setdefault(key, (position, reason.text))
        for key, count in counts.items():
            known = self._found.get(key)
            if known is None:
                (code, column), (position, detail) = key, first[key]
                topic_partition, offset = chunk.address(position)
                self._found[key] = Refusal(
                    code=code,
                    column=column,
                    count=count,
                    topic_partition=topic_partition,
                    offset=offset,
                    detail=detail,
                )
            else:
                self._found[key] = known.more(count)

    def most_frequent(self) -> tuple[Refusal, ...]:
        """Return at most MOST_REASONS, the most frequent first."""
        return tuple(sorted(self._found.values(), key=lambda one: -one.count)[:MOST_REASONS])
