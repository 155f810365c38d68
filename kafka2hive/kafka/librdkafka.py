"""librdkafka's clients, made from the map's properties, and what their failures mean; nothing secret gets into a message."""

import logging
import re
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from kafka2hive.config.values import KafkaOptions
from kafka2hive.model.errors import ConfigError, ServiceUnavailable
from kafka2hive.model.offsets import TopicPartition

Answer = TypeVar("Answer")

# Properties of consumers only: librdkafka warns about each one that an admin client is given (its CONFIGURATION.md,
# column C/P).
_CONSUMER_ONLY = re.compile(
    r"(group\.|auto\.(offset|commit)|enable\.(auto|partition)|fetch\.|max\.poll|session\.timeout|heartbeat"
    r"|isolation\.level|queued\.(min|max)|check\.crcs|consume\.|offset\.store|partition\.assignment|receive\.message\.max"
    r"|max\.partition\.fetch|coordinator\.query)"
)
_SECRET = re.compile(r"password|secret|token|jaas|\.pem$|\.key$|sasl\.oauthbearer\.config", re.IGNORECASE)
# librdkafka waits 30 s for a connection; a broker that takes 10 s is as good as away.
_CONNECT = {"socket.connection.setup.timeout.ms": "10000"}


def admin_client(options: KafkaOptions, log: logging.Logger) -> Any:
    """A confluent_kafka AdminClient. Raises ConfigError."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    given = {key: value for key, value in options.properties if not _CONSUMER_ONLY.match(key)}
    try:
        return AdminClient({**_CONNECT, **given}, logger=log)
    except KafkaException as error:
        raise _refused(options, error) from error


def reader(
    options: KafkaOptions, timeout_seconds: float, log: logging.Logger, more: Mapping[str, Any]
) -> Any:
    """A confluent_kafka Consumer that asks one question, with `more` properties. Raises ConfigError."""
    from confluent_kafka import Consumer, KafkaException

    try:
        return Consumer({**_reader_properties(options, timeout_seconds), **more}, logger=log)
    except KafkaException as error:
        raise _refused(options, error) from error


def _reader_properties(options: KafkaOptions, timeout_seconds: float) -> dict[str, str]:
    """What a consumer is given that asks one question within its time limit, and joins no group."""
    limit = str(max(1000, int(timeout_seconds * 1000)))
    return {
        **_CONNECT,
        **dict(options.properties),
        "group.id": options.group,
        "enable.auto.commit": "false",
        "enable.auto.offset.store": "false",
        "auto.offset.reset": "error",
        "enable.partition.eof": "true",
        # closing a reader waits for the answer to what it has sent, and a commit for its coordinator for this long
        "socket.timeout.ms": limit,
        "session.timeout.ms": limit,
        "heartbeat.interval.ms": "500",
    }


def interruptible(question: Callable[[], Answer]) -> Answer:
    """What `question()` returns or raises. A signal ends the wait of the main thread at once, and not only when librdkafka
    returns: the question goes on in a daemon thread then, and its answer is dropped."""
    if threading.current_thread() is not threading.main_thread():
        return question()
    answer: Future[Answer] = Future()

    def ask() -> None:
        try:
            answer.set_result(question())
        except BaseException as error:  # noqa: BLE001 - handed to the caller, who raises it
            answer.set_exception(error)

    threading.Thread(target=ask, name="kafka-question", daemon=True).start()
    return answer.result()


def kafka_partition(topic_partition: TopicPartition, *offset: int) -> Any:
    """confluent_kafka's TopicPartition, at an offset if one is given."""
    from confluent_kafka import TopicPartition as KafkaTopicPartition

    return KafkaTopicPartition(topic_partition.topic, topic_partition.number, *offset)


def reason(options: KafkaOptions, error: Exception) -> str:
    """librdkafka's words, with the value of every property that looks secret redacted."""
    said = error.args[0].str() if error.args and hasattr(error.args[0], "str") else ""
    text = said or str(error) or "no answer in time"
    for key, value in options.properties:
        if value and _SECRET.search(key):
            text = text.replace(value, "***")
    return text


def unavailable(options: KafkaOptions, what: str, why: str) -> ServiceUnavailable:
    """`what` was asked of the map's brokers and not answered."""
    brokers = dict(options.properties).get("bootstrap.servers", "(no bootstrap.servers)")
    return ServiceUnavailable(
        "kafka.unavailable",
        f"Kafka at {brokers} did not answer ({what}): {why}",
        "check the addresses, the network and the credentials in the map's kafka section, then start again",
    )


def _refused(options: KafkaOptions, error: Exception) -> ConfigError:
    return ConfigError(
        "kafka.properties",
        f"librdkafka refuses the map's kafka properties: {reason(options, error)}",
        "correct the property in the map's kafka section",
    )
