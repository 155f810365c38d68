"""librdkafka's clients, made from the map's properties, and the errors for their failures, with secrets redacted."""

import functools
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from kafka2hive.config.keys import KafkaOptions
from kafka2hive.config.machine import gssapi_missing
from kafka2hive.kafka.client_log import ClientLog, ClientRefusal, explain
from kafka2hive.model.errors import AccessRefused, ConfigError, ServiceUnavailable
from kafka2hive.model.offsets import TopicPartition

Answer = TypeVar("Answer")

# Consumer-only properties (column C/P of librdkafka's CONFIGURATION.md): it warns about each one that an admin client gets.
_CONSUMER_ONLY = re.compile(
    r"(group\.|auto\.(offset|commit)|enable\.(auto|partition)|fetch\.|max\.poll|session\.timeout|heartbeat"
    r"|isolation\.level|queued\.(min|max)|check\.crcs|consume\.|offset\.store|partition\.assignment|receive\.message\.max"
    r"|max\.partition\.fetch|coordinator\.query)"
)
_SECRET = re.compile(r"password|secret|token|jaas|\.pem$|\.key$|sasl\.oauthbearer\.config", re.IGNORECASE)
# The default is 30 s; a broker that needs more than 10 s counts as unavailable.
_CONNECT = {"socket.connection.setup.timeout.ms": "10000"}
# KafkaError.name(): the topic partition does not exist, or no longer.
_MISSING = frozenset({"UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION", "UNKNOWN_TOPIC_ID"})
# The client may not read it, and waiting does not help.
_REFUSED = frozenset({"TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"})
_LATE = frozenset({"_TIMED_OUT", "_TRANSPORT", "REQUEST_TIMED_OUT", "NOT_CONTROLLER", "_DESTROY_BROKER"})


def admin_client(options: KafkaOptions, client_log: ClientLog) -> Any:
    """Return a confluent_kafka AdminClient that logs to `client_log`. Raises ConfigError."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    _make_each_topic_id_once()
    properties = {key: value for key, value in options.properties if not _CONSUMER_ONLY.match(key)}
    try:
        return AdminClient({**_CONNECT, **properties}, logger=client_log.logger)
    except KafkaException as error:
        raise refused_properties(options.properties, error) from error


def producer_client(options: KafkaOptions, delivery_seconds: float, client_log: ClientLog) -> Any:
    """Return a confluent_kafka Producer whose messages all in-sync replicas must have, each once. Raises ConfigError."""
    from confluent_kafka import KafkaException, Producer

    properties = {key: value for key, value in options.properties if not _CONSUMER_ONLY.match(key)}
    safe = {"acks": "all", "enable.idempotence": "true", "linger.ms": "0"}
    limit = {
        "message.timeout.ms": str(int(delivery_seconds * 1000)),
        "topic.metadata.propagation.max.ms": str(
            int(delivery_seconds * 500)
        ),  # otherwise a missing topic is no answer
    }
    try:
        return Producer({**_CONNECT, **properties, **safe, **limit}, logger=client_log.logger)
    except KafkaException as error:
        raise refused_properties(options.properties, error) from error


def _make_each_topic_id_once() -> None:
    """Let confluent_kafka use one Uuid object for all its answers about a topic.

    It takes one reference too many to the Uuid of each answer (2.16.1), so none of them is ever freed. Its C code looks the
    class up in the module for each answer; so it gets a function that returns the same Uuid again for the same bits.
    """
    import confluent_kafka

    if isinstance(confluent_kafka.Uuid, type):
        setattr(confluent_kafka, "Uuid", functools.cache(confluent_kafka.Uuid))  # noqa: B010 - mypy refuses the assignment


def reader(
    options: KafkaOptions, timeout_seconds: float, client_log: ClientLog, more: Mapping[str, Any]
) -> Any:
    """Return a confluent_kafka Consumer for short requests, which joins no group; `more` properties win. Raises ConfigError."""
    from confluent_kafka import Consumer, KafkaException

    try:
        return Consumer({**_reader_properties(options, timeout_seconds), **more}, logger=client_log.logger)
    except KafkaException as error:
        raise refused_properties(options.properties, error) from error


def _reader_properties(options: KafkaOptions, timeout_seconds: float) -> dict[str, str]:
    """Return the properties of a consumer for short requests, which joins no group."""
    limit = str(max(1000, int(timeout_seconds * 1000)))
    return {
        **_CONNECT,
        **dict(options.properties),
        "group.id": options.group,
        "enable.auto.commit": "false",
        "enable.auto.offset.store": "false",
        "auto.offset.reset": "error",
        "enable.partition.eof": "true",
        # bounds how long closing a reader waits for its last request, and a commit for its coordinator
        "socket.timeout.ms": limit,
        "session.timeout.ms": limit,
        "heartbeat.interval.ms": "500",
    }


def interruptible(request: Callable[[], Answer]) -> Answer:
    """Return or raise what `request()` does, and let a signal interrupt the wait.

    In the main thread, `request` runs in a daemon thread, so a signal is handled before librdkafka returns. The call
    then continues in its thread, and its answer is dropped.
    """
    if threading.current_thread() is not threading.main_thread():
        return request()
    answer: Future[Answer] = Future()

    def ask() -> None:
        try:
            answer.set_result(request())
        except BaseException as error:  # noqa: BLE001 - raised in the caller
            answer.set_exception(error)

    threading.Thread(target=ask, name="kafka-request", daemon=True).start()
    return answer.result()


def kafka_partition(topic_partition: TopicPartition, *offset: int) -> Any:
    """Return confluent_kafka's TopicPartition, with the offset if one is given."""
    from confluent_kafka import TopicPartition as KafkaTopicPartition

    return KafkaTopicPartition(topic_partition.topic, topic_partition.number, *offset)


