"""Questions to Kafka that need no consumer: topics, watermarks, group offsets. Every call ends within its time limit."""

import logging
import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import TimeoutError as FutureTimeout
from functools import partial
from typing import Any

from kafka2hive.config.keys import KafkaOptions
from kafka2hive.kafka import errors, groups, topic_settings
from kafka2hive.kafka import leader_epochs as records
from kafka2hive.kafka.client_log import ClientLog
from kafka2hive.kafka.librdkafka import admin_client, interruptible, reason, unavailable
from kafka2hive.kafka.list_offsets import GRACE_SECONDS, is_gone, offsets_of
from kafka2hive.kafka.port import ClusterView, RecordAddress, TopicSettings, TopicView, Watermark, everything
from kafka2hive.model.offsets import UNKNOWN_ID, TopicPartition

log = logging.getLogger(__name__)

# A question goes to the leader or controller that was known last. When that one is dead, librdkafka asks it until the
# time limit: so the first try is short, and the next one, twice as long, asks those that lead then. However short the
# limit is, there is a second one: what librdkafka keeps of leaders and their epochs is fresh only then.
_FIRST_TRY_SECONDS = 2.0
_FIRST_TRY_SHARE = 1 / 3
# Tries for topic partitions that are not answered for while others are: they are left out then.
_TRIES_OF_SOME = 2
# A refusal of the client that was heard is believed after this many tries: another broker may let it in.
_TRIES_OF_REFUSED = 2
# When the time for all questions is over, the next one still gets an answer from a Kafka that answers at once.
_LEAST_SECONDS = 0.2
# Settings of topics are good to know; nobody waits for them as long as for offsets.
_SETTINGS_SECONDS = 5.0
# librdkafka's mock broker calls itself so (rdkafka_mock.c); it knows no topic ids and never answers DescribeTopics
# and DescribeConfigs.
_MOCK_CLUSTER = "mockCluster"


