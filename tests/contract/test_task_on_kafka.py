"""A task on a real broker: exactly the records of its ranges, each in one place, and all of them counted."""

import collections
import pickle
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import orjson
import pyarrow.parquet as pq
import pytest
from confluent_kafka import IsolationLevel, Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import OffsetSpec

from kafka2hive.config.keys import Bucketing, BucketTime, Column, MetadataColumn, StorageOptions, Tombstones
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.files import FileKind
from kafka2hive.model.offsets import OffsetAccounting
from kafka2hive.plan.contract import ColumnsSeen, TableManifest, TaskPlan
from kafka2hive.storage.port import Denied, OutcomeUnknown, StorageError, Unavailable
from kafka2hive.task import run_task
from kafka2hive.task.fetch.consumer import OpenClient, TaskConsumer
from tests.harness.clock import SkippedTime
from tests.harness.kafka_clients import CLIENT, EACH_CLIENT
from tests.harness.task_files import (
    MemoryFiles,
    offsets,
    read_rows,
    run_here,
    table_settings,
    table_task,
    task_settings,
)
from tests.services.flights import flights
from tests.services.kafka_broker import KafkaBroker
from tests.services.ports import free_ports
from tests.services.produce import produce

EVERYTHING = (
    (MetadataColumn.TOPIC, "k_topic"),
    (MetadataColumn.PARTITION, "k_partition"),
    (MetadataColumn.OFFSET, "k_offset"),
    (MetadataColumn.TIMESTAMP, "k_timestamp"),
    (MetadataColumn.KEY, "k_key"),
    (MetadataColumn.HEADERS, "k_headers"),
)
PLACE = EVERYTHING[:3]
FLIGHT_COLUMNS = (
    ("year", "int"),
    ("month", "int"),
    ("day", "int"),
    ("carrier", "string"),
    ("flight", "int"),
    ("origin", "string"),
    ("dep_delay", "double"),
    ("time_hour", "timestamp"),
)


@pytest.fixture(autouse=True, params=EACH_CLIENT)
def client(request: pytest.FixtureRequest) -> Iterator[OpenClient]:
    """Every test reads once with each client."""
    token = CLIENT.set(request.param)
    yield request.param
    CLIENT.reset(token)


def total(manifest: TableManifest) -> OffsetAccounting:
    return sum((a.account for a in manifest.accounts), OffsetAccounting())


def good(manifest: TableManifest) -> TableManifest:
    assert manifest.failure is None, manifest.failure
    for account in manifest.accounts:
        account.check()
    assert pickle.loads(pickle.dumps(manifest)) == manifest
    return manifest


def failure_code(manifest: TableManifest) -> str:
    assert manifest.failure is not None
    assert manifest.files == ()
    return manifest.failure.code


def log_end(kafka: KafkaBroker, topic: str, at_least: int = 0) -> int:
    """The offset behind the last stable record, as the planner asks for it.

    Waits for `at_least`: the coordinator writes the marker of a transaction after it has answered.
    """
    place, admin, deadline = Place(topic, 0), kafka.admin(), time.monotonic() + 300
    while True:
        asked = admin.list_offsets(
            {place: OffsetSpec.latest()}, isolation_level=IsolationLevel.READ_COMMITTED
        )
        end = int(asked[place].result(120).offset)
        if end >= at_least or time.monotonic() > deadline:
            return end
        time.sleep(0.05)


