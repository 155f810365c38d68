"""kafka2hive.kafka against a real broker: ids, watermarks, groups, what is gone, and a broker that hangs."""

import gc
import sys
import time
from collections.abc import Callable
from typing import TypeVar

import psutil
import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as KafkaTopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from kafka2hive.config.keys import KafkaOptions, StartKind, StartPolicy
from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.kafka.positions import (
    GapAcceptance,
    Halt,
    Logs,
    PositionsToCommit,
    Resume,
    TableIntent,
    decide,
)
from kafka2hive.model.errors import ConfigError, ServiceUnavailable
from kafka2hive.model.offsets import OffsetRange, Position, TopicPartition
from tests.harness.values import snapshot
from tests.harness.waiting import wait_until
from tests.services.kafka_broker import KafkaBroker

Answer = TypeVar("Answer")


def _eventually(ask: Callable[[], Answer], seconds: float = 240.0) -> Answer:
    """The first answer: a broker that has just begun, or woken up, may be late, or lead nothing for a moment."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return ask()
        except (ServiceUnavailable, KeyError):
            assert time.monotonic() < deadline, "no answer"
            time.sleep(0.1)


def _admin(broker: KafkaBroker, seconds: float = 120.0) -> KafkaAdmin:
    return KafkaAdmin(
        KafkaOptions((("bootstrap.servers", broker.bootstrap), ("fetch.min.bytes", "1")), "g"), seconds
    )


def _produce(broker: KafkaBroker, topic: str, count: int, number: int = 0) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for n in range(count):
        producer.produce(topic, f"{n}", partition=number, timestamp=1_000 + n)
    assert producer.flush(300) == 0


def _logs(admin: KafkaAdmin, topic: str) -> Logs:
    cluster = admin.cluster()
    topic_partitions = cluster.topics[topic].topic_partitions()
    return Logs(cluster, admin.earliest(topic_partitions), admin.latest(topic_partitions))


def _delete_before(broker: KafkaBroker, topic: str, offset: int) -> None:
    admin = broker.admin()
    for future in admin.delete_records([KafkaTopicPartition(topic, 0, offset)]).values():
        future.result(120)


def test_the_cluster_says_its_id_and_its_topics_with_ids_but_no_internal_ones(
    kafka: KafkaBroker, unique: str
) -> None:
    kafka.create_topic(unique, partitions=3)
    admin = _admin(kafka)
    assert admin.commit_group_offsets(unique, {TopicPartition(unique, 0): 0})  # makes __consumer_offsets
    cluster = admin.cluster()
    view = cluster.topics[unique]
    assert cluster.cluster_id not in ("", "-") and view.partitions == (0, 1, 2) and len(view.id) == 22
    assert not any(name.startswith("__") for name in cluster.topics)
    kafka.add_partitions(unique, 4)
    assert admin.cluster().topics[unique] == type(view)(unique, view.id, (0, 1, 2, 3))


def test_descriptions_of_topics_leave_nothing_in_memory(kafka: KafkaBroker, unique: str) -> None:
    """A service asks every 15 s: with one object per topic and answer it would grow by gigabytes a day."""
    topics, requests = 20, 100
    for number in range(topics):
        kafka.create_topic(f"{unique}-{number}")
    admin = _admin(kafka)
    blocks = []
    for count in (10, requests):
        for _ in range(count):
            admin.cluster()
        gc.collect()
        blocks.append(sys.getallocatedblocks())
    assert blocks[1] - blocks[0] < topics * requests / 2


def test_watermarks_are_those_a_reader_of_committed_records_sees(kafka: KafkaBroker, unique: str) -> None:
    kafka.create_topic(unique, partitions=2)
    _produce(kafka, unique, 10)
    zero, one, missing = TopicPartition(unique, 0), TopicPartition(unique, 1), TopicPartition(unique, 9)
    admin = _admin(kafka)
    wait_until(lambda: {zero, one} <= admin.latest([zero, one]).keys(), "led")
    latest = admin.latest([zero, one, missing, TopicPartition("no_such_topic", 0)])
    assert {tp: mark.offset for tp, mark in latest.items()} == {zero: 10, one: 0}
    assert {mark.leader_epoch for mark in latest.values()} == {0}
    _delete_before(kafka, unique, 4)
    assert {tp: mark.offset for tp, mark in admin.earliest([zero, one]).items()} == {zero: 4, one: 0}
    at = admin.offsets_for_times([zero, one], 1_006)
    assert {tp: mark.offset for tp, mark in at.items()} == {zero: 6, one: -1}


def test_a_topic_that_was_missing_is_answered_for_once_it_is_made(kafka: KafkaBroker, unique: str) -> None:
    admin, there, tp = _admin(kafka), TopicPartition(unique, 0), TopicPartition(f"{unique}-later", 0)
    kafka.create_topic(unique)
    assert _eventually(lambda: admin.latest([there, tp])[there]).offset == 0
    kafka.create_topic(tp.topic)
    assert _eventually(lambda: admin.latest([there, tp])[tp]).offset == 0


def test_an_open_transaction_holds_the_end_back(kafka: KafkaBroker, unique: str) -> None:
    kafka.create_topic(unique)
    _produce(kafka, unique, 3)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": unique})
    producer.init_transactions(300)
    producer.begin_transaction()
    producer.produce(unique, b"open", partition=0)
    assert producer.flush(300) == 0
    tp = TopicPartition(unique, 0)
    assert _admin(kafka).latest([tp])[tp].offset == 3
    producer.commit_transaction(300)
    # the coordinator writes the marker after it has answered
    wait_until(lambda: _admin(kafka).latest([tp])[tp].offset >= 5, "behind the marker", 300)
    assert _admin(kafka).latest([tp])[tp].offset == 5, "the record and the transaction's marker"
    assert _admin(kafka).record_epochs({(tp, 3)}) == {(tp, 3): 0}
    assert _admin(kafka).record_epochs({(tp, 4)}) == {(tp, 4): None}, "a marker is no record"


def test_group_offsets_are_set_and_read_without_a_member(kafka: KafkaBroker, unique: str) -> None:
    kafka.create_topic(unique, partitions=2)
    zero, one = TopicPartition(unique, 0), TopicPartition(unique, 1)
    admin = _admin(kafka)
    assert admin.group_offsets(unique, [zero, one]) == {}
    assert admin.commit_group_offsets(unique, {zero: 7})
    assert admin.group_offsets(unique, [zero, one]) == {zero: 7}
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": unique})
    assert [tp.offset for tp in consumer.committed([KafkaTopicPartition(unique, 0)], timeout=120)] == [7]
    consumer.close()


def test_group_offsets_that_cannot_be_set_are_only_a_warning(
    kafka: KafkaBroker, unique: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert not _admin(kafka).commit_group_offsets(unique, {TopicPartition("no_such_topic", 0): 1})
    assert "no_such_topic-0" in caplog.text


def test_one_client_sets_a_groups_offsets_again_and_again_also_after_its_broker_was_away(
    kafka_to_kill: KafkaBroker, unique: str, caplog: pytest.LogCaptureFixture
) -> None:
    broker, tp = kafka_to_kill, TopicPartition(unique, 0)
    broker.create_topic(unique)
    port = int(broker.bootstrap.rpartition(":")[2])

    def connections() -> set[int]:
        """Our ends of this process's connections to the broker."""
        found = psutil.Process().net_connections("tcp")
        return {at.laddr.port for at in found if at.raddr and at.raddr.port == port}

    admin = _admin(broker, seconds=120.0)  # a broker that has just begun loads the group first
    assert _eventually(lambda: admin.latest([tp])[tp]).offset == 0
    others = connections()
    with admin.group_commits(unique) as commits:
        assert commits.commit({tp: 1})
        kept = connections() - others
        assert kept, "nothing is kept"
        assert commits.commit({tp: 2}) and kept <= connections()
        broker.kill()
        broker.start()
        assert commits.commit({tp: 3})
        assert "not set" not in caplog.text
    assert admin.group_offsets(unique, [tp]) == {tp: 3}
    assert not connections() & kept


