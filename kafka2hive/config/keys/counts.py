"""Counts of a table's records by time."""

from dataclasses import dataclass
from typing import Annotated

from kafka2hive.config.keys.declaration import Duration, Key


@dataclass(frozen=True, slots=True)
class CountOptions:
    """How a table's records are counted by the time of their Kafka timestamps."""

    window_seconds: Annotated[
        Duration,
        Key(
            "Length of a window; it divides a day, and is at least a minute. Windows begin at midnight UTC.",
            name="window",
        ),
    ] = 600.0

    @property
    def window(self) -> int:
        """The length of a window in whole seconds."""
        return int(self.window_seconds)