def test_all_flights_of_eight_topic_partitions_are_dumped_once_by_two_tasks(
    kafka: KafkaBroker, unique: str
) -> None:
    kafka.create_topic(unique, partitions=8)
    stored = produce(kafka.bootstrap, unique, flights(), 8)
    ends = collections.Counter(number for _, number, _ in stored)
    settings = task_settings(
        kafka.bootstrap,
        table_settings("db.raw", metadata=PLACE),
        table_settings(
            "db.flights",
            "json",
            FLIGHT_COLUMNS,
            PLACE,
            Bucketing("origin={origin}/dt=%Y-%m", field="time_hour"),
        ),
        memory_bytes=32 * 1024 * 1024,
    )
    files = MemoryFiles()
    raw: dict[tuple[str, int, int], bytes] = {}
    months: collections.Counter[str] = collections.Counter()
    rows: dict[tuple[str, int, int], dict[str, object]] = {}
    for half in (0, 1):  # every topic partition is cut at an odd place
        ranges = [
            offsets(unique, n, 0, end // 3 + n) if half == 0 else offsets(unique, n, end // 3 + n, end)
            for n, end in ends.items()
        ]
        manifests = run_here(
            settings, files, table_task("db.raw", *ranges), table_task("db.flights", *ranges)
        )
        for row in read_rows(files, good(manifests["db.raw"])):
            place = (row["k_topic"], row["k_partition"], row["k_offset"])
            assert place not in raw
            raw[place] = row["value"]
        for row in read_rows(files, good(manifests["db.flights"])):
            place = (row["k_topic"], row["k_partition"], row["k_offset"])
            assert place not in rows
            rows[place] = row
            months[row["_path"]] += 1
        for manifest in manifests.values():
            assert total(manifest).read == sum(map(len, ranges)) == total(manifest).written
    assert raw == stored
    expected_months: collections.Counter[str] = collections.Counter()
    for place, value in stored.items():
        flight = orjson.loads(value or b"")
        expected_months[f"origin={flight['origin']}/dt={flight['time_hour'][:7]}"] += 1
        row = rows[place]
        assert row["time_hour"].strftime("%Y-%m-%dT%H:%M:%SZ") == flight["time_hour"]  # type: ignore[attr-defined]
        assert {k: row[k] for k in ("carrier", "flight", "dep_delay", "day")} == {
            k: flight[k] for k in ("carrier", "flight", "dep_delay", "day")
        }
    assert months == expected_months
    assert all(path.endswith(".pending") for path in files.content)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_of_kafka_is_read_and_a_range_may_begin_and_end_inside_a_batch(
    kafka: KafkaBroker, unique: str, codec: str
) -> None:
    kafka.create_topic(unique)
    producer = Producer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "compression.type": codec,
            "linger.ms": 200,
            "batch.size": 1 << 20,
        }
    )
    for n in range(3_000):
        producer.produce(unique, b"%d" % n, timestamp=1_000_000 + n)
    assert producer.flush(300) == 0
    settings = task_settings(kafka.bootstrap, table_settings("db.t", metadata=PLACE))
    files = MemoryFiles()
    manifest = good(run_here(settings, files, table_task("db.t", offsets(unique, 0, 7, 2_111)))["db.t"])
    assert [row["value"] for row in read_rows(files, manifest)] == [b"%d" % n for n in range(7, 2_111)]
    assert manifest.newest_ms == 1_002_110


def test_aborted_transactions_and_markers_are_absent_and_end_no_range_early(
    kafka: KafkaBroker, unique: str
) -> None:
    kafka.create_topic(unique)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": unique})
    producer.init_transactions(300)
    expected: list[bytes] = []
    for number in range(6):
        producer.begin_transaction()
        values = [b"%d-%d" % (number, n) for n in range(10)]
        for value in values:
            producer.produce(unique, value)
        producer.flush(300)
        if number % 2:
            producer.abort_transaction(300)
        else:
            producer.commit_transaction(300)
            expected += values
    end = log_end(kafka, unique, 66)
    assert end == 66  # 60 records and 6 markers; the last ones are an aborted transaction and its marker
    settings = task_settings(kafka.bootstrap, table_settings("db.t", metadata=PLACE))
    for cut in (
        1,
        10,
        11,
        15,
        21,
        22,
        40,
        55,
        65,
        66,
    ):  # inside committed and aborted ones, before and behind markers
        files = MemoryFiles()
        first = good(run_here(settings, files, table_task("db.t", offsets(unique, 0, 0, cut)))["db.t"])
        second = good(run_here(settings, files, table_task("db.t", offsets(unique, 0, cut, end)))["db.t"])
        rows = read_rows(files, first) + read_rows(files, second)
        assert [row["value"] for row in rows] == expected
        assert all(row["k_offset"] < cut for row in read_rows(files, first))
        assert total(first).absent + total(second).absent == 36