def test_leader_epochs_of_records_are_read_only_where_the_records_are(
    kafka: KafkaBroker, unique: str
) -> None:
    kafka.create_topic(unique, 700)  # more than one reader asks for at a time
    for number in range(5):
        _produce(kafka, unique, 3, number)
    _delete_before(kafka, unique, 1)
    admin, gone = _admin(kafka), TopicPartition(unique, 700)
    offsets = {TopicPartition(unique, n): n for n in range(5)}
    offsets |= {TopicPartition(unique, n): 0 for n in range(5, 700)} | {TopicPartition(unique, 4): 99}
    epochs = {tp: None if tp.number in (0, 3, 4) or tp.number > 4 else 0 for tp in offsets}
    asked = {**offsets, gone: 0, TopicPartition("no_such_topic", 0): 0}.items()
    assert admin.record_epochs(asked) == {(tp, offsets[tp]): epoch for tp, epoch in epochs.items()}
    assert admin.record_epochs({(gone, 0)}) == {}
    assert admin.record_epochs(()) == {}


def test_a_topic_partition_is_asked_at_the_offsets_of_all_its_tables(kafka: KafkaBroker, unique: str) -> None:
    kafka.create_topic(unique, 2)
    for number in range(2):
        _produce(kafka, unique, 40, number)
    _delete_before(kafka, unique, 10)
    zero, one = TopicPartition(unique, 0), TopicPartition(unique, 1)
    asked = {(zero, at) for at in range(0, 40, 5)} | {(one, 39), (one, 40)}
    epochs = {(tp, at): None if at == 40 or (tp == zero and at < 10) else 0 for tp, at in asked}
    assert _admin(kafka).record_epochs(asked) == epochs


