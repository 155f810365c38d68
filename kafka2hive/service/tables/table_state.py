"""One table of a run: what the driver remembers of it between epochs. Everything here can be forgotten at any moment."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kafka2hive.config.keys import TableRule, TableSettings
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.model.errors import (
    AmbiguousOutcome,
    Kafka2HiveError,
    ManualActionRequired,
    ServiceUnavailable,
    TableError,
)
from kafka2hive.model.files import HivePartition
from kafka2hive.model.offset_accounting import RangeAccounting
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.model.paths.ledger import LedgerPaths
from kafka2hive.model.snapshot import AddedColumn, Snapshot
from kafka2hive.model.writer_schema import WriterId
from kafka2hive.service.tables.read_through import ReadThrough

FIRST_GUESS_BYTES = 500.0
FIRST_BOUND_BYTES = 2048.0
_SHARE_THAT_COUNTS = 0.01
_GROWTH = 1.25  # what the next epoch's records may be larger by, and keep within the bytes of an epoch
_FIRST_WAIT = 5.0
_LONGEST_WAIT = 300.0
_LONGEST_OUTAGE = 30.0
_DOUBLINGS = 10  # beyond that the longest wait holds anyway, and a power of a thousand is no float


@dataclass(frozen=True, slots=True)
class Unowned:
    """Not taken over, or the memory of the ledger was dropped (rule R0). `last`: its newest state that this run knew."""

    last: Snapshot | None = None


@dataclass(frozen=True, slots=True)
class Owned:
    """Taken over.

    `admitted`: Hive's table is the one of the map, as far as commits have to wait for that. `registered`: pending
    registrations of the newest snapshot that Hive has confirmed since. `checked_epochs`: leader epochs of the logs
    whose last record read was compared. `read_through`: up to which time all that Kafka held is in the state.
    `completion_asked`: monotonic seconds at which the policy of complete partitions was asked last.
    """

    ledger: OwnedLedger
    settings: TableSettings
    admitted: bool = False
    registered: frozenset[HivePartition] = frozenset()
    checked_epochs: dict[TopicPartition, int] = field(default_factory=dict)
    read_through: ReadThrough = ReadThrough()  # noqa: RUF009  a frozen value of another module
    completion_asked: float = -math.inf

    @property
    def state(self) -> Snapshot:
        return self.ledger.state

    @property
    def open_registrations(self) -> frozenset[HivePartition]:
        """Hive partitions that may hold data and are not known to be registered."""
        return frozenset(self.state.unregistered) - self.registered


@dataclass(frozen=True, slots=True)
class SetAside:
    """Why and until when (monotonic seconds, infinity for a ManualActionRequired) a table is left alone.

    `times` in a row. `ownership` is kept: a table whose ledger is in order serves again when the wait is over.
    """

    error: Kafka2HiveError
    until: float
    times: int
    ownership: Unowned | Owned

    @property
    def needs_manual_action(self) -> bool:
        return isinstance(self.error, ManualActionRequired)


@dataclass(slots=True)
class Table:
    """`topics` exist in Kafka, `missing` ones are listed by the map and do not. `vanished`: those of this table that Kafka
    listed earlier in this run and does not now; deleted, or a broker has old metadata.

    Other threads may read `state` at any moment: whoever looks at it twice keeps it in a variable.

    `bytes_per_record` is the planner's estimate, from the last epochs, `most_bytes_per_record` what it reckons with where
    an epoch must not become too large; `planned_at` monotonic seconds of the last epoch's
    planning. `failures` counts since the last published epoch: a take-over that succeeded proves little.
    `refused`: partitions that Hive does not register. `warnings`: what `status` shows of the table as long as it holds,
    by who found it; whoever sets an entry replaces it when it holds no more. `lag_known`: `lag_records` was counted at
    least once. `held_records` of them wait behind an open transaction, the longest since `held_since_ms` (wall clock).
    `in_hive`: partitions that Hive has confirmed in this run. `uncertified`: paths of complete partitions whose certificates
    could not be written, and are tried again.
    `group_compared`: the consumer group was compared with the ledger. `added`: columns beside the map's, as the
    ledger says. `new_writers`: schemas of records that have what the columns do not take. `schemas_seen_at`: monotonic
    seconds of the last look at the newest ones.
    """

    rule: TableRule
    paths: LedgerPaths
    topics: tuple[str, ...]
    location: str
    missing: tuple[str, ...] = ()
    vanished: tuple[str, ...] = ()
    state: Unowned | Owned | SetAside = Unowned()
    refused: dict[HivePartition, TableError] = field(default_factory=dict)
    failures: int = 0
    bytes_per_record: float = FIRST_GUESS_BYTES
    most_bytes_per_record: float = FIRST_BOUND_BYTES
    planned_at: float = -math.inf
    lag_records: int = 0
    lag_known: bool = False
    held_records: int = 0
    held_since_ms: int | None = None
    group_compared: bool = False
    added: tuple[AddedColumn, ...] = ()
    new_writers: frozenset[WriterId] = frozenset()
    schemas_seen_at: float = -math.inf
    in_hive: set[HivePartition] = field(default_factory=set)
    uncertified: set[str] = field(default_factory=set)
    warned: set[str] = field(default_factory=set)
    warnings: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.paths.table

    @property
    def ownership(self) -> Unowned | Owned:
        """Whether the ledger is owned, set aside or not."""
        state = self.state
        return state.ownership if isinstance(state, SetAside) else state

    @ownership.setter
    def ownership(self, ownership: Unowned | Owned) -> None:
        """A table that is set aside stays so."""
        state = self.state
        self.state = replace(state, ownership=ownership) if isinstance(state, SetAside) else ownership

    @property
    def owned(self) -> Owned:
        """For work on tables that are owned. Raises Kafka2HiveError: this one is not, a bug."""
        match self.ownership:
            case Owned() as owned:
                return owned
            case Unowned():
                raise Kafka2HiveError(
                    "table.not_owned", f"{self.name} is worked on without its ledger", "report it: a bug"
                )

    @property
    def aside(self) -> SetAside | None:
        """Set when the table is left alone, or was and has not published since."""
        state = self.state
        return state if isinstance(state, SetAside) else None

    @property
    def open_registrations(self) -> frozenset[HivePartition]:
        ownership = self.ownership
        return ownership.open_registrations if isinstance(ownership, Owned) else frozenset()

    def set_aside(self, error: Kafka2HiveError, now: float) -> SetAside:
        """Leave the table alone: for ever after a ManualActionRequired, otherwise with doubling waits.

        From 5 s to 5 min; to 30 s at most where a service was away, for it may be back at any moment.
        """
        self.failures += 1
        longest = (
            _LONGEST_OUTAGE if isinstance(error, AmbiguousOutcome | ServiceUnavailable) else _LONGEST_WAIT
        )
        wait = min(_FIRST_WAIT * 2 ** min(self.failures - 1, _DOUBLINGS), longest)
        wait = math.inf if isinstance(error, ManualActionRequired) else wait
        self.state = aside = SetAside(error, now + wait, self.failures, self.ownership)
        return aside

    def forget(self) -> None:
        """Drop all memory of the ledger; the next start reads it again (rule R0)."""
        self.ownership = Unowned(self.last_state)

    @property
    def last_state(self) -> Snapshot | None:
        """What the table showed last, also while it is not owned: to count and show, never to decide by."""
        match self.ownership:
            case Owned() as owned:
                return owned.state
            case Unowned(last):
                return last

    def is_waiting(self, now: float) -> bool:
        """Set aside, and not to be tried yet."""
        aside = self.aside
        return aside is not None and now < aside.until

    @property
    def needs_manual_action(self) -> bool:
        aside = self.aside
        return aside is not None and aside.needs_manual_action

    def serves(self, now: float) -> bool:
        return self.is_held and not self.refused and not self.is_waiting(now)

    @property
    def is_held(self) -> bool:
        """Taken over, and not refused by Hive."""
        ownership = self.ownership
        return isinstance(ownership, Owned) and ownership.admitted

    def learn_record_sizes(self, accounts: Sequence[RangeAccounting]) -> None:
        """Follow what an epoch showed, growth at once. The bound goes by the topic partition with the largest records, and
        a quarter: it may be the only one that waits next. One with few records says nothing of it.
        """
        read = sum(a.account.read for a in accounts)
        if not read:
            return
        mean = max(sum(a.account.bytes for a in accounts) / read, 1.0)
        enough = max(1.0, read * _SHARE_THAT_COUNTS)
        largest = max(
            (a.account.bytes / a.account.read for a in accounts if a.account.read >= enough), default=mean
        )
        self.bytes_per_record = max((self.bytes_per_record + mean) / 2, mean)
        bound = max(largest, 1.0) * _GROWTH
        self.most_bytes_per_record = max((self.most_bytes_per_record + bound) / 2, bound)
