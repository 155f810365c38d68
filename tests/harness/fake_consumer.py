"""A Kafka client in memory behind the task's port: topic partitions as values, with gaps, and ends of the log."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, Message
from confluent_kafka import TopicPartition as Assignment

from kafka2hive.model.errors import AccessRefused
from kafka2hive.task.fetch.records import MessageBatch

Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class FakeLog:
    """Records by offset (None: a tombstone); offsets without one were compacted away, up to `end`.

    `grows_at`: the log seems to end there until that end was reported once. A record of offset n has the timestamp
    `first_ms` + n, unless `times` has another (-1: no timestamp), and the leader epoch that `leader_epochs` names at the highest
    offset up to its own.
    """

    records: Mapping[int, bytes | None]
    end: int
    grows_at: int | None = None
    first_ms: int = 1_000
    leader_epochs: Mapping[int, int] = field(default_factory=dict)
    keys: Mapping[int, bytes | None] = field(default_factory=dict)
    headers: Mapping[int, list[tuple[str, bytes | None]]] = field(default_factory=dict)
    times: Mapping[int, int] = field(default_factory=dict)

    def message(self, key: Key, offset: int) -> Message:
        epochs = [epoch for start, epoch in sorted(self.leader_epochs.items()) if start <= offset]
        return Message(
            topic=key[0],
            partition=key[1],
            offset=offset,
            value=self.records[offset],
            key=self.keys.get(offset, b"k"),
            headers=self.headers.get(offset),
            timestamp=(1, self.times.get(offset, self.first_ms + offset)),
            leader_epoch=epochs[-1] if epochs else -1,
        )


def log_of(*offsets: int, end: int | None = None, **more: Any) -> FakeLog:
    """Records with their offset as value."""
    last = max(offsets, default=-1) + 1
    return FakeLog({offset: b"%d" % offset for offset in offsets}, last if end is None else end, **more)


class FakeConsumer:
    """See ConsumerPort. Hands out `at_once` messages of a topic partition, then as many of the next one.

    A subclass spoils what `handed` gives.
    """

    def __init__(self, logs: Mapping[Key, FakeLog], at_once: int = 7) -> None:
        self.last_error = ""
        self.complaints: dict[str, KafkaError] = {}
        self.longest_delay = 0.0
        self.logs = dict(logs)
        self._offsets = {key: sorted(log.records) for key, log in logs.items()}
        self._at_once = at_once
        self._assigned: dict[Key, int] = {}
        self._next: dict[Key, int] = {}
        self._position: dict[Key, int] = {}
        self._reported: dict[Key, int] = {}
        self._seemed: set[Key] = set()
        self._grown: set[Key] = set()

    def refusal(self, since: float, *, certain: bool) -> AccessRefused | None:
        return None

    def assign(self, assignments: list[Assignment]) -> None:
        self._assigned = {(a.topic, a.partition): a.offset for a in assignments}
        self._next = dict(self._assigned)
        self._position = {}
        self._reported = {}

    def assignment(self) -> list[Assignment]:
        return [Assignment(topic, number, offset) for (topic, number), offset in self._assigned.items()]

    def incremental_unassign(self, assignments: list[Assignment]) -> None:
        for one in assignments:
            del self._assigned[one.topic, one.partition]
            self._position.pop((one.topic, one.partition), None)

    def unassign(self) -> None:
        self._assigned = {}
        self._position = {}

    def position(self, assignments: list[Assignment]) -> list[Assignment]:
        return [
            Assignment(a.topic, a.partition, self._position.get((a.topic, a.partition), -1001))
            for a in assignments
        ]

    def consume(self, count: int, seconds: float) -> MessageBatch:
        return MessageBatch(self.given(count))

    def given(self, count: int) -> list[Any]:
        """Twice around, as far as `count` goes: a delivery mixes topic partitions."""
        given: list[Any] = []
        self._grown = set(self._seemed)
        for key in [*self._assigned, *self._assigned]:
            messages = self.handed(key, self._some(key, min(count - len(given), self._at_once)))
            for message in messages:
                if message.error() is None:
                    self._position[message.topic(), message.partition()] = message.offset() + 1
            given += messages
        return given

    def handed(self, key: Key, messages: list[Any]) -> list[Any]:
        return messages

    def _some(self, key: Key, count: int) -> list[Any]:
        log = self.logs[key]
        end = log.end if log.grows_at is None or key in self._grown else log.grows_at
        if count < 1:
            return []
        first = bisect_left(self._offsets[key], self._next[key])
        if offsets := [offset for offset in self._offsets[key][first : first + count] if offset < end]:
            self._next[key] = offsets[-1] + 1
            return [log.message(key, offset) for offset in offsets]
        if self._reported.get(key) == end:
            return []
        self._reported[key] = self._next[key] = end
        if log.grows_at == end:
            self._seemed.add(key)
        text = b"Broker: No more messages"
        return [
            Message(
                topic=key[0],
                partition=key[1],
                offset=end,
                value=text,
                error=KafkaError(KafkaError._PARTITION_EOF),
            )
        ]
