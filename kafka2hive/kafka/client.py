"""The Kafka port's adapter: topics, watermarks, group offsets and leader epochs. Every call has a time limit."""

import logging
import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import TimeoutError as FutureTimeout
from functools import partial
from typing import Any

from kafka2hive.config.keys import KafkaOptions
from kafka2hive.kafka import groups, leader_epochs, requests
from kafka2hive.kafka.client_log import ClientLog
from kafka2hive.kafka.librdkafka import (
    admin_client,
    interruptible,
    is_late,
    is_missing,
    reason,
    unavailable,
)
from kafka2hive.kafka.port import ClusterView, RecordAddress, TopicSettings, TopicView, Watermark, any_topic
from kafka2hive.kafka.requests import GRACE_SECONDS, is_gone, list_offsets, offsets_of, some_of
from kafka2hive.model.offsets import UNKNOWN_ID, TopicPartition
from kafka2hive.observe.log import RECURRING

log = logging.getLogger(__name__)

# A request goes to the last known leader or controller. If that broker is dead, librdkafka waits for it until the time
# limit. So the first try is short, and each later one, twice as long, asks the current leaders. There is always a second
# try, however short the limit: only then are the leaders and epochs that librdkafka caches fresh.
_FIRST_TRY_SECONDS = 2.0
_FIRST_TRY_SHARE = 1 / 3
# If Kafka answers for some topic partitions only, the others are left out after this many tries.
_TRIES_FOR_THE_REST = 2
# A logged refusal counts only after this many tries, because another broker may accept the client.
_TRIES_BEFORE_REFUSAL = 2
# After the time for all requests is used up, each further request still gets this long, enough for a healthy Kafka.
_LEAST_SECONDS = 0.2
# Topic settings are optional, so the wait for them is shorter than for offsets.
_SETTINGS_SECONDS = 5.0
# The cluster id of librdkafka's mock broker (rdkafka_mock.c), which has no topic ids and never answers DescribeTopics
# or DescribeConfigs.
_MOCK_CLUSTER = "mockCluster"


