"""An epoch of a live run as the run's page shows it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEpoch:
    """One epoch of the live run: when it was published, how long its phases took, and how many records then waited in Kafka.

    `fresh_seconds` is the largest, over the epoch's tables, of the ages of their newest records; None if unknown.
    """

    number: int
    published_at: str
    tasks_seconds: float
    publish_seconds: float
    records: int
    tables: int
    lag_records: int
    fresh_seconds: float | None
    set_aside: int
