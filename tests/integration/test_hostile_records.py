"""Producers and users of the warehouse who mean harm: what they write stays data, below its table, and others go on."""

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import Producer

from kafka2hive.pipeline.task.fetch.consumer import TaskConsumer
from kafka2hive.pipeline.task.run import Task
from kafka2hive.pipeline.task.watchdog import Watchdog
from kafka2hive.pipeline.values import TaskPlan
from tests.harness.task_files import MemoryFiles, offsets, table_settings, table_task, task_settings

if TYPE_CHECKING:
    from tests.services.kafka_broker import KafkaBroker

MIB = 1024 * 1024


def test_a_batch_that_unpacks_to_two_hundred_times_its_size_costs_its_size_once(
    kafka: "KafkaBroker", unique: str
) -> None:
    """A broker bounds what is packed; librdkafka unpacks a batch as a whole."""
    kafka.create_topic(unique, 1, {"max.message.bytes": str(MIB)})
    count = 192
    producer = Producer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "compression.type": "gzip",
            "batch.size": 400 * MIB,
            "message.max.bytes": 400 * MIB,
            "linger.ms": 2_000,
        }
    )
    for _ in range(count):
        producer.produce(unique, bytes(MIB), partition=0)
    assert producer.flush(300) == 0
    code = f"from tests.integration.test_hostile_records import unpack; unpack({kafka.bootstrap!r}, {unique!r}, {count})"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True, timeout=600)
    before, peak = map(int, done.stdout.split())
    assert peak - before < 2.5 * count * MIB, f"{before / MIB:.0f} MiB before, {peak / MIB:.0f} MiB"


def unpack(bootstrap: str, topic: str, count: int) -> None:
    """One task over the batch; prints the most memory that this process held before and after it."""
    files, consumer = MemoryFiles(), TaskConsumer((("bootstrap.servers", bootstrap),))
    settings = task_settings(bootstrap, table_settings(), stall_seconds=60.0)
    plan = TaskPlan(0, (table_task("db.t", offsets(topic, 0, 0, count)),))
    before = most_memory()
    with Watchdog(60.0) as watchdog:
        (manifest,) = Task(plan, settings, files, consumer, watchdog).run()
    consumer.close()
    assert manifest.failure is None, manifest.failure
    assert sum(a.account.bytes for a in manifest.accounts) == count * MIB
    sys.stdout.write(f"{before} {most_memory()}")


def most_memory() -> int:
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) * 1024
