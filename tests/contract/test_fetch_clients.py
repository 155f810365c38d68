"""The two clients of a task on a real broker: the same records, columns, events and errors, within the same bounds."""

import logging
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka import TopicPartition as Place

from kafka2hive.config.native_library import LIBRARY
from kafka2hive.model.errors import ConfigError
from kafka2hive.plan.contract import ClientCounts
from kafka2hive.task.fetch.consumer import PythonClient, TaskConsumer, open_client
from kafka2hive.task.fetch.fetch import TableUnreadable
from kafka2hive.task.fetch.native import NativeClient, librdkafka
from kafka2hive.task.fetch.reader import RangeReader, TableDelivered
from kafka2hive.task.fetch.records import Records
from tests.harness.compiled_library import needs_compiled
from tests.harness.kafka_clients import EACH_CLIENT
from tests.harness.task_files import offsets
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

MIB = 1024 * 1024
PARTITIONS = 3


@pytest.fixture(params=EACH_CLIENT)
def opened(request: pytest.FixtureRequest) -> Iterator[Callable[..., TaskConsumer]]:
    """Make a consumer with each client, which is closed at the end."""
    consumers: list[TaskConsumer] = []

    def make(bootstrap: str, **more: str) -> TaskConsumer:
        properties = {"bootstrap.servers": bootstrap} | {k.replace("_", "."): v for k, v in more.items()}
        consumers.append(TaskConsumer(tuple(properties.items()), request.param))
        return consumers[-1]

    yield make
    for consumer in consumers:
        consumer.close()


def fill(bootstrap: str, topic: str, count: int) -> None:
    """Records with everything that a record may have, or lack."""
    dice = random.Random(count)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
    headers = [None, [], [("h", b"1")], [("h", b""), ("h", None), ("\u00fc", bytes(range(256)))]]
    for n in range(count):
        producer.produce(
            topic,
            dice.choice([None, b"", b"%d" % n, dice.randbytes(dice.randrange(2_000))]),
            key=dice.choice([None, b"", b"\xff\x00", b"k%d" % n]),
            partition=dice.randrange(PARTITIONS),
            headers=dice.choice(headers),
            timestamp=dice.choice([1, 1_700_000_000_000 + n]),
        )
        producer.poll(0)
    assert producer.flush(300) == 0


def read(consumer: TaskConsumer, topic: str, count: int, at_once: int = 16_000) -> dict[int, list[Records]]:
    """All records by topic partition; their tally, events and runs agree."""
    consumer.assign([Place(topic, number, 0) for number in range(PARTITIONS)])
    found: dict[int, list[Records]] = {number: [] for number in range(PARTITIONS)}
    ends: dict[int, int] = {}
    deadline = time.monotonic() + 300
    while count or len(ends) < PARTITIONS:
        assert time.monotonic() < deadline
        batch = consumer.consume(at_once, 0.1)
        tally, runs = batch.tally(), batch.runs()
        assert [(key, offsets.tolist()) for key, offsets in tally] == [
            (run.key, run.records.offsets(None).to_pylist()) for run in runs
        ]
        assert sum(len(run.records) for run in runs) + len(batch.events) <= at_once
        for run in runs:
            assert run.key[0] == topic
            found[run.key[1]].append(run.records)
            count -= len(run.records)
        for event in batch.events:
            assert event.error().code() == KafkaError._PARTITION_EOF
            ends[event.partition()] = event.offset()
    positions = consumer.position([Place(topic, number) for number in range(PARTITIONS)])
    assert {place.partition: place.offset for place in positions} == ends
    return found


def columns(records: Records, *positions: Any) -> list[Any]:
    """Every part of the records, as Python has it."""
    (chosen,) = positions or (None,)
    arrays = [
        records.values(chosen),
        records.keys(chosen),
        records.offsets(chosen),
        records.timestamps(chosen),
    ]
    for array in arrays:
        array.validate(full=True)
    return [[str(array.type) for array in arrays], *map(list, arrays), records.headers(chosen)]