def test_a_range_into_an_open_transaction_is_an_error_of_its_table(kafka: KafkaBroker, unique: str) -> None:
    kafka.create_topic(unique)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": unique})
    producer.init_transactions(300)
    producer.begin_transaction()
    for n in range(10):
        producer.produce(unique, b"%d" % n)
    producer.flush(300)
    assert log_end(kafka, unique) == 0
    settings = task_settings(kafka.bootstrap, table_settings("db.t"), stall_seconds=10)
    manifest = run_here(settings, MemoryFiles(), table_task("db.t", offsets(unique, 0, 0, 10)))["db.t"]
    assert failure_code(manifest) == "kafka.beyond_log_end"
    producer.abort_transaction(300)


def test_what_compaction_took_away_is_absent_also_at_the_end_of_a_range(
    kafka: KafkaBroker, unique: str
) -> None:
    compacting = {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0.001",
        "segment.ms": "100",
        "max.compaction.lag.ms": "100",
    }
    kafka.create_topic(unique, config=compacting)
    settings = task_settings(kafka.bootstrap, table_settings("db.t", metadata=PLACE))
    for n in range(20):
        produce(
            kafka.bootstrap,
            unique,
            [b"%d-%d" % (n, key) for key in range(5)],
            1,
            [b"%d" % key for key in range(5)],
        )
    deadline = time.monotonic() + 300
    while True:
        produce(kafka.bootstrap, unique, [b"roll"], 1, [b"roll"])
        files = MemoryFiles()
        manifest = good(run_here(settings, files, table_task("db.t", offsets(unique, 0, 0, 95)))["db.t"])
        if total(manifest).read == 0:
            break
        assert time.monotonic() < deadline, "the broker did not compact"
    assert total(manifest).absent == 95
    assert manifest.files == ()
    manifest = good(run_here(settings, files, table_task("db.t", offsets(unique, 0, 40, 100)))["db.t"])
    assert [row["value"] for row in read_rows(files, manifest)] == [b"19-%d" % key for key in range(5)]
    assert total(manifest).absent == 55


def test_metadata_columns_hold_what_the_record_holds_null_keys_and_missing_headers_too(
    kafka: KafkaBroker, unique: str
) -> None:
    kafka.create_topic(unique)
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    producer.produce(
        unique, b"a", key=b"\xff\x00", headers=[("h", b"1"), ("h", b""), ("n", None)], timestamp=1
    )
    producer.produce(unique, b"b", timestamp=86_400_000)
    producer.produce(unique, b"", key=b"", headers=[])
    assert producer.flush(300) == 0
    settings = task_settings(
        kafka.bootstrap, table_settings("db.t", metadata=EVERYTHING, zone="America/New_York")
    )
    files = MemoryFiles()
    manifest = run_here(settings, files, table_task("db.t", offsets(unique, 0, 0, 3)))["db.t"]
    first, second, third = read_rows(files, good(manifest))
    assert (first["k_topic"], first["k_partition"], first["k_offset"]) == (unique, 0, 0)
    assert first["k_key"] == b"\xff\x00"
    assert first["k_headers"] == [
        {"key": "h", "value": b"1"},
        {"key": "h", "value": b""},
        {"key": "n", "value": None},
    ]
    assert first["k_timestamp"].isoformat() == "1969-12-31T19:00:00.001000"
    assert (second["k_key"], second["k_headers"]) == (None, None)
    assert second["k_timestamp"].isoformat() == "1970-01-01T19:00:00"
    assert (third["value"], third["k_key"]) == (b"", b"")


@pytest.mark.parametrize("tombstones", Tombstones)
def test_tombstones_are_counted_or_written_as_the_map_says(
    kafka: KafkaBroker, unique: str, tombstones: Tombstones
) -> None:
    kafka.create_topic(unique)
    values = [b"a", None, b"", None, b"b"]
    produce(kafka.bootstrap, unique, values, 1, [b"k%d" % n for n in range(5)])
    settings = task_settings(
        kafka.bootstrap, table_settings("db.t", metadata=EVERYTHING, tombstones=tombstones)
    )
    files = MemoryFiles()
    manifest = good(run_here(settings, files, table_task("db.t", offsets(unique, 0, 0, 5)))["db.t"])
    rows = sorted((row["k_offset"], row["value"], row["k_key"]) for row in read_rows(files, manifest))
    if tombstones is Tombstones.WRITE:
        assert rows == [(n, value, b"k%d" % n) for n, value in enumerate(values)]
        assert (total(manifest).written, total(manifest).tombstones) == (5, 0)
    else:
        assert rows == [(0, b"a", b"k0"), (2, b"", b"k2"), (4, b"b", b"k4")]
        assert (total(manifest).written, total(manifest).tombstones) == (3, 2)


