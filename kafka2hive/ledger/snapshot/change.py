"""What one epoch does to a table's state: one of five kinds. Pure values; draft.py applies them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka2hive.model.completeness import UNKNOWN_TIME
from kafka2hive.model.files import DataFile, HivePartition
from kafka2hive.model.offset_accounting import RangeAccounting
from kafka2hive.model.offsets import Position, TopicPartition
from kafka2hive.model.snapshot import (
    AcceptedGap,
    AcceptedLoss,
    AddedColumn,
    ComparedTable,
    ForgottenRegistration,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completeness:
    """What is known of a table's partitions, where the map asks which are complete.

    `complete` get a certificate, which says that `policy` decided so. `through` as in Tracking.
    """

    through: str = UNKNOWN_TIME
    complete: frozenset[HivePartition] = frozenset()
    policy: str = ""
    success_file: str = ""


@dataclass(frozen=True, slots=True)
class NotTracked:
    """The map does not ask which partitions are complete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Besides:
    """What every kind of change can also record.

    `registered` are pending registrations that Hive has confirmed since the newest snapshot. `compared` replace what the
    state says of the same Hive tables. `completeness` None: partitions are tracked as the state says, none is complete.
    """

    registered: frozenset[HivePartition] = frozenset()
    compared: tuple[ComparedTable, ...] = ()
    completeness: Completeness | NotTracked | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataEpoch(_Besides):
    """Records read and written. `accounts` begin where the table stands; `leader_epochs` are those of the last records
    read; `newest_ms` is the newest record timestamp. None: as the state says.
    """

    files: tuple[DataFile, ...]
    accounts: tuple[RangeAccounting, ...]
    leader_epochs: Mapping[TopicPartition, int] = field(default_factory=dict)
    newest_ms: int | None = None
    cluster_id: str | None = None
    location: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPositions(_Besides):
    """Where topic partitions begin, before anything of them is read.

    `positions` (start == end) join the table's; one that replaces another needs a gap of its topic partition in `gaps`,
    which an operator accepted. `topic_ids`, by topic, are learned by the positions that have none; a known one is never
    changed. `start` is the policy that chose the table's first positions. None: as the state says.
    """

    positions: tuple[Position, ...]
    gaps: tuple[AcceptedGap, ...] = ()
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    cluster_id: str | None = None
    location: str | None = None
    start: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair(_Besides):
    """What an operator decided: `losses` given up, or refetched into `files`; `gaps` accepted, with the `positions` at
    which their topic partitions resume (as in FirstPositions); another `location` for the files to come.
    """

    losses: tuple[AcceptedLoss, ...] = ()
    files: tuple[DataFile, ...] = ()
    gaps: tuple[AcceptedGap, ...] = ()
    positions: tuple[Position, ...] = ()
    cluster_id: str | None = None
    location: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationUpdate(_Besides):
    """Nothing but Hive's answers. A partition of `forgotten` is no pending registration any more, nor ever again."""

    forgotten: tuple[ForgottenRegistration, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnsAdded(_Besides):
    """The table has these columns from now on, beside the map's; committed before Hive's table and any file has them."""

    added: tuple[AddedColumn, ...]


Change = DataEpoch | FirstPositions | Repair | RegistrationUpdate | ColumnsAdded
