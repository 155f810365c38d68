"""A table of the map (MapTable), and its state in a run's driver between epochs (Table).

All of it can be derived again from the map, the ledger and Kafka, so a crash may lose it.
"""

import math
from collections.abc import Mapping, Sequence
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
from kafka2hive.model.offsets import RangeAccounting
from kafka2hive.model.paths.ledger import LedgerPaths
from kafka2hive.model.snapshot import AddedColumn, Snapshot
from kafka2hive.service.tables.attainment import Attainment
from kafka2hive.service.tables.read_through import ReadThrough

FIRST_GUESS_BYTES = 500.0
FIRST_BOUND_BYTES = 2048.0
_SHARE_THAT_COUNTS = 0.01
_RECORDS_THAT_COUNT = 10_000  # a smaller sample may not represent the topic
_GROWTH = 1.25  # records of the next epoch may be this much larger without exceeding the bytes of an epoch
_FIRST_WAIT = 5.0
_LONGEST_WAIT = 300.0
_LONGEST_OUTAGE = 30.0
_DOUBLINGS = 10  # the wait is at its limit by then, and 2 ** 1024 would not fit into a float


@dataclass(frozen=True, slots=True)
class MapTable:
    """A table that results from a rule of the map and Kafka's topics.

    `topics` are the existing topics that go into the table. `missing` are topics that the rule lists but Kafka lacks. `added` are
    the columns that the ledger adds to the map's; the tuple is empty if the ledger was not read.
    """

    rule: TableRule
    paths: LedgerPaths
    topics: tuple[str, ...]
    missing: tuple[str, ...] = ()
    added: tuple[AddedColumn, ...] = ()

    @property
    def name(self) -> str:
        return self.paths.table

    @property
    def location(self) -> str:
        return self.rule.location

    @property
    def cluster(self) -> str:
        """The name of the Kafka cluster in the map, "" for the section `kafka`."""
        return self.rule.kafka or ""


@dataclass(frozen=True, slots=True)
class Unowned:
    """The table is not taken over, or its ledger was dropped from memory (rule R0). `last` is the newest known state."""

    last: Snapshot | None = None


@dataclass(frozen=True, slots=True)
class Owned:
    """The table's ledger is owned by this run.

    `admitted` says that the gate has let the table commit (hive_gate.py). `registered` are pending registrations that Hive has
    confirmed since the newest snapshot.
    """

    ledger: OwnedLedger
    settings: TableSettings
    admitted: bool = False
    registered: frozenset[HivePartition] = frozenset()

    @property
    def state(self) -> Snapshot:
        return self.ledger.state

    @property
    def open_registrations(self) -> frozenset[HivePartition]:
        """The pending registrations that Hive has not confirmed yet."""
        return self.ledger.pending_registrations - self.registered


@dataclass(frozen=True, slots=True)
class SetAside:
    """Why a table is set aside, and until when (monotonic seconds; infinity for a ManualActionRequired).

    `times` counts the failures since the last published epoch; it is at least the number of bugs in this run. `ownership` is
    kept, so that a table whose ledger is in order can serve again when the wait is over.
    """

    error: Kafka2HiveError
    until: float
    times: int
    ownership: Unowned | Owned

    @property
    def needs_manual_action(self) -> bool:
        return isinstance(self.error, ManualActionRequired)


@dataclass(frozen=True, slots=True)
class HiveAnswers:
    """Hive's answers in this run about a table's partitions: `refusals`, and partitions `confirmed` as registered."""

    refusals: Mapping[HivePartition, TableError] = field(default_factory=dict)
    confirmed: frozenset[HivePartition] = frozenset()

    def after_refusal(self, partitions: frozenset[HivePartition], error: TableError) -> "HiveAnswers":
        refusals = {**self.refusals, **dict.fromkeys(partitions, error)}
        return HiveAnswers(refusals, self.confirmed - partitions)

    def after_lapse(self, partitions: frozenset[HivePartition]) -> "HiveAnswers":
        """Return the answers without those about `partitions`, which Hive has lost with their table."""
        return HiveAnswers(self.refusals, self.confirmed - partitions)

    def after_registration(
        self, partitions: frozenset[HivePartition], confirmed: frozenset[HivePartition]
    ) -> "HiveAnswers":
        """Return the answers without refusals of `partitions`, and with `confirmed`, the table's registered partitions."""
        refusals = {p: error for p, error in self.refusals.items() if p not in partitions}
        return HiveAnswers(refusals, self.confirmed | confirmed)