def test_a_topic_that_may_not_be_read_is_left_out_at_once(kafka_to_kill: KafkaBroker, unique: str) -> None:
    broker, forbidden = kafka_to_kill, f"{unique}_forbidden"
    for topic in (unique, forbidden):
        broker.create_topic(topic)
        _produce(broker, topic, 2)
    only_seen = AclBinding(
        *(ResourceType.TOPIC, forbidden, ResourcePatternType.LITERAL, "User:*", "*"),
        *(AclOperation.DESCRIBE, AclPermissionType.ALLOW),
    )
    clients = broker.admin()
    for future in clients.create_acls([only_seen]).values():
        future.result(120)
    admin = _admin(broker)
    here, there = (TopicPartition(unique, 0), 1), (TopicPartition(forbidden, 0), 1)
    wait_until(lambda: there not in admin.record_epochs({here, there}), "forbidden")  # rights take a moment
    began = time.monotonic()
    assert admin.record_epochs({here, there}) == {here: 0}
    with pytest.raises(ServiceUnavailable, match="authorization"):
        admin.record_epochs({there})
    assert time.monotonic() - began < 100, "it waited for the time limit of 120 s"


def test_a_topic_made_again_stops_its_table_until_a_person_accepts(kafka: KafkaBroker, unique: str) -> None:
    kafka.create_topic(unique, partitions=2)
    _produce(kafka, unique, 5)
    admin, intent = _admin(kafka), TableIntent((unique,), StartPolicy(StartKind.EARLIEST))
    before = _logs(admin, unique)
    state = snapshot(cluster_id=before.cluster.cluster_id)
    first = decide(state, before, intent)
    assert isinstance(first, PositionsToCommit)
    positions = tuple(
        Position(p.topic_partition, 0, 5 * (p.topic_partition.number == 0), p.topic_id)
        for p in first.positions
    )
    state = snapshot(epoch=2, cluster_id=before.cluster.cluster_id, positions=positions)
    assert decide(state, before, intent) == Resume(
        (OffsetRange(TopicPartition(unique, 0), 5, 5), OffsetRange(TopicPartition(unique, 1), 0, 0))
    )
    kafka.delete_topic(unique)
    assert isinstance(decide(state, _logs_without(admin, before, unique), intent), Resume), (
        "a vanished topic only warns"
    )
    kafka.create_topic(unique, partitions=1)
    _produce(kafka, unique, 9)
    again = decide(state, _logs(admin, unique), intent)
    assert isinstance(again, Halt) and [p.code for p in again.problems] == ["kafka.topic_recreated"]
    accepted = TableIntent((unique,), intent.start, acceptances=(GapAcceptance.parse(f"{unique}:*"),))
    anew = decide(state, _logs(admin, unique), accepted)
    assert isinstance(anew, PositionsToCommit) and {p.end for p in anew.positions} == {0}


