"""The objective of a table: how fresh it is meant to be, and for which share of the time."""

from dataclasses import dataclass
from typing import Annotated

from kafka2hive.config.keys.declaration import Duration, Key

WINDOW_DAYS = 30
"""An objective is judged over this many days."""


@dataclass(frozen=True, slots=True)
class Objective:
    """How fresh a table is meant to be."""

    freshness_seconds: Annotated[
        Duration, Key("How long a record may wait for the table at most.", name="freshness")
    ]
    share: Annotated[
        float,
        Key(
            "The share of the time, over 30 days, in which this must hold.",
            written="0.5 to 0.9999",
        ),
    ] = 0.99

    @property
    def budget_seconds(self) -> float:
        """The seconds of the whole window for which the objective may be missed."""
        return (1 - self.share) * WINDOW_DAYS * 86_400
