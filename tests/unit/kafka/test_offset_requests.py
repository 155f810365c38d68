"""Where logs end, asked of librdkafka in requests of bounded size, one leader each, whose limit is not librdkafka's to keep."""

from collections.abc import Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, NamedTuple

from confluent_kafka import OFFSET_END

from kafka2hive.kafka.port import Watermark
from kafka2hive.kafka.requests import offsets_of, some_of
from kafka2hive.model.offsets import TopicPartition

SOCKET_TIMEOUT_SECONDS = 300
"""The longest that librdkafka accepts."""


class Offset(NamedTuple):
    offset: int
    leader_epoch: int | None = None


class Brokers:
    """An admin client of librdkafka: it answers a request only if none of its topic partitions is of the topic `silent`."""

    def __init__(self) -> None:
        self.calls: list[list[tuple[str, int]]] = []
        self.limits: list[float] = []

    def list_offsets(
        self, places: list[Any], *, request_timeout: float, **_: Any
    ) -> Future[Mapping[Any, Offset]]:
        self.calls.append([(place.topic, place.partition) for place in places])
        self.limits.append(request_timeout)
        future: Future[Mapping[Any, Offset]] = Future()
        if all(place.topic != "silent" for place in places):
            future.set_result({place: Offset(10 * place.partition) for place in places})
        return future


def leader_of(tp: TopicPartition) -> int:
    return {"silent": 1, "a": 2}.get(tp.topic, 3)


def test_a_silent_leader_withholds_no_other_leaders_answers() -> None:
    brokers = Brokers()
    asked = [TopicPartition(topic, number) for number in range(3) for topic in ("silent", "a", "b")]
    answers = offsets_of(brokers.list_offsets, dict.fromkeys(asked, OFFSET_END), 0.01, leader_of)
    assert set(answers) == set(asked)
    for tp, answer in answers.items():
        if tp.topic == "silent":
            assert isinstance(answer, FutureTimeout)
        else:
            assert isinstance(answer, Watermark) and answer.offset == 10 * tp.number
    assert [{topic for topic, _ in call} for call in brokers.calls] == [{"silent"}, {"a"}, {"b"}]


def test_requests_are_small_and_end_here_before_librdkafka_ends_them() -> None:
    brokers = Brokers()
    asked = dict.fromkeys((TopicPartition("a", number) for number in range(2500)), OFFSET_END)
    answers = offsets_of(brokers.list_offsets, asked, 1.0, leader_of)
    assert [len(call) for call in brokers.calls] == [1000, 1000, 500]
    assert len(answers) == 2500 and all(isinstance(answer, Watermark) for answer in answers.values())
    assert min(brokers.limits) > SOCKET_TIMEOUT_SECONDS


def test_a_line_of_the_log_names_a_few_topic_partitions_and_counts_the_others() -> None:
    many = [TopicPartition("a", number) for number in range(3005)]
    assert some_of(many) == "a-0, a-1, a-2, a-3, a-4 and 3,000 more"
    assert some_of(many[:5]) == "a-0, a-1, a-2, a-3, a-4"