@needs_compiled
def test_both_clients_hand_out_equal_columns(kafka: KafkaBroker, unique: str) -> None:
    count = 3_000
    kafka.create_topic(unique, partitions=PARTITIONS)
    fill(kafka.bootstrap, unique, count)
    whole = []
    for client, at_once in ((PythonClient, 16_000), (NativeClient, 16_000), (NativeClient, 7)):
        consumer = TaskConsumer((("bootstrap.servers", kafka.bootstrap),), client)
        found = read(consumer, unique, count, at_once)
        consumer.close()  # records outlive their consumer
        whole.append([some[0].joined(some[1:]) for some in found.values()])
    python, *natives = whole
    dice = random.Random(5)
    for native in natives:
        for a, b in zip(python, native, strict=True):
            assert len(a) == len(b)
            assert columns(a) == columns(b)
            some = sorted(dice.sample(range(len(a)), 50))
            assert columns(a, np.array(some)) == columns(b, np.array(some))
            assert columns(a, np.array([], np.int64)) == columns(b, np.array([], np.int64))
            assert columns(a.slice(10, 400)) == columns(b.slice(10, 400))
            assert columns(a.slice(10, 60).compact()) == columns(b.slice(10, 60).compact())
            assert columns(b.compact()) == columns(b)
            for x, y in zip(a.values_and_times(), b.values_and_times(), strict=True):
                y.validate(full=True)
                assert x.equals(y)
            assert a.sizes().tolist() == b.sizes().tolist()
            assert (a.value_bytes(), a.last()) == (b.value_bytes(), b.last())
            for offset in (-1, 0, 1, 77, len(a) - 1, len(a), len(a) + 1):
                assert a.count_below(offset) == b.count_below(offset) == min(max(offset, 0), len(a))


@needs_compiled
def test_compact_records_do_not_keep_the_memory_of_their_delivery(kafka: KafkaBroker, unique: str) -> None:
    kafka.create_topic(unique, partitions=PARTITIONS)
    produce(kafka.bootstrap, unique, [bytes(10_000)] * 1_200, 3)
    consumer = TaskConsumer((("bootstrap.servers", kafka.bootstrap),), NativeClient)
    consumer.assign([Place(unique, number, 0) for number in range(PARTITIONS)])
    kept: list[Records] = []
    before, read = resident(), 0
    for _ in range(10):
        while read < 1_200:
            for run in consumer.consume(16_000, 0.1).runs():
                read += len(run.records)
                kept.append(run.records.slice(0, 2).compact())
        consumer.assign([Place(unique, number, 0) for number in range(PARTITIONS)])
        read = 0
    consumer.close()
    assert resident() - before < 60 * MIB, "120 MB were read"


