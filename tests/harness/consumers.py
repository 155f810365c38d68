"""Consumers that a process keeps for its next task, as `verify --deep` and tasks do in the process of the tests."""

import sys


def close_kept_consumers() -> None:
    """Before their broker ends: they would try to reach it from then on, and complain several times a second."""
    if (consumer := sys.modules.get("kafka2hive.task.fetch.consumer")) is not None:
        for _, properties in list(consumer._consumers):
            consumer.forget_consumer(properties)