class KafkaAdmin:
    """The Kafka port over librdkafka's admin client. It connects at the first request and is safe for any thread.

    `timeout_seconds` bounds each request, or, with `shared_timeout`, all requests together, counted from the first one.
    Raises ServiceUnavailable (`kafka.unavailable`) if no broker answers, AccessRefused if brokers refuse the client
    (kafka/client_log.py), and ConfigError (`kafka.properties`, `kafka.gssapi`) if librdkafka refuses the map's properties.
    """

    def __init__(
        self, options: KafkaOptions, timeout_seconds: float = 30.0, *, shared_timeout: bool = False
    ) -> None:
        self._options = options
        self._limit = timeout_seconds
        self._until = math.inf
        self._shared_timeout = shared_timeout
        self._client: Any = None
        self._client_log = ClientLog(log)
        self._leaders: dict[str, dict[int, int]] = {}

    def cluster(self, is_wanted: Callable[[str], bool] = any_topic) -> ClusterView:
        """Return the cluster's id and its topics, except internal ones. Only topics for which `is_wanted` is true have ids."""
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
                ids = self._topic_ids([name for name in numbers if is_wanted(name)], seconds)
            if ids is not None:
                views = {name: TopicView(name, ids.get(name, UNKNOWN_ID), n) for name, n in numbers.items()}
                return ClusterView(cluster_id, views)
        raise self._unavailable("descriptions of topics", TimeoutError())

    def topic_settings(self, cluster: ClusterView, topics: Collection[str]) -> dict[str, TopicSettings]:
        """Return settings by topic; a setting is None if Kafka refuses it or does not answer within a few seconds."""
        if not topics or is_mock(cluster.cluster_id):
            return dict.fromkeys(topics, TopicSettings())
        return requests.topic_settings(self._admin(), topics, min(self._timeout, _SETTINGS_SECONDS))

    def earliest(self, topic_partitions: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        """Return the first offset of each topic partition that can still be read.

        Topic partitions that are gone, have no leader, or whose leader does not answer in time are left out, and the log
        says why. Raises ServiceUnavailable only if no topic partition is answered.
        """
        from confluent_kafka import OFFSET_BEGINNING

        return self._list_offsets(dict.fromkeys(topic_partitions, OFFSET_BEGINNING))

    def latest(self, topic_partitions: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        """Return the last stable offset: the end of what read_committed gets. Omits what `earliest` omits."""
        from confluent_kafka import OFFSET_END

        return self._list_offsets(dict.fromkeys(topic_partitions, OFFSET_END))

    def high_watermarks(
        self, topic_partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, Watermark]:
        """Return the high watermark, even past an open transaction. Omits what `earliest` omits."""
        from confluent_kafka import OFFSET_END

        specs = dict.fromkeys(topic_partitions, OFFSET_END)
        return self._list_offsets(specs, read_committed=False)

    def offsets_for_times(
        self, topic_partitions: Collection[TopicPartition], timestamp_ms: int
    ) -> dict[TopicPartition, Watermark]:
        """Return the first offset whose record is at or after `timestamp_ms` (since 1970); offset -1 if there is none yet.

        Omits what `earliest` omits.
        """
        return self._list_offsets(dict.fromkeys(topic_partitions, timestamp_ms))

    def group_offsets(
        self, group: str, topic_partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Return the consumer group's committed offsets, without topic partitions that have none."""
        return groups.group_offsets(self._options, group, topic_partitions, self._timeout)

    def commit_group_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> bool:
        """Set the group's offsets, for lag tools only. Return True if Kafka took all of them; otherwise log a warning.

        The group needs no member. Kafka refuses while a consumer of the group is subscribed.
        """
        with self.group_commits(group) as commits:
            return commits.commit(offsets)

    def group_commits(self, group: str) -> groups.KafkaGroupCommits:
        """Return a context manager for a caller that sets the group's offsets after each epoch."""
        return groups.KafkaGroupCommits(self._options, group, self._timeout)

    def record_epochs(self, addresses: Collection[RecordAddress]) -> dict[RecordAddress, int | None]:
        """Return the leader epoch of the record at each address; None if the record is gone or its epoch is unknown.

        A topic partition may occur with several offsets. If the epoch of an offset that was read differs from the
        ledger's, the log was truncated and rewritten (an unclean leader election). Topic partitions that are gone,
        refused, or not answered in time are left out. Raises ServiceUnavailable only if none is answered.
        """
        return leader_epochs.record_epochs(self._options, addresses, self._timeout)

    @property
    def _timeout(self) -> float:
        """Return the seconds left for the next request."""
        now = time.monotonic()
        if self._shared_timeout and self._until == math.inf:
            self._until = now + self._limit
        return max(min(self._limit, self._until - now), _LEAST_SECONDS)

    def _admin(self) -> Any:
        if self._client is None:
            self._client = admin_client(self._options, self._client_log)
        self._client.poll(0)  # delivers librdkafka's log lines
        return self._client

    def _tries(self) -> Iterator[float]:
        """Yield the time limit of each try in seconds: twice the one before, the last all that remains of the request's limit."""
        remaining = self._timeout
        seconds = min(_FIRST_TRY_SECONDS, remaining * _FIRST_TRY_SHARE)
        while remaining > 0:
            limit = remaining if remaining < 2 * seconds else seconds
            yield limit
            remaining, seconds = remaining - limit, 2 * seconds

    def _metadata(self) -> Any:
        """Fetch metadata of all topics, which refreshes librdkafka's leaders, and note the leader of each topic partition."""
        from confluent_kafka import KafkaException

        began, metadata = time.monotonic(), None
        for number, seconds in enumerate(self._tries(), start=1):
            try:
                metadata = interruptible(partial(self._admin().list_topics, timeout=seconds))
                break
            except KafkaException as error:
                failure = error
            self._client.poll(0)
            refusal = self._client_log.refusal(began)
            if number >= _TRIES_BEFORE_REFUSAL and refusal is not None and refusal.certain:
                break
        if metadata is None:
            raise self._unavailable("metadata", failure) from failure
        self._leaders = {
            name: {number: partition.leader for number, partition in topic.partitions.items()}
            for name, topic in metadata.topics.items()
        }
        return metadata

    def _topic_ids(self, names: Sequence[str], seconds: float) -> dict[str, str] | None:
        """Return topic ids by name; None if Kafka does not answer in time."""
        from confluent_kafka import KafkaException, TopicCollection

        if not names:
            return {}
        ids: dict[str, str] = {}
        futures = self._admin().describe_topics(TopicCollection(list(names)), request_timeout=seconds)
        for name, future in futures.items():
            try:
                ids[name] = _as_kafka_prints(str(future.result(seconds + GRACE_SECONDS).topic_id))
            except KafkaException as error:
                if is_late(error.args[0]):
                    return None
                if not is_missing(error.args[0]):  # a missing topic was deleted since the listing
                    raise self._unavailable(f"description of topic {name}", error) from error
            except FutureTimeout:
                return None
        return ids

    def _list_offsets(
        self, specs: Mapping[TopicPartition, int], read_committed: bool = True
    ) -> dict[TopicPartition, Watermark]:
        """Return the offsets that Kafka returns.

        Unanswered topic partitions are requested again from their new leaders: once if some were answered, otherwise until
        the time limit.
        """
        offsets: dict[TopicPartition, Watermark] = {}
        errors: dict[TopicPartition, Exception] = {}
        gone: set[TopicPartition] = set()
        if any(map(self._is_leaderless, specs)):  # they may have leaders by now
            self._metadata()
        for number, seconds in enumerate(self._tries()):
            waiting = [
                tp for tp in specs if tp not in offsets and tp not in gone and not self._is_leaderless(tp)
            ]
            if not waiting or (offsets and number >= _TRIES_FOR_THE_REST):
                break
            if number:
                self._metadata()
            wanted = {tp: specs[tp] for tp in waiting}
            answers = offsets_of(
                request=partial(list_offsets, self._admin()),
                specs=wanted,
                seconds=seconds,
                leader_of=self._leader_of,
                read_committed=read_committed,
            )
            offsets |= {tp: answer for tp, answer in answers.items() if isinstance(answer, Watermark)}
            errors |= {tp: answer for tp, answer in answers.items() if isinstance(answer, Exception)}
            if number:  # librdkafka's first answer may come from metadata that is older than the topic
                gone = {tp for tp, error in errors.items() if is_gone(error)}
        unanswered = [tp for tp in specs if tp not in offsets]
        # a topic partition may have no leader for a long time, and the table reports this once
        leaderless = list(filter(self._is_leaderless, unanswered))
        if leaderless:
            log.debug("no offset of topic partitions without a leader: %s", some_of(leaderless))
        by_reason: dict[str, list[TopicPartition]] = {}
        for tp in unanswered:
            if not self._is_leaderless(tp):
                by_reason.setdefault(self._reason(errors.get(tp, FutureTimeout())), []).append(tp)
        for why, silent in by_reason.items():
            log.warning("no offset of %s this time: %s", some_of(silent), why, extra=RECURRING)
        if not offsets and (
            failures := [errors[tp] for tp in unanswered if tp in errors and not is_gone(errors[tp])]
        ):
            raise self._unavailable("offsets", failures[-1]) from failures[-1]
        return offsets

    def _leader_of(self, topic_partition: TopicPartition) -> int:
        """Return the broker by the last metadata; -1 if it is not known."""
        return self._leaders.get(topic_partition.topic, {}).get(topic_partition.number, -1)

    def _is_leaderless(self, topic_partition: TopicPartition) -> bool:
        """Return whether the last metadata lists the topic partition without a leader."""
        numbers = self._leaders.get(topic_partition.topic, {})
        return topic_partition.number in numbers and numbers[topic_partition.number] < 0

    def _unavailable(self, what: str, error: Exception) -> Exception:
        self._client.poll(0)
        since = time.monotonic() - self._limit
        return unavailable(
            options=self._options,
            what=what,
            why=self._reason(error),
            client_log=self._client_log,
            since=since,
        )

    def _reason(self, error: Exception) -> str:
        return reason(self._options.properties, error)


def is_mock(cluster_id: str) -> bool:
    """Return whether the cluster is librdkafka's mock broker."""
    return cluster_id.startswith(_MOCK_CLUSTER)


def _as_kafka_prints(topic_id: str) -> str:
    """Return the id as `kafka-topics.sh --describe` prints it (RFC 4648 section 5); all zeros means no id (brokers < 2.8)."""
    url_safe = topic_id.rstrip("=").replace("+", "-").replace("/", "_")
    return url_safe if url_safe.strip("A") else UNKNOWN_ID
