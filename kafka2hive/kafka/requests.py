"""Requests of an AdminClient: where logs begin and end, the offset of a time, and the settings of topics."""

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

from kafka2hive.kafka.librdkafka import is_missing, is_refused, kafka_partition
from kafka2hive.kafka.port import UNKNOWN_EPOCH, TopicSettings, Watermark
from kafka2hive.model.offsets import TopicPartition

# A result counts as missing this many seconds after librdkafka's own limit.
GRACE_SECONDS = 2.0
# Topic partitions per call. librdkafka's CPU time grows with their square: 10,000 took 0.55 s at once, 0.14 s in tenths.
_BATCH = 1_000
# librdkafka's own limit of ListOffsets. If the metadata that a request waits for arrives after its limit, librdkafka (2.16)
# uses freed memory, and the process dies. So the limit is longer than that of an answer (socket.timeout.ms: at most 300 s),
# and `offsets_of` stops waiting earlier.
_LIMIT_SECONDS = 310.0
_MOST_NAMED = 5
# OFFSET_INVALID, which librdkafka's ListOffsets gives without an error if a broker does not answer in time.
_NOT_ANSWERED = -1001

Answers = dict[TopicPartition, Watermark | Exception]
ListOffsets = Callable[..., "Future[Mapping[Any, Any]]"]
"""One request of `list_offsets`, without its client."""
log = logging.getLogger(__name__)


def list_offsets(
    admin: Any, places: Sequence[Any], *, isolation_level_value: int, request_timeout: float
) -> "Future[Mapping[Any, Any]]":
    """Begin a request of an AdminClient. Its result has an offset or a KafkaError for each of confluent_kafka's TopicPartitions.

    The offset of a place is what is asked for: OFFSET_BEGINNING, OFFSET_END or a time. AdminClient's own `list_offsets`, which
    makes the same request, makes a Future for each topic partition: nearly half of the CPU time of a request.
    """
    from confluent_kafka.admin import AdminClient

    answer: Future[Mapping[Any, Any]] = Future()
    answer.set_running_or_notify_cancel()
    super(AdminClient, admin).list_offsets(
        places, answer, isolation_level_value=isolation_level_value, request_timeout=request_timeout
    )
    return answer


def offsets_of(
    request: ListOffsets,
    specs: Mapping[TopicPartition, int],
    seconds: float,
    leader_of: Callable[[TopicPartition], int],
    read_committed: bool = True,
) -> Answers:
    """Return the offset, or the error, of each topic partition; `specs` is what `list_offsets` is asked for.

    Each leader gets separate requests, because librdkafka answers a request only when all its leaders have answered.
    `seconds` bounds the wait for the next answer. With `read_committed` a log ends at its last stable offset, otherwise at its
    high watermark.
    """
    from confluent_kafka import IsolationLevel

    level = IsolationLevel.READ_COMMITTED if read_committed else IsolationLevel.READ_UNCOMMITTED
    by_leader: dict[int, list[TopicPartition]] = {}
    for tp in specs:
        by_leader.setdefault(leader_of(tp), []).append(tp)
    calls = [
        (
            batch,
            request(
                [kafka_partition(tp, specs[tp]) for tp in batch],
                isolation_level_value=level.value,
                request_timeout=_LIMIT_SECONDS,
            ),
        )
        for tps in by_leader.values()
        for batch in (tps[start : start + _BATCH] for start in range(0, len(tps), _BATCH))
    ]
    answers: Answers = {}
    deadline = time.monotonic() + seconds
    for batch, future in calls:
        part = _answers(batch, future, deadline)
        if not all(isinstance(answer, FutureTimeout) for answer in part.values()):
            deadline = time.monotonic() + seconds
        answers |= part
    return answers


def some_of(topic_partitions: Sequence[TopicPartition]) -> str:
    """Return their names; of many the first few and how many more there are, so that an outage has short log lines."""
    named, more = ", ".join(map(str, topic_partitions[:_MOST_NAMED])), len(topic_partitions) - _MOST_NAMED
    return f"{named} and {more:,} more" if more > 0 else named


def is_gone(error: Exception) -> bool:
    """Return whether an answer says that the topic partition does not exist, or no longer."""
    from confluent_kafka import KafkaException

    return isinstance(error, KafkaException) and is_missing(error.args[0])


def _answers(
    asked: Sequence[TopicPartition], future: "Future[Mapping[Any, Any]]", deadline: float
) -> Answers:
    from confluent_kafka import KafkaException

    try:
        results = future.result(max(0.0, deadline - time.monotonic()))
    except (KafkaException, FutureTimeout) as error:
        return dict.fromkeys(asked, error)
    late: Answers = dict.fromkeys(asked, FutureTimeout("no answer in time"))
    return late | {
        TopicPartition(place.topic, place.partition): _answer(result) for place, result in results.items()
    }


def _answer(result: Any) -> Watermark | Exception:
    """Convert one result of ListOffsets; FutureTimeout if the broker did not answer."""
    from confluent_kafka import KafkaError, KafkaException

    if isinstance(result, KafkaError):
        error: Exception = KafkaException(result)
        return error
    if result.offset == _NOT_ANSWERED:
        return FutureTimeout("no answer in time")
    return Watermark(result.offset, UNKNOWN_EPOCH if result.leader_epoch is None else result.leader_epoch)


def topic_settings(client: Any, topics: Collection[str], seconds: float) -> dict[str, TopicSettings]:
    """Return settings by topic; a setting is None if Kafka refuses it or does not answer in time.

    `client` is an AdminClient; `seconds` bounds each of its two requests.
    """
    configs = _configs(client, topics, seconds)
    reading = _may_read(client, topics, seconds)
    return {
        name: TopicSettings(
            _number(configs.get(name, {}).get("retention.ms")),
            configs.get(name, {}).get("cleanup.policy"),
            reading.get(name),
        )
        for name in topics
    }


def _configs(client: Any, topics: Collection[str], seconds: float) -> dict[str, dict[str, str]]:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import ConfigResource, ResourceType

    values: dict[str, dict[str, str]] = {}
    futures = client.describe_configs(
        [ConfigResource(ResourceType.TOPIC, name) for name in topics], request_timeout=seconds
    )
    for resource, future in futures.items():
        try:
            values[resource.name] = {
                key: entry.value for key, entry in future.result(seconds + GRACE_SECONDS).items()
            }
        except (KafkaException, FutureTimeout) as error:
            log.debug("settings of topic %s are not known: %s", resource.name, error)
    return values


def _may_read(client: Any, topics: Collection[str], seconds: float) -> dict[str, bool]:
    from confluent_kafka import KafkaException, TopicCollection
    from confluent_kafka.admin import AclOperation

    readable: dict[str, bool] = {}
    futures = client.describe_topics(
        TopicCollection(list(topics)), include_authorized_operations=True, request_timeout=seconds
    )
    for name, future in futures.items():
        try:
            allowed = future.result(seconds + GRACE_SECONDS).authorized_operations
        except KafkaException as error:
            if is_refused(error.args[0]):
                readable[name] = False
            continue
        except FutureTimeout:
            continue
        if allowed is not None:
            readable[name] = AclOperation.READ in allowed or AclOperation.ALL in allowed
    return readable


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.lstrip("-").isdigit() else None
