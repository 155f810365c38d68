"""Single messages into a topic of Kafka; each is acknowledged by all in-sync replicas before the next one."""

import logging
import time
from collections.abc import Sequence
from typing import Any

from kafka2hive.config.keys import KafkaOptions
from kafka2hive.kafka.client_log import ClientLog
from kafka2hive.kafka.librdkafka import access_refused, is_late, producer_client, reason, unavailable
from kafka2hive.model.errors import ServiceUnavailable, TableError

DELIVERY_SECONDS = 10.0


class TopicProducer:
    """Writes to topics of the map's cluster, with the map's Kafka properties. One thread at a time may use it."""

    def __init__(self, options: KafkaOptions) -> None:
        self._options = options
        self._log = ClientLog(logging.getLogger(__name__))
        self._client: Any = None

    def write(self, topic: str, key: bytes, value: bytes, headers: Sequence[tuple[str, bytes]]) -> None:
        """Write one message, and return once it is acknowledged.

        After an error it may be in the topic all the same; the next call has a new client. Raises ServiceUnavailable (Kafka
        does not answer, or refuses the client), TableError (`news.topic`: Kafka refuses the message), ConfigError.
        """
        from confluent_kafka import KafkaException

        since = time.monotonic()
        ends: list[Any] = []
        client = self._client or producer_client(self._options, DELIVERY_SECONDS, self._log)
        self._client = None
        try:
            client.produce(
                topic, value, key, headers=list(headers), on_delivery=lambda error, _: ends.append(error)
            )
            client.flush(2 * DELIVERY_SECONDS)
        except (KafkaException, BufferError) as error:
            raise self._refusal_of(topic, reason(self._options.properties, error)) from error
        end = ends[0] if ends else None
        if ends and end is None:
            self._client = client
            return
        if end is not None and not is_late(end) and end.name() != "_MSG_TIMED_OUT":
            raise self._refusal_of(topic, end.str())
        why = "no answer in time" if end is None else end.str()
        raise self._unanswered(topic, why, since)

    def close(self) -> None:
        """Drop the client. Never raises."""
        self._client = None

    def _unanswered(self, topic: str, why: str, since: float) -> ServiceUnavailable:
        refusal = self._log.refusal(since)
        if refusal is not None:
            return access_refused(self._options.properties, refusal)
        return unavailable(self._options, f"news for topic {topic}", why, client_log=self._log, since=since)

    @staticmethod
    def _refusal_of(topic: str, why: str) -> TableError:
        return TableError(
            "news.topic",
            f"Kafka does not take news for topic {topic}: {why}",
            "create the topic, grant the user of the map's kafka section the right to write it, or raise max.message.bytes",
        )
