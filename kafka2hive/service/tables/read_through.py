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
    behind would never reach them. One that cannot be reached any more (a log was cut off, a topic is gone) is given up.
    """

    through_ms: int | None = None
    target: Ends | None = None

    def looked(self, ends: Ends) -> "ReadThrough":
        """Kafka's logs were looked at."""
        target = self.target
        if target is None or any(ends.offsets.get(tp, -1) < end for tp, end in target.offsets.items()):
            return replace(self, target=ends)
        return self

    def reached(self, positions: Mapping[TopicPartition, int]) -> "ReadThrough":
        """The state's positions are these now (the offset to be read next)."""
        target = self.target
        if target is None or any(positions.get(tp, -1) < end for tp, end in target.offsets.items()):
            return self
        return ReadThrough(through_ms=target.at_ms)
