"""The gaps that an operator accepts: the argument of `recover --accept-gap`."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from kafka2hive.model.errors import ConfigError
from kafka2hive.model.offsets import TopicPartition

_TEXT = re.compile(r"(?P<topic>[A-Za-z0-9._-]+):(?P<number>\d+|\*)(?::(?P<up_to>\d+))?")


@dataclass(frozen=True, slots=True)
class GapAcceptance:
    """One accepted gap. `number` None covers every partition of the topic, `up_to` None any offset."""

    topic: str
    number: int | None = None
    up_to: int | None = None

    def __str__(self) -> str:
        number = "*" if self.number is None else str(self.number)
        return f"{self.topic}:{number}" + ("" if self.up_to is None else f":{self.up_to}")

    @staticmethod
    def parse(text: str) -> "GapAcceptance":
        """Parse `TOPIC:PARTITION`, `TOPIC:*` or `TOPIC:PARTITION:UP_TO`. Raises ConfigError (`usage.accept_gap`)."""
        match = _TEXT.fullmatch(text)
        if not match:
            raise ConfigError(
                "usage.accept_gap",
                f"not a gap: {text!r}",
                "write TOPIC:PARTITION, TOPIC:* for all its partitions, or TOPIC:PARTITION:UP_TO_OFFSET",
            )
        number = None if match["number"] == "*" else int(match["number"])
        return GapAcceptance(match["topic"], number, int(match["up_to"]) if match["up_to"] else None)

    def covers(self, topic_partition: TopicPartition, resumes_at: int) -> bool:
        """Return whether this topic partition may resume at `resumes_at`."""
        return (
            self.topic == topic_partition.topic
            and self.number in (None, topic_partition.number)
            and (self.up_to is None or resumes_at <= self.up_to)
        )


def accepted(
    acceptances: Collection[GapAcceptance], topic_partition: TopicPartition, resumes_at: int
) -> bool:
    """Return whether any of `acceptances` lets this topic partition resume at `resumes_at`."""
    return any(acceptance.covers(topic_partition, resumes_at) for acceptance in acceptances)