def test_poison_goes_to_the_dead_letters_with_all_it_is_and_its_neighbours_do_not_notice(
    kafka: KafkaBroker, unique: str
) -> None:
    kafka.create_topic(unique, partitions=2)
    good_value = b'{"id": 1, "at": "2013-01-01T05:00:00Z"}'
    poison = {
        b"": "json",
        b"null": "json",
        b'{"id": 1': "json",
        b'{"id": "x", "at": "2013-01-01T05:00:00Z"}': "json",
        b'{"id": 1, "at": null}': "bucket.no_time",
        b'{"id": 1}': "bucket.no_time",
        b"\xff\xfe": "json",
        b"[" * 100_000: "json",
    }
    values = [v for bad in poison for v in (good_value, bad, good_value)]
    stored = produce(kafka.bootstrap, unique, values, 2, [b"key"] * len(values))
    columns = (("id", "bigint"), ("at", "timestamp"))
    settings = task_settings(
        kafka.bootstrap,
        table_settings("db.t", "json", columns, PLACE, Bucketing("dt=%Y-%m-%d", field="at")),
    )
    ranges = [offsets(unique, n, 0, sum(1 for _, number, _ in stored if number == n)) for n in (0, 1)]
    files = MemoryFiles()
    manifest = good(run_here(settings, files, table_task("db.t", *ranges))["db.t"])
    assert total(manifest).dead_lettered == len(poison)
    seen = {place: value for place, value in stored.items() if value != good_value}
    letters = read_rows(files, manifest, FileKind.DEAD_LETTER)
    assert {(r["topic"], r["partition"], r["offset"]): r["value"] for r in letters} == seen
    for letter in letters:
        assert letter["reason"].startswith(poison[letter["value"]])
        assert letter["detail"]
        assert (letter["key"], letter["epoch"]) == (b"key", 7)
        assert letter["_path"] == "source_table=db.t/dt=2023-11-14"
    rows = {(r["k_topic"], r["k_partition"], r["k_offset"]) for r in read_rows(files, manifest)}
    assert rows == set(stored) - set(seen)
    for file in manifest.files:
        assert file.staged.startswith("file:///warehouse/db.t/_tmp/")
        dead = file.kind is FileKind.DEAD_LETTER
        assert file.hive_partition.table == ("db.dead" if dead else "db.t")
        assert file.final.startswith(f"file:///warehouse/{'db.dead' if dead else 'db.t'}/")


def test_records_of_5_mb_are_records_like_any_other(kafka: KafkaBroker, unique: str) -> None:
    kafka.create_topic(unique, config={"max.message.bytes": str(16 << 20)})
    values = [b"small"] * 50 + [bytes([n]) * (5 << 20) for n in range(8)] + [b"small"] * 50
    produce(kafka.bootstrap, unique, values, 1)
    settings = task_settings(
        kafka.bootstrap, table_settings("db.t", metadata=PLACE), memory_bytes=16 * 1024 * 1024
    )
    files = MemoryFiles()
    manifest = good(run_here(settings, files, table_task("db.t", offsets(unique, 0, 0, 108)))["db.t"])
    rows = sorted(read_rows(files, manifest), key=lambda row: row["k_offset"])
    assert [row["value"] for row in rows] == values
    assert total(manifest).bytes == sum(map(len, values))


