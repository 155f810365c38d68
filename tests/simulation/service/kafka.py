"""Kafka as the simulation sees it: logs that only grow until they are told to rest, and questions that are not answered."""

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager

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


class Cluster:
    """What all drivers see. `growing` False: nobody produces any more. `now` counts seconds, one for each arrival."""

    def __init__(self) -> None:
        self.begins = dict.fromkeys(TOPIC_PARTITIONS, 0)
        self.ends = dict.fromkeys(TOPIC_PARTITIONS, 0)
        self.ids = {topic: f"id-{topic}" for topic in TOPICS}
        self.growing = True
        self.now = 0
        self.grown: dict[TopicPartition, list[tuple[int, int]]] = {tp: [] for tp in TOPIC_PARTITIONS}

    def grow(self, tp: TopicPartition, records: int) -> None:
        """Records arrive a second later than all that was asked or arrived before."""
        self.now += 1
        self.ends[tp] += records
        self.grown[tp].append((self.now, self.ends[tp]))

    def end_at(self, tp: TopicPartition, second: int) -> int:
        """Where the log ended at this time."""
        return max((end for arrived, end in self.grown[tp] if arrived <= second), default=0)

    def view(self) -> ClusterView:
        return ClusterView(
            "cluster",
            {topic: TopicView(topic, self.ids[topic], numbers) for topic, numbers in TOPICS.items()},
        )


class SimulatedKafka:
    """The Kafka port of one driver; `failed` hears of each question without an answer.

    `first_ends`: where each log ended when this driver first heard of it.
    """

    def __init__(self, world: World, cluster: Cluster, failed: Callable[[], None]) -> None:
        self._world = world
        self._cluster = cluster
        self._failed = failed
        self.first_ends: dict[TopicPartition, int] = {}

    def cluster(self, wanted: Callable[[str], bool] = lambda topic: True) -> ClusterView:
        self._ask()
        return self._cluster.view()

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
                answers[tp] = Watermark(self._cluster.ends[tp], 0)
                self.first_ends.setdefault(tp, self._cluster.ends[tp])
        return answers

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

    def _ask(self) -> None:
        rate = self._world.rates.read_fails
        if rate and self._world.random() < rate:
            self._failed()
            raise ServiceUnavailable("kafka.unavailable", "nobody answers")
