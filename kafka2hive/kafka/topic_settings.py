"""Topic settings: retention, cleanup policy, and whether this client may read the topic."""

import logging
from collections.abc import Collection
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

from kafka2hive.kafka import errors
from kafka2hive.kafka.list_offsets import GRACE_SECONDS
from kafka2hive.kafka.port import TopicSettings

log = logging.getLogger(__name__)


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

    found: dict[str, dict[str, str]] = {}
    asked = client.describe_configs(
        [ConfigResource(ResourceType.TOPIC, name) for name in topics], request_timeout=seconds
    )
    for resource, future in asked.items():
        try:
            found[resource.name] = {
                key: entry.value for key, entry in future.result(seconds + GRACE_SECONDS).items()
            }
        except (KafkaException, FutureTimeout) as error:
            log.debug("settings of topic %s are not known: %s", resource.name, error)
    return found


def _may_read(client: Any, topics: Collection[str], seconds: float) -> dict[str, bool]:
    from confluent_kafka import KafkaException, TopicCollection
    from confluent_kafka.admin import AclOperation

    found: dict[str, bool] = {}
    asked = client.describe_topics(
        TopicCollection(list(topics)), include_authorized_operations=True, request_timeout=seconds
    )
    for name, future in asked.items():
        try:
            allowed = future.result(seconds + GRACE_SECONDS).authorized_operations
        except KafkaException as error:
            if errors.is_refused(error.args[0]):
                found[name] = False
            continue
        except FutureTimeout:
            continue
        if allowed is not None:
            found[name] = AclOperation.READ in allowed or AclOperation.ALL in allowed
    return found


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.lstrip("-").isdigit() else None
