"""The time up to which a table has read everything that Kafka held for it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kafka2hive.model.offsets import TopicPartition


@dataclass(frozen=True, slots=True)
class Ends:
    """The ends of all logs of a table, read at `at_ms` (epoch milliseconds) or later."""

    at_ms: int
    offsets: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class ReadThrough:
    """The ledger's state holds everything that Kafka held at `through_ms`. `target`: the ends to reach next.

    A target is kept until it is reached, because a table that is always a little behind would never reach ends that move
    with the producers. A target that cannot be reached any more (a truncated log, a deleted topic) is replaced.
    """

    through_ms: int | None = None
    target: Ends | None = None

    def with_target(self, ends: Ends) -> "ReadThrough":
        """Take the logs' present ends as the target if there is none, or if it cannot be reached any more."""
        target = self.target
        if target is None or any(ends.offsets.get(tp, -1) < end for tp, end in target.offsets.items()):
            return replace(self, target=ends)
        return self

    def after(self, positions: Mapping[TopicPartition, int]) -> "ReadThrough":
        """Return the state once `positions` (the next offsets to read) are committed: read through, if they reach the target."""
        target = self.target
        if target is None or any(positions.get(tp, -1) < end for tp, end in target.offsets.items()):
            return self
        return ReadThrough(through_ms=target.at_ms)