def reason(properties: Sequence[tuple[str, str]], error: Exception) -> str:
    """Return the text of librdkafka's error, redacted."""
    text = error.args[0].str() if error.args and hasattr(error.args[0], "str") else ""
    return redact(properties, text or str(error) or "no answer in time")


def redact(properties: Sequence[tuple[str, str]], text: str) -> str:
    """Return `text` with `***` in place of the value of every property whose name looks secret."""
    for key, value in properties:
        if value and _SECRET.search(key):
            text = text.replace(value, "***")
    return text


def unavailable(
    options: KafkaOptions, what: str, why: str, client_log: ClientLog, since: float
) -> ServiceUnavailable:
    """Return the error for `what`, which was requested at `since` (time.monotonic) and not answered.

    It is AccessRefused if the client's log shows that brokers refuse the client. The caller must have polled the client.
    """
    refusal = client_log.refusal(since)
    if refusal is not None:
        return access_refused(options.properties, refusal)
    brokers = dict(options.properties).get("bootstrap.servers", "(no bootstrap.servers)")
    trouble = client_log.trouble(since)
    reasons = f"{why}; the client's last error: {redact(options.properties, trouble)}" if trouble else why
    return ServiceUnavailable(
        "kafka.unavailable",
        f"Kafka at {brokers} did not answer ({what}): {reasons}",
        "check the network, and the addresses and credentials in the map's kafka section; then start kafka2hive again",
    )


def access_refused(properties: Sequence[tuple[str, str]], refusal: ClientRefusal) -> AccessRefused:
    """Return the refusal as an error; for an untrusted certificate it gives the reason."""
    refusal = explain(refusal, dict(properties))
    broker = refusal.broker or dict(properties).get("bootstrap.servers", "(no bootstrap.servers)")
    why = redact(properties, refusal.why)
    return AccessRefused(refusal.code, f"cannot connect to Kafka at {broker}: {why}", refusal.remedy)


def refused_properties(properties: Sequence[tuple[str, str]], error: Exception) -> ConfigError:
    """Return the error for properties from which librdkafka makes no client: a wrong value, or a missing file."""
    why = reason(properties, error)
    if "No provider for SASL mechanism GSSAPI" in why:
        return gssapi_missing()
    return ConfigError(
        "kafka.properties",
        f"librdkafka refuses the map's kafka properties: {why}",
        "correct the property in the map's kafka section, or the file it names on this machine",
    )


def is_missing(error: Any) -> bool:
    """Return whether a KafkaError says that the topic partition does not exist, or no longer."""
    return error.name() in _MISSING


def is_refused(error: Any) -> bool:
    """Return whether a KafkaError says that the client is not authorized: waiting does not help."""
    return error.name() in _REFUSED


def is_late(error: Any) -> bool:
    """Return whether a KafkaError says that no answer came in time, perhaps because the broker is dead."""
    return error.name() in _LATE
