"""A preview of a table with SQL, from a broker to the sinks, around a scripted SELECT: rows with their places, dead letters."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

from kafka2hive.config.keys import Bucketing, BucketTime, MetadataColumn, TableSettings
from kafka2hive.model.errors import Kafka2HiveError, ServiceUnavailable, TableError
from kafka2hive.model.files import FileKind
from kafka2hive.model.offsets import OffsetRange
from kafka2hive.sql.look import LookThroughSelect
from kafka2hive.sql.selects import Reader, Selects
from kafka2hive.task.fetch.consumer import forget_consumer
from kafka2hive.task.run import DryRun
from kafka2hive.task.write.destination import Destination, PassingSink
from tests.harness.mock_broker import Broker
from tests.harness.task_files import MemoryFiles, offsets, table_settings, table_task, task_settings

PLACES = (
    (MetadataColumn.TOPIC, "of_topic"),
    (MetadataColumn.PARTITION, "of_partition"),
    (MetadataColumn.OFFSET, "at"),
)
TABLE = replace(
    table_settings(
        format="json",
        columns=(("n", "bigint"), ("day", "date")),
        metadata=((MetadataColumn.OFFSET, "pos"),),
        bucketing=Bucketing("dt=%Y-%m-%d", BucketTime.EVENT, "day"),
    ),
    sql="SELECT * FROM records WHERE n % 2 = 0",
)
RANGES = offsets("t", 0, 2, 20), offsets("t", 1, 0, 5)
BAD = 7


@pytest.fixture(scope="module")
def broker() -> Broker:
    """Topic t: offset n holds n, of one of two days; one is bad, one is a tombstone."""
    broker = Broker()
    for partition, count in ((0, 30), (1, 10)):
        for n in range(count):
            record = b'{"n":%d,"day":"2013-01-0%d"}' % (n, 1 + n % 4 // 2)
            record = b'{"n":"no number","day":"2013-01-01"}' if n == BAD else record
            broker.producer.produce("t", None if (partition, n) == (1, 3) else record, partition=partition)
    assert broker.producer.flush(120) == 0
    return broker


@dataclass
class ScriptedSelects:
    """`rows(...).toArrow()` is what `select` makes of the records, as Spark gives it: a table."""

    select: Callable[[pa.RecordBatch], pa.RecordBatch]
    asked: list[tuple[str, int]] = field(default_factory=list)

    def rows(self, table: TableSettings, tasks: int, read: Reader) -> "ScriptedSelects":
        self.asked.append((table.table, tasks))
        self._batches: Iterator[pa.RecordBatch] = read(iter([pa.record_batch({"task": [0]})] * tasks))
        return self

    def toArrow(self) -> pa.Table:  # noqa: N802  as Spark calls it
        return pa.Table.from_batches([self.select(batch) for batch in self._batches])


@dataclass
class Seen:
    """What the sinks took, by kind, each row with its bucket."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    letters: list[dict[str, Any]] = field(default_factory=list)

    def open_sink(self, destination: Destination, schema: pa.Schema) -> PassingSink:
        taken = self.rows if destination.kind is FileKind.DATA else self.letters
        return PassingSink(
            lambda batch, ids, paths: taken.extend(
                row | {"bucket": paths[bucket]}
                for row, bucket in zip(batch.to_pylist(), ids.tolist(), strict=True)
            )
        )


def even(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.filter(pa.array([n % 2 == 0 for n in batch.column("n").to_pylist()]))


def looked(
    bootstrap: str, select: Callable[[pa.RecordBatch], pa.RecordBatch], *ranges: OffsetRange, **kafka: str
) -> tuple[DryRun, Seen, ScriptedSelects]:
    settings, seen, selects = task_settings(bootstrap, TABLE), Seen(), ScriptedSelects(select)
    settings = replace(settings, kafka=(*settings.kafka, *kafka.items()))
    task = table_task("db.t", *ranges)
    look = LookThroughSelect(task, TABLE, settings, MemoryFiles(), seen.open_sink)
    try:
        return look.look(cast(Selects, selects), PLACES), seen, selects
    finally:
        forget_consumer(settings.kafka)


def test_rows_of_the_select_have_their_places_and_bad_records_are_letters(broker: Broker) -> None:
    result, seen, selects = looked(broker.address, even, *RANGES)
    assert selects.asked == [("db.t", 1)]
    expected = [(0, n) for n in range(2, 20, 2)] + [(1, n) for n in range(0, 5, 2)]
    assert sorted((row["of_partition"], row["at"]) for row in seen.rows) == expected
    for row in seen.rows:
        assert (row["of_topic"], row["pos"], row["n"]) == ("t", row["at"], row["at"])
        assert row["bucket"] == f"dt=2013-01-0{1 + row['n'] % 4 // 2}"
        assert row.keys() == {"n", "day", "pos", "of_topic", "of_partition", "at", "bucket"}
    assert [(letter["topic"], letter["partition"], letter["offset"]) for letter in seen.letters] == [
        ("t", 0, BAD)
    ]
    assert result.tombstones == 1


def test_a_select_that_leaves_out_everything_shows_no_row(broker: Broker) -> None:
    result, seen, _ = looked(broker.address, lambda batch: batch.slice(0, 0), *RANGES)
    assert (seen.rows, len(seen.letters), result.tombstones) == ([], 1, 1)


def test_a_select_that_fails_on_a_record_is_the_tables_error(broker: Broker) -> None:
    def divide(batch: pa.RecordBatch) -> pa.RecordBatch:
        raise PySparkException("[DIVIDE_BY_ZERO] Division by zero")

    with pytest.raises(TableError, match=r"db\.t: its SELECT .*Division by zero") as raised:
        looked(broker.address, divide, *RANGES)
    assert raised.value.code == "sql.failed"


def test_a_spark_that_is_gone_is_no_fault_of_the_table(broker: Broker) -> None:
    def gone(batch: pa.RecordBatch) -> pa.RecordBatch:
        raise ConnectionResetError("reset by the JVM")

    with pytest.raises(ServiceUnavailable, match="reset by the JVM") as raised:
        looked(broker.address, gone, *RANGES)
    assert raised.value.code == "spark.gone"


def test_records_that_cannot_be_read_never_reach_the_select(broker: Broker) -> None:
    with pytest.raises(Kafka2HiveError) as raised:
        looked(broker.address, even, *RANGES, **{"no.such.property": "1"})
    assert raised.value.code == "kafka.properties"