def resident() -> int:
    """Return the memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@needs_compiled
def test_a_position_that_no_record_has_is_an_error(kafka: KafkaBroker, unique: str) -> None:
    kafka.create_topic(unique, partitions=PARTITIONS)
    fill(kafka.bootstrap, unique, 30)
    consumer = TaskConsumer((("bootstrap.servers", kafka.bootstrap),), NativeClient)
    records = read(consumer, unique, 30)[0][0]
    consumer.close()
    for wrong in (-1, len(records)):
        with pytest.raises(IndexError):
            records.values(np.array([wrong]))


def test_records_of_15_mb_come_within_the_bound_of_bytes(
    kafka: KafkaBroker, unique: str, opened: Callable[..., TaskConsumer]
) -> None:
    kafka.create_topic(unique, config={"max.message.bytes": str(16 * MIB)})
    values = [bytes([n]) * (15 * MIB) for n in range(6)]
    produce(kafka.bootstrap, unique, values, 1)
    consumer = opened(kafka.bootstrap)
    chunks: list[bytes | None] = []
    delivered: list[ClientCounts] = []
    for event in RangeReader(consumer, {"db.t": [offsets(unique, 0, 0, 6)]}, 60, lambda: None):
        if isinstance(event, TableDelivered):
            delivered += event.delivered
        else:
            assert not isinstance(event, TableUnreadable)
            assert event.value_bytes <= 32 * MIB
            chunks += event.values().to_pylist()
    assert chunks == values
    assert [(one.records, one.absent) for one in delivered] == [(6, 0)]


def test_records_that_retention_deletes_under_the_reader_are_an_event(
    kafka: KafkaBroker, unique: str, opened: Callable[..., TaskConsumer]
) -> None:
    kafka.create_topic(unique)
    produce(kafka.bootstrap, unique, [bytes(10_000)] * 500, 1)
    small = {
        "fetch_message_max_bytes": "20000",
        "queued_min_messages": "1",
        "queued_max_messages_kbytes": "20",
    }
    consumer = opened(kafka.bootstrap, **small)
    consumer.assign([Place(unique, 0, 0)])
    events: list[Any] = []
    deadline, first = time.monotonic() + 300, True
    while not events:
        assert time.monotonic() < deadline
        batch = consumer.consume(1, 0.1)
        events += batch.events
        if first and batch.runs():
            admin, first = kafka.admin(), False
            admin.delete_records([Place(unique, 0, 490)])[Place(unique, 0)].result(120)
    (event,) = events
    assert event.error().code() == KafkaError._AUTO_OFFSET_RESET
    assert (event.topic(), event.partition()) == (unique, 0)
    assert "offset" in event.error().str().lower()


def test_a_reader_goes_on_after_its_broker_was_killed(
    tmp_path: Path, unique: str, opened: Callable[..., TaskConsumer]
) -> None:
    with KafkaBroker(tmp_path) as broker:
        broker.create_topic(unique)
        values = [b"%06d" % n * 150 for n in range(40_000)]
        produce(broker.bootstrap, unique, values, 1)
        consumer = opened(
            broker.bootstrap, queued_max_messages_kbytes="100", fetch_message_max_bytes="100000"
        )
        found: list[bytes | None] = []
        for event in RangeReader(consumer, {"db.t": [offsets(unique, 0, 0, 40_000)]}, 120, lambda: None):
            assert not isinstance(event, TableUnreadable)
            if isinstance(event, TableDelivered):
                assert [(one.records, one.absent) for one in event.delivered] == [(40_000, 0)]
                continue
            if not found:
                broker.service.kill()
                broker.start_nodes([1])
            found += event.values().to_pylist()
    assert found == values
    assert consumer.last_error


def test_a_delay_by_a_quota_is_told_and_all_records_come(
    kafka: KafkaBroker, unique: str, opened: Callable[..., TaskConsumer], caplog: Any
) -> None:
    kafka.create_topic(unique, 1)
    values = [b"%02d" % n + bytes(100_000) for n in range(12)]
    produce(kafka.bootstrap, unique, values, 1)
    kafka.limit_client(unique, 100_000)
    consumer = opened(kafka.bootstrap, client_id=unique)
    consumer.assign([Place(unique, 0, 0)])
    found: list[Any] = []
    deadline = time.monotonic() + 300
    while len(found) < len(values) or not consumer.longest_delay:
        assert time.monotonic() < deadline
        for run in consumer.consume(1_000, 0.1).runs():
            found += run.records.values(None).to_pylist()
    assert found == values
    assert "Kafka throttles this client: broker 127.0.0.1:" in caplog.text


def test_properties_that_librdkafka_refuses_are_the_maps_fault() -> None:
    for client in (PythonClient, open_client):
        for name, value in (
            ("no.such.property", "1"),
            ("fetch.wait.max.ms", "many"),
            ("ssl.ca.location", "/no.pem"),
        ):
            properties = (("bootstrap.servers", "127.0.0.1:1"), ("security.protocol", "ssl"), (name, value))
            with pytest.raises(ConfigError) as raised:
                TaskConsumer(properties, client)
            assert raised.value.code == "kafka.properties"
            assert name in str(raised.value) or "no.pem" in str(raised.value)


def test_log_lines_and_errors_of_the_client_are_heard(
    opened: Callable[..., TaskConsumer], caplog: Any
) -> None:
    consumer = opened("127.0.0.1:1")
    consumer.assign([Place("t", 0, 0)])
    deadline = time.monotonic() + 300
    while not consumer.last_error:
        assert time.monotonic() < deadline
        assert not consumer.consume(10, 0.1).runs()
    assert "KafkaError{code=_" in consumer.last_error
    line = next(record for record in caplog.records if "Connection refused" in record.getMessage())
    assert line.levelname == "WARNING"  # a run that goes on has no error lines
    assert line.getMessage().startswith("FAIL [rdkafka#consumer-")


def test_a_client_that_was_closed_is_an_error_and_no_crash(kafka: KafkaBroker) -> None:
    for client in (PythonClient, open_client):
        consumer = TaskConsumer((("bootstrap.servers", kafka.bootstrap),), client)
        consumer.close()
        consumer.close()
        with pytest.raises((RuntimeError, KafkaException), match="Consumer closed"):
            consumer.consume(1, 0.0)


FORKS = """
import os, sys, time
from confluent_kafka import KafkaException, TopicPartition
from kafka2hive.task.fetch.consumer import TaskConsumer
from kafka2hive.task.fetch.native import NativeClient

consumer = TaskConsumer((("bootstrap.servers", sys.argv[1]),), NativeClient)
consumer.assign([TopicPartition(sys.argv[2], 0, 0)])
while not (runs := consumer.consume(10, 1.0).runs()):
    pass
child = os.fork()
if child == 0:
    for call in (lambda: consumer.consume(1, 0.0), consumer.unassign, consumer.assignment, consumer.close):
        try:
            call()
        except KafkaException as error:
            assert "does not survive a fork" in str(error), error
        else:
            os._exit(3)
    assert runs[0].records.values(None).to_pylist() == [b"a"]  # memory of the parent's, as it was
    del runs, consumer
    own = TaskConsumer((("bootstrap.servers", sys.argv[1]),), NativeClient)
    own.assign([TopicPartition(sys.argv[2], 0, 0)])
    while not own.consume(10, 1.0).runs():
        pass
    own.close()
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
consumer.assign([TopicPartition(sys.argv[2], 0, 0)])
while not consumer.consume(10, 1.0).runs():
    pass
