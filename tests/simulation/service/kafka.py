"""Kafka as the simulation sees it: logs that only grow until they are told to rest, transactions that stay open, and
questions that take time or are not answered.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from random import Random
from typing import TypeVar

from kafka2hive.kafka.port import (
    ClusterView,
    GroupCommits,
    RecordAddress,
    TopicSettings,
    TopicView,
    Watermark,
)
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.offsets import TopicPartition
from tests.simulation.service.maps import TOPIC_PARTITIONS, TOPICS
from tests.simulation.world import World

Answer = TypeVar("Answer")


class Cluster:
    """What all drivers see. `growing` False: nobody produces any more, and every transaction is over.

    `ends` are high watermarks. `now_ms` is the wall clock of everybody: it goes on with every call of a port, and while
    somebody sleeps. `numbers` are the partitions of each topic, `gone` the topics that are not there.
    `open`: topic partitions with an open transaction, its first offset and when it will be over.
    `most_partitions`: as long as there are fewer, one may be born while a listing of topics is on its way.
    What a transaction wrote has offsets of its own; whether it was committed or aborted shows in records that are absent.
    """

    def __init__(self, seed: int = 0) -> None:
        self.begins = dict.fromkeys(TOPIC_PARTITIONS, 0)
        self.ends = dict.fromkeys(TOPIC_PARTITIONS, 0)
        self.numbers = dict(TOPICS)
        self.gone: set[str] = set()
        self.ids = {topic: f"id-{topic}" for topic in TOPICS}
        self.growing = True
        self.now_ms = 0
        self.grown: dict[TopicPartition, list[tuple[int, int]]] = {tp: [] for tp in TOPIC_PARTITIONS}
        self.open: dict[TopicPartition, tuple[int, int]] = {}
        self.held_until_ms = -1
        self.most_partitions = 0
        self._drawn = Random(f"time {seed}")
        """Of its own: what time it is changes no other choice of a schedule."""

    def rest(self) -> None:
        """Nobody produces any more."""
        self.growing = False
        self.open.clear()

    def pass_time(self, ms: int) -> None:
        """Producers end their transactions when their time has come."""
        self.now_ms += ms
        if self.open:
            self.held_until_ms = self.now_ms
            self.open = {
                tp: (first, until) for tp, (first, until) in self.open.items() if until > self.now_ms
            }

    def a_call(self, long: float = 0.005) -> int:
        """Milliseconds that a call takes: few, seconds now and then."""
        drawn = self._drawn
        return drawn.randrange(1000, 20_000) if drawn.random() < long else drawn.randrange(60)

    def grow(self, tp: TopicPartition, records: int) -> None:
        """Records are acknowledged now; the first of them may begin a transaction, which often outlasts several looks."""
        drawn = self._drawn
        if self.growing and records and tp not in self.open and drawn.random() < 0.08:
            hangs = drawn.random() < 0.5
            self.open[tp] = self.ends[tp], self.now_ms + drawn.randrange(500, 500_000 if hangs else 30_000)
        self.ends[tp] += records
        self.grown[tp].append((self.now_ms, self.ends[tp]))

    def bear(self) -> bool:
        """A partition that a listing does not have, and records in it, while the listing is on its way."""
        fewer = sum(map(len, self.numbers.values())) < self.most_partitions
        if not (fewer and self.growing and self._drawn.random() < 0.05):
            return False
        topic = ("ta", "tb")[self._drawn.randrange(2)]
        self.add_partition(topic)
        self.grow(TopicPartition(topic, self.numbers[topic][-1]), 1 + self._drawn.randrange(3))
        return True

    def stable(self, tp: TopicPartition) -> int:
        """How far readers of committed records get."""
        return self.open[tp][0] if tp in self.open else self.ends[tp]

    def end_at(self, tp: TopicPartition, ms: int) -> int:
        """Where the log ended at this time, by what was acknowledged."""
        return max((end for arrived, end in self.grown[tp] if arrived <= ms), default=0)

    def topic_partitions(self, topics: Collection[str]) -> list[TopicPartition]:
        return [TopicPartition(topic, n) for topic in TOPICS if topic in topics for n in self.numbers[topic]]

    def add_partition(self, topic: str) -> None:
        """Its number is no other topic's, so that a record's id needs no topic; it begins at offset 0."""
        tp = TopicPartition(topic, 1 + max(n for numbers in self.numbers.values() for n in numbers))
        self.numbers[topic] += (tp.number,)
        self.begins[tp] = self.ends[tp] = 0
        self.grown[tp] = []

    def recreate(self, topic: str) -> None:
        """Another topic of this name: with another id, and empty."""
        self.ids[topic] += "-again"
        for tp in self.topic_partitions((topic,)):
            self.begins[tp] = self.ends[tp] = 0
            self.grown[tp].clear()
            self.open.pop(tp, None)

    def view(self) -> ClusterView:
        return ClusterView(
            "cluster",
            {
                topic: TopicView(topic, self.ids[topic], numbers)
                for topic, numbers in self.numbers.items()
                if topic not in self.gone
            },
        )


class SimulatedKafka:
    """The Kafka port of one driver; `failed` hears of each question without an answer.

    `first_ends`: where each log ended when this driver first heard of it, by high watermark; `first_view`: the topics as it
    heard of them first. `passes`: its clock goes on.
    """

    def __init__(
        self,
        world: World,
        cluster: Cluster,
        failed: Callable[[], None],
        passes: Callable[[int], None] = lambda ms: None,
    ) -> None:
        self._world = world
        self._cluster = cluster
        self._failed = failed
        self._passes = passes
        self.first_ends: dict[TopicPartition, int] = {}
        self.first_view: ClusterView | None = None

    def cluster(self, wanted: Callable[[str], bool] = lambda topic: True) -> ClusterView:
        self._ask()
        view = self._cluster.view()
        self.first_view = self.first_view or view
        self._world.count["partition born during a listing"] += self._cluster.bear()
        return self._answered(view)

    def earliest(self, topic_partitions: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        self._ask()
        return {tp: Watermark(self._cluster.begins[tp], 0) for tp in sorted(topic_partitions)}

    def latest(self, topic_partitions: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        self._ask()
        answers = {}
        for tp in sorted(topic_partitions):
            if self._cluster.growing:
                self._cluster.grow(tp, self._world.below(5))
            if self._world.rates.read_fails and self._world.random() < self._world.rates.read_fails:
                self._failed()  # this one is left out
            else:
                answers[tp] = Watermark(self._cluster.stable(tp), 0)
        return self._answered(answers)

    def high_watermarks(
        self, topic_partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, Watermark]:
        """Also what was acknowledged since the stable offsets were asked for."""
        self._ask()
        answers = {}
        for tp in sorted(topic_partitions):
            if self._world.rates.read_fails and self._world.random() < self._world.rates.read_fails:
                self._failed()
            else:
                answers[tp] = Watermark(self._cluster.ends[tp], 0)
                self.first_ends.setdefault(tp, self._cluster.ends[tp])
        return self._answered(answers)

    def offsets_for_times(
        self, topic_partitions: Collection[TopicPartition], timestamp_ms: int
    ) -> dict[TopicPartition, Watermark]:
        self._ask()
        return {tp: Watermark(0, 0) for tp in sorted(topic_partitions)}

    def group_offsets(
        self, group: str, topic_partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, int]:
        return {}

    def commit_group_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> bool:
        raise AssertionError("the simulation's maps commit no group")

    def group_commits(self, group: str) -> AbstractContextManager[GroupCommits]:
        raise AssertionError("the simulation's maps commit no group")

    def topic_settings(self, cluster: ClusterView, topics: Collection[str]) -> dict[str, TopicSettings]:
        raise AssertionError("only `validate` asks")

    def record_epochs(self, asked: Collection[RecordAddress]) -> dict[RecordAddress, int | None]:
        self._ask()
        return dict.fromkeys(sorted(asked), 0)

    def _answered(self, answer: Answer) -> Answer:
        """The answer is on its way, and records go on arriving."""
        cluster = self._cluster
        self._passes(cluster.a_call(0.1))
        if cluster.growing:
            there = list(cluster.ends)
            cluster.grow(there[self._world.below(len(there))], self._world.below(3))
        return answer

    def _ask(self) -> None:
        self._passes(self._cluster.a_call(0.1))
        rate = self._world.rates.read_fails
        if rate and self._world.random() < rate:
            self._failed()
            raise ServiceUnavailable("kafka.unavailable", "nobody answers")
