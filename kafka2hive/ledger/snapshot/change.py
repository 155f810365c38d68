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
    Certificate,
    CompactionUnit,
    ComparedTable,
    EventBounds,
    ForgottenRegistration,
    NewsProgress,
    Pause,
    RecordedOrder,
    ReplayedFile,
    RunningReplay,
)
from kafka2hive.model.window_counts import WindowCount


@dataclass(frozen=True, slots=True, kw_only=True)
class Completeness:
    """The Hive partitions that become complete, for a table whose map has `completion`.

    The `complete` partitions get certificates, which name the `policy` that decided. `through` is as in Tracking,
    `success_file` as in Certificate. With `withholds`, Hive gets a partition only when it is complete (`register: complete`).
    """

    through: str = UNKNOWN_TIME
    complete: frozenset[HivePartition] = frozenset()
    policy: str = ""
    success_file: str = ""
    withholds: bool = False


@dataclass(frozen=True, slots=True)
class NoTracking:
    """The map lacks `completion`: open partitions are no longer tracked, and none is withheld from Hive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _CommonParts:
    """The parts that every kind of change can have.

    - `registered`: pending registrations that Hive has confirmed since the newest snapshot.
    - `compared`: comparisons that replace the state's values for the same Hive tables.
    - `lapsed`: partitions whose registrations Hive has lost with their table; they become pending registrations again.
    - `completeness`: None leaves the tracking as in the state, and completes no partition.
    - `orders`: the operator's orders that this change carries out or refuses.
    - `told`: how far the receivers of the map have taken the news; it replaces the state's. None: the map is not known.
    """

    registered: frozenset[HivePartition] = frozenset()
    compared: tuple[ComparedTable, ...] = ()
    lapsed: frozenset[HivePartition] = frozenset()
    completeness: Completeness | NoTracking | None = None
    orders: tuple[RecordedOrder, ...] = ()
    told: tuple[NewsProgress, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataEpoch(_CommonParts):
    """Records that were read and written. `accounts` begin at the table's positions.

    - `leader_epochs`: the leader epochs of the last records read.
    - `newest_ms`: the newest record timestamp. `newest_ms`, `cluster_id` and `location` of None keep the state's values.
    - `bounds`: the bounds of event time that the tasks applied. They replace the state's, even by None.
    - `closes`: the ends of the periods of the Hive partitions with files at early places, by path.
    - `moved`: partitions that were compacted earlier and now get files at their homes.
    - `withheld`: partitions with files that Hive must not have before they have a certificate.
    - `windows`: the counts of the records by time, which add up to the accounts; empty for a table without `counts`.
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
    withheld: frozenset[HivePartition] = frozenset()
    windows: tuple[WindowCount, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPositions(_CommonParts):
    """The first positions of topic partitions, before any of their records is read.

    - `positions` (start == end): added to the table's. If a position replaces a known one, `gaps` must have a gap of its
      topic partition that an operator accepted.
    - `topic_ids`: by topic, to fill in unknown ids; a known id is never changed.
    - `start`: the policy that chose the table's first positions. `start`, `cluster_id` and `location` of None keep the
      state's values.
    """

    positions: tuple[Position, ...]
    gaps: tuple[AcceptedGap, ...] = ()
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    cluster_id: str | None = None
    location: str | None = None
    start: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair(_CommonParts):
    """An operator's decisions: accepted losses and gaps, or a changed location.

    `losses` are files that are given up, or refetched into `files`. `withdrawn` are the certificates of earlier epochs that must
    not count any more, because one of them counts a file of `losses`: their partitions are open again. `positions` are the
    positions at which the topic partitions of `gaps` resume, as in FirstPositions, or those in the topics to which `gaps` move.
    `location` is the table's directory for new files.
    """

    losses: tuple[AcceptedLoss, ...] = ()
    files: tuple[DataFile, ...] = ()
    withdrawn: tuple[Certificate, ...] = ()
    gaps: tuple[AcceptedGap, ...] = ()
    positions: tuple[Position, ...] = ()
    cluster_id: str | None = None
    location: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay(_CommonParts):
    """Dead-letter files that were `replayed`, and the `files` with the rows and dead letters that their letters became.

    `running` is the progress of the replay by order, including this epoch; None for a replay by a command. `closes`, `moved`
    and `withheld` are as in DataEpoch.
    """

    files: tuple[DataFile, ...]
    replayed: tuple[ReplayedFile, ...]
    running: RunningReplay | None = None
    closes: Mapping[str, str] = field(default_factory=dict)
    moved: frozenset[HivePartition] = frozenset()
    withheld: frozenset[HivePartition] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationUpdate(_CommonParts):
    """Only results of registrations. Partitions in `forgotten` never become pending registrations again."""

    forgotten: tuple[ForgottenRegistration, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewColumns(_CommonParts):
    """Columns that the table gets in addition to the map's. They are committed before Hive's table or any file has them."""

    added: tuple[AddedColumn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseUpdate(_CommonParts):
    """`paused` pauses the table; None resumes it."""

    paused: Pause | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction(_CommonParts):
    """Early partitions that were compacted, and move to their homes in this epoch.

    `units` are all units of these partitions, `files` their files at the homes. `policy` and `success_file` go into the
    partitions' certificates.
    """

    files: tuple[DataFile, ...]
    units: tuple[CompactionUnit, ...]
    policy: str
    success_file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceUpdate(_CommonParts):
    """The results of looks at the locations of moved partitions, and their consequences (K7, K8). Partitions are at their homes.

    - `right`: Hive's location was not at the early place, at the time `right_at` (ISO-8601 UTC).
    - `put_back`: Hive's location was at the early place again.
    - `retired`: the early files may be deleted from now on.
    - `cleared`: all early files are deleted.
    """

    right: frozenset[HivePartition] = frozenset()
    right_at: str = UNKNOWN_TIME
    put_back: frozenset[HivePartition] = frozenset()
    retired: frozenset[HivePartition] = frozenset()
    cleared: frozenset[HivePartition] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expiry(_CommonParts):
    """What expires, and the results of looks for dropped partitions in Hive (E1 to E4). Partitions are at their homes.

    - `expired_before_ms`: rows of periods that ended at or before it have expired; 0 keeps the state's value.
    - `dropped`: expired partitions that `retain` drops from Hive and then deletes, from now on.
    - `without_hive`: the map has no `hive` section, so Hive was never told of `dropped`; their pending registrations end.
    - `gone`: dropped partitions that Hive did not have at the time `gone_at` (ISO-8601 UTC); without Hive, also `dropped`.
    - `back`: dropped partitions that Hive had again.
    - `cleared`: dropped partitions whose files are deleted.
    """

    expired_before_ms: int = 0
    dropped: frozenset[HivePartition] = frozenset()
    without_hive: bool = False
    gone: frozenset[HivePartition] = frozenset()
    gone_at: str = UNKNOWN_TIME
    back: frozenset[HivePartition] = frozenset()
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
    | Expiry
)
