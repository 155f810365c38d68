"""The snapshot: a table's whole state after one epoch, as one value (design: docs/protocol.md)."""

from dataclasses import dataclass, field

from kafka2hive.model.completeness import Certificate, OpenPartition, Tracking
from kafka2hive.model.files import DataFile, HivePartition
from kafka2hive.model.offset_accounting import RangeAccounting
from kafka2hive.model.offsets import UNKNOWN_ID, OffsetRange, Position, TopicPartition

UNKNOWN_START = "-"
NO_SNAPSHOT = "-"
"""Value of `previous` in the first snapshot of a ledger."""
REBUILT = "rebuilt"
"""Owner of the snapshots that `recover --rebuild-ledger` writes: the first one stands for all that was before it."""

ACCEPT_LOSS, REFETCH = "accept-loss", "refetch"
"""What happened to the records of a lost file: they were given up, or read again from Kafka."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedGap:
    """Offsets declared lost before they were read (aged out by retention, a truncated log)."""

    range: OffsetRange
    reason: str
    accepted_at: str
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedLoss:
    """A committed file that was given up (`remedy` = ACCEPT_LOSS) or refetched (REFETCH)."""

    path: str
    remedy: str
    rows: int
    accepted_at: str
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedTable:
    """A table of the map as it was when Hive's table was found to be the same; texts, so that they stay readable."""

    table: str
    location: str
    format: str
    columns: str
    partition_columns: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedColumn:
    """A column that the table has beside the map's: a field of a schema that no column took, or such a column with a
    wider type. The last one of a name holds. `schema` says which schema had it, for people.
    """

    name: str
    type: str
    schema: str
    added_at: str
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgottenRegistration:
    """A Hive partition that holds data and is registered no more: Hive refused it (`reason`), an operator accepted that.

    `accepted_by` is the owner name of the command, `<host>-<pid>-<uuid>`.
    """

    partition: HivePartition
    reason: str
    accepted_by: str
    accepted_at: str
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """State of one table after epoch `epoch`. The newest one alone is the state.

    - `positions`: every topic partition the table ever read, also vanished ones. `accounts` and `files` are this epoch's.
    - `gaps`, `losses`, `forgotten`, `added`: cumulative.
    - `unregistered`: Hive partitions that may hold data and were not known to be registered when this was written.
      `registered`: those of the snapshot before that Hive has confirmed since.
    - `compared`: Hive tables (the table's own, that of dead letters) that were found to be the map's, as it had them then.
    - `tracking`: whether complete partitions are told from others; `open` are those that are not complete, and
      `certificates` those that became complete in this epoch. `reopened`: those of the snapshot before that are open again,
      because their certificates were not written.
    - `location`: the table's directory, so that recovery needs no map. `start`: the map's start policy that chose the
      first positions, as text.
    - `newest_ms`: the newest record timestamp (epoch milliseconds) that ever became visible, None before the first.
    - `written_at`: ISO-8601 UTC, for people only; no decision uses it.
    - `previous`: the checksum of the snapshot before this one. `checksum`: that of this one's own text where it was read
      or written, "" where it never was.
    """

    ledger_id: str
    service: str
    table: str
    generation: int
    owner: str
    epoch: int
    written_at: str
    cluster_id: str = UNKNOWN_ID
    location: str = ""
    start: str = UNKNOWN_START
    newest_ms: int | None = None
    files: tuple[DataFile, ...] = ()
    positions: tuple[Position, ...] = ()
    accounts: tuple[RangeAccounting, ...] = ()
    gaps: tuple[AcceptedGap, ...] = ()
    losses: tuple[AcceptedLoss, ...] = ()
    unregistered: tuple[HivePartition, ...] = ()
    compared: tuple[ComparedTable, ...] = ()
    forgotten: tuple[ForgottenRegistration, ...] = ()
    added: tuple[AddedColumn, ...] = ()
    registered: tuple[HivePartition, ...] = ()
    tracking: Tracking | None = None
    open: tuple[OpenPartition, ...] = ()
    certificates: tuple[Certificate, ...] = ()
    reopened: tuple[HivePartition, ...] = ()
    previous: str = NO_SNAPSHOT
    checksum: str = field(default="", init=False, repr=False, compare=False)
    _index: dict[TopicPartition, Position] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def with_checksum(self, checksum: str) -> "Snapshot":
        """Return the same snapshot with the checksum of its text. A copy with other values has no checksum."""
        same = object.__new__(
            Snapshot
        )  # a third of the time of `replace`; each read and each commit make one
        for name in self.__slots__:
            object.__setattr__(same, name, getattr(self, name))
        object.__setattr__(same, "checksum", checksum)
        return same

    @property
    def topics(self) -> frozenset[str]:
        """The topics that the table has positions for, including deleted ones."""
        return frozenset(p.topic_partition.topic for p in self.positions)

    def position(self, topic_partition: TopicPartition) -> Position | None:
        """Return the position of one topic partition, None if the table never read it."""
        if not self._index and self.positions:
            self._index.update({p.topic_partition: p for p in self.positions})
        return self._index.get(topic_partition)
