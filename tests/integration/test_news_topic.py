"""A topic of a real Kafka as a receiver of news: keys, events, and named errors of a topic or a broker that is not there."""

import json
from typing import Any

import pytest
from confluent_kafka import Consumer

from kafka2hive.config.keys import KafkaOptions, NewsReceiver
from kafka2hive.kafka.producer import TopicProducer
from kafka2hive.ledger.news import News, NewsKind
from kafka2hive.model.files import HivePartition
from kafka2hive.service.news.outbox import NotTaken
from kafka2hive.service.news.topic import TopicReceiver
from tests.services.kafka_broker import KafkaBroker

DAY = HivePartition("air.flights", "dt=2026-11-21", "file:///w/dt=2026-11-21")


def _news(epoch: int) -> News:
    return News(
        kind=NewsKind.COMPLETE,
        ledger_id="6b1f0c52",
        table="air.flights",
        epoch=epoch,
        at="2026-11-22T01:05:42Z",
        subject=DAY.path,
        partition=DAY,
        facts={"rows": epoch},
    )


def _receiver(bootstrap: str, topic: str) -> TopicReceiver:
    options = KafkaOptions((("bootstrap.servers", bootstrap),), "group", commit_group=False)
    return TopicReceiver(NewsReceiver(name="bus", topic=topic), topic, TopicProducer(options))


def _messages(bootstrap: str, topic: str, count: int) -> list[Any]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    try:
        messages: list[Any] = consumer.consume(count, 60)
        return messages
    finally:
        consumer.close()


def test_news_are_events_in_a_topic_in_order_for_each_partition(kafka: KafkaBroker, unique: str) -> None:
    kafka.create_topic(unique, 3)
    receiver = _receiver(kafka.bootstrap, unique)
    for epoch in (1, 2, 3):
        receiver.tell(_news(epoch))
    receiver.close()
    messages = _messages(kafka.bootstrap, unique, 3)
    assert [json.loads(message.value())["data"]["rows"] for message in messages] == [1, 2, 3]
    assert {message.key() for message in messages} == {b"air.flights/dt=2026-11-21"}
    assert dict(messages[0].headers())["content-type"].startswith(b"application/cloudevents+json")


def test_a_topic_that_is_not_there_and_a_broker_that_is_away_are_named(
    kafka: KafkaBroker, unique: str
) -> None:
    with pytest.raises(NotTaken) as missing:
        _receiver(kafka.bootstrap, f"{unique}-not-there").tell(_news(1))
    assert missing.value.code == "news.topic" and missing.value.of_table
    with pytest.raises(NotTaken) as away:
        _receiver("127.0.0.1:9", unique).tell(_news(1))
    assert away.value.code == "kafka.unavailable" and not away.value.of_table
