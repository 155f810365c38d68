"""Three brokers: leaders move under load, and a log is cut off by an unclean election."""

import itertools
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka2hive.config.values import KafkaOptions
from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.model.offsets import TopicPartition
from tests.drills.asleep import asleep
from tests.drills.form import Form
from tests.drills.progress import PATIENCE_SECONDS, Progress, read_so_far
from tests.drills.stream import Stream
from tests.harness.program import Running, command, run_once
from tests.harness.service_map import flights_table, ledger_root, location, raw_table, write_map
from tests.oracle.data_files import visible_rows
from tests.oracle.exact import assert_exactly, assert_same_bytes, assert_settled, ends_of, flight
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree, LocalTree
from tests.services.flights import flights
from tests.services.kafka_cluster import KafkaCluster
from tests.services.produce import produce

if TYPE_CHECKING:
    from tests.drills.conftest import Figures
    from tests.services.hdfs import Hdfs

PER_SECOND = 200
SAFE = {"min.insync.replicas": "2"}
UNCLEAN = {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """Three brokers, all running at the begin and end of each test."""
    with KafkaCluster(tmp_path_factory.mktemp("kafka3")) as brokers:
        yield brokers


def wait_for(what: str, ready: Callable[[], bool], seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline, f"not {what} within {seconds} s"
        time.sleep(0.1)


@pytest.mark.timeout(600)
def test_when_a_broker_dies_the_others_are_asked_long_before_the_time_limit(
    cluster: KafkaCluster, unique: str
) -> None:
    cluster.create_topic(unique, 6, replicas=3)
    lone = f"{unique}-lone"
    cluster.create_topic_at(lone, [[1], [2]], {})
    limit = 300.0
    admin = KafkaAdmin(KafkaOptions((("bootstrap.servers", cluster.bootstrap),), "g"), limit)
    asked = [TopicPartition(unique, n) for n in range(6)] + [TopicPartition(lone, n) for n in range(2)]
    wait_for("known", lambda: {unique, lone} <= admin.cluster().topics.keys())
    wait_for("answered", lambda: set(admin.latest(asked)) == set(asked))
    wait_for("in sync", lambda: all(len(nodes) == 3 for nodes in cluster.in_sync(unique)))
    victim = cluster.leaders(unique)[0]
    if victim == 3:
        victim = 1
    orphan = TopicPartition(lone, victim - 1)
    cluster.node(victim).kill()
    began = time.monotonic()
    try:
        wait_for("answered by the others", lambda: set(admin.latest(asked)) == set(asked) - {orphan}, limit)
        assert unique in admin.cluster().topics
        assert set(admin.earliest(asked)) == set(asked) - {orphan}, "nobody leads it, and nobody waits for it"
        assert time.monotonic() - began < limit / 2, "waited for a dead broker"
    finally:
        cluster.start()
    wait_for("answered by the one that leads again", lambda: set(admin.latest(asked)) == set(asked))


@pytest.mark.timeout(36_000)
def test_leaders_move_under_load_and_each_flight_arrives_once(
    cluster: KafkaCluster, hdfs: "Hdfs", form: Form, figures: "Figures", unique: str, tmp_path: Path
) -> None:
    seed = form.seed()
    chance = random.Random(seed)
    moves = form.count(3, 50)
    uri, tree, table = f"{hdfs.namenode_url}/{unique}", HdfsTree(hdfs.client()), f"{unique}.flights"
    first = chance.randrange(300_000)
    payloads = itertools.cycle(flights()[first : first + 30_000])
    cluster.create_topic_at(unique, [[1, 2, 3], [2, 3, 1], [3, 1, 2]], SAFE)
    config = write_map(tmp_path, unique, cluster.bootstrap, uri, [flights_table(table, unique)])
    done = {"killed": 0, "elected": 0, "stopped": 0}
    with (
        Stream(cluster.bootstrap, {unique: 3}, lambda: next(payloads), PER_SECOND) as stream,
        Running(config) as run,
    ):
        run.wait_for_epoch()
        progress = Progress(run, [LedgerText(tree, ledger_root(uri), table)])
        for number in range(moves):
            time.sleep(chance.uniform(0, 1.5))
            before = cluster.leaders(unique)
            if number % 3 == 1:
                cluster.elect_preferred(unique, 3)
                wait_for("back", lambda: cluster.leaders(unique) == [1, 2, 3])
                done["elected"] += 1
            else:  # its partitions move to the others
                victim = before[chance.randrange(3)]
                if number % 3 == 0:
                    cluster.node(victim).kill()
                    done["killed"] += 1
                else:
                    cluster.node(victim).terminate()
                    done["stopped"] += 1
                wait_for("led by others", lambda v=victim: not {v, -1} & set(cluster.leaders(unique)))
                progress.wait()
                cluster.start()
                wait_for("in sync", lambda: all(len(nodes) == 3 for nodes in cluster.in_sync(unique)))
            assert cluster.leaders(unique) != before, f"nothing moved (seed {seed})"
            progress.wait()
        stored = stream.end()
        progress.wait_for(ends_of(stored))
        assert run.terminate() == 143, run.tail()
        epochs = run.epochs()
    verified = command("verify", config)
    assert verified.code == 0, verified.out + verified.log
    assert_settled(tree, ledger_root(uri), table, location(uri, table), ends_of(stored))
    assert_exactly(tree, location(uri, table), stored, flight)
    figures(
        **done,
        longest_wait_s=round(progress.longest_seconds, 1),
        records=len(stored),
        epochs=epochs,
        seed=seed,
    )


@pytest.mark.timeout(1800)
def test_a_log_that_an_unclean_election_cut_off_stops_its_table_and_no_other(
    cluster: KafkaCluster, figures: "Figures", unique: str, tmp_path: Path
) -> None:
    uri, tree = f"file://{tmp_path}/disk", LocalTree()
    cut, anew, well = (f"{unique}.{name}" for name in ("cut", "anew", "well"))  # topics and tables
    for topic in (cut, anew):
        cluster.create_topic_at(topic, [[1, 2]], UNCLEAN)
    cluster.create_topic_at(well, [[3, 1, 2]], SAFE)
    config = write_map(
        tmp_path, unique, cluster.bootstrap, uri, [raw_table(topic, topic) for topic in (cut, anew, well)]
    )
    ledgers = {topic: LedgerText(tree, ledger_root(uri), topic) for topic in (cut, anew, well)}

    chance = random.Random(1)  # other records each time

    def more(topic: str, count: int) -> dict[tuple[str, int, int], bytes | None]:
        return produce(cluster.bootstrap, topic, [f"{topic} {chance.random()}".encode()] * count, 1)

    read = {topic: more(topic, 100) for topic in (cut, anew, well)}
    with Running(config) as run:
        run.wait_for_epoch()
        progress = Progress(run, list(ledgers.values()))
        progress.wait_for({(topic, 0): 100 for topic in ledgers})
        cluster.node(2).kill()
        wait_for("behind", lambda: all(cluster.in_sync(topic) == [{1}] for topic in (cut, anew)))
        for topic in ledgers:
            read[topic] |= more(topic, 50)  # that node 2 will never know
        progress.wait_for({(topic, 0): 150 for topic in ledgers})
        with asleep(run):
            cluster.node(1).kill()
            cluster.start_nodes([2])
            wait_for("led by 2", lambda: all(cluster.leaders(topic) == [2] for topic in (cut, anew)))
            rewritten = more(anew, 80)
            assert min(rewritten) == (anew, 0, 100), "nothing was cut off"
            cluster.start()
            wait_for("in sync", lambda: all(cluster.in_sync(topic) == [{1, 2}] for topic in (cut, anew)))
            read[well] |= more(well, 30)
        run.wait_until(
            lambda: run.said("kafka.log_truncated") and run.said("kafka.log_rewritten"),
            "aware of it",
            PATIENCE_SECONDS,
        )
        read[well] |= more(well, 30)
        run.wait_until(
            lambda: read_so_far([ledgers[well]]) == {(well, 0): 210},
            "going on with the third",
            PATIENCE_SECONDS,
        )
        assert run.terminate() == 143, run.tail()
        log = "\n".join(run.messages())
    assert f"{cut}-0 was read up to offset 150, but its log ends at 100: [100, 150) was truncated" in log
    assert f"{anew}-0 offset 149 was read with leader epoch" in log
    for topic in (cut, anew):  # nothing was read after it
        assert_settled(tree, ledger_root(uri), topic, location(uri, topic), {(topic, 0): 150})
        assert_same_bytes(tree, location(uri, topic), read[topic])

    typed = dict.fromkeys(re.findall(r"kafka2hive recover (--accept-gap \S+)", log))
    assert len(typed) == 2, typed
    refused = command("recover", config, "--accept-gap", f"{cut}:0:99")
    assert refused.code == 76 and "kafka.log_truncated" in refused.log + refused.out, refused
    accepted = command("recover", config, *" ".join(typed).split())
    assert accepted.code == 0, accepted.log
    new = {topic: more(topic, 70) for topic in ledgers}
    done = run_once(config)
    assert done.code == 0, done.log[-3000:]
    verified = command("verify", config)
    assert verified.code == 0, verified.out + verified.log
    # what was read before the log was cut off stays, and what stands at the same offsets now comes as well
    assert min(new[cut]) == (cut, 0, 100)
    assert rows(tree, location(uri, cut)) == Counter(read[cut].items()) + Counter(new[cut].items())
    # 50 records were written over offsets that had been read: they are lost, and the ledger says which were
    over = {place for place in rewritten if place[2] < 150}
    assert len(over) == 50
    read[anew] |= {place: value for place, value in rewritten.items() if place not in over} | new[anew]
    assert_same_bytes(tree, location(uri, anew), read[anew])
    assert_same_bytes(tree, location(uri, well), read[well] | new[well])
    gaps = {topic: ledger.newest()["gap"] for topic, ledger in ledgers.items()}
    assert [len(gaps[topic]) for topic in (cut, anew, well)] == [1, 1, 0]
    assert "[100, 150) had been read" in gaps[cut][0]["how"] and "149" in gaps[anew][0]["how"]
    figures(cut_off=50, written_over=len(over))


def rows(tree: LocalTree, place: str) -> "Counter[tuple[tuple[str, int, int], bytes]]":
    """Every visible row of a raw table by its place and value, with how often it is there."""
    return Counter(
        ((r.values["k_topic"], r.values["k_partition"], r.values["k_offset"]), r.values["value"])
        for r in visible_rows(tree, place)
    )
