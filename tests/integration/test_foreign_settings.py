"""What somebody else has set: the offsets of the service's consumer group, and variables of another Spark."""

from pathlib import Path

import pytest

from kafka2hive.config.load import load_map
from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.model.offsets import TopicPartition
from tests.harness.program import command_as_process, run_once
from tests.harness.service_map import ledger_root, location, raw_table, write_map
from tests.oracle.exact import assert_same_bytes, assert_settled
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import LocalTree
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import Place, produce


@pytest.mark.timeout(1800)
def test_a_group_that_somebody_sets_ahead_stops_its_table_and_one_set_back_is_only_told(
    kafka: KafkaBroker, unique: str, tmp_path: Path
) -> None:
    uri, table = f"file://{tmp_path}/disk", f"{unique}.t"
    kafka.create_topic(unique, 1)
    config = write_map(tmp_path, unique, kafka.bootstrap, uri, [raw_table(table, unique)])
    stored: dict[Place, bytes | None] = {}
    for count in (20, 10):  # a group may be one epoch behind, because it is set after the commit
        stored |= produce(kafka.bootstrap, unique, [b"%d" % n for n in range(count)], 1)
        assert run_once(config).code == 0
    options = load_map(str(config), {}).kafka
    assert options.committed_group is not None
    group, only, admin = options.committed_group, TopicPartition(unique, 0), KafkaAdmin(options)
    assert admin.group_offsets(group, [only]) == {only: 30}
    stored |= produce(kafka.bootstrap, unique, [b"x"] * 10, 1)

    admin.commit_group_offsets(group, {only: 35})
    stopped = run_once(config)
    assert stopped.code == 76 and "[ledger.restored]" in stopped.log, stopped.log[-3000:]
    assert "@30, but group" in stopped.log and "--to-offset 30" in stopped.log, stopped.log[-3000:]
    assert LedgerText(LocalTree(), ledger_root(uri), table).ends() == {only: 30}

    admin.commit_group_offsets(group, {only: 0})
    told = run_once(config)
    assert told.code == 0 and "behind the ledger: somebody set it back" in told.log, told.log[-3000:]
    assert_settled(LocalTree(), ledger_root(uri), table, location(uri, table), {only: 40})
    assert_same_bytes(LocalTree(), location(uri, table), stored)
    assert admin.group_offsets(group, [only]) == {only: 40}


@pytest.mark.parametrize(
    ("variable", "code"), [("SPARK_HOME", "spark.home"), ("PYSPARK_SUBMIT_ARGS", "spark.submit_args")]
)
def test_variables_of_another_spark_are_named_and_nothing_is_changed(
    kafka: KafkaBroker, unique: str, tmp_path: Path, variable: str, code: str
) -> None:
    uri = f"file://{tmp_path}/disk"
    kafka.create_topic(unique, 1)
    config = write_map(tmp_path, unique, kafka.bootstrap, uri, [raw_table(f"{unique}.t", unique)])
    jars = tmp_path / "spark" / "jars"
    jars.mkdir(parents=True)
    (jars / "spark-core_2.13-3.5.7.jar").touch()
    value = str(jars.parent) if variable == "SPARK_HOME" else "--master yarn pyspark-shell"
    done = command_as_process("run", config, "--once", env={variable: value})
    assert done.code == 78 and f"[{code}]" in done.log and value in done.log, done.log[-3000:]
    assert "Java 17" not in done.log
    assert not (tmp_path / "disk").exists()
