"""Up to which time a table has read all that Kafka held for it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kafka2hive.model.offsets import TopicPartition


@dataclass(frozen=True, slots=True)
class Ends:
    """Where all logs of a table ended at a time not before `at_ms` (epoch milliseconds)."""

    at_ms: int
    offsets: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class ReadThrough:
    """All that Kafka held at `through_ms` is in the ledger's state. `target`: the ends to reach next.

    One target is kept until it is reached: newer ends move on with the producers, and a table that is always a little
    behind would never reach them.
    """

    through_ms: int | None = None
    target: Ends | None = None

    def looked(self, ends: Ends) -> "ReadThrough":
        """Kafka's logs were looked at."""
        return self if self.target is not None else replace(self, target=ends)

    def reached(self, positions: Mapping[TopicPartition, int]) -> "ReadThrough":
        """The state's positions are these now (the offset to be read next)."""
        target = self.target
        if target is None or any(positions.get(tp, -1) < end for tp, end in target.offsets.items()):
            return self
        return ReadThrough(through_ms=target.at_ms)