@dataclass(frozen=True, slots=True)
class CompletionProgress:
    """A table's progress towards complete partitions since its take-over.

    - `read_through`: the time that the table is read through.
    - `asked_at`: when the completion policy was asked last (monotonic seconds).
    - `is_awaited`: whether, when the policy was asked, a partition lacked only the records that waited in Kafka; known only
      for tables with `flush.max_interval`.
    - `uncertified`: paths of complete partitions whose certificates are not written yet.
    """

    read_through: ReadThrough = ReadThrough()  # noqa: RUF009  a frozen value of another module
    asked_at: float = -math.inf
    is_awaited: bool = False
    uncertified: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class HeldRecords:
    """Open transactions hold back `records` offsets of a table, the earliest transaction since `since_ms` (wall clock)."""

    records: int = 0
    since_ms: int | None = None


@dataclass(slots=True)
class RecordSizes:
    """Estimates of the sizes of a table's records in Kafka (bytes), learned from the last epochs.

    `mean` is the planner's estimate. `bound` is the largest expected size, which keeps epochs within their limit. `is_guess` is
    true until an epoch has had enough records, `is_measured` once an epoch has read a record.
    """

    mean: float = FIRST_GUESS_BYTES
    bound: float = FIRST_BOUND_BYTES
    is_guess: bool = True
    is_measured: bool = False

    def learn(self, accounts: Sequence[RangeAccounting]) -> None:
        """Update both sizes from an epoch's accounts: at once if records grew or a guess ends, otherwise half of the way.

        The bound is the mean size in the topic partition with the largest records, plus a quarter, because the next epoch may
        read only this topic partition. Topic partitions with under 1 % of the records are ignored.
        """
        read = sum(a.account.read for a in accounts)
        if not read:
            return
        self.is_measured = True
        mean = max(sum(a.account.bytes for a in accounts) / read, 1.0)
        enough = max(1.0, read * _SHARE_THAT_COUNTS)
        largest = max(
            (a.account.bytes / a.account.read for a in accounts if a.account.read >= enough), default=mean
        )
        bound = max(largest, 1.0) * _GROWTH
        if self.is_guess and read >= _RECORDS_THAT_COUNT and self.bound <= FIRST_BOUND_BYTES:
            self.mean, self.bound = mean, bound
        else:
            self.mean = max((self.mean + mean) / 2, mean)
            self.bound = max((self.bound + bound) / 2, bound)
        self.is_guess = self.is_guess and read < _RECORDS_THAT_COUNT