class KafkaAdmin:
    """One cluster. Nothing is connected before the first question; any thread may ask.

    `timeout_seconds` bounds each question, or with `altogether` all of them, from the first on.
    Errors: ServiceUnavailable (`kafka.unavailable`) when no broker answers,
    AccessRefused when they refuse the client (access/refusal.py), ConfigError (`kafka.properties`, `kafka.gssapi`) when
    librdkafka refuses the map's properties.
    """

    def __init__(
        self, options: KafkaOptions, timeout_seconds: float = 30.0, *, altogether: bool = False
    ) -> None:
        self._options = options
        self._limit = timeout_seconds
        self._until = math.inf
        self._altogether = altogether
        self._client: Any = None
        self._heard = ClientLog(log)
        self._leaderless: set[TopicPartition] = set()

    def cluster(self, wanted: Callable[[str], bool] = everything) -> ClusterView:
        """The cluster's id and its topics, internal ones left out; topic ids of the `wanted` ones only."""
        for seconds in self._tries():
            metadata = self._metadata()
            cluster_id = metadata.cluster_id or UNKNOWN_ID
            numbers = {
                name: tuple(sorted(topic.partitions))
                for name, topic in metadata.topics.items()
                if not name.startswith("__") and topic.partitions
            }
            if is_mock(cluster_id):
                ids: dict[str, str] | None = {}
            else:
                ids = self._topic_ids([name for name in numbers if wanted(name)], seconds)
            if ids is not None:
                views = {name: TopicView(name, ids.get(name, UNKNOWN_ID), n) for name, n in numbers.items()}
                return ClusterView(cluster_id, views)
        raise self._unavailable("descriptions of topics", TimeoutError())

    def topic_settings(self, cluster: ClusterView, topics: Collection[str]) -> dict[str, TopicSettings]:
        """By topic; what is refused or not answered within a few seconds is not known."""
        if not topics or is_mock(cluster.cluster_id):
            return dict.fromkeys(topics, TopicSettings())
        return topic_settings.topic_settings(self._admin(), topics, min(self._timeout, _SETTINGS_SECONDS))

    def earliest(self, topic_partitions: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        """The first offset that can still be read.

        Topic partitions that are gone, without a leader, or whose leader does not answer at once are left out,
        and the log says why; it is ServiceUnavailable only when none of those asked for is answered.
        """
        from confluent_kafka.admin import OffsetSpec

        return self._list_offsets(dict.fromkeys(topic_partitions, OffsetSpec.earliest()))

    def latest(self, topic_partitions: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        """The last stable offset + 1: what a reader with read_committed reaches. Left out: as `earliest`."""
        from confluent_kafka.admin import OffsetSpec

        return self._list_offsets(dict.fromkeys(topic_partitions, OffsetSpec.latest()))

    def high_watermarks(
        self, topic_partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, Watermark]:
        """The last acknowledged offset + 1, also of records behind an open transaction. Left out: as `earliest`."""
        from confluent_kafka.admin import OffsetSpec

        asked = dict.fromkeys(topic_partitions, OffsetSpec.latest())
        return self._list_offsets(asked, read_committed=False)

    def offsets_for_times(
        self, topic_partitions: Collection[TopicPartition], timestamp_ms: int
    ) -> dict[TopicPartition, Watermark]:
        """The first offset whose record is not older than `timestamp_ms`; offset -1 when there is none (yet).

        Left out: as `earliest`.
        """
        from confluent_kafka.admin import OffsetSpec

        return self._list_offsets(dict.fromkeys(topic_partitions, OffsetSpec.for_timestamp(timestamp_ms)))

    def group_offsets(
        self, group: str, topic_partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """The consumer group's committed offsets; topic partitions without one are left out."""
        return groups.group_offsets(self._options, group, topic_partitions, self._timeout)

    def commit_group_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> bool:
        """Set the group's offsets, for lag tools only: True when all were taken, otherwise a warning in the log.

        The group needs no member. Kafka refuses while a consumer of that group is subscribed.
        """
        with self.group_commits(group) as commits:
            return commits.commit(offsets)

    def group_commits(self, group: str) -> groups.KafkaGroupCommits:
        """For who sets them after each epoch; to be closed."""
        return groups.KafkaGroupCommits(self._options, group, self._timeout)

    def record_epochs(self, asked: Collection[RecordAddress]) -> dict[RecordAddress, int | None]:
        """Leader epochs of the records at exactly these offsets; None: no such record is left, or no epoch known.

        A topic partition may be asked for at several offsets. An epoch other than the ledger's for an offset that was
        read means that the log was truncated and rewritten (an unclean leader election). Left out: topic partitions
        that are gone, refused, or not answered for in time; ServiceUnavailable only when none is answered.
        """
        return records.record_epochs(self._options, asked, self._timeout)

    @property
    def _timeout(self) -> float:
        """Seconds that are left for a question."""
        now = time.monotonic()
        if self._altogether and self._until == math.inf:
            self._until = now + self._limit
        return max(min(self._limit, self._until - now), _LEAST_SECONDS)

    def _admin(self) -> Any:
        if self._client is None:
            self._client = admin_client(self._options, self._heard)
        self._client.poll(0)  # hands librdkafka's log lines over
        return self._client

    def _tries(self) -> Iterator[float]:
        """Time limits of one question's tries, each twice the one before; their sum is the question's limit."""
        left = self._timeout
        seconds = min(_FIRST_TRY_SECONDS, left * _FIRST_TRY_SHARE)
        while left > 0:
            limit = left if left < 2 * seconds else seconds
            yield limit
            left, seconds = left - limit, 2 * seconds

    def _metadata(self) -> Any:
        """All topics; librdkafka learns from it who leads what. Notes those without a leader."""
        from confluent_kafka import KafkaException

        began, metadata = time.monotonic(), None
        for number, seconds in enumerate(self._tries(), start=1):
            try:
                metadata = interruptible(partial(self._admin().list_topics, timeout=seconds))
                break
            except KafkaException as error:
                failed = error
            self._client.poll(0)
            refusal = self._heard.refusal(began)
            if number >= _TRIES_OF_REFUSED and refusal is not None and refusal.certain:
                break
        if metadata is None:
            raise self._unavailable("metadata", failed) from failed
        self._leaderless = {
            TopicPartition(name, number)
            for name, topic in metadata.topics.items()
            for number, partition in topic.partitions.items()
            if partition.leader < 0
        }
        return metadata

    def _topic_ids(self, names: Sequence[str], seconds: float) -> dict[str, str] | None:
        """Ids by name; None when they are not given in time."""
        from confluent_kafka import KafkaException, TopicCollection

        if not names:
            return {}
        ids: dict[str, str] = {}
        asked = self._admin().describe_topics(TopicCollection(list(names)), request_timeout=seconds)
        for name, future in asked.items():
            try:
                ids[name] = _printed(str(future.result(seconds + GRACE_SECONDS).topic_id))
            except KafkaException as error:
                if errors.is_late(error.args[0]):
                    return None
                if not errors.is_missing(error.args[0]):  # deleted since the listing: it has no id to give
                    raise self._unavailable(f"description of topic {name}", error) from error
            except FutureTimeout:
                return None
        return ids

    def _list_offsets(
        self, asked: Mapping[TopicPartition, Any], read_committed: bool = True
    ) -> dict[TopicPartition, Watermark]:
        """Offsets that were answered. The others are requested again from their new leaders: twice, or until one is."""
        found: dict[TopicPartition, Watermark] = {}
        why: dict[TopicPartition, Exception] = {}
        gone: set[TopicPartition] = set()
        if not self._leaderless.isdisjoint(asked):  # noted then; one may lead it now
            self._metadata()
        for number, seconds in enumerate(self._tries()):
            waiting = [
                tp for tp in asked if tp not in found and tp not in gone and tp not in self._leaderless
            ]
            if not waiting or (found and number >= _TRIES_OF_SOME):
                break
            if number:
                self._metadata()
            answers = offsets_of(
                self._admin(), {tp: asked[tp] for tp in waiting}, seconds, read_committed=read_committed
            )
            found |= {tp: answer for tp, answer in answers.items() if isinstance(answer, Watermark)}
            why |= {tp: answer for tp, answer in answers.items() if isinstance(answer, Exception)}
            if number:  # the first time librdkafka may give what a broker said before the topic was made
                gone = {tp for tp, error in why.items() if is_gone(error)}
        left = [tp for tp in asked if tp not in found]
        for tp in left:
            if tp in self._leaderless:
                # a lasting state: the table reports it once
                log.debug("no offset of %s: it has no leader", tp)
            else:
                log.warning("no offset of %s this time: %s", tp, self._reason(why.get(tp, FutureTimeout())))
        if not found and (failures := [why[tp] for tp in left if tp in why and not is_gone(why[tp])]):
            raise self._unavailable("offsets", failures[-1]) from failures[-1]
        return found

    def _unavailable(self, what: str, error: Exception) -> Exception:
        self._client.poll(0)
        since = time.monotonic() - self._limit
        return unavailable(
            options=self._options, what=what, why=self._reason(error), heard=self._heard, since=since
        )

    def _reason(self, error: Exception) -> str:
        return reason(self._options.properties, error)


def is_mock(cluster_id: str) -> bool:
    return cluster_id.startswith(_MOCK_CLUSTER)


def _printed(topic_id: str) -> str:
    """Base64 as `kafka-topics.sh --describe` prints it (RFC 4648 section 5); all zeros is no id (brokers < 2.8)."""
    url_safe = topic_id.rstrip("=").replace("+", "-").replace("/", "_")
    return url_safe if url_safe.strip("A") else UNKNOWN_ID
