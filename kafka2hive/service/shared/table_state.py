"""One table of a run: what the driver remembers of it between epochs. Everything here can be forgotten at any moment."""

import math
from dataclasses import dataclass, field

from kafka2hive.config.values import TableRule
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.model.errors import (
    AmbiguousOutcome,
    Kafka2HiveError,
    ManualActionRequired,
    ServiceUnavailable,
    TableError,
)
from kafka2hive.model.files import HivePartition
from kafka2hive.model.layout import LedgerPaths
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.pipeline.values import TableSettings

FIRST_GUESS_BYTES = 500.0
_FIRST_WAIT = 5.0
_LONGEST_WAIT = 300.0
_LONGEST_OUTAGE = 30.0
_DOUBLINGS = 10  # beyond that the longest wait holds anyway, and a power of a thousand is no float


@dataclass(frozen=True, slots=True)
class SetAside:
    """Why and until when (monotonic seconds, infinity for a ManualActionRequired) a table is left alone; `times` in a row."""

    error: Kafka2HiveError
    until: float
    times: int

    @property
    def needs_manual_action(self) -> bool:
        return isinstance(self.error, ManualActionRequired)


@dataclass(slots=True)
class Table:
    """`topics` exist in Kafka, `missing` ones are listed by the map and do not.

    `owned ledger` None: not taken over, or the memory of it was dropped (rule R0). `settings` None: schema not known yet.

    `registered`: pending registrations of the newest snapshot that Hive has confirmed since; `bytes_per_record` the planner's
    estimate,
    from the last epochs; `planned_at` monotonic seconds of the last epoch's planning. `failures` counts since the last published
    epoch: a take-over that went well proves little. `shown` is the state of the owned ledger that was dropped last.
    `admitted`: Hive's table is the one of the map, as far as commits have to wait for that; `refused`: partitions that
    Hive does not register. `warnings`: what `status` shows of the table as long as it holds, by who found it; whoever
    sets an entry replaces it when it holds no more.
    `lag_known`: `lag_records` was counted at least once.
    `group_compared`: the consumer group was compared with the ledger.
    """

    rule: TableRule
    paths: LedgerPaths
    topics: tuple[str, ...]
    location: str
    missing: tuple[str, ...] = ()
    settings: TableSettings | None = None
    owned: OwnedLedger | None = None
    registered: frozenset[HivePartition] = frozenset()
    admitted: bool = False
    refused: dict[HivePartition, TableError] = field(default_factory=dict)
    aside: SetAside | None = None
    failures: int = 0
    bytes_per_record: float = FIRST_GUESS_BYTES
    planned_at: float = -math.inf
    lag_records: int = 0
    lag_known: bool = False
    shown: Snapshot | None = None
    group_compared: bool = False
    checked_epochs: dict[TopicPartition, int] = field(default_factory=dict)
    warned: set[str] = field(default_factory=set)
    warnings: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.paths.table

    @property
    def open_registrations(self) -> frozenset[HivePartition]:
        """Hive partitions that may hold data and are not known to be registered."""
        owned = self.owned
        return frozenset() if owned is None else frozenset(owned.state.unregistered) - self.registered

    def set_aside(self, error: Kafka2HiveError, now: float) -> SetAside:
        """Leave the table alone: for ever after a ManualActionRequired, otherwise with doubling waits.

        From 5 s to 5 min; to 30 s at most where a service was away, for it may be back at any moment.
        """
        self.failures += 1
        times = self.failures
        longest = (
            _LONGEST_OUTAGE if isinstance(error, AmbiguousOutcome | ServiceUnavailable) else _LONGEST_WAIT
        )
        wait = min(_FIRST_WAIT * 2 ** min(times - 1, _DOUBLINGS), longest)
        wait = math.inf if isinstance(error, ManualActionRequired) else wait
        self.aside = SetAside(error, now + wait, times)
        return self.aside

    def forget(self) -> None:
        """Drop all memory of the ledger; the next start reads it afresh (rule R0)."""
        self.shown = self.last_state
        self.owned = None
        self.admitted = False
        self.registered = frozenset()
        self.checked_epochs.clear()

    @property
    def last_state(self) -> Snapshot | None:
        """What the table showed last, also while it is not held: to count and show, never to decide by."""
        owned = self.owned  # read once: another thread may drop it
        return owned.state if owned is not None else self.shown

    def is_waiting(self, now: float) -> bool:
        """Set aside, and not to be tried yet."""
        return self.aside is not None and now < self.aside.until

    @property
    def needs_manual_action(self) -> bool:
        """Set aside by a ManualActionRequired. Any thread may ask: `aside` is read once."""
        aside = self.aside
        return aside is not None and aside.needs_manual_action

    def serves(self, now: float) -> bool:
        """Ready to be planned."""
        ready = self.is_held and self.settings is not None and not self.refused
        return ready and not self.is_waiting(now)

    @property
    def is_held(self) -> bool:
        """Taken over, and not refused by Hive."""
        return self.owned is not None and self.admitted

    def learn_record_size(self, records: int, size: int) -> None:
        """Move the estimate half-way to what an epoch showed (`size` bytes in `records`)."""
        if records > 0:
            self.bytes_per_record = (self.bytes_per_record + max(size / records, 1.0)) / 2
