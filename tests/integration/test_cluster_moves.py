"""A table whose Kafka cluster is renamed in the map, or mirrored to another, goes on by one recorded decision."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.drills.driver_kills import PROGRAM, environment
from tests.drills.failpoint import AFTER, BEFORE, Failpoint
from tests.harness.cli_ledger import tree
from tests.harness.program import Finished, command, command_as_process, run_once
from tests.harness.service_map import raw_table, write_map
from tests.integration.test_dump_clusters import east, produce, rows
from tests.services.kafka_broker import KafkaBroker

__all__ = ["east"]

TABLE = "shop.west"


def edit(config: Path, table: Mapping[str, Any], **sections: Any) -> None:
    """Change the keys of the map's first table and sections of the map; None removes one."""
    document = yaml.safe_load(config.read_text())
    changed = document["tables"][0] | table
    document["tables"][0] = {key: value for key, value in changed.items() if value is not None}
    document = {key: value for key, value in (document | sections).items() if value is not None}
    config.write_text(yaml.safe_dump(document, sort_keys=False))


@pytest.mark.parametrize("moment", [BEFORE, AFTER])
def test_a_renamed_cluster_goes_on_at_the_same_offsets_whenever_the_command_is_killed(
    tmp_path: Path, kafka: KafkaBroker, unique: str, moment: str
) -> None:
    kafka.create_topic(unique)
    produce(kafka, [f"r{n}" for n in range(5)], unique)
    table = raw_table(TABLE, unique) | {"columns": {"payload": "string"}}
    config = write_map(tmp_path, "renamed", kafka.bootstrap, f"file://{tmp_path}", [table])
    assert run_once(config).code == 0
    produce(kafka, ["r5", "r6"], unique)
    edit(config, {"kafka": "east"}, kafka_clusters={"east": {"bootstrap.servers": kafka.bootstrap}})

    stopped = run_once(config, patient=False)
    assert stopped.code == 76, stopped.log
    typed = f"kafka2hive recover --table {TABLE} --accept-cluster {TABLE}"
    assert "kafka.cluster_changed" in stopped.log and typed in stopped.log
    planned = command("recover", config, "--plan", "--accept-cluster", TABLE)
    assert planned.code == 0 and f"{unique}-0@5 goes on in east/{unique}-0" in planned.out, planned.out
    assert "kafka.cluster_changed" in command("status", config).out, "a plan changes nothing"

    point = Failpoint("killed", "rename", rf"/{TABLE}/.*e\d+\.pending$", moment, mark=str(tmp_path / "mark"))
    killed = command_as_process(
        "recover", config, "--accept-cluster", TABLE, program=PROGRAM, env=environment(point)
    )
    assert killed.code == -9 and point.was_hit(), killed.log
    done = command("recover", config, "--accept-cluster", TABLE)
    assert done.code == 0, done.out
    assert ("is in the map's Kafka cluster already" in done.out) == (moment == AFTER)
    again = command("recover", config, "--accept-cluster", TABLE)
    assert again.code == 0 and "already" in again.out

    assert run_once(config).code == 0
    assert rows(tmp_path, "west") == [(f"r{n}", unique, n) for n in range(7)]
    checked = command("verify", config)
    assert checked.code == 0, checked.out

    edit(config, {"kafka": None}, kafka_clusters=None)
    assert run_once(config, patient=False).code == 76, "the former name is another name now"
    assert command("recover", config, "--accept-cluster", TABLE).code == 0
    produce(kafka, ["r7"], unique)
    assert run_once(config).code == 0
    assert rows(tmp_path, "west") == [(f"r{n}", unique, n) for n in range(8)]
    assert command("verify", config).code == 0


class Mirror:
    """A cluster into which topics of another one are copied, with other offsets, as MirrorMaker copies them."""

    def __init__(self, source: KafkaBroker, target: KafkaBroker, topic: str) -> None:
        self.source, self.target, self.topic = source, target, topic

    def copy(self, first: int, end: int) -> None:
        """Copy the records [first, end), with key, value and timestamp."""
        reader = Consumer(
            {
                "bootstrap.servers": self.source.bootstrap,
                "group.id": "mirror",
                "auto.offset.reset": "error",
                "enable.auto.commit": False,
            }
        )
        writer = Producer({"bootstrap.servers": self.target.bootstrap})
        reader.assign([TopicPartition(self.topic, 0, first)])
        offset = first
        while offset < end:
            message = reader.poll(60)
            assert message is not None and message.error() is None
            offset = message.offset() + 1
            writer.produce(
                self.topic, message.value(), message.key(), partition=0, timestamp=message.timestamp()[1]
            )
        reader.close()
        assert writer.flush(120) == 0


