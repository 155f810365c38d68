"""The kinds of change that an epoch makes to a table's state. draft.py applies them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka2hive.model.files import DataFile, HivePartition
from kafka2hive.model.offsets import Position, RangeAccounting, TopicPartition
from kafka2hive.model.snapshot import (
    UNKNOWN_TIME,
    AcceptedGap,
    AcceptedLoss,
    AddedColumn,
    CompactionUnit,
    ComparedTable,
    EventBounds,
    ForgottenRegistration,
    Pause,
    RecordedOrder,
    ReplayedFile,
    RunningReplay,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completeness:
    """Which of a table's Hive partitions are complete, if the map has `completion`.

    `complete` partitions get a certificate, which names the `policy` that decided. `through` is as in Tracking.
    """

    through: str = UNKNOWN_TIME
    complete: frozenset[HivePartition] = frozenset()
    policy: str = ""
    success_file: str = ""


@dataclass(frozen=True, slots=True)
class NoTracking:
    """The map has no `completion`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _CommonParts:
    """The parts that every kind of change can have.

    `registered` are pending registrations that Hive has confirmed since the newest snapshot. `compared` replace the state's
    values for the same Hive tables. If `completeness` is None, partitions stay tracked as in the state, and none is complete.
    `orders` are the operator's orders that this change carries out or refuses.
    """

    registered: frozenset[HivePartition] = frozenset()
    compared: tuple[ComparedTable, ...] = ()
    completeness: Completeness | NoTracking | None = None
    orders: tuple[RecordedOrder, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DataEpoch(_CommonParts):
    """Records that were read and written. `accounts` begin at the table's positions.

    `leader_epochs` are those of the last records read, `newest_ms` is the newest record timestamp. None keeps the state's value.
    `bounds` are those by which the tasks decided; they replace the state's, even if they are None.
    `closes` has the ends of the periods of the Hive partitions with files at early places, by path. `moved` are partitions that
    were compacted earlier and get files at their homes.
    """

    files: tuple[DataFile, ...]
    accounts: tuple[RangeAccounting, ...]
    leader_epochs: Mapping[TopicPartition, int] = field(default_factory=dict)
    newest_ms: int | None = None
    cluster_id: str | None = None
    location: str | None = None
    bounds: EventBounds | None = None
    closes: Mapping[str, str] = field(default_factory=dict)
    moved: frozenset[HivePartition] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPositions(_CommonParts):
    """The first positions of topic partitions, before any of their records is read.

    `positions` (start == end) are added to the table's; one that replaces another needs a gap of its topic partition in `gaps`,
    which an operator accepted. `topic_ids`, by topic, fill in positions that have none; a known ID is never changed. `start`
    is the policy that chose the table's first positions. None keeps the state's value.
    """

    positions: tuple[Position, ...]
    gaps: tuple[AcceptedGap, ...] = ()
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    cluster_id: str | None = None
    location: str | None = None
    start: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair(_CommonParts):
    """An operator's decisions: losses and gaps that are accepted, or another location.

    `losses` are given up, or refetched into `files`. `positions` are where the topic partitions of `gaps` resume, as in
    FirstPositions. `location` is for files from now on.
    """

    losses: tuple[AcceptedLoss, ...] = ()
    files: tuple[DataFile, ...] = ()
    gaps: tuple[AcceptedGap, ...] = ()
    positions: tuple[Position, ...] = ()
    cluster_id: str | None = None
    location: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay(_CommonParts):
    """Dead-letter files that are `replayed`: `files` hold their letters' rows, and the letters that are letters again.

    `running` is the order that does it, with what it has done up to and in this epoch; None if no order does.
    `closes` and `moved` are as in DataEpoch.
    """

    files: tuple[DataFile, ...]
    replayed: tuple[ReplayedFile, ...]
    running: RunningReplay | None = None
    closes: Mapping[str, str] = field(default_factory=dict)
    moved: frozenset[HivePartition] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationUpdate(_CommonParts):
    """Hive's answers alone. A partition of `forgotten` is never a pending registration again."""

    forgotten: tuple[ForgottenRegistration, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewColumns(_CommonParts):
    """Columns that the table has from now on in addition to the map's, committed before Hive's table or any file has them."""

    added: tuple[AddedColumn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseUpdate(_CommonParts):
    """The table is paused from now on; None resumes it."""

    paused: Pause | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction(_CommonParts):
    """Early partitions that are compacted: all units of each, and the files at its home. They move in this epoch.

    `policy` and `success_file` are those of their certificates.
    """

    files: tuple[DataFile, ...]
    units: tuple[CompactionUnit, ...]
    policy: str
    success_file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceUpdate(_CommonParts):
    """What looks at the locations of moved partitions say, and what follows (K7, K8); each field has homes.

    `right` were not at their early places at `right_at` (ISO-8601 UTC), `put_back` were. The early files of `retired` may be
    deleted; of those of `cleared`, all are.
    """

    right: frozenset[HivePartition] = frozenset()
    right_at: str = UNKNOWN_TIME
    put_back: frozenset[HivePartition] = frozenset()
    retired: frozenset[HivePartition] = frozenset()
    cleared: frozenset[HivePartition] = frozenset()


Change = (
    DataEpoch
    | FirstPositions
    | Repair
    | Replay
    | RegistrationUpdate
    | NewColumns
    | PauseUpdate
    | Compaction
    | PlaceUpdate
)
