"""Three brokers: leaders move under load, and a log is cut off by an unclean election."""

import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka2hive.config.keys import KafkaOptions
from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.offsets import TopicPartition
from tests.drills.conftest import Figures
from tests.drills.form import Form
from tests.drills.progress import PATIENCE_SECONDS, Progress
from tests.drills.stream import Stream, some_flights
from tests.harness.program import Running, command, run_once
from tests.harness.scenario import Scenario, flights_in, on_disk, on_hdfs, payloads_in
from tests.harness.sessions import asleep
from tests.harness.waiting import wait_until
from tests.oracle.exact import assert_same_bytes, rows_by_place
from tests.services.hdfs import Hdfs
from tests.services.kafka_cluster import KafkaCluster
from tests.services.produce import produce

PER_SECOND = 200
SAFE = {"min.insync.replicas": "2"}
UNCLEAN = {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """Three, which tests stop and kill."""
    with KafkaCluster(tmp_path_factory.mktemp("kafka3")) as cluster:
        yield cluster


@pytest.fixture
def cluster(brokers: KafkaCluster) -> KafkaCluster:
    """All brokers, running, also if the test before has failed while some did not."""
    brokers.start()
    return brokers


def led_without(cluster: KafkaCluster, topic: str, victim: int) -> Callable[[], bool]:
    """Whether each partition has a leader, and another one."""
    return lambda: not {victim, -1} & set(cluster.leaders(topic))


def elected(cluster: KafkaCluster, topic: str, preferred: list[int]) -> Callable[[], bool]:
    """Whether its preferred leaders lead, who are asked for each time: one that has just fallen behind is not elected."""

    def look() -> bool:
        cluster.elect_preferred(topic, len(preferred))
        return cluster.leaders(topic) == preferred

    return look


@pytest.mark.timeout(3600)
def test_when_a_broker_dies_the_others_are_asked_long_before_the_time_limit(
    cluster: KafkaCluster, unique: str
) -> None:
    cluster.create_topic(unique, 6, replicas=3)
    lone = f"{unique}-lone"
    cluster.create_topic_at(lone, [[1], [2]], {})
    limit = 300.0
    admin = KafkaAdmin(KafkaOptions((("bootstrap.servers", cluster.bootstrap),), "g"), limit)
    asked = [TopicPartition(unique, n) for n in range(6)] + [TopicPartition(lone, n) for n in range(2)]
    wait_until(lambda: {unique, lone} <= admin.cluster().topics.keys(), "known", 300)
    wait_until(lambda: set(admin.latest(asked)) == set(asked), "answered", 300)
    wait_until(lambda: all(len(nodes) == 3 for nodes in cluster.in_sync(unique)), "in sync", 300)
    victim = cluster.leaders(unique)[0]
    if victim == 3:
        victim = 1
    orphan = TopicPartition(lone, victim - 1)
    cluster.node(victim).kill()
    began = time.monotonic()
    try:
        wait_until(lambda: set(admin.latest(asked)) == set(asked) - {orphan}, "answered by the others", limit)
        assert unique in admin.cluster().topics
        # nobody leads the orphan, and nobody waits for it
        wait_until(
            lambda: set(admin.earliest(asked)) == set(asked) - {orphan}, "answered at the begin", limit
        )
        assert time.monotonic() - began < limit / 2, "waited for a dead broker"
    finally:
        cluster.start()
    wait_until(lambda: set(admin.latest(asked)) == set(asked), "answered by the one that leads again", 300)


@pytest.mark.timeout(3600)
def test_a_leader_that_went_and_came_back_is_asked_with_its_new_epoch(
    cluster: KafkaCluster, unique: str
) -> None:
    cluster.create_topic_at(unique, [[1, 2, 3]], {})
    # a short limit: a question must look twice for who leads within it
    admin = KafkaAdmin(KafkaOptions((("bootstrap.servers", cluster.bootstrap),), "g"), 3.5)
    asked = [TopicPartition(unique, 0)]

    def answered() -> bool:
        try:
            return set(admin.latest(asked)) == set(asked)
        except ServiceUnavailable:  # nobody leads it yet; or the limit is too short on a busy machine
            return False

    wait_until(answered, "answered", 300)
    cluster.node(1).suspend()  # its connections stay: nothing tells the client
    try:
        wait_until(led_without(cluster, unique, 1), "led by another", 300)
    finally:
        cluster.node(1).resume()
    wait_until(lambda: cluster.in_sync(unique) == [{1, 2, 3}], "in sync", 300)

    wait_until(elected(cluster, unique, [1]), "back", 300, 0.5)
    # who looks once only is refused all the time: nothing else tells the client
    wait_until(answered, "answered by the one that leads again", 600)


@pytest.mark.timeout(36_000)
def test_leaders_move_under_load_and_each_flight_arrives_once(
    cluster: KafkaCluster, hdfs: Hdfs, form: Form, figures: Figures, unique: str, tmp_path: Path
) -> None:
    seed = form.seed()
    chance = random.Random(seed)
    moves = form.count(3, 50)
    cluster.create_topic_at(unique, [[1, 2, 3], [2, 3, 1], [3, 1, 2]], SAFE)
    tables = [flights_in(f"{unique}.flights", unique)]
    scenario = Scenario(tmp_path, unique, cluster.bootstrap, on_hdfs(hdfs, unique), tables)
    done = {"killed": 0, "elected": 0, "stopped": 0}
    with (
        Stream(cluster.bootstrap, {unique: 3}, some_flights(seed), PER_SECOND) as stream,
        Running(scenario.config) as run,
    ):
        run.wait_for_epoch()
        progress = Progress(run, scenario.ledgers_of())
        for number in range(moves):
            time.sleep(chance.uniform(0, 1.5))
            before = cluster.leaders(unique)
            if number % 3 == 1:
                wait_until(elected(cluster, unique, [1, 2, 3]), "back", 300, 0.5)
                done["elected"] += 1
            else:  # its partitions move to the others, and on a slow machine perhaps back before all are in sync
                victim = before[chance.randrange(3)]
                if number % 3 == 0:
                    cluster.node(victim).kill()
                    done["killed"] += 1
                else:
                    cluster.node(victim).terminate()
                    done["stopped"] += 1
                wait_until(led_without(cluster, unique, victim), "led by others", 300)
                progress.wait()
                cluster.start()
                wait_until(lambda: all(len(nodes) == 3 for nodes in cluster.in_sync(unique)), "in sync", 300)
            progress.wait()
        stored = scenario.end(run, stream)
        epochs = run.epochs()
    scenario.verify()
    scenario.assert_exactly_once(stored)
    figures(
        **done,
        longest_wait_s=round(progress.longest_seconds, 1),
        records=len(stored),
        epochs=epochs,
        seed=seed,
    )


@pytest.mark.timeout(3600)
def test_a_log_that_an_unclean_election_cut_off_stops_its_table_and_no_other(
    cluster: KafkaCluster, figures: Figures, unique: str, tmp_path: Path
) -> None:
    cut, anew, well = (f"{unique}.{name}" for name in ("cut", "anew", "well"))  # topics and tables
    for topic in (cut, anew):
        cluster.create_topic_at(topic, [[1, 2]], UNCLEAN)
    cluster.create_topic_at(well, [[3, 1, 2]], SAFE)
    tables = [payloads_in(topic, topic) for topic in (cut, anew, well)]
    scenario = Scenario(tmp_path, unique, cluster.bootstrap, on_disk(tmp_path), tables)

    chance = random.Random(1)  # other records each time

    def more(topic: str, count: int) -> dict[tuple[str, int, int], bytes | None]:
        return produce(cluster.bootstrap, topic, [f"{topic} {chance.random()}".encode()] * count, 1)

    read = {topic: more(topic, 100) for topic in (cut, anew, well)}
    with Running(scenario.config) as run:
        run.wait_for_epoch()
        scenario.wait_until_at(run, {(topic, 0): 100 for topic in read})
        cluster.node(2).kill()
        wait_until(lambda: all(cluster.in_sync(topic) == [{1}] for topic in (cut, anew)), "behind", 300)
        for topic in read:
            read[topic] |= more(topic, 50)  # that node 2 will never know
        scenario.wait_until_at(run, {(topic, 0): 150 for topic in read})
        with asleep(run.pid):
            cluster.node(1).kill()
            cluster.start_nodes([2])
            wait_until(lambda: all(cluster.leaders(topic) == [2] for topic in (cut, anew)), "led by 2", 300)
            rewritten = more(anew, 80)
            assert min(rewritten) == (anew, 0, 100), "nothing was cut off"
            cluster.start()
            wait_until(
                lambda: all(cluster.in_sync(topic) == [{1, 2}] for topic in (cut, anew)), "in sync", 300
            )
            read[well] |= more(well, 30)
        run.wait_until(
            lambda: run.said("kafka.log_truncated") and run.said("kafka.log_rewritten"),
            "aware of it",
            PATIENCE_SECONDS,
        )
        read[well] |= more(well, 30)
        scenario.wait_until_at(run, {(well, 0): 210})
        assert run.terminate() == 143, run.tail()
        log = "\n".join(run.messages())
    assert f"{cut}-0 was read up to offset 150, but its log ends at 100: [100, 150) was truncated" in log
    assert f"{anew}-0 offset 149 was read with leader epoch" in log
    for topic in (cut, anew):  # nothing was read after it
        scenario.assert_exactly_once(read[topic], topic, ends={(topic, 0): 150})

    typed = dict.fromkeys(re.findall(r"kafka2hive recover --table \S+ (--accept-gap \S+)", log))
    assert len(typed) == 2, typed
    refused = command("recover", scenario.config, "--accept-gap", f"{cut}:0:99")
    assert refused.code == 76 and "kafka.log_truncated" in refused.log + refused.out, refused
    scenario.recover(*" ".join(typed).split())
    new = {topic: more(topic, 70) for topic in read}
    done = run_once(scenario.config)
    assert done.code == 0, done.log[-3000:]
    scenario.verify()
    # what was read before the log was cut off stays, and what stands at the same offsets now comes as well
    assert min(new[cut]) == (cut, 0, 100)
    assert rows_by_place(scenario.tree, scenario.location(cut)) == Counter(read[cut].items()) + Counter(
        new[cut].items()
    )
    # 50 records were written over offsets that had been read: they are lost, and the ledger says which were
    over = {place for place in rewritten if place[2] < 150}
    assert len(over) == 50
    read[anew] |= {place: value for place, value in rewritten.items() if place not in over} | new[anew]
    assert_same_bytes(scenario.tree, scenario.location(anew), read[anew])
    assert_same_bytes(scenario.tree, scenario.location(well), read[well] | new[well])
    gaps = {topic: ledger.newest()["gap"] for topic, ledger in scenario.ledgers.items()}
    assert [len(gaps[topic]) for topic in (cut, anew, well)] == [1, 1, 0]
    assert "[100, 150) had been read" in gaps[cut][0]["how"] and "149" in gaps[anew][0]["how"]
    figures(cut_off=50, written_over=len(over))
