"""librdkafka's clients, made from the map's properties, and what their failures mean; nothing secret gets into a message."""

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from kafka2hive.config.keys import KafkaOptions
from kafka2hive.config.machine import no_gssapi
from kafka2hive.kafka.client_log import ClientLog
from kafka2hive.kafka.refusal import ClientRefusal, explained
from kafka2hive.model.errors import AccessRefused, ConfigError, ServiceUnavailable
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


def admin_client(options: KafkaOptions, heard: ClientLog) -> Any:
    """A confluent_kafka AdminClient. Raises ConfigError."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    given = {key: value for key, value in options.properties if not _CONSUMER_ONLY.match(key)}
    try:
        return AdminClient({**_CONNECT, **given}, logger=heard.logger)
    except KafkaException as error:
        raise refused_properties(options.properties, error) from error


def reader(options: KafkaOptions, timeout_seconds: float, heard: ClientLog, more: Mapping[str, Any]) -> Any:
    """A confluent_kafka Consumer that asks one question, with `more` properties. Raises ConfigError."""
    from confluent_kafka import Consumer, KafkaException

    try:
        return Consumer({**_reader_properties(options, timeout_seconds), **more}, logger=heard.logger)
    except KafkaException as error:
        raise refused_properties(options.properties, error) from error


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
    returns: the question goes on in a daemon thread then, and its answer is dropped.
    """
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


def reason(properties: Sequence[tuple[str, str]], error: Exception) -> str:
    """librdkafka's words, with the value of every property that looks secret redacted."""
    said = error.args[0].str() if error.args and hasattr(error.args[0], "str") else ""
    return redacted(properties, said or str(error) or "no answer in time")


def redacted(properties: Sequence[tuple[str, str]], text: str) -> str:
    for key, value in properties:
        if value and _SECRET.search(key):
            text = text.replace(value, "***")
    return text


def unavailable(
    options: KafkaOptions, what: str, why: str, heard: ClientLog, since: float
) -> ServiceUnavailable:
    """`what` was asked of the map's brokers at `since` (time.monotonic) and not answered.

    The client's log, which its owner has polled, tells whether they refuse the client, or why none is reached.
    """
    refusal = heard.refusal(since)
    if refusal is not None:
        return access_refused(options.properties, refusal)
    brokers = dict(options.properties).get("bootstrap.servers", "(no bootstrap.servers)")
    trouble = heard.trouble(since)
    told = f"{why}; the client's last error: {redacted(options.properties, trouble)}" if trouble else why
    return ServiceUnavailable(
        "kafka.unavailable",
        f"Kafka at {brokers} did not answer ({what}): {told}",
        "check the addresses, the network and the credentials in the map's kafka section, then start again",
    )


def access_refused(properties: Sequence[tuple[str, str]], refusal: ClientRefusal) -> AccessRefused:
    """The refusal as an error, with the reason for which a certificate is not trusted."""
    told = explained(refusal, dict(properties))
    broker = told.broker or dict(properties).get("bootstrap.servers", "(no bootstrap.servers)")
    why = redacted(properties, told.why)
    return AccessRefused(told.code, f"no way into Kafka at {broker}: {why}", told.remedy)


def refused_properties(properties: Sequence[tuple[str, str]], error: Exception) -> ConfigError:
    """librdkafka made no client of the map's properties: a value, or a file that this machine lacks."""
    why = reason(properties, error)
    if "No provider for SASL mechanism GSSAPI" in why:
        return no_gssapi()
    return ConfigError(
        "kafka.properties",
        f"librdkafka refuses the map's kafka properties: {why}",
        "correct the property in the map's kafka section, or the file it names on this machine",
    )