def _logs_without(admin: KafkaAdmin, before: Logs, topic: str) -> Logs:
    """What Kafka holds once the deletion has been done."""
    wait_until(lambda: topic not in admin.cluster().topics, f"rid of {topic}")
    return Logs(admin.cluster(), admin.earliest(before.earliest), admin.latest(before.latest))


def test_records_that_kafka_dropped_unread_stop_the_table_with_the_exact_range(
    kafka: KafkaBroker, unique: str
) -> None:
    kafka.create_topic(unique)
    _produce(kafka, unique, 10)
    _delete_before(kafka, unique, 6)
    logs = _logs(_admin(kafka), unique)
    tp = TopicPartition(unique, 0)
    state = snapshot(positions=(Position(tp, 0, 2, logs.cluster.topics[unique].id),))
    decision = decide(state, logs, TableIntent((unique,), StartPolicy(StartKind.LATEST)))
    assert isinstance(decision, Halt) and decision.problems[0].range == OffsetRange(tp, 2, 6)


def test_nobody_waits_for_a_broker_that_hangs(kafka_to_kill: KafkaBroker, unique: str) -> None:
    broker = kafka_to_kill
    broker.create_topic(unique)
    _produce(broker, unique, 2)
    tp = TopicPartition(unique, 0)
    admin = _admin(broker, seconds=2.0)
    assert _eventually(lambda: admin.latest([tp])[tp]).offset == 2
    broker.service.suspend()
    try:
        for ask in (
            admin.cluster,
            lambda: admin.latest([tp]),
            lambda: admin.group_offsets("g", [tp]),
            lambda: admin.record_epochs({(tp, 0)}),
            _admin(broker, seconds=2.0).cluster,
        ):
            began = time.monotonic()
            with pytest.raises(ServiceUnavailable, match=broker.bootstrap) as raised:
                ask()
            assert raised.value.code == "kafka.unavailable" and time.monotonic() - began < 50
        began = time.monotonic()
        assert not admin.commit_group_offsets("g", {tp: 1})
        assert time.monotonic() - began < 50
    finally:
        broker.service.resume()
    assert _eventually(lambda: _admin(broker).latest([tp])[tp]).offset == 2, "the broker itself"
    assert _eventually(lambda: admin.latest([tp])[tp]).offset == 2, "the client that was there before"


def test_properties_that_librdkafka_refuses_are_the_maps_fault_and_no_secret_is_told() -> None:
    properties = (
        ("bootstrap.servers", "127.0.0.1:1"),
        ("ssl.key.password", "hush"),
        ("security.protocol", "hush"),
    )
    with pytest.raises(ConfigError) as raised:
        KafkaAdmin(KafkaOptions(properties, "g")).cluster()
    assert raised.value.code == "kafka.properties" and "security.protocol" in str(raised.value)
    assert "hush" not in str(raised.value)


def test_the_demos_mock_broker_is_served_without_topic_ids() -> None:
    mock = Producer({"bootstrap.servers": "mock", "test.mock.num.brokers": 1, "log_level": 0})
    brokers = mock.list_topics("t", timeout=60).brokers.values()
    mock.produce("t", b"x", partition=0)
    assert mock.flush(300) == 0
    bootstrap = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    admin = KafkaAdmin(KafkaOptions((("bootstrap.servers", bootstrap),), "g"), 120.0)
    began = time.monotonic()
    view = admin.cluster().topics["t"]
    assert view.id == "-" and time.monotonic() - began < 60
    tp = TopicPartition("t", 0)
    assert admin.latest([tp])[tp].offset == 1 and admin.earliest([tp])[tp].offset == 0
    assert admin.commit_group_offsets("g", {tp: 1}) and admin.record_epochs({(tp, 0)}) == {(tp, 0): 0}
