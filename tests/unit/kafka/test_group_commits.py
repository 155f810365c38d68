"""One consumer sets the offsets of a group while it succeeds; after a failure another consumer tries once."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, TypeAlias, cast

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaTopicPartition

from kafka2hive.config.keys import KafkaOptions
from kafka2hive.kafka import groups
from kafka2hive.kafka.groups import KafkaGroupCommits
from kafka2hive.model.offsets import TopicPartition

HERE = TopicPartition("t", 0)
AWAY = KafkaError(KafkaError._TRANSPORT)
OnCommit: TypeAlias = Callable[[KafkaError | None, Sequence[KafkaTopicPartition]], None]
Answer: TypeAlias = KafkaError | Exception | None


@dataclass
class Consumer:
    """A consumer that gives these answers, one to each commit; an exception is raised by the commit itself."""

    answers: list[Answer]
    on_commit: OnCommit
    committed: list[int] = field(default_factory=list)
    closed: bool = False

    def commit(self, offsets: Sequence[KafkaTopicPartition], asynchronous: bool) -> None:
        assert asynchronous and not self.closed
        if isinstance(answer := self.answers[0], Exception):
            raise answer
        self.committed.append(offsets[0].offset)

    def poll(self, seconds: float) -> None:
        answer = self.answers.pop(0)
        assert not isinstance(answer, Exception)
        self.on_commit(answer, [])

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def opened() -> list[Consumer]:
    """Return the list of opened consumers."""
    return []


def commits_of(
    monkeypatch: pytest.MonkeyPatch, opened: list[Consumer], *answers: list[Answer]
) -> KafkaGroupCommits:
    """Return commits whose consumers give these answers, one after another."""
    left = iter(answers)

    def reader(_options: object, _seconds: float, _heard: object, more: Mapping[str, Any]) -> Consumer:
        assert more["group.id"] == "g"
        opened.append(Consumer(next(left), more["on_commit"]))
        return opened[-1]

    monkeypatch.setattr(groups, "reader", reader)
    return KafkaGroupCommits(KafkaOptions((("bootstrap.servers", "h:1"),), "g"), "g", 30.0)


def test_one_consumer_sets_them_all_and_is_closed_at_the_end(
    monkeypatch: pytest.MonkeyPatch, opened: list[Consumer]
) -> None:
    with commits_of(monkeypatch, opened, [None, None, None]) as commits:
        assert all(commits.commit({HERE: offset}) for offset in (1, 2, 3))
        assert not opened[0].closed
    assert [(one.committed, one.closed) for one in opened] == [([1, 2, 3], True)]


@pytest.mark.parametrize("trouble", [AWAY, KafkaException(AWAY)])
def test_what_a_kept_consumer_fails_at_is_set_by_another(
    monkeypatch: pytest.MonkeyPatch, opened: list[Consumer], caplog: pytest.LogCaptureFixture, trouble: Answer
) -> None:
    commits = commits_of(monkeypatch, opened, [None, trouble], [None, None])
    assert commits.commit({HERE: 1}) and commits.commit({HERE: 2}) and commits.commit({HERE: 3})
    assert [one.closed for one in opened] == [True, False]
    assert opened[1].committed == [2, 3]
    assert caplog.text == ""


@pytest.mark.parametrize("trouble", [AWAY, KafkaException(AWAY)])
def test_what_a_new_consumer_fails_at_is_a_warning_and_the_next_one_begins_anew(
    monkeypatch: pytest.MonkeyPatch, opened: list[Consumer], caplog: pytest.LogCaptureFixture, trouble: Answer
) -> None:
    commits = commits_of(monkeypatch, opened, [trouble], [None, AWAY], [AWAY], [None])
    told = "offsets of group g not set, so lag tools are behind: "
    with caplog.at_level(logging.WARNING):
        assert not commits.commit({HERE: 1})
        assert caplog.text.count(told) == 1
        assert commits.commit({HERE: 2})
        assert not commits.commit({HERE: 3})  # by two
        assert caplog.text.count(told) == 2
        assert commits.commit({HERE: 4})
    assert [one.closed for one in opened] == [True, True, True, False]


def test_nothing_to_set_asks_nobody(monkeypatch: pytest.MonkeyPatch, opened: list[Consumer]) -> None:
    assert commits_of(monkeypatch, opened).commit({}) and opened == []


def test_what_kafka_does_not_take_is_one_line_until_it_changes(
    monkeypatch: pytest.MonkeyPatch, opened: list[Consumer], caplog: pytest.LogCaptureFixture
) -> None:
    class Refusing(Consumer):
        refuses = True

        def poll(self, seconds: float) -> None:
            error = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART) if Refusing.refuses else None
            places = [SimpleNamespace(topic="t", partition=number, error=error) for number in range(18)]
            self.on_commit(None, cast(list[KafkaTopicPartition], places))

    def reader(_options: object, _seconds: float, _heard: object, more: Mapping[str, Any]) -> Consumer:
        return Refusing([None], more["on_commit"])

    monkeypatch.setattr(groups, "reader", reader)
    commits = KafkaGroupCommits(KafkaOptions((("bootstrap.servers", "h:1"),), "g"), "g", 30.0)
    with caplog.at_level(logging.INFO):
        assert not any(commits.commit({HERE: offset}) for offset in (1, 2, 3))
        assert [r.getMessage().partition(", the first")[0] for r in caplog.records] == [
            "offsets of group g not set for 18 topic partitions"
        ]
        Refusing.refuses = False
        assert commits.commit({HERE: 4}) and commits.commit({HERE: 5})
    assert [r.getMessage() for r in caplog.records[1:]] == ["offsets of group g are set again"]
