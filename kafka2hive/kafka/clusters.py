"""The Kafka port over the clusters of one map, each with a client: topics are named with their cluster, `east/orders`.

A cluster that does not answer is like a topic partition without a leader: its topic partitions are left out of the answers.
"""

import logging
import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Self, TypeVar

from kafka2hive.kafka.port import (
    ClusterView,
    GroupCommits,
    Kafka,
    RecordAddress,
    TopicSettings,
    TopicView,
    Watermark,
    any_topic,
)
from kafka2hive.model.errors import Kafka2HiveError, ServiceUnavailable
from kafka2hive.model.offsets import (
    UNKNOWN_ID,
    TopicPartition,
    cluster_of,
    name_in_kafka,
    shown_cluster,
    topic_of,
)
from kafka2hive.observe.log import RECURRING

log = logging.getLogger(__name__)

PAUSE_SECONDS = 20.0
"""For how long a cluster is not asked again after it did not answer: each question would wait for its whole time limit."""

Answer = TypeVar("Answer")


class Clusters:
    """The clusters by their names in the map, "" for the section `kafka`. Safe for any thread, as the clients are.

    `listed` are the topics that the map lists, which exist for the caller as long as their cluster has never answered.
    A call raises ServiceUnavailable only if no cluster that it asks answers. `silence` returns why a cluster is known not to
    answer, so that it is not asked; None if that is not known. The run sets it.
    """

    def __init__(
        self, clusters: Mapping[str, Kafka], groups: Mapping[str, str], listed: Iterable[str]
    ) -> None:
        self._clusters = clusters
        self._groups = groups
        self._listed = tuple(listed)
        self._views: dict[str, ClusterView] = {}
        self._failures: dict[str, tuple[float, ServiceUnavailable]] = {}
        self.answered_at: dict[str, float] = dict.fromkeys(clusters, -math.inf)
        """When each cluster last answered (monotonic seconds)."""
        self.silence: Callable[[str], str | None] = lambda _: None

    def cluster(self, is_wanted: Callable[[str], bool] = any_topic) -> ClusterView:
        """Return the topics of all clusters; of a silent cluster those that it had last, or those that the map lists."""

        def ask(name: str, kafka: Kafka) -> ClusterView:
            return kafka.cluster(lambda topic: is_wanted(topic_of(name, topic)))

        views, silent = self._all({name: partial(ask, name) for name in self._clusters})
        if not views:
            raise min(silent.items())[1]
        self._views.update(views)
        topics: dict[str, TopicView] = {}
        for name in self._clusters:
            view = self._views.get(name)
            if view is None:
                own = [topic for topic in self._listed if cluster_of(topic) == name]
                topics |= {topic: TopicView(topic, UNKNOWN_ID, ()) for topic in own}
                continue
            for topic, found in view.topics.items():
                full = topic_of(name, topic)
                topics[full] = TopicView(full, found.id, found.partitions)
        ids = {name: view.cluster_id for name, view in self._views.items()}
        return ClusterView(ids.get("", UNKNOWN_ID), topics, ids, silent)

    def topic_settings(self, cluster: ClusterView, topics: Collection[str]) -> dict[str, TopicSettings]:
        answers: dict[str, TopicSettings] = {topic: TopicSettings() for topic in topics}

        def ask(names: list[str], view: ClusterView, kafka: Kafka) -> Mapping[str, TopicSettings]:
            return kafka.topic_settings(view, names)

        by_cluster: dict[str, list[str]] = {}
        for topic in topics:
            by_cluster.setdefault(cluster_of(topic), []).append(name_in_kafka(topic))
        known = {
            name: partial(ask, names, self._views[name])
            for name, names in by_cluster.items()
            if name in self._views
        }
        for name, settings in self._all(known)[0].items():
            answers |= {topic_of(name, topic): setting for topic, setting in settings.items()}
        return answers

    def earliest(self, topic_partitions: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        return self._of_partitions(topic_partitions, lambda kafka, tps: kafka.earliest(tps))

    def latest(self, topic_partitions: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        return self._of_partitions(topic_partitions, lambda kafka, tps: kafka.latest(tps))

    def high_watermarks(
        self, topic_partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, Watermark]:
        return self._of_partitions(topic_partitions, lambda kafka, tps: kafka.high_watermarks(tps))

    def offsets_for_times(
        self, topic_partitions: Collection[TopicPartition], timestamp_ms: int
    ) -> dict[TopicPartition, Watermark]:
        return self._of_partitions(
            topic_partitions, lambda kafka, tps: kafka.offsets_for_times(tps, timestamp_ms)
        )

    def group_offsets(
        self, group: str, topic_partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Return the offsets of each cluster's group. Raises ServiceUnavailable if one cluster does not answer.

        A missing offset is evidence, so an answer that could not be had must not look like it.
        """
        offsets: dict[TopicPartition, int] = {}

        def ask(group: str, tps: Collection[TopicPartition], kafka: Kafka) -> Mapping[TopicPartition, int]:
            return kafka.group_offsets(group, tps)

        for name, tps in _by_cluster(topic_partitions).items():
            answers = self._ask(name, partial(ask, self._group(name, group), list(tps)))
            offsets |= {tps[tp]: offset for tp, offset in answers.items()}
        return offsets

    def commit_group_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> bool:
        with self.group_commits(group) as commits:
            return commits.commit(offsets)

    def group_commits(self, group: str) -> "ClusterGroupCommits":
        return ClusterGroupCommits(
            {name: (kafka, self._group(name, group)) for name, kafka in self._clusters.items()}
        )

    def record_epochs(self, addresses: Collection[RecordAddress]) -> dict[RecordAddress, int | None]:
        own: dict[str, list[RecordAddress]] = {}
        for tp, offset in addresses:
            own.setdefault(cluster_of(tp.topic), []).append((TopicPartition(*tp.key), offset))

        def ask(of_cluster: list[RecordAddress], kafka: Kafka) -> Mapping[RecordAddress, int | None]:
            return kafka.record_epochs(of_cluster)

        answers, failures = self._all({name: partial(ask, of) for name, of in own.items()})
        if failures and not answers:
            raise min(failures.items())[1]
        return {
            (TopicPartition(topic_of(name, tp.topic), tp.number), offset): epoch
            for name, epochs in answers.items()
            for (tp, offset), epoch in epochs.items()
        }

    def _group(self, name: str, group: str) -> str:
        """Return the cluster's own group if the map's group is asked for, otherwise the group that is asked for."""
        return self._groups[name] if group == self._groups[""] else group

    def _of_partitions(
        self,
        topic_partitions: Collection[TopicPartition],
        ask: Callable[[Kafka, Collection[TopicPartition]], Mapping[TopicPartition, Answer]],
    ) -> dict[TopicPartition, Answer]:
        own = _by_cluster(topic_partitions)

        def of_cluster(tps: Collection[TopicPartition], kafka: Kafka) -> Mapping[TopicPartition, Answer]:
            return ask(kafka, tps)

        answers, failures = self._all({name: partial(of_cluster, list(tps)) for name, tps in own.items()})
        if failures and not answers:
            raise min(failures.items())[1]
        for name, error in failures.items():
            log.warning(
                "the topics of %s are left out: %s", shown_cluster(name), error.message, extra=RECURRING
            )
        return {own[name][tp]: answer for name, of in answers.items() for tp, answer in of.items()}

    def _all(
        self, questions: Mapping[str, Callable[[Kafka], Answer]]
    ) -> tuple[dict[str, Answer], dict[str, ServiceUnavailable]]:
        """Ask the clusters side by side. Return the answers and, for clusters without one, why, by cluster."""
        answers: dict[str, Answer] = {}
        failures: dict[str, ServiceUnavailable] = {}

        def ask(name: str) -> None:
            try:
                answers[name] = self._ask(name, questions[name])
            except ServiceUnavailable as error:
                failures[name] = error

        if len(questions) == 1:
            ask(*questions)
        elif questions:
            with ThreadPoolExecutor(len(questions), "kafka-clusters") as pool:
                list(pool.map(ask, questions))
        return answers, failures

    def _ask(self, name: str, question: Callable[[Kafka], Answer]) -> Answer:
        """Ask one cluster, unless it is known to be silent. Raises ServiceUnavailable with the cluster's name."""
        if (why := self.silence(name)) is not None:
            raise _silent(name, why)
        until, error = self._failures.get(name, (-math.inf, None))
        if error is not None and time.monotonic() < until:
            raise error
        try:
            answer = question(self._clusters[name])
        except ServiceUnavailable as unavailable:
            named = type(unavailable)(
                unavailable.code, f"{shown_cluster(name)}: {unavailable.message}", unavailable.remedy
            )
            self._failures[name] = time.monotonic() + PAUSE_SECONDS, named
            raise named from unavailable
        self._failures.pop(name, None)
        self.answered_at[name] = time.monotonic()
        return answer


class ClusterGroupCommits:
    """Sets the offsets of each cluster's group; a cluster that does not take them keeps no other cluster from it."""

    def __init__(self, clusters: Mapping[str, tuple[Kafka, str]]) -> None:
        self._clusters = clusters
        self._stack = ExitStack()
        self._commits: dict[str, GroupCommits] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def commit(self, offsets: Mapping[TopicPartition, int]) -> bool:
        took = True
        for name, tps in _by_cluster(offsets).items():
            if name not in self._commits:
                kafka, group = self._clusters[name]
                self._commits[name] = self._stack.enter_context(kafka.group_commits(group))
            try:
                took &= self._commits[name].commit({own: offsets[full] for own, full in tps.items()})
            except Kafka2HiveError as error:
                log.warning("%s: the group's offsets are not set: %s", shown_cluster(name), error.message)
                took = False
        return took


def _by_cluster(
    topic_partitions: Iterable[TopicPartition],
) -> dict[str, dict[TopicPartition, TopicPartition]]:
    """Return by cluster the topic partitions as the cluster names them, each with the one of the map."""
    own: dict[str, dict[TopicPartition, TopicPartition]] = {}
    for tp in topic_partitions:
        own.setdefault(cluster_of(tp.topic), {})[TopicPartition(*tp.key)] = tp
    return own


def _silent(name: str, why: str) -> ServiceUnavailable:
    return ServiceUnavailable(
        "kafka.unavailable",
        f"{shown_cluster(name)} does not answer: {why}",
        "bring the brokers back; `kafka2hive doctor -c MAP` asks all services",
    )