def test_a_mirrored_topic_goes_on_where_the_records_prove_it_and_nowhere_else(
    tmp_path: Path, kafka: KafkaBroker, east: KafkaBroker, unique: str
) -> None:
    for broker in (kafka, east):
        broker.create_topic(unique)
    produce(kafka, [f"r{n}" for n in range(40)], unique)
    payload = {"columns": {"payload": "string"}}
    table = raw_table(TABLE, unique) | payload
    config = write_map(tmp_path, "mirrored", kafka.bootstrap, f"file://{tmp_path}", [table])
    assert run_once(config).code == 0
    produce(kafka, [f"r{n}" for n in range(40, 45)], unique)
    mirror = Mirror(kafka, east, unique)
    mirror.copy(10, 35)  # the mirror began late, so offset n is n - 10 there

    edit(config, {"kafka": "east"}, kafka_clusters={"east": {"bootstrap.servers": east.bootstrap}})
    stopped = run_once(config)
    assert stopped.code == 76 and "--cluster-offsets FILE" in stopped.log, stopped.log
    before = tree(tmp_path / "kafka2hive" / "kafka_partition_offsets")

    def move(*lines: str, more: tuple[str, ...] = ()) -> Finished:
        pairs = tmp_path / "offsets.csv"
        pairs.write_text("\n".join(["topic,partition,old,new", *lines]) + "\n")
        return command("recover", config, "--accept-cluster", TABLE, "--cluster-offsets", str(pairs), *more)

    def refused(done: Finished, code: str) -> bool:
        return (
            code in done.out + done.log
            and tree(tmp_path / "kafka2hive" / "kafka_partition_offsets") == before
        )

    assert refused(move(f"{unique},0,20,10"), "kafka.cluster_offset_outside"), "the mirror is behind"
    mirror.copy(35, 45)
    wrong = move(f"{unique},0,20,11")
    assert wrong.code == 76 and refused(wrong, "kafka.cluster_records_differ"), wrong.out
    assert refused(move(f"{unique},0,40,0", more=("--cluster-unproven",)), "kafka.cluster_records_differ")
    assert refused(move(f"{unique}x,0,40,30"), "usage.cluster_offsets")
    assert refused(move(f"{unique},0,forty,30"), "usage.cluster_offsets")
    late = command(
        "recover", config, "--accept-cluster", TABLE, "--cluster-at", "2030-01-01T00:00:00Z", "--plan"
    )
    assert late.code == 76 and refused(late, "kafka.cluster_records_differ"), late.out

    planned = move(f"{unique},0,20,10", more=("--plan",))
    assert planned.code == 0 and refused(planned, "goes on in"), planned.out
    done = move(f"{unique},0,20,10")
    assert done.code == 0 and f"{unique}-0@40 goes on in east/{unique}-0, offset 30" in done.out, done.out
    again = move(f"{unique},0,20,11")
    assert again.code == 0 and "already" in again.out

    produce(east, ["r45"], unique)
    assert run_once(config).code == 0
    assert sorted(row[0] for row in rows(tmp_path, "west")) == sorted(f"r{n}" for n in range(46))
    checked = command("verify", config)
    assert checked.code == 0, checked.out


def test_without_the_former_cluster_a_move_needs_consent(
    tmp_path: Path, kafka: KafkaBroker, east: KafkaBroker, unique: str
) -> None:
    for broker in (kafka, east):
        broker.create_topic(unique)
    produce(kafka, [f"r{n}" for n in range(6)], unique)
    table = raw_table(TABLE, unique) | {"columns": {"payload": "string"}}
    config = write_map(tmp_path, "gone", kafka.bootstrap, f"file://{tmp_path}", [table])
    assert run_once(config).code == 0
    Mirror(kafka, east, unique).copy(2, 6)
    produce(east, ["r6"], unique)
    edit(config, {}, kafka={"bootstrap.servers": east.bootstrap})  # the same name, another cluster

    at = ("--accept-cluster", TABLE, "--cluster-offsets", str(tmp_path / "offsets.csv"))
    (tmp_path / "offsets.csv").write_text(f"topic,partition,old,new\n{unique},0,6,4\n")
    refused = command("recover", config, *at)
    assert refused.code == 76 and "kafka.cluster_unproven" in refused.out, refused.out
    assert "--cluster-unproven" in refused.out
    done = command("recover", config, *at, "--cluster-unproven")
    assert done.code == 0 and "accepted without proof" in done.out, done.out
    assert run_once(config).code == 0
    assert sorted(row[0] for row in rows(tmp_path, "west")) == [f"r{n}" for n in range(7)]
    deep = command("verify --deep", config)
    former = "of the Kafka cluster 5L6g3nShT-eMCtK--X86sw, which the map does not have under that name"
    assert deep.code == 0 and f"6 offsets {former}" in " ".join(deep.out.split()), deep.out

    lost = min((tmp_path / "warehouse" / "shop.db" / "west").glob("dt=*/*.final"), key=lambda f: f.name)
    lost.rename(tmp_path / "lost")
    fetched = command("recover", config, "--refetch", str(lost))
    assert fetched.code == 76 and "refetch.other_topic" in fetched.out, fetched.out