def test_ranges_that_kafka_cannot_give_fail_their_table_and_no_other(kafka: KafkaBroker, unique: str) -> None:
    kafka.create_topic(unique, partitions=3)
    produce(kafka.bootstrap, unique, [b"%d" % n for n in range(300)], 3)
    admin = kafka.admin()  # must outlive the answer
    admin.delete_records([Place(unique, 1, 50)])[Place(unique, 1)].result(120)
    names = ("fine", "aged", "beyond", "number", "topic")
    settings = task_settings(
        kafka.bootstrap, *(table_settings(f"db.{name}") for name in names), stall_seconds=12
    )
    files = MemoryFiles()
    manifests = run_here(
        settings,
        files,
        table_task("db.aged", offsets(unique, 0, 0, 10), offsets(unique, 1, 20, 80)),
        table_task("db.beyond", offsets(unique, 2, 90, 150)),
        table_task("db.number", offsets(unique, 7, 0, 10)),
        table_task("db.topic", offsets(unique + "-not", 0, 0, 10)),
        table_task("db.fine", offsets(unique, 0, 10, 100), offsets(unique, 1, 50, 100)),
    )
    assert failure_code(manifests["db.aged"]) == "kafka.offset_out_of_range"
    assert f"{unique}-1@[20, 80)" in str(manifests["db.aged"].failure)
    assert failure_code(manifests["db.beyond"]) == "kafka.beyond_log_end"
    assert failure_code(manifests["db.number"]) == "kafka.unknown_topic_partition"
    assert failure_code(manifests["db.topic"]) == "kafka.unknown_topic_partition"
    assert len(read_rows(files, good(manifests["db.fine"]))) == 140


def test_a_topic_partition_that_came_after_the_topic_was_read_is_read_by_the_same_client(
    kafka: KafkaBroker, unique: str
) -> None:
    kafka.create_topic(unique)
    produce(kafka.bootstrap, unique, [b"first"], 1)
    settings = task_settings(kafka.bootstrap, table_settings("db.t", metadata=PLACE), stall_seconds=60)
    consumer, files = TaskConsumer(settings.kafka, CLIENT.get()), MemoryFiles()

    def rows(number: int) -> list[tuple[int, bytes]]:
        task = table_task("db.t", offsets(unique, number, 0, 1))
        manifest = good(run_here(settings, files, task, consumer=consumer)["db.t"])
        return [(row["k_partition"], row["value"]) for row in read_rows(files, manifest)]

    try:
        assert rows(0) == [(0, b"first")]
        kafka.add_partitions(unique, 3)
        producer = Producer({"bootstrap.servers": kafka.bootstrap})
        producer.produce(unique, b"later", partition=2)
        assert producer.flush(300) == 0
        assert rows(2) == [(2, b"later")]
    finally:
        consumer.close()


def test_one_table_that_may_not_write_leaves_the_other_table_of_the_same_topic_alone(
    kafka: KafkaBroker, unique: str
) -> None:
    kafka.create_topic(unique)
    produce(kafka.bootstrap, unique, [b"%d" % n for n in range(1_000)], 1)

    def fault(operation: str, path: str) -> StorageError | None:
        return Denied(path, "no") if operation == "create" and "/db.denied/" in path else None

    files = MemoryFiles(fault=fault)
    settings = task_settings(
        kafka.bootstrap,
        table_settings("db.denied"),
        table_settings("db.fine"),
        table_settings("db.wrong", format="json", bucketing=Bucketing("dt=%Y", field="nowhere")),
    )
    wanted = offsets(unique, 0, 0, 1_000)
    manifests = run_here(
        settings, files, *(table_task(f"db.{name}", wanted) for name in ("denied", "fine", "wrong"))
    )
    assert failure_code(manifests["db.denied"]) == "storage.denied"
    assert failure_code(manifests["db.wrong"]) == "bucket.field"
    assert len(read_rows(files, good(manifests["db.fine"]))) == 1_000


@pytest.mark.parametrize("failing", ["write", "close", "rename"])
def test_a_table_whose_file_cannot_be_settled_is_read_once_more_and_counted_once(
    kafka: KafkaBroker, unique: str, failing: str
) -> None:
    kafka.create_topic(unique)
    produce(kafka.bootstrap, unique, [b"%d" % n for n in range(1_000)], 1)
    first: list[str] = []

    def fault(operation: str, path: str) -> StorageError | None:
        """Nothing is settled for the table's first name."""
        if operation == failing and "/db.flaky/" in path:
            first.append(path)
            return OutcomeUnknown(path, "no answer") if path == first[0] else None
        return None

    files = MemoryFiles(fault=fault)
    settings = replace(
        task_settings(kafka.bootstrap, table_settings("db.flaky"), table_settings("db.fine")),
        memory_bytes=64,  # nothing is held: a write that failed cannot be repeated
    )
    wanted = offsets(unique, 0, 0, 1_000)
    tasks = (table_task("db.flaky", wanted), table_task("db.fine", wanted))
    manifests = run_here(settings, files, *tasks, clock=SkippedTime())
    for manifest in manifests.values():
        assert len(read_rows(files, good(manifest))) == total(manifest).read == 1_000
    staged = {file.staged for manifest in manifests.values() for file in manifest.files}
    assert {path for path in files.content if path.endswith(".pending")} == staged
    assert not any(first[0].startswith(path.removesuffix(".pending")) for path in staged)


