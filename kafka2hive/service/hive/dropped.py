"""When a run looks for its dropped partitions in Hive, and what it does then: rule E3 of docs/protocol.md."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka2hive.ledger.retention import DropLook, drop_from_hive, look_for_dropped
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import MetastoreUnavailable, Partitions
from kafka2hive.storage.port import Clock

SOON_SECONDS = 60.0
"""How long after a look a partition is looked for again if Hive still has it, refuses to drop it, or did not answer."""
LATER_SECONDS = 3600.0
"""How often a partition is looked up after the ledger has recorded that Hive does not have it."""


@dataclass(frozen=True, slots=True)
class DropLookResult:
    """The result of a look for dropped partitions of a table in Hive that began `at` (Unix seconds)."""

    table: str
    look: DropLook
    at: float


@dataclass(slots=True)
class DroppedPartitions:
    """The dropped partitions of all tables, and when each is looked for next (monotonic seconds). Callers must hold a lock.

    Those of a table's dead letters are partitions of another Hive table, so `_owner` has the table of each.
    """

    _is_gone: dict[str, Mapping[HivePartition, bool]] = field(default_factory=dict)
    _owner: dict[HivePartition, str] = field(default_factory=dict)
    _next_look: dict[HivePartition, float] = field(default_factory=dict)

    def replace(self, table: str, is_gone: Mapping[HivePartition, bool]) -> bool:
        """Replace a table's dropped partitions, and return whether they differ from the earlier ones.

        `is_gone` says of each partition whether the ledger has recorded that Hive does not have it.
        """
        before = self._is_gone.get(table, {})
        if is_gone == before:
            return False
        self._is_gone[table] = is_gone
        for home in before.keys() - is_gone.keys():
            self._next_look.pop(home, None)
            self._owner.pop(home, None)
        for home, gone in is_gone.items():
            self._owner[home] = table
            if home not in before or (before[home] and not gone):
                self._next_look[home] = -math.inf
        return True

    @property
    def next_look(self) -> float:
        """When the next look is due, infinity without dropped partitions."""
        return min(self._next_look.values(), default=math.inf)

    def take(self, now: float, most: int) -> dict[HivePartition, bool]:
        """Return at most `most` partitions whose look is due, each with whether it is recorded as gone, and set the next look."""
        due = sorted(home for home, when in self._next_look.items() if when <= now)[:most]
        taken = {home: self._is_gone[self._owner[home]][home] for home in due}
        for home, gone in taken.items():
            self._next_look[home] = now + (LATER_SECONDS if gone else SOON_SECONDS)
        return taken

    def postpone(self, now: float) -> None:
        """After an outage, put off the looks that are due or were just taken until SOON_SECONDS have passed."""
        soon = now + SOON_SECONDS
        for home, when in self._next_look.items():
            if when <= now or when >= now + LATER_SECONDS:
                self._next_look[home] = soon

    def by_table(self, look: DropLook, at: float) -> list[DropLookResult]:
        """Split the result of a look that began `at` by table. Partitions that were forgotten in the meantime are left out."""
        owners = {home: self._owner.get(home) for home in (*look.gone, *look.present, *look.refused)}
        events = []
        for table in sorted({owner for owner in owners.values() if owner is not None}):
            gone = frozenset(home for home in look.gone if owners[home] == table)
            present = frozenset(home for home in look.present if owners[home] == table)
            refused = {home: why for home, why in look.refused.items() if owners[home] == table}
            events.append(DropLookResult(table, DropLook(gone, present, refused), at))
        return events


def look_and_drop(
    metastore: Partitions, due: Mapping[HivePartition, bool], clock: Clock
) -> tuple[list[tuple[DropLook, float]], MetastoreUnavailable | None]:
    """Look for the partitions in Hive, and drop those that it has if the ledger does not record them as gone.

    A partition that is recorded as gone is dropped only after a snapshot says that it is back. Return the looks, each with when
    it began (Unix seconds), and why Hive did not answer about some partitions.
    """
    at = clock.epoch_ms() / 1000
    first = look_for_dropped(metastore, due)
    looks = [(first, at)]
    to_drop = [home for home in first.present if not due[home]]
    if to_drop and first.outage is None:
        looks.append(drop_from_hive(metastore, to_drop, clock))
    return looks, next((look.outage for look, _ in looks if look.outage is not None), None)
