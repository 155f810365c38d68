"""Leader epochs of single records: answers, refusals, and topic partitions that must not be awaited."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from confluent_kafka import KafkaError
from confluent_kafka import TopicPartition as KafkaTopicPartition

from kafka2hive.kafka.leader_epochs import read_epochs
from kafka2hive.model.offsets import TopicPartition

GOOD, FORBIDDEN, SILENT = (TopicPartition("t", number) for number in range(3))


@dataclass(frozen=True, slots=True)
class Message:
    """A record of epoch 7, or an error."""

    place: TopicPartition
    at: int
    fault: KafkaError | None = None

    def topic(self) -> str:
        return self.place.topic

    def partition(self) -> int:
        return self.place.number

    def offset(self) -> int:
        return self.at

    def leader_epoch(self) -> int:
        return 7

    def error(self) -> KafkaError | None:
        return self.fault


@dataclass
class Reader:
    """A consumer that returns these messages once, then none."""

    messages: list[Message]
    unassigned: set[int] = field(default_factory=set)

    def assign(self, _places: Sequence[KafkaTopicPartition]) -> None:
        pass

    def consume(self, count: int, seconds: float) -> list[Message]:
        if not self.messages:
            time.sleep(seconds)
        given, self.messages = self.messages[:count], self.messages[count:]
        return given

    def incremental_unassign(self, places: Sequence[KafkaTopicPartition]) -> None:
        self.unassigned |= {place.partition for place in places}

    def unassign(self) -> None:
        pass


def refused(place: TopicPartition) -> Message:
    return Message(place, 0, KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))


def test_what_the_client_may_not_read_is_not_waited_for() -> None:
    reader = Reader([refused(FORBIDDEN), Message(GOOD, 3)])
    began = time.monotonic()
    answers = read_epochs(reader, {GOOD: 3, FORBIDDEN: 3}, 30.0)
    assert answers.epochs == {GOOD: 7} and set(answers.failures) == {FORBIDDEN}
    assert time.monotonic() - began < 10 and reader.unassigned == {0, 1}


def test_who_does_not_answer_in_time_is_left_out() -> None:
    answers = read_epochs(Reader([Message(GOOD, 4)]), {GOOD: 3, SILENT: 3}, 0.3)
    assert answers.epochs == {GOOD: None}, "the record asked for is gone, the one behind it says nothing"
    assert answers.failures == {SILENT: "no answer in time"}
