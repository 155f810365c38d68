"""Positions that another tool left: shown, exported, and imported once, before anything is read."""

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as KafkaPartition

from kafka2hive.config.load import load_map
from kafka2hive.ledger.look import look
from kafka2hive.model.errors import ConfigError
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.init.offset_sources import OffsetSource, SourceKind
from kafka2hive.service.wiring import wire
from tests.harness.cli_ledger import TABLE, invoke, tree, write_map
from tests.harness.mock_broker import Broker, plain_map

RECORDS = 40


@pytest.fixture
def config(tmp_path: Path, broker: Broker) -> Path:
    """A map whose topic holds 40 records in partition 0, and none in the three others."""
    broker.produce("flights", RECORDS)
    return plain_map(write_map(tmp_path, bootstrap=broker.address))


def csv_file(folder: Path, *lines: str) -> str:
    path = folder / "offsets.csv"
    path.write_text("\n".join(("topic,partition,offset", *lines)) + "\n")
    return f"csv:{path}"


def whole(folder: Path, offset: int) -> str:
    return csv_file(folder, f"flights,0,{offset}", "flights,1,0", "flights,2,0", "flights,3,0")


def state(config: Path) -> Snapshot:
    wiring = wire(load_map(str(config), {}))
    return look(wiring.ports.files, wiring.paths(TABLE)).state


def ends(config: Path) -> dict[int, int]:
    return {p.topic_partition.number: p.end for p in state(config).positions}


def checkpoint(folder: Path, offsets: dict[int, dict[str, Any]], committed: int) -> Path:
    """A Structured Streaming checkpoint with a batch for each of `offsets`; those up to `committed` are done."""
    for kind in ("offsets", "commits"):
        (folder / "checkpoint" / kind).mkdir(parents=True)
    for batch, source in offsets.items():
        text = f'v1\n{{"batchWatermarkMs":0,"conf":{{"a":"b"}}}}\n{json.dumps(source)}'
        (folder / "checkpoint" / "offsets" / str(batch)).write_text(text)
        (folder / "checkpoint" / "offsets" / f".{batch}.crc").write_bytes(b"x")
    for batch in range(committed + 1):
        (folder / "checkpoint" / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    return folder / "checkpoint"


def test_a_plan_shows_positions_and_changes_nothing_then_the_import_commits_them(
    tmp_path: Path, config: Path
) -> None:
    source = whole(tmp_path, 25)
    before = tree(tmp_path)
    planned = invoke("init", "--offsets-from", source, "--plan", "-c", str(config))
    assert planned.exit_code == 0, planned.output
    assert "would import positions" in planned.stdout
    (line,) = [line for line in planned.stdout.splitlines() if "flights-0" in line]
    assert line.split() == ["flights-0", "25", "0", "40", "15"]
    assert tree(tmp_path) == before
    done = invoke("init", "--offsets-from", source, "--json", "-c", str(config))
    assert done.exit_code == 0, done.output
    (table,) = json.loads(done.stdout)["tables"]
    assert table["result"] == "positions_imported"
    assert table["positions"][0] == {
        "topic": "flights",
        "partition": 0,
        "next_offset": 25,
        "log_start": 0,
        "log_end": 40,
    }
    assert ends(config) == {0: 25, 1: 0, 2: 0, 3: 0}
    assert state(config).start == f"imported {source}" and not state(config).files


def test_only_a_table_that_has_read_nothing_takes_positions_over(tmp_path: Path, config: Path) -> None:
    assert invoke("init", "-c", str(config)).exit_code == 0  # a ledger without a position is no beginning
    assert invoke("init", "--offsets-from", whole(tmp_path, 25), "-c", str(config)).exit_code == 0
    before = tree(tmp_path)
    again = invoke("init", "--offsets-from", whole(tmp_path, 30), "-c", str(config))
    assert again.exit_code == 78 and "offsets.not_first" in again.stdout
    assert tree(tmp_path) == before and ends(config)[0] == 25


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (("flights,0,25",), "offsets.missing"),
        (("flights,0,41", "flights,1,0", "flights,2,0", "flights,3,0"), "offsets.outside"),
        (("flights,0,25", "flights,0,26"), "offsets.csv"),
        (("flights,0,-1",), "offsets.csv"),
        (("flights;0;1",), "offsets.csv"),
        ((), "offsets.none"),
    ],
)
def test_a_csv_file_that_cannot_be_right_touches_nothing(
    tmp_path: Path, config: Path, lines: tuple[str, ...], code: str
) -> None:
    source = csv_file(tmp_path, *lines)
    before = tree(tmp_path)
    refused = invoke("init", "--offsets-from", source, "-c", str(config))
    assert refused.exit_code == 78 and code in refused.output
    assert tree(tmp_path) == before


def test_a_consumer_group_hands_over_its_committed_offsets(
    tmp_path: Path, config: Path, broker: Broker
) -> None:
    unknown = invoke("init", "--offsets-from", "group:other-tool", "-c", str(config))
    assert unknown.exit_code == 78 and "offsets.none" in unknown.output
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "other-tool"})
    given = [KafkaPartition("flights", number, 17 if number == 0 else 0) for number in range(4)]
    consumer.commit(offsets=given, asynchronous=False)
    consumer.close()
    shown = invoke("offsets", "export", "--from", "group:other-tool", "-c", str(config))
    assert shown.stdout.splitlines() == [
        "topic,partition,offset",
        "flights,0,17",
        "flights,1,0",
        "flights,2,0",
        "flights,3,0",
    ]
    assert invoke("init", "--offsets-from", "group:other-tool", "-c", str(config)).exit_code == 0
    assert ends(config)[0] == 17