@dataclass(slots=True)
class Table:
    """The state of one table of a run. Only one class writes each field; most values are frozen and are replaced as a whole.

    | field | meaning | written by |
    |---|---|---|
    | `in_map` | its rule, topics and added columns | OwnedTables |
    | `vanished` | topics that Kafka listed earlier in this run, but does not list now (deleted, or old metadata) | OwnedTables |
    | `state` | unowned, owned or set aside | OwnedTables |
    | `hive` | Hive's answers about its partitions | OwnedTables |
    | `failures` | failures since the last published epoch or five quiet minutes; a take-over does not reset it | OwnedTables |
    | `last_wait_ends` | when the wait after the last failure ends (monotonic seconds) | OwnedTables |
    | `is_on_trial` | it has failed, and nothing shows yet that the cause has ended | OwnedTables |
    | `bugs` | unexpected errors in the work on the table in this run | TableGuard |
    | `record_sizes` | estimates of the sizes of its records | `RecordSizes.learn` |
    | `lag` | the lag, in offsets; None before it was counted | Backlogs |
    | `held` | the part of the lag that is behind open transactions | OpenTransactions |
    | `units_since` | the lowest epoch in the file names of compaction units under way; None without units | Compactions |
    | `completion` | the table's progress towards complete partitions | CompletionTracker |
    | `attainment` | how long it met its objective, as it was reported last; None without an objective | ObjectiveWatch |
    | `warnings` | texts that `status` shows, by source | a source writes its entry, and empties it when the cause is over |

    While the epoch loop runs, all writers run under its lock, and one thread at a time works on a table. Other threads may
    read `state` at any moment, so they must read it once and keep the value in a variable.
    """

    in_map: MapTable
    vanished: tuple[str, ...] = ()
    state: Unowned | Owned | SetAside = Unowned()
    hive: HiveAnswers = field(default_factory=HiveAnswers)
    failures: int = 0
    last_wait_ends: float = math.inf
    is_on_trial: bool = False
    bugs: int = 0
    record_sizes: RecordSizes = field(default_factory=RecordSizes)
    lag: int | None = None
    held: HeldRecords = HeldRecords()
    units_since: int | None = None
    completion: CompletionProgress = CompletionProgress()
    attainment: Attainment | None = None
    warnings: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.in_map.name

    @property
    def rule(self) -> TableRule:
        return self.in_map.rule

    @property
    def is_certificate_awaited(self) -> bool:
        """Whether a partition's certificate may lack only the records that wait in Kafka."""
        through_ms = self.completion.read_through.through_ms
        return self.rule.completion is not None and (through_ms is None or self.completion.is_awaited)

    @property
    def paths(self) -> LedgerPaths:
        return self.in_map.paths

    @property
    def location(self) -> str:
        return self.in_map.location

    @property
    def topics(self) -> tuple[str, ...]:
        return self.in_map.topics

    @property
    def cluster(self) -> str:
        return self.in_map.cluster

    @property
    def ownership(self) -> Unowned | Owned:
        """The ownership of the ledger, also while the table is set aside."""
        state = self.state
        return state.ownership if isinstance(state, SetAside) else state

    @ownership.setter
    def ownership(self, ownership: Unowned | Owned) -> None:
        """Replace the ownership; a table that is set aside stays set aside."""
        state = self.state
        self.state = replace(state, ownership=ownership) if isinstance(state, SetAside) else ownership

    @property
    def owned(self) -> Owned:
        """The ownership of a table that must be owned. Raises Kafka2HiveError if it is not, which is a bug."""
        match self.ownership:
            case Owned() as owned:
                return owned
            case Unowned():
                raise Kafka2HiveError(
                    "table.not_owned", f"{self.name} is used without its ledger", "please report this bug"
                )

    @property
    def aside(self) -> SetAside | None:
        """Why the table is set aside; it stays set until the table serves again. Otherwise None."""
        state = self.state
        return state if isinstance(state, SetAside) else None

    @property
    def open_registrations(self) -> frozenset[HivePartition]:
        ownership = self.ownership
        return ownership.open_registrations if isinstance(ownership, Owned) else frozenset()

    @property
    def not_in_hive(self) -> frozenset[HivePartition]:
        """The pending registrations of partitions that Hive is not known to have.

        A partition that gets files again has a pending registration again, but Hive has it from the first one.
        """
        return self.open_registrations - self.hive.confirmed

    def set_aside(self, error: Kafka2HiveError, now: float) -> SetAside:
        """Set the table aside: for ever after a ManualActionRequired, otherwise for a wait that doubles with each failure.

        The waits grow from 5 s to 5 min, or only to 30 s if a service was unavailable, because it may be back at any moment.
        After bugs they grow even if the table publishes epochs in between, because each try costs a take-over. A table that
        does not publish, because it has nothing to do, counts anew if it has been served for as long as the longest wait.
        `now` is in monotonic seconds. Only OwnedTables calls this method.
        """
        is_quiet = not self.is_on_trial and now - self.last_wait_ends > _LONGEST_WAIT
        self.failures = 1 if is_quiet else self.failures + 1
        self.is_on_trial = True
        times = max(self.failures, self.bugs)
        longest = (
            _LONGEST_OUTAGE if isinstance(error, AmbiguousOutcome | ServiceUnavailable) else _LONGEST_WAIT
        )
        wait = min(_FIRST_WAIT * 2 ** min(times - 1, _DOUBLINGS), longest)
        wait = math.inf if isinstance(error, ManualActionRequired) else wait
        self.last_wait_ends = now + wait
        self.state = aside = SetAside(error, now + wait, times, self.ownership)
        return aside

    def end_trial(self) -> None:
        """End the set-aside, because its cause has ended. Only OwnedTables calls this method."""
        self.state = self.ownership
        self.is_on_trial = False

    def forget(self) -> None:
        """Drop the ledger from memory, so that the next start reads it again (rule R0). Only OwnedTables calls this method."""
        self.ownership = Unowned(self.last_state)

    @property
    def last_state(self) -> Snapshot | None:
        """The newest known state, also while the table is not owned. It is for display and counts, not for decisions."""
        match self.ownership:
            case Owned() as owned:
                return owned.state
            case Unowned(last):
                return last

    def is_waiting(self, now: float) -> bool:
        """Return whether the table is set aside and its wait is not over."""
        aside = self.aside
        return aside is not None and now < aside.until

    @property
    def needs_manual_action(self) -> bool:
        aside = self.aside
        return aside is not None and aside.needs_manual_action

    def serves(self, now: float) -> bool:
        return self.is_held and not self.hive.refusals and not self.is_waiting(now)

    @property
    def is_held(self) -> bool:
        """Return whether the table is taken over, and Hive's table matches the map."""
        ownership = self.ownership
        return isinstance(ownership, Owned) and ownership.admitted