def test_a_table_that_fails_at_every_read_fails_after_three_and_leaves_the_others_alone(
    kafka: KafkaBroker, unique: str
) -> None:
    kafka.create_topic(unique)
    produce(kafka.bootstrap, unique, [b"%d" % n for n in range(1_000)], 1)

    def fault(operation: str, path: str) -> StorageError | None:
        return Unavailable(path, "away") if operation == "write" and "/db.away/" in path else None

    files = MemoryFiles(fault=fault)
    settings = replace(
        task_settings(kafka.bootstrap, table_settings("db.away"), table_settings("db.fine")), memory_bytes=64
    )
    wanted = offsets(unique, 0, 0, 1_000)
    tasks = (table_task("db.away", wanted), table_task("db.fine", wanted))
    manifests = run_here(settings, files, *tasks, clock=SkippedTime())
    assert failure_code(manifests["db.away"]) == "storage.unavailable"
    assert len(read_rows(files, good(manifests["db.fine"]))) == 1_000
    assert [path for path in files.content if path.endswith(".pending")] == [
        file.staged for file in manifests["db.fine"].files
    ]


def test_only_one_bucket_is_dumped_again_when_asked_for(kafka: KafkaBroker, unique: str) -> None:
    kafka.create_topic(unique)
    values = [b'{"c": "%s"}' % (b"ab"[n % 2 : n % 2 + 1]) for n in range(100)] + [b"poison", None]
    produce(kafka.bootstrap, unique, values, 1, [b"k"] * len(values))
    settings = task_settings(
        kafka.bootstrap, table_settings("db.t", "json", (("c", "string"),), PLACE, Bucketing("part={c}"))
    )
    files = MemoryFiles()
    task = table_task("db.t", offsets(unique, 0, 0, 102), only_bucket="part=b")
    manifest = good(run_here(settings, files, task)["db.t"])
    assert [row["k_offset"] for row in read_rows(files, manifest)] == list(range(1, 100, 2))
    assert {file.kind for file in manifest.files} == {FileKind.DATA}
    assert total(manifest) == OffsetAccounting(102, 50, 51, 1, 0, 0, total(manifest).bytes)


def test_columns_by_path_are_dumped_again_for_one_bucket_and_empty_ones_are_told(
    kafka: KafkaBroker, unique: str
) -> None:
    kafka.create_topic(unique)
    values = [b'{"m": {"at": %d}, "US Gross": %d, "Title": "x"}' % (n % 2 * 86_400, n) for n in range(100)]
    produce(kafka.bootstrap, unique, values, 1)
    table = replace(
        table_settings(
            "db.t", "json", metadata=PLACE, bucketing=Bucketing("dt=%Y-%m-%d", field="p", inner=("at",))
        ),
        columns=(
            Column("gross", "bigint", ("US Gross",)),
            Column("at", "timestamp", ("m", "at"), "s"),
            Column("p", "struct<at:bigint>", ("m",)),
            Column("title", "string"),
        ),
    )
    table = replace(table, bucketing=replace(table.bucketing, unit="s"))
    files = MemoryFiles()
    task = table_task("db.t", offsets(unique, 0, 0, 100), only_bucket="dt=1970-01-02")
    manifest = good(run_here(task_settings(kafka.bootstrap, table), files, task)["db.t"])
    rows = read_rows(files, manifest)
    assert [row["gross"] for row in rows] == list(range(1, 100, 2))
    assert {(str(row["at"]), row["p"]["at"]) for row in rows} == {("1970-01-02 00:00:00", 86_400)}
    assert manifest.columns == ColumnsSeen(100, ("title",), ("$.Title",))


