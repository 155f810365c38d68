"""Topics that come, grow and lose records while a service reads them."""

import re
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from tests.harness.program import Running, command, run_once
from tests.harness.service_map import flights_table, ledger_root, location, write_map
from tests.oracle.exact import assert_exactly, assert_settled, ends_of, flight
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce


def next_offsets(config: Path) -> dict[tuple[str, int], int]:
    """What `status` says is read, of all tables."""
    tables: list[dict[str, Any]] = command("status", config, "--json").document["tables"]
    return {(p["topic"], p["partition"]): p["next_offset"] for t in tables for p in t["partitions"]}


@pytest.mark.timeout(3600)
def test_new_topics_and_partitions_join_while_it_runs_and_lost_records_stop_it_until_accepted(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    uri, tree = f"{hdfs.namenode_url}/{unique}", HdfsTree(hdfs.client())
    root = ledger_root(uri)
    one, two = f"{unique}.one", f"{unique}.two"  # topics and tables bear the same names
    family = flights_table(f"{unique}.{{1}}", "", topics=None, pattern=unique + r"\.(\w+)", start="latest")
    config = write_map(tmp_path, unique, kafka.bootstrap, uri, [family])
    kafka.create_topic(one, 2)
    produce(
        kafka.bootstrap, one, flights()[:10], 2
    )  # before the table's time: it starts at the latest offset
    with Running(config) as run:
        run.wait_until(
            lambda: next_offsets(config) == {(one, 0): 5, (one, 1): 5}, "at the latest offsets", pause=0.5
        )
        in_one = produce(kafka.bootstrap, one, flights()[10:4_010], 2)
        run.wait_until(lambda: next_offsets(config) == ends_of(in_one), "reading", pause=0.5)
        kafka.add_partitions(one, 3)
        in_one |= produce(kafka.bootstrap, one, flights()[5_000:7_000], [2])
        kafka.create_topic(two, 1)
        in_two = produce(kafka.bootstrap, two, flights()[8_000:9_000], 1)
        run.wait_until(
            lambda: next_offsets(config) == ends_of(in_one) | ends_of(in_two),
            "reading what is new",
            pause=0.5,
        )
        assert run.terminate() == 143, run.tail()
    for table, stored in ((one, in_one), (two, in_two)):
        assert_settled(tree, root, table, location(uri, table), ends_of(stored))
        assert_exactly(tree, location(uri, table), stored, flight)

    # 300 records come, 200 of them are deleted before they were read
    begin = ends_of(in_one)[one, 2]
    in_one |= produce(kafka.bootstrap, one, flights()[10_000:10_300], [2])
    admin = kafka.admin()
    for future in admin.delete_records([TopicPartition(one, 2, begin + 200)]).values():
        future.result(120)
    in_two |= produce(kafka.bootstrap, two, flights()[11_000:11_500], 1)
    stopped = run_once(config)
    assert stopped.code == 76, stopped.log[-3000:]
    assert f"[{begin}, {begin + 200}) are gone unread" in stopped.log
    typed = re.search(r"kafka2hive recover --table \S+ (--accept-gap \S+)", stopped.log)
    assert typed is not None
    assert_settled(tree, root, two, location(uri, two), ends_of(in_two))
    assert_exactly(tree, location(uri, two), in_two, flight)

    accepted = command("recover", config, "--json", *typed[1].split())
    assert accepted.code == 0, accepted.log
    done = run_once(config)
    assert done.code == 0, done.log[-3000:]
    readable = {
        place: value
        for place, value in in_one.items()
        if not (place[1] == 2 and begin <= place[2] < begin + 200)
    }
    assert_settled(tree, root, one, location(uri, one), ends_of(in_one))
    assert_exactly(tree, location(uri, one), readable, flight)
    (gap,) = LedgerText(tree, root, one).newest()["gap"]
    assert (gap["topic"], gap["number"], gap["start"], gap["end"]) == (one, 2, begin, begin + 200)
    assert LedgerText(tree, root, two).newest()["gap"] == []
