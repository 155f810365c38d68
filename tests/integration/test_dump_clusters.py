"""Two real Kafka clusters in one map: topics of the same name never mix, and one that is away delays only its tables."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml
from confluent_kafka import Producer

from tests.harness.program import Running, command, run_once
from tests.harness.service_map import raw_table, write_map
from tests.services.kafka_broker import KafkaBroker

AT = 1_357_000_000_000
TOPIC = "orders-of-two"


class OtherCluster(KafkaBroker):
    cluster_id = "9M7h4ntTiU-fNDuL--Y97t"


@pytest.fixture(scope="module")
def east(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    with OtherCluster(tmp_path_factory.mktemp("kafka-east")) as broker:
        yield broker


def produce(broker: KafkaBroker, values: list[str], topic: str = TOPIC) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for value in values:
        producer.produce(topic, value, partition=0, timestamp=AT)
    assert producer.flush(120) == 0


def rows(folder: Path, table: str) -> list[tuple[str, str, int]]:
    """The payload, topic and offset of each visible row, in the order of offsets."""
    files = (folder / "warehouse" / "shop.db" / table).glob("dt=*/*")
    found = [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]
    return sorted(((r["payload"], r["k_topic"], r["k_offset"]) for r in found), key=lambda r: r[2])


def change(config: Path, table: int, **options: str) -> None:
    document = yaml.safe_load(config.read_text())
    document["tables"][table] |= options
    config.write_text(yaml.safe_dump(document, sort_keys=False))


def test_two_clusters_with_one_topic_name_are_dumped_apart_and_one_may_be_away(
    tmp_path: Path, kafka: KafkaBroker, east: KafkaBroker
) -> None:
    for broker in (kafka, east):
        broker.create_topic(TOPIC)
    produce(kafka, [f"west {n}" for n in range(5)])
    produce(east, [f"east {n}" for n in range(3)])
    payload = {"payload": "string"}
    tables = [
        raw_table("shop.west", TOPIC) | {"columns": payload},
        raw_table("shop.east", TOPIC, kafka="east") | {"columns": payload},
    ]
    clusters = {"east": {"bootstrap.servers": east.bootstrap}}
    config = write_map(
        tmp_path, "two", kafka.bootstrap, f"file://{tmp_path}", tables, kafka_clusters=clusters
    )

    done = run_once(config)
    assert done.code == 0, done.log
    assert rows(tmp_path, "west") == [(f"west {n}", TOPIC, n) for n in range(5)]
    assert rows(tmp_path, "east") == [(f"east {n}", TOPIC, n) for n in range(3)]
    assert "east/" + TOPIC in command("offsets export", config).out

    produce(kafka, ["west 5"])
    produce(east, ["east 3"])
    east.stop()
    away = run_once(config, patient=False)
    assert away.code == 69, away.log
    assert "Kafka east" in away.log
    assert [row[0] for row in rows(tmp_path, "west")][-1] == "west 5"
    assert len(rows(tmp_path, "east")) == 3

    east.start()
    assert run_once(config).code == 0
    assert [row[0] for row in rows(tmp_path, "east")] == [f"east {n}" for n in range(4)]
    assert command("verify --deep", config).code == 0

    change(config, 0, kafka="east")
    assert "kafka.cluster_changed" in command("status", config).out
    stopped = run_once(config, patient=False)
    assert stopped.code == 76, stopped.log
    assert "kafka.cluster_changed" in stopped.log
    assert len(rows(tmp_path, "west")) == 6


def test_a_live_run_goes_on_with_one_cluster_while_the_other_is_away(
    tmp_path: Path, kafka: KafkaBroker, east: KafkaBroker
) -> None:
    topic = "stream-of-two"
    for broker in (kafka, east):
        broker.create_topic(topic)
    tables = [
        raw_table("shop.west", topic) | {"columns": {"payload": "string"}},
        raw_table("shop.east", topic, kafka="east") | {"columns": {"payload": "string"}},
    ]
    clusters = {"east": {"bootstrap.servers": east.bootstrap}}
    config = write_map(
        tmp_path, "live", kafka.bootstrap, f"file://{tmp_path}", tables, kafka_clusters=clusters
    )
    with Running(config) as run:
        produce(kafka, ["w0"], topic)
        produce(east, ["e0"], topic)
        run.wait_until(lambda: len(rows(tmp_path, "west") + rows(tmp_path, "east")) == 2, "both dumped")
        east.kill()
        run.wait_until(
            lambda: run.said("Kafka east does not answer; the run keeps asking"), "the outage told"
        )
        produce(kafka, ["w1"], topic)
        run.wait_until(lambda: len(rows(tmp_path, "west")) == 2, "the other cluster's record dumped", 120)
        assert "Kafka east has not answered since" in command("status", config).out
        east.start()
        produce(east, ["e1"], topic)
        run.wait_until(lambda: len(rows(tmp_path, "east")) == 2, "the record after the outage dumped", 180)
        run.wait_until(lambda: run.said("Kafka east answers again"), "the end of the outage told", 60)
        assert run.terminate() == 143
    assert [row[0] for row in rows(tmp_path, "west")] == ["w0", "w1"]
    assert [row[0] for row in rows(tmp_path, "east")] == ["e0", "e1"]
    assert command("verify --deep", config).code == 0
