"""The dead letters of one table in one task: files with every byte of the records, and counts of the reasons.

`StoredLetters` holds the letters of such a file, as records to be decoded again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.dead_letters import DEAD_LETTER_COLUMNS, dead_letter_path
from kafka2hive.config.keys import MetadataColumn
from kafka2hive.model.errors import TableError
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.model.offsets import OffsetRange
from kafka2hive.plan.contract import Refusal
from kafka2hive.plugins import Reason
from kafka2hive.task.fetch.chunk import Chunk, Segment
from kafka2hive.task.fetch.records import UNREADABLE_HEADERS, Headers, Indices
from kafka2hive.task.letter_payload import payload_of, with_payload
from kafka2hive.task.part import TablePart, TaskEnvironment
from kafka2hive.task.rows import metadata_column
from kafka2hive.task.write.bucket_split import RowSources

DEAD_LETTER_SCHEMA = pa.schema(
    [(column.name, parse_hive_type(column.type)) for column in DEAD_LETTER_COLUMNS]
)
MOST_REASONS = 10


class DeadLetterFiles:
    """The open dead-letter files of one attempt. The caller finishes or abandons `sink`, and takes its results."""

    def __init__(self, part: TablePart, environment: TaskEnvironment, attempt: str) -> None:
        self.sink = environment.open_sink(part.table, part.dead_letters(attempt), DEAD_LETTER_SCHEMA)
        self._epoch = part.task.epoch
        self._paths = (dead_letter_path(part.task.table, part.task.planned_at_ms),)
        self._sources = RowSources(part.ranges)
        self._reasons = Reasons()
        self._payload = payload_of(part.table, environment.settings.dead_letter_payload)

    def add(self, chunk: Chunk, indices: Indices, reasons: Sequence[Reason]) -> None:
        """Add the messages at `indices`, with a reason for each."""
        self._reasons.add(chunk, indices, reasons)
        self.keep(chunk, indices, reasons)

    def keep(self, chunk: Chunk, indices: Indices, reasons: Sequence[Reason]) -> None:
        """Add letters that were not decoded: their reasons are not counted."""
        whole = dead_letter_rows(chunk, indices, reasons, self._epoch)
        letters = with_payload(whole, self._payload)
        bucket = np.zeros(len(letters), np.int32)
        self.sink.add(letters, bucket, self._paths, self._sources.ids_of_rows(chunk, indices))

    def refusals(self) -> tuple[Refusal, ...]:
        return self._reasons.most_frequent()


def dead_letter_rows(chunk: Chunk, indices: Indices, reasons: Sequence[Reason], epoch: int) -> pa.RecordBatch:
    """Return one row per index, with its reason. Headers are null if a header's name is not UTF-8."""
    columns = [
        chunk.topics(indices),
        chunk.numbers(indices),
        chunk.offsets(indices),
        metadata_column(chunk, MetadataColumn.TIMESTAMP, "UTC", indices),
        pa.array([reason.code for reason in reasons], pa.string()),
        pa.array([reason.text for reason in reasons], pa.string()),
        chunk.keys(indices),
        chunk.values(indices),
        chunk.headers(indices),
        pa.array([epoch] * len(indices), pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=DEAD_LETTER_SCHEMA)


class Reasons:
    """Counts of dead letters by reason and column, each with one record as an example.

    The number of counts is bounded by the number of reasons times the number of the table's columns.
    """

    def __init__(self) -> None:
        self._refusals: dict[tuple[str, str], Refusal] = {}

    def add(self, chunk: Chunk, indices: Indices, reasons: Sequence[Reason]) -> None:
        """Count the messages at `indices`; `reasons` has one per index."""
        counts: dict[tuple[str, str], int] = {}
        first: dict[tuple[str, str], tuple[int, str]] = {}
        for index, reason in zip(indices.tolist(), reasons, strict=True):
            key = reason.code, reason.column
            counts[key] = counts.get(key, 0) + 1
            first.setdefault(key, (index, reason.text))
        for key, count in counts.items():
            known = self._refusals.get(key)
            if known is None:
                (code, column), (index, detail) = key, first[key]
                topic_partition, offset = chunk.address(index)
                self._refusals[key] = Refusal(
                    code=code,
                    column=column,
                    count=count,
                    topic_partition=topic_partition,
                    offset=offset,
                    detail=detail,
                )
            else:
                self._refusals[key] = known.more(count)

    def most_frequent(self) -> tuple[Refusal, ...]:
        """Return at most MOST_REASONS refusals, the most frequent first."""
        return tuple(sorted(self._refusals.values(), key=lambda refusal: -refusal.count)[:MOST_REASONS])


@dataclass(frozen=True, slots=True)
class StoredLetters:
    """Rows of a dead-letter file behind the interface of Records, so that they are decoded like records.

    Two things of a record are missing in its letter: headers with a name that is not UTF-8, and a timestamp outside the years
    1 to 9999, which is null.
    """

    rows: pa.Table

    def __len__(self) -> int:
        return len(self.rows)

    def slice(self, start: int, end: int) -> "StoredLetters":
        return StoredLetters(self.rows.slice(start, end - start))

    def joined(self, others: Sequence["StoredLetters"]) -> "StoredLetters":
        return StoredLetters(pa.concat_tables([self.rows, *(other.rows for other in others)]))

    def compact(self) -> "StoredLetters":
        return self

    def value_bytes(self) -> int:
        return int(self.sizes().sum())

    def sizes(self) -> npt.NDArray[np.int64]:
        lengths = pc.fill_null(pc.binary_length(self.rows["value"]), 0)
        sizes: npt.NDArray[np.int64] = lengths.to_numpy().astype(np.int64)
        return sizes

    def last(self) -> tuple[int, int]:
        return self.rows["offset"][-1].as_py(), -1

    def count_below(self, offset: int) -> int:
        return pc.sum(pc.less(self.rows["offset"], offset)).as_py() or 0

    def values_and_times(self) -> tuple[pa.BinaryArray, pa.Int64Array]:
        return self.values(None), self.timestamps(None)

    def values(self, indices: Indices | None) -> pa.BinaryArray:
        return self._column("value", indices)

    def keys(self, indices: Indices | None) -> pa.BinaryArray:
        return self._column("key", indices)

    def offsets(self, indices: Indices | None) -> pa.Int64Array:
        return self._column("offset", indices)

    def timestamps(self, indices: Indices | None) -> pa.Int64Array:
        return self._column("timestamp", indices).cast(pa.timestamp("ms"), safe=False).cast(pa.int64())

    def headers(self, indices: Indices | None) -> Headers:
        stored = self._column("headers", indices).to_pylist()
        codes = self._column("reason", indices).to_pylist()
        pairs = [
            None if headers is None else [(header["key"], header["value"]) for header in headers]
            for headers in stored
        ]
        return Headers(pairs, tuple(index for index, code in enumerate(codes) if code == UNREADABLE_HEADERS))

    def reasons(self) -> list[Reason]:
        """Return why each record is a dead letter."""
        codes, texts = self.rows["reason"].to_pylist(), self.rows["detail"].to_pylist()
        return [Reason(code, text or "") for code, text in zip(codes, texts, strict=True)]

    def _column(self, name: str, indices: Indices | None) -> pa.Array:
        column = self.rows[name].combine_chunks()
        return column if indices is None else column.take(pa.array(indices))


def letter_chunks(
    table: str, rows: pa.Table, ranges: Sequence[OffsetRange], most_bytes: int
) -> Iterator[Chunk]:
    """Yield the letters as chunks; a chunk is within one range. Raises TableError if a letter is outside all ranges."""
    inside_ranges = 0
    for source in ranges:
        topic, number = source.topic_partition.topic, source.topic_partition.number
        inside = pc.and_(pc.equal(rows["topic"], topic), pc.equal(rows["partition"], number))
        inside = pc.and_(inside, pc.greater_equal(rows["offset"], source.start))
        part = rows.filter(pc.and_(inside, pc.less(rows["offset"], source.end))).sort_by("offset")
        if len(part):
            inside_ranges += len(part)
            records = StoredLetters(part)
            segment = Segment(source, len(part), records.value_bytes(), -1)
            yield from Chunk(table, (segment,), records).split(most_bytes)
    if inside_ranges != len(rows):
        raise TableError(
            "replay.damaged",
            f"{table}: {len(rows) - inside_ranges} dead letters have offsets outside the ranges in their file's footer",
            "`kafka2hive verify --deep -c MAP` names them; nothing was changed",
        )
