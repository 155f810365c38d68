"""Which Hive partitions of a table are complete, as its snapshots record it (docs/protocol.md, Complete partitions)."""

from dataclasses import dataclass

from kafka2hive.model.files import HivePartition

UNKNOWN_TIME = "-"


@dataclass(frozen=True, slots=True)
class Tracking:
    """Since which epoch the completeness of partitions is tracked, and how far Kafka was read.

    Everything that Kafka held for the table at the time `through` (ISO-8601 UTC to the second, `-` if unknown) is in this
    epoch or earlier ones.
    """

    since: int
    through: str = UNKNOWN_TIME


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPartition:
    """A Hive partition with data files that no certificate counts yet: `files` and `rows` of the epochs from `since` on.

    `opened_at` is when the epoch `since` was written, ISO-8601 UTC.
    """

    partition: HivePartition
    since: int
    opened_at: str
    files: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """A complete Hive partition: `files` and `rows` of the epochs from `since` to the one that certifies it.

    `through` is as in Tracking. `policy` is the completion policy that decided. `success_file` is the name of an empty file
    in the partition's directory, "" if none is wanted.
    """

    partition: HivePartition
    since: int
    files: int
    rows: int
    through: str
    policy: str
    success_file: str
