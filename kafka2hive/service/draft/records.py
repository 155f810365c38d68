"""The newest records of a topic, read by the same code as in a task."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from kafka2hive.kafka.port import Kafka
from kafka2hive.model.errors import ConfigError
from kafka2hive.model.files import FileKind
from kafka2hive.model.offsets import OffsetRange
from kafka2hive.service.inspect.preview import ranges_of
from kafka2hive.service.tables.hive_schemas import Catalogue, task_settings
from kafka2hive.service.tables.kafka_view import logs_of
from kafka2hive.service.tables.ledgers import did_you_mean
from kafka2hive.service.tables.routes import routed_tables
from kafka2hive.service.wiring import Wiring
from kafka2hive.task.bucket.bucketer import BucketIds
from kafka2hive.task.replay import look
from kafka2hive.task.sink import PassingSink, RowSink
from kafka2hive.task.write.destination import Destination


@dataclass(slots=True)
class TopicSample:
    """The sampled records: for each but the tombstones its value, topic partition's number and timestamp.

    `partitions` is the number of the topic's partitions. A timestamp is in milliseconds, None if the record has none.
    """

    ranges: tuple[OffsetRange, ...]
    partitions: int
    tombstones: int = 0
    values: list[bytes] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    times_ms: list[int | None] = field(default_factory=list)

    def open_sink(self, destination: Destination, schema: pa.Schema) -> RowSink:
        return PassingSink(self._take if destination.kind is FileKind.DATA else _nothing)

    def _take(self, rows: pa.RecordBatch, ids: BucketIds, paths: Sequence[str]) -> None:
        self.values += rows.column("value").to_pylist()
        self.numbers += rows.column("number").to_pylist()
        micros = rows.column("time").cast(pa.int64()).to_pylist()
        self.times_ms += [None if m is None else m // 1000 for m in micros]


def _nothing(rows: pa.RecordBatch, ids: BucketIds, paths: Sequence[str]) -> None:
    """Ignore dead letters: format raw makes none."""


def read_newest(wiring: Wiring, kafka: Kafka, topic: str, records: int) -> TopicSample:
    """Read about `records` records; the wiring's map has a raw table of the topic with metadata `number` and `time`.

    Raises ConfigError (no such topic), ServiceUnavailable, TableError (not readable).
    """
    cluster = kafka.cluster()
    if topic not in cluster.topics:
        raise ConfigError(
            "usage.no_such_topic", f"Kafka has no topic {topic}", did_you_mean(topic, cluster.topics)
        )
    ranges = ranges_of(logs_of(kafka, cluster, [topic]), [topic], records, None)
    sample = TopicSample(ranges, len(cluster.topics[topic].partitions))
    table = routed_tables(wiring, [topic])[0]
    settings = task_settings(wiring.map, {table.name: Catalogue(wiring.map, None).resolve(table)})
    outcome = look(
        table=table.name,
        ranges=ranges,
        settings=settings,
        files=wiring.ports.files,
        open_sink=sample.open_sink,
    )
    sample.tombstones = outcome.tombstones
    return sample
