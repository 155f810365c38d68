"""Which Hive partitions of a table are complete: what its snapshots say of it (docs/protocol.md, Complete partitions)."""

from dataclasses import dataclass

from kafka2hive.model.files import HivePartition

UNKNOWN_TIME = "-"


@dataclass(frozen=True, slots=True)
class Tracking:
    """Complete partitions are told from others since the epoch `since`.

    `through` (ISO-8601 UTC to the second, `-` unknown): all that Kafka held for the table at this time is in this epoch
    and those before it.
    """

    since: int
    through: str = UNKNOWN_TIME


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPartition:
    """A Hive partition with data files that no certificate counts yet: `files` and `rows` of epochs from `since` on.

    `opened_at`: when the epoch `since` was written, ISO-8601 UTC.
    """

    partition: HivePartition
    since: int
    opened_at: str
    files: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """A Hive partition that is complete: its `files` and `rows` of epochs from `since` to the one that says so.

    `through` as in Tracking. `policy` decided so; `success_file` is the name of an empty file that is made beside it, ""
    for none.
    """

    partition: HivePartition
    since: int
    files: int
    rows: int
    through: str
    policy: str
    success_file: str