def test_a_spark_checkpoint_gives_its_newest_committed_batch(tmp_path: Path, config: Path) -> None:
    place = checkpoint(tmp_path, {0: {"flights": {"0": 10}}, 1: {"flights": {"0": 20, "1": 0}}}, committed=1)
    done = invoke("init", "--offsets-from", f"spark:{place}", "-c", str(config))
    assert done.exit_code == 0, done.output
    assert ends(config) == {0: 20, 1: 0, 2: 0, 3: 0}  # the query had read nothing of what it does not name


def test_a_batch_of_spark_without_a_commit_is_for_the_operator_to_decide(
    tmp_path: Path, config: Path
) -> None:
    place = checkpoint(tmp_path, {0: {"flights": {"0": 10}}, 1: {"flights": {"0": 20}}}, committed=0)
    refused = invoke("init", "--offsets-from", f"spark:{place}", "-c", str(config))
    assert refused.exit_code == 78 and "offsets.unfinished" in refused.output
    assert f"spark:{place}#0" in refused.output and f"spark:{place}#1" in refused.output
    missing = invoke("init", "--offsets-from", f"spark:{place}#7", "-c", str(config))
    assert missing.exit_code == 78 and "offsets.none" in missing.output
    assert invoke("init", "--offsets-from", f"spark:{place}#1", "-c", str(config)).exit_code == 0
    assert ends(config)[0] == 20


def test_files_of_kafka_connect_tell_how_far_it_came(tmp_path: Path, config: Path) -> None:
    for name in (
        "flights/dt=2013-01-01/flights+0+0000000000+0000000009.parquet",
        "flights/dt=2013-01-02/flights+0+0000000010+0000000011.parquet",
        "+tmp/flights/dt=2013-01-02/flights+0+0000000012+0000000030.parquet",
        "flights/dt=2013-01-02/notes.txt",
    ):
        path = tmp_path / "topics" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    done = invoke("init", "--offsets-from", f"connect:{(tmp_path / 'topics').as_uri()}", "-c", str(config))
    assert done.exit_code == 0, done.output
    assert ends(config) == {0: 12, 1: 0, 2: 0, 3: 0}


@pytest.mark.parametrize("kind", ["spark", "connect"])
def test_a_directory_without_positions_and_one_elsewhere_are_refused(
    tmp_path: Path, config: Path, kind: str
) -> None:
    nothing = invoke("init", "--offsets-from", f"{kind}:{tmp_path}/nowhere", "-c", str(config))
    assert nothing.exit_code == 78 and "offsets.none" in nothing.output
    elsewhere = invoke("init", "--offsets-from", f"{kind}:hdfs://namenode:8020/x", "-c", str(config))
    assert elsewhere.exit_code == 78 and "offsets.storage" in elsewhere.output


def test_positions_of_the_tables_are_shown_and_exported(tmp_path: Path, config: Path) -> None:
    assert "no table has a ledger yet" in invoke("offsets", "show", "-c", str(config)).stdout
    assert invoke("init", "--offsets-from", whole(tmp_path, 25), "-c", str(config)).exit_code == 0
    shown = invoke("offsets", "show", "-c", str(config))
    assert TABLE in shown.stdout
    assert ["flights-0", "25", "0", "40", "15"] in [line.split() for line in shown.stdout.splitlines()]
    exported = tmp_path / "again.csv"
    exported.write_text(invoke("offsets", "export", "--table", TABLE, "-c", str(config)).stdout)
    assert exported.read_text().splitlines()[1] == "flights,0,25"
    unknown = invoke("offsets", "export", "--table", "air.fligths", "-c", str(config))
    assert unknown.exit_code == 78 and "did you mean" in unknown.stderr and not unknown.stdout


def test_a_source_has_a_kind_and_a_place() -> None:
    assert OffsetSource.parse("spark:hdfs://nn/chk/#3") == OffsetSource(SourceKind.SPARK, "hdfs://nn/chk", 3)
    assert str(OffsetSource.parse("spark:hdfs://nn/chk#3")) == "spark:hdfs://nn/chk#3"
    assert OffsetSource.parse("group:a#1").place == "a#1"
    for text in ("group:", "kafka:x", "group", ""):
        with pytest.raises(ConfigError, match="not a source of offsets"):
            OffsetSource.parse(text)


def test_options_that_contradict_each_other_are_refused(config: Path) -> None:
    assert invoke("init", "--plan", "-c", str(config)).exit_code == 2
    both = ("offsets", "show", "--from", "group:a", "--table", TABLE, "-c", str(config))
    assert invoke(*both).exit_code == 2


def test_a_run_does_not_doubt_imported_positions(tmp_path: Path, config: Path) -> None:
    assert invoke("init", "--offsets-from", whole(tmp_path, 25), "-c", str(config)).exit_code == 0
    at = {p.topic_partition: p.start for p in state(config).positions}
    assert at[TopicPartition("flights", 0)] == 25
    shown = json.loads(invoke("status", "--json", "-c", str(config)).stdout)["tables"][0]
    assert shown["error"] is None and shown["warnings"] == []
