"""Kafka in the simulation: growing logs, open transactions, topics that come and go.

Requests take time, may not be answered, or may be answered by a broker with old metadata.
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
    any_topic,
)
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.offsets import TopicPartition, topic_of
from tests.simulation.service.maps import RIVAL, TOPIC_PARTITIONS, TOPICS
from tests.simulation.world import World

Answer = TypeVar("Answer")

NOW_AND_THEN = 0.05
"""The rate of changes during a listing."""
LEADERLESS = 0.4
"""The rate of new partitions that lose their leader for a while."""
OLD_METADATA = 0.2
"""The rate of listings that reach a broker with old metadata."""


class Cluster:
    """The state that all processes see. If `growing` is False, nobody produces any more, and all transactions are over.

    `ends` are high watermarks. `now_ms` is the wall clock of all; it advances with each port call and while an actor sleeps.
    `numbers` are the partitions of each topic, `gone` the topics that do not exist, now or yet.
    `views` are the topics over time, oldest first; brokers may give a process earlier ones, `old_answers` times in a row. `shown`
    are the topics of each answer that a process got.
    If `rival_may_come`, a rival topic may be created during a listing of topics.
    If `hesitant`, partitions become complete only at times, even if nobody produces.
    `open` has the topic partitions with an open transaction, its first offset and its end. `leaderless` has those without a
    leader, and until when. While there are fewer than `most_partitions`, one may be created during a listing of topics.
    Transaction markers and aborted records are absent offsets. `further_name` is the cluster's name among `kafka_clusters`, if
    maps name it there, too.
    """

    def __init__(self, seed: int = 0) -> None:
        self.begins = dict.fromkeys(TOPIC_PARTITIONS, 0)
        self.ends = dict.fromkeys(TOPIC_PARTITIONS, 0)
        self.numbers = dict(TOPICS)
        self.gone: set[str] = set()
        self.ids = {topic: f"id-{topic}" for topic in (*TOPICS, RIVAL)}
        self.further_name = ""
        self.views = [self.view()]
        self.shown: set[frozenset[str]] = set()
        self.old_answers = 0
        self.rival_may_come = False
        self.growing = True
        self.hesitant = False
        self.now_ms = 0
        self.grown: dict[TopicPartition, list[tuple[int, int]]] = {tp: [] for tp in TOPIC_PARTITIONS}
        self.open: dict[TopicPartition, tuple[int, int]] = {}
        self.leaderless: dict[TopicPartition, int] = {}
        self.held_until_ms = -1
        self.most_partitions = 0
        self._drawn = Random(f"time {seed}")
        """A separate source, so that times and old metadata change no other choice of a schedule."""

    def rest(self) -> None:
        """Stop all producers and changes of topics, and give all brokers the newest metadata."""
        self.growing = self.rival_may_come = False
        self.old_answers = 0
        self.open.clear()
        self.leaderless.clear()

    def pass_time(self, ms: int) -> None:
        """Advance the clock, and end the transactions whose time has come."""
        self.now_ms += ms
        if self.open:
            self.held_until_ms = self.now_ms
            self.open = {
                tp: (first, until) for tp, (first, until) in self.open.items() if until > self.now_ms
            }

    def a_call(self, long: float = 0.005) -> int:
        """Return the milliseconds that a call takes: a few, at times seconds."""
        drawn = self._drawn
        return drawn.randrange(1000, 20_000) if drawn.random() < long else drawn.randrange(60)

    def grow(self, tp: TopicPartition, records: int) -> None:
        """Acknowledge records now; the first of them may begin a transaction, which often outlasts several looks."""
        drawn = self._drawn
        if self.growing and records and tp not in self.open and drawn.random() < 0.08:
            hangs = drawn.random() < 0.5
            self.open[tp] = self.ends[tp], self.now_ms + drawn.randrange(500, 500_000 if hangs else 30_000)
        self.ends[tp] += records
        self.grown[tp].append((self.now_ms, self.ends[tp]))

    def bear(self) -> str | None:
        """Create a partition or a topic with records while a listing is under way, which lacks it."""
        if not self.growing:
            return None
        if self.rival_may_come and self.happens(NOW_AND_THEN):
            self.come(self.missing_rival)
            return "a topic that makes another's table comes during a listing"
        fewer = sum(map(len, self.numbers.values())) < self.most_partitions
        if not (fewer and self.happens(NOW_AND_THEN)):
            return None
        there = [topic for topic in TOPICS if topic not in self.gone]
        topic = there[self.below(len(there))]
        self.add_partition(topic)
        self.grow(TopicPartition(topic, self.numbers[topic][-1]), 1 + self.below(3))
        return "partition born during a listing"

    def happens(self, rate: float) -> bool:
        return self._drawn.random() < rate

    def below(self, limit: int) -> int:
        return self._drawn.randrange(limit)

    def come(self, topic: str) -> None:
        """Create a topic that never existed, with records or without."""
        self.rival_may_come = False
        if topic in self.numbers:
            self.bring_back()
        else:
            self.numbers[topic] = ()
            self.add_partition(topic)
        for tp in self.topic_partitions((topic,)):
            self.grow(tp, self.below(4))

    @property
    def missing_rival(self) -> str:
        return "tb" if "tb" in self.gone else RIVAL

    def take_away(self, topic: str) -> None:
        """Delete the topic."""
        self.gone.add(topic)
        self.views.append(self.view())

    def bring_back(self) -> None:
        """Bring back all deleted topics, unchanged."""
        self.gone.clear()
        self.views.append(self.view())

    def answers_for(self, tp: TopicPartition) -> bool:
        own = TopicPartition(*tp.key)
        return own.topic not in self.gone and self.leaderless.get(own, -1) < self.now_ms

    def has(self, topic: str) -> bool:
        return topic in self.numbers and topic not in self.gone

    def is_harmless(self, at: int, listed: Collection[TopicPartition]) -> bool:
        """Return whether all that an earlier view lacks is empty, was `listed` in an answer before, or is never certified."""
        known = {*self.views[at].topic_partitions(TOPICS), *listed}
        return all(self.ends[tp] == 0 for tp in self.topic_partitions(TOPICS) if tp not in known)

    def stable(self, tp: TopicPartition) -> int:
        """Return the last stable offset."""
        return self.open[tp][0] if tp in self.open else self.ends[tp]

    def end_at(self, tp: TopicPartition, ms: int) -> int:
        """Return the high watermark at this time."""
        return max((end for arrived, end in self.grown[tp] if arrived <= ms), default=0)

    def topic_partitions(self, topics: Collection[str]) -> list[TopicPartition]:
        return [
            TopicPartition(topic, n)
            for topic, numbers in self.numbers.items()
            if topic in topics
            for n in numbers
        ]

    def add_partition(self, topic: str) -> None:
        """Add a partition with a number that no topic has, so that a record id needs no topic; it begins at offset 0."""
        tp = TopicPartition(topic, 1 + max(n for numbers in self.numbers.values() for n in numbers))
        self.numbers[topic] += (tp.number,)
        self.begins[tp] = self.ends[tp] = 0
        self.grown[tp] = []
        self.views.append(self.view())
        if self.old_answers and self.happens(LEADERLESS):
            self.leaderless[tp] = self.now_ms + self.below(40_000)

    def recreate(self, topic: str) -> None:
        """Recreate the topic, with another id and empty."""
        self.ids[topic] += "-again"
        for tp in self.topic_partitions((topic,)):
            self.begins[tp] = self.ends[tp] = 0
            self.grown[tp].clear()
            self.open.pop(tp, None)
        self.views.append(self.view())

    def name_again(self, name: str) -> None:
        """Let maps name the cluster among `kafka_clusters`, too."""
        self.further_name = name
        self.views.append(self.view())

    def view(self) -> ClusterView:
        names = {"", self.further_name}
        return ClusterView(
            "cluster",
            {
                (full := topic_of(name, topic)): TopicView(full, self.ids[topic], numbers)
                for topic, numbers in self.numbers.items()
                if topic not in self.gone
                for name in names
            },
            dict.fromkeys(names, "cluster") if self.further_name else {},
        )


class SimulatedKafka:
    """The Kafka port of one process; `failed` is called for each request without an answer.

    `first_ends` has the high watermark of each log when this process first heard of it. `first_view` and `last_view` are the
    first and the last topics that it heard of, `seen` those of any answer, `lacked` those that were not in each. `passes`
    advances its clock.
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
        self.last_view: ClusterView | None = None
        self.seen: set[str] = set()
        self.lacked: set[str] = set()
        self._newest = -1
        self._listed: set[TopicPartition] = set()
        self._old_answers = 0

    def cluster(self, is_wanted: Callable[[str], bool] = any_topic) -> ClusterView:
        self._ask()
        if is_wanted is not any_topic:  # a separate look, from which nothing else is concluded
            return self._answered(self._cluster.view())
        view = self._listing()
        self.first_view, self.last_view = self.first_view or view, view
        self.seen.update(view.topics)
        self._cluster.shown.add(frozenset(view.topics))
        self.lacked |= (TOPICS.keys() | self.seen) - view.topics.keys()
        if (born := self._cluster.bear()) is not None:
            self._world.count[born] += 1
        return self._answered(view)

    def _listing(self) -> ClusterView:
        """Return the newest view, or an older one that is older than an earlier answer or that no certificate depends on."""
        cluster, newest = self._cluster, len(self._cluster.views) - 1
        at = newest
        if self._old_answers < cluster.old_answers and cluster.happens(OLD_METADATA):
            allowed = [i for i in range(newest) if cluster.is_harmless(i, self._listed)]
            at = allowed[cluster.below(len(allowed))] if allowed else newest
        self._old_answers = self._old_answers + 1 if at < newest else 0
        if at < self._newest:
            self._count_what_went_back(cluster.views[self._newest], cluster.views[at])
        self._newest = max(self._newest, at)
        self._listed.update(cluster.views[at].topic_partitions(TOPICS))
        return cluster.views[at]

    def _count_what_went_back(self, before: ClusterView, view: ClusterView) -> None:
        count, both = self._world.count, before.topics.keys() & view.topics
        count["a topic list goes back in time"] += before.topics.keys() != view.topics.keys()
        count["partitions go back in time"] += any(
            before.topics[t].partitions != view.topics[t].partitions for t in both
        )
        count["a topic id goes back in time"] += any(before.topics[t].id != view.topics[t].id for t in both)

    def earliest(self, topic_partitions: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        self._ask()
        there = self._there(topic_partitions)
        return {tp: Watermark(self._cluster.begins[TopicPartition(*tp.key)], 0) for tp in there}

    def _there(self, topic_partitions: Collection[TopicPartition]) -> list[TopicPartition]:
        """Return the topic partitions that are answered: not those of deleted topics or without a leader."""
        there = [tp for tp in sorted(topic_partitions) if self._cluster.answers_for(tp)]
        if len(there) < len(topic_partitions):
            self._failed()
        return there

    def latest(self, topic_partitions: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        self._ask()
        answers = {}
        for tp in self._there(topic_partitions):
            own = TopicPartition(*tp.key)
            if self._cluster.growing:
                self._cluster.grow(own, self._world.below(5))
            if self._world.rates.read_fails and self._world.random() < self._world.rates.read_fails:
                self._failed()  # this one is left out
            else:
                answers[tp] = Watermark(self._cluster.stable(own), 0)
        return self._answered(answers)

    def high_watermarks(
        self, topic_partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, Watermark]:
        """Return high watermarks, which include what was acknowledged since the stable offsets were requested."""
        self._ask()
        answers = {}
        for tp in self._there(topic_partitions):
            if self._world.rates.read_fails and self._world.random() < self._world.rates.read_fails:
                self._failed()
            else:
                end = self._cluster.ends[TopicPartition(*tp.key)]
                answers[tp] = Watermark(end, 0)
                self.first_ends.setdefault(tp, end)
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

    def record_epochs(self, addresses: Collection[RecordAddress]) -> dict[RecordAddress, int | None]:
        self._ask()
        return dict.fromkeys(sorted(addresses), 0)

    def _answered(self, answer: Answer) -> Answer:
        """Return the answer after some time, in which more records arrive."""
        cluster = self._cluster
        self._passes(cluster.a_call(0.1))
        if cluster.growing:
            there = [tp for tp in cluster.ends if tp.topic not in cluster.gone]
            cluster.grow(there[self._world.below(len(there))], self._world.below(3))
        return answer

    def _ask(self) -> None:
        self._passes(self._cluster.a_call(0.1))
        rate = self._world.rates.read_fails
        if rate and self._world.random() < rate:
            self._failed()
            raise ServiceUnavailable("kafka.unavailable", "nobody answers")