def test_a_column_that_is_a_hive_partition_column_is_in_the_path_and_not_in_the_file(
    kafka: KafkaBroker, unique: str
) -> None:
    kafka.create_topic(unique)
    produce(kafka.bootstrap, unique, [b'{"id": 1, "country": "NZ"}'], 1)
    columns = (("id", "bigint"), ("country", "string"))
    settings = task_settings(
        kafka.bootstrap, table_settings("db.t", "json", columns, (), Bucketing("country={country}"))
    )
    files = MemoryFiles()
    manifest = good(run_here(settings, files, table_task("db.t", offsets(unique, 0, 0, 1)))["db.t"])
    assert read_rows(files, manifest) == [{"id": 1, "_path": "country=NZ"}]


def test_by_record_time_a_record_goes_where_its_timestamp_says(kafka: KafkaBroker, unique: str) -> None:
    kafka.create_topic(unique)
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for hour in range(48):
        producer.produce(unique, b"%d" % hour, timestamp=hour * 3_600_000 + 1)  # 0 is "now"
    assert producer.flush(300) == 0
    bucketing = Bucketing("dt=%Y-%m-%d", BucketTime.RECORD, zone="Asia/Tokyo")
    settings = task_settings(kafka.bootstrap, table_settings("db.t", bucketing=bucketing))
    files = MemoryFiles()
    manifest = good(run_here(settings, files, table_task("db.t", offsets(unique, 0, 0, 48)))["db.t"])
    days = collections.Counter(row["_path"] for row in read_rows(files, manifest))
    assert days == {"dt=1970-01-01": 15, "dt=1970-01-02": 24, "dt=1970-01-03": 9}


def test_hundreds_of_small_ranges_of_many_tables_are_read_together(kafka: KafkaBroker, unique: str) -> None:
    kafka.create_topic(unique, partitions=100)
    produce(kafka.bootstrap, unique, [b"%d" % n for n in range(1_000)], 100)
    tables = [table_settings(f"db.t{n}", metadata=PLACE) for n in range(20)]
    settings = task_settings(kafka.bootstrap, *tables)
    files = MemoryFiles()
    tasks = [
        table_task(f"db.t{n}", *(offsets(unique, p, 3, 10) for p in range(n * 5, n * 5 + 5)))
        for n in range(20)
    ]
    begun = time.monotonic()
    manifests = run_here(settings, files, *tasks)
    assert time.monotonic() - begun < 20
    for n in range(20):
        rows = read_rows(files, good(manifests[f"db.t{n}"]))
        assert sorted((row["k_partition"], row["k_offset"]) for row in rows) == [
            (p, offset) for p in range(n * 5, n * 5 + 5) for offset in range(3, 10)
        ]


def test_a_second_attempt_of_a_task_writes_the_same_rows_under_other_names(
    kafka: KafkaBroker, unique: str, tmp_path: Path
) -> None:
    kafka.create_topic(unique)
    produce(kafka.bootstrap, unique, [b"%d" % n for n in range(100)], 1)
    base = tmp_path.as_uri()
    table = replace(table_settings("db.t", metadata=PLACE), location=f"{base}/db.t")
    storage = StorageOptions(base, f"{base}/ledger", base)
    settings = replace(task_settings(kafka.bootstrap, table), storage=storage)
    plan = TaskPlan(4, (table_task("db.t", offsets(unique, 0, 0, 100)),))
    first, second = (good(next(iter(run_task(plan, settings)))) for _ in range(2))
    assert len(first.files) == len(second.files) == 1
    assert first.files[0].staged != second.files[0].staged
    tables = [pq.read_table(manifest.files[0].staged.removeprefix("file://")) for manifest in (first, second)]
    assert tables[0].equals(tables[1]) and tables[0].num_rows == 100
    assert sorted(path.suffix for path in (tmp_path / "db.t" / "_tmp").iterdir()) == [".pending"] * 2


def test_a_broker_that_does_not_answer_ends_the_task_and_blames_no_table() -> None:
    settings = task_settings(f"127.0.0.1:{free_ports(1)[0]}", table_settings("db.t"), stall_seconds=2)
    with pytest.raises(ServiceUnavailable) as error:
        run_here(settings, MemoryFiles(), table_task("db.t", offsets("t", 0, 0, 10)))
    assert "t-0@[0, 10) from 0" in str(error.value)
