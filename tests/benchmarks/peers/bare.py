"""The limit: no Spark, no commit, no checks. N processes that only consume, decode, bucket and write.

With the product's own consumer settings and decoder, so that what is left between it and the product is what
scheduling and exactness cost. What it writes is right as long as nothing fails.
"""

import multiprocessing
import sys
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import TopicPartition

from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.task.fetch.consumer import TaskConsumer
from kafka2hive.task.run import seldom_collected
from tests.benchmarks.peers.assignment import Assignment, read_assignment
from tests.benchmarks.peers.shape import ZSTD_LEVEL

_RECORDS = 30_000
_ROW_GROUP_BYTES = 64 * 1024 * 1024  # as the product's
_ROWS_PER_RUN = 64  # below this average sorting is cheaper than slicing


class Buckets:
    """Rows by bucket until they are a row group, and the open files."""

    def __init__(self, assignment: Assignment, schema: pa.Schema, worker: int) -> None:
        self._folder = Path(urlsplit(assignment.output).path)
        self._schema = schema
        self._worker = worker
        self._unit = assignment.shape.numpy_unit
        self._strftime = assignment.shape.strftime
        self._time = schema.get_field_index(assignment.shape.time)
        self._waiting: defaultdict[int, list[pa.RecordBatch]] = defaultdict(list)
        self._bytes: defaultdict[int, int] = defaultdict(int)
        self._files: dict[int, pq.ParquetWriter] = {}

    def add(self, rows: pa.RecordBatch) -> None:
        """Take a batch apart; runs of one bucket stay slices."""
        times = rows.column(self._time).to_numpy(zero_copy_only=False)
        ids = times.astype(f"datetime64[{self._unit}]").astype(np.int64)
        cuts = np.flatnonzero(np.diff(ids)) + 1
        if len(cuts) * _ROWS_PER_RUN > len(ids):
            order = np.argsort(ids, kind="stable")
            rows, ids = rows.take(pa.array(order)), ids[order]
            cuts = np.flatnonzero(np.diff(ids)) + 1
        for start, end in pairwise([0, *cuts.tolist(), len(ids)]):
            self._hold(int(ids[start]), rows.slice(start, end - start))

    def _hold(self, bucket: int, rows: pa.RecordBatch) -> None:
        self._waiting[bucket].append(rows)
        self._bytes[bucket] += rows.nbytes
        if self._bytes[bucket] >= _ROW_GROUP_BYTES:
            self._write(bucket)

    def _write(self, bucket: int) -> None:
        rows = pa.Table.from_batches(self._waiting.pop(bucket), self._schema)
        del self._bytes[bucket]
        if bucket not in self._files:
            (moment,) = np.array([bucket]).astype(f"datetime64[{self._unit}]").tolist()
            value = moment.strftime(self._strftime)
            folder = self._folder / f"dt={value}"
            folder.mkdir(parents=True, exist_ok=True)
            self._files[bucket] = pq.ParquetWriter(
                folder / f"{self._worker}.parquet",
                self._schema,
                compression="zstd",
                compression_level=ZSTD_LEVEL,
                store_schema=False,
            )
        self._files[bucket].write_table(rows, row_group_size=len(rows))

    def close(self) -> None:
        """Write what waits, then the footers."""
        for bucket in list(self._waiting):
            self._write(bucket)
        for file in self._files.values():
            file.close()


@seldom_collected()
def work(assignment: Assignment, ends: dict[int, int], worker: int) -> None:
    """Read these topic partitions from 0 to their ends."""
    pa.set_cpu_count(1)
    shape = assignment.shape
    schema = pa.schema([(name, parse_hive_type(kind)) for name, kind in shape.columns.items()])
    decoder = make_decoder(DecoderSpec("json", schema, "UTC"))
    consumer = TaskConsumer([("bootstrap.servers", assignment.bootstrap)])
    consumer.assign([TopicPartition(assignment.topic, number, 0) for number in ends])
    buckets = Buckets(assignment, schema, worker)
    left = sum(ends.values())
    while left:
        records = [run.records for run in consumer.consume(min(_RECORDS, left), 0.05).runs()]
        if not records:
            continue
        values = records[0].joined(records[1:]).values(None)
        decoded = decoder.decode(values)
        assert not len(decoded.rejected), decoded.reasons[0]
        buckets.add(decoded.rows)
        left -= len(values)
    buckets.close()
    consumer.close()


def ends(assignment: Assignment) -> dict[int, int]:
    """Where each topic partition's log ends now."""
    from confluent_kafka import Consumer

    consumer = Consumer({"bootstrap.servers": assignment.bootstrap, "group.id": "bare"})
    try:
        numbers = consumer.list_topics(assignment.topic, 30).topics[assignment.topic].partitions
        places = [TopicPartition(assignment.topic, number) for number in numbers]
        return {place.partition: consumer.get_watermark_offsets(place, 30)[1] for place in places}
    finally:
        consumer.close()


def main() -> None:
    """Share the topic partitions out over processes; ends with 1 when one of them failed."""
    assignment = read_assignment(__doc__)
    if assignment.interval_seconds is not None:
        sys.exit("the bare loop has no state to go on with: --once only")
    by_worker: list[dict[int, int]] = [{} for _ in range(assignment.parallelism)]
    for place, (number, end) in enumerate(sorted(ends(assignment).items())):
        by_worker[place % assignment.parallelism][number] = end
    spawn = multiprocessing.get_context("spawn")
    workers = [
        spawn.Process(target=work, args=(assignment, share, worker)) for worker, share in enumerate(by_worker)
    ]
    for process in workers:
        process.start()
    for process in workers:
        process.join()
    sys.exit(any(process.exitcode for process in workers))


if __name__ == "__main__":
    main()