consumer.close()
"""


@needs_compiled
def test_a_forked_child_gets_an_error_from_its_parents_consumer_and_makes_its_own(
    kafka: KafkaBroker, unique: str
) -> None:
    kafka.create_topic(unique)
    produce(kafka.bootstrap, unique, [b"a"], 1)
    subprocess.run([sys.executable, "-c", FORKS, kafka.bootstrap, unique], check=True, timeout=600)


LEAKS = """
import gc, os, sys, threading
from confluent_kafka import TopicPartition
from kafka2hive.task.fetch.consumer import TaskConsumer
from kafka2hive.task.fetch.native import NativeClient

def held():
    gc.collect()
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return len(os.listdir("/proc/self/fd")), int(status["Threads"]), int(status["VmRSS"].split()[0])

def use(times):
    for n in range(times):
        consumer = TaskConsumer((("bootstrap.servers", sys.argv[1]),), NativeClient)
        consumer.assign([TopicPartition(sys.argv[2], 0, 0)])
        while not (runs := consumer.consume(1_000, 1.0).runs()):
            pass
        runs[0].records.values_and_times(), runs[0].records.headers(None)
        if n % 3 == 0:
            consumer.close()
            del runs
        elif n % 3 == 1:
            del runs
            consumer.close()
        del consumer  # also one that was never closed

use(30)
files, threads, before = held()
use(int(sys.argv[3]))
after = held()
print(files, threads, before, *after)
assert after[:2] == (files, threads), (files, threads, after)
assert after[2] - before < 16_384, (before, after)
"""


@needs_compiled
def test_consumers_leave_no_files_threads_or_memory_behind(kafka: KafkaBroker, unique: str) -> None:
    kafka.create_topic(unique)
    produce(kafka.bootstrap, unique, [bytes(1_000)] * 1_000, 1, headers=[[("h", b"1")]] * 1_000)
    subprocess.run([sys.executable, "-c", LEAKS, kafka.bootstrap, unique, "100"], check=True, timeout=900)


@needs_compiled
def test_a_consumer_that_waits_lets_other_threads_go_on(kafka: KafkaBroker, unique: str) -> None:
    kafka.create_topic(unique)
    consumer = TaskConsumer((("bootstrap.servers", kafka.bootstrap),), NativeClient)
    consumer.assign([Place(unique, 0, 0)])
    while not consumer.consume(10, 1.0).events:  # the end of the empty log
        pass
    tries = []
    for _ in range(3):  # others may need the machine just then: that says nothing
        waits = threading.Thread(target=consumer.consume, args=(10, 2.0))
        waits.start()
        steps = 0
        while waits.is_alive():
            time.sleep(0.01)
            steps += 1
        tries.append(steps)
        if steps > 20:
            break
    consumer.close()
    assert tries[-1] > 20, tries


class Unfit:
    """A compiled library that finds another librdkafka, or none."""

    def __init__(self, found: object) -> None:
        self._found = found

    def Librdkafka(self, path: str, flags: int) -> object:  # noqa: N802  the library's name for it
        if isinstance(self._found, OSError):
            raise self._found
        return self._found


class Old:
    version = 0x010900FF


@pytest.mark.parametrize(
    ("found", "why"),
    [(OSError("it has no function rd_kafka_new"), "rd_kafka_new"), (Old(), "it is not librdkafka")],
)
def test_a_librdkafka_that_does_not_fit_is_left_to_the_python_client(
    found: object, why: str, caplog: Any
) -> None:
    assert librdkafka(Unfit(found)) is None
    (line,) = caplog.messages
    assert line.startswith("the Python client reads the records") and why in line


@needs_compiled
def test_the_client_is_native_unless_only_the_python_client_serves_the_properties(caplog: Any) -> None:
    config = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g"}
    client = open_client(config, logging.getLogger("t"), lambda error: None, lambda broker, seconds: None)
    client.close()
    assert isinstance(client, NativeClient)
    by_amazon = {
        "security.protocol": "sasl_ssl",
        "sasl.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.metadata.authentication.type": "aws_iam",
    }
    with pytest.raises(Exception, match="oauthbearer"):  # by the Python client, for it is not configured
        open_client(
            config | by_amazon, logging.getLogger("t"), lambda error: None, lambda broker, seconds: None
        )


@needs_compiled
def test_a_shared_object_that_is_not_librdkafka_is_refused() -> None:
    with pytest.raises(OSError, match=r"is not loaded|another librdkafka"):
        LIBRARY.Librdkafka("/no/such.so", os.RTLD_LAZY | os.RTLD_NOLOAD)
