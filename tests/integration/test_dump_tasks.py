"""Tasks that run twice: no record twice, no record lost; attempts that die are in tests/drills."""

import os
import time
from pathlib import Path

import pytest

from kafka2hive.config.load import load_map
from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.start import Owners, StartRequest, start
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.plan.contract import TableTask, TaskPlan
from kafka2hive.service.hive.schemas import Catalogue, task_settings
from kafka2hive.service.tables.manifests import judge_manifests
from kafka2hive.service.topics.routes import routed_tables
from kafka2hive.service.wiring import wire
from kafka2hive.task import run_task
from kafka2hive.task.fetch.consumer import forget_consumer
from tests.harness.owner import new_owner
from tests.harness.program import command, run_once
from tests.harness.service_map import flights_table, ledger_root, location, write_map
from tests.oracle.exact import assert_exactly, assert_settled, ends_of, flight
from tests.oracle.tree import HdfsTree, Tree
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

FIRST, LATER = 20_000, 5_000


def staged(tree: Tree, table_location: str) -> list[str]:
    return sorted(tree.files(f"{table_location}/_tmp"))


@pytest.mark.timeout(3600)
def test_a_second_run_of_a_task_doubles_nothing(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    uri, table = f"{hdfs.namenode_url}/{unique}", f"{unique}.flights"
    place, tree = location(uri, table), HdfsTree(hdfs.client())
    kafka.create_topic(unique, 2)
    stored = produce(kafka.bootstrap, unique, flights()[:FIRST], 2)
    config = write_map(tmp_path, unique, kafka.bootstrap, uri, [flights_table(table, unique)])
    assert run_once(config).code == 0
    assert_exactly(tree, place, stored, flight)

    stored |= produce(kafka.bootstrap, unique, flights()[FIRST : FIRST + LATER], 2)
    run_one_epoch_with_every_task_twice(config, table, unique, ends_of(stored))
    twins = [f for f in staged(tree, place) if f.endswith(".pending")]
    assert twins, "the second attempt left nothing"
    assert_exactly(tree, place, stored, flight)

    cleaned = command("recover", config, "--json")
    assert cleaned.code == 0, cleaned.log
    assert cleaned.document["tables"][0]["orphans_deleted"] >= len(twins)
    assert_settled(tree, ledger_root(uri), table, place, ends_of(stored))
    assert_exactly(tree, place, stored, flight)


def run_one_epoch_with_every_task_twice(
    config: Path, name: str, topic: str, ends: dict[tuple[str, int], int]
) -> None:
    """What Spark's speculation does: two attempts finish, the driver takes one manifest."""
    service_map = load_map(str(config), os.environ)
    wiring = wire(service_map)
    (table,) = routed_tables(wiring, {topic})
    table_settings = Catalogue(service_map, None).resolve(table)
    ownership = wiring.ownership_check(take_over=False)
    order = StartRequest(
        table.paths, lambda: ownership.check(table.paths, table.location), Owners(new_owner), table.location
    )
    owned = start(wiring.ports, order).owned
    ranges = tuple(
        OffsetRange(p.topic_partition, p.end, ends[topic, p.topic_partition.number])
        for p in owned.state.positions
    )
    assert [r.topic_partition for r in ranges] == [TopicPartition(topic, 0), TopicPartition(topic, 1)]
    state = owned.state
    task = TableTask(
        table=name,
        ledger_id=state.ledger_id,
        generation=owned.generation.number,
        epoch=owned.next_epoch,
        planned_at_ms=int(time.time() * 1000),
        ranges=ranges,
    )
    settings = task_settings(service_map, {name: table_settings})
    (_first,) = run_task(TaskPlan(0, (task,)), settings)
    (second,) = run_task(TaskPlan(0, (task,)), settings)
    forget_consumer(settings.kafka)  # it would outlive the broker, and complain
    outcome = judge_manifests(
        name, ranges, [second], 0.1, frozenset(state.unregistered), state.cluster_id, table.location
    )
    publish(wiring.ports, owned, outcome.change)
