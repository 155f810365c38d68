"""A table with complete Hive partitions, whose news are in a topic, and programs that schedulers start."""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.harness.program import Running
from tests.harness.service_map import write_map
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

TOPIC = "kafka2hive.news"
TABLE = "air.flights"
"""The topic and the table that the files of configs/schedulers name."""


@dataclass(frozen=True, slots=True)
class Flights:
    """`air.flights`, with a run under way that tells its news to the topic."""

    config: Path
    bootstrap: str
    run: Running
    _source: str

    def complete(self, day: date, count: int = 20) -> dict[str, Any]:
        """Send records of a day that is over, wait for its certificate, and return the piece of news."""
        records = [json.dumps({"id": n, "at": f"{day} {n % 24:02d}:30:00"}).encode() for n in range(count)]
        produce(self.bootstrap, self._source, records, 1)
        self.run.wait_until(lambda: bool(self.of(day)), f"told of {day}")
        return self.of(day)[-1]

    def of(self, day: date) -> list[dict[str, Any]]:
        """What the topic says of a day."""
        return [each for each in self.news() if each["subject"] == f"dt={day}"]

    def news(self) -> list[dict[str, Any]]:
        """All messages of the topic, with doubles."""
        return [json.loads(message) for message in self._messages()]

    def tell_again(self, news: dict[str, Any]) -> None:
        """Write a piece of news once more, as a run does that was killed before it noted the answer."""
        [message] = {each for each in self._messages() if json.loads(each)["id"] == news["id"]}
        produce(self.bootstrap, TOPIC, [message], 1)

    def _messages(self) -> Iterable[bytes]:
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "of-the-test"})
        try:
            end = consumer.get_watermark_offsets(TopicPartition(TOPIC, 0), 60)[1]
            consumer.assign([TopicPartition(TOPIC, 0, 0)])
            return [message.value() for message in consumer.consume(end, 60)] if end else []
        finally:
            consumer.close()


@pytest.fixture(scope="session")
def flights(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Flights]:
    """Shared: take days of your own."""
    uri, folder, source = f"{hdfs.namenode_url}/schedulers", tmp_path_factory.mktemp("flights"), "flights"
    kafka.create_topic(TOPIC)
    kafka.create_topic(source)
    table = {
        "table": TABLE,
        "register": "complete",
        "topics": [source],
        "start": "earliest",
        "columns": {"id": "bigint", "at": "timestamp"},
        "bucket": {"field": "at", "path": "dt=%Y-%m-%d"},
        "flush": {"interval": "1s"},
        "completion": {"delay": "1s"},
        "retain": "2000d",
    }
    sections = {"hive": {"url": f"hive://{hive.address}"}, "news": [{"name": "bus", "topic": TOPIC}]}
    config = write_map(folder, "flights", kafka.bootstrap, uri, [table], **sections)
    with Running(config) as run:
        yield Flights(config, kafka.bootstrap, run, source)


@dataclass(frozen=True, slots=True)
class Programs:
    """A folder of PATH with `kafka2hive`, and with `spark-submit`, which only notes its arguments."""

    folder: Path

    def reports(self, month: str) -> list[str]:
        """The days of this month for which `spark-submit report.py` was started, in order."""
        noted = self.folder / "started"
        lines = noted.read_text().splitlines() if noted.exists() else []
        return [line.removeprefix("report.py ") for line in lines if line.startswith(f"report.py {month}-")]


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, text in {
        "kafka2hive": f'exec {sys.executable} -m kafka2hive.cli.main "$@"',
        "spark-submit": f'echo "$*" >> {folder}/started',
    }.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return Programs(folder)
