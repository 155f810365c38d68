"""Drop what has expired while a run goes on: rules E1 to E4 of docs/protocol.md."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice

from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.retention import (
    FRESH_SECONDS,
    MOST_DROPPED,
    Removal,
    Retention,
    is_over,
    never_in_hive,
)
from kafka2hive.ledger.snapshot.change import Expiry
from kafka2hive.ledger.snapshot.expiry import NEEDS_HIVE
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.files import HivePartition
from kafka2hive.model.text import counted
from kafka2hive.observe.log import RECURRING
from kafka2hive.service.retention.expired import ExpiredPeriods, success_files
from kafka2hive.service.tables.dropped import DropLookResult
from kafka2hive.service.tables.read_through import expired_before
from kafka2hive.service.tables.table_state import Table
from kafka2hive.service.wiring import Wiring

log = logging.getLogger(__name__)

EXPIRY_SECONDS = 3600.0
"""How often a table's expired partitions are listed; the recorded time moves by at least as much."""
MOST_DELETES = 1_000
"""After so many files, the rest is deleted in the next round, so that no epoch waits long."""
RETRY_SECONDS = 60.0
"""How long after a listing that failed the next one is tried."""
MOST_WARNINGS = 5
WARNED_BY = "retention"


@dataclass(slots=True)
class _Progress:
    """One table's progress in this run.

    - `listed_at`: when the expired partitions were listed last, or when the run began (monotonic seconds).
    - `waits`: whether partitions may have expired that could not be dropped at that time. `failed`: the listing failed.
    - `looks`: looks in Hive that are not recorded yet.
    - `absent`: the partitions that a look did not find, and when it began (Unix seconds).
    - `retry_at`: when files whose deletion failed are tried again without a look in Hive (monotonic seconds).
    - `kept`, `refused` and `foreign`: why partitions stay, are still in Hive, or leave directories behind, as warnings.
    """

    listed_at: float
    waits: bool = True
    failed: bool = False
    looks: list[DropLookResult] = field(default_factory=list)
    absent: dict[HivePartition, float] = field(default_factory=dict)
    retry_at: float = 0.0
    refused: dict[HivePartition, str] = field(default_factory=dict)
    foreign: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


class RunningRetention:
    """Drops the expired partitions of a run's tables between its epochs. The registrar's thread asks Hive."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._clock = wiring.ports.clock
        self._has_hive = wiring.map.hive is not None
        self._began = self._clock.monotonic()
        self._progress: dict[str, _Progress] = {}

    def note(self, event: DropLookResult) -> None:
        """Keep a look in Hive until `keep` records it."""
        self._of(event.table).looks.append(event)

    def forget(self, table: str) -> None:
        """Forget the looks for a table that this run does not serve any more."""
        progress = self._of(table)
        progress.looks, progress.absent = [], {}

    def has_work(self, table: Table) -> bool:
        """Return whether `keep` would do anything. Asks nobody."""
        progress = self._progress.get(table.name)
        looked = progress is not None and (progress.looks or progress.absent)
        return bool(looked) or self._is_listing_due(table) or self._has_deletable(table)

    def keep(self, table: Table, publish: Callable[[Expiry], OwnedLedger]) -> None:
        """Record what has expired and the looks in Hive, and delete the files whose time is over.

        Must not be called while an epoch is under way. Raises the errors of `publish`.
        """
        progress = self._of(table.name)
        ports, ledger = self._wiring.ports, table.owned.ledger
        work = Retention(ports, ledger, publish, success_files(table.rule), has_hive=self._has_hive)
        if self._is_listing_due(table):
            self._expire(table, progress, work)
        now = self._clock.epoch_ms() / 1000
        while progress.looks:
            event = progress.looks.pop(0)
            _note(progress, event)
            work.record(event.look, event.at)
        progress.absent = {p: at for p, at in progress.absent.items() if now - FRESH_SECONDS <= at <= now}
        absent = work.never_in_hive | progress.absent.keys()
        self._delete(table, progress, work.delete(absent, now, MOST_DELETES))
        over = {each.partition for each in work.owned.state.dropped if is_over(each, now)}
        progress.absent = {p: at for p, at in progress.absent.items() if p in over}
        table.warnings[WARNED_BY] = _warnings(progress)

    def _of(self, table: str) -> _Progress:
        return self._progress.setdefault(table, _Progress(self._began))

    def _is_listing_due(self, table: Table) -> bool:
        if table.rule.retain is None:
            return False
        state, progress = table.owned.state, self._progress.get(table.name, _Progress(self._began))
        before_ms = expired_before(table.rule, state, self._clock.epoch_ms())
        since = self._clock.monotonic() - progress.listed_at
        if before_ms - state.expired_before_ms >= EXPIRY_SECONDS * 1000:
            return not progress.failed or since >= RETRY_SECONDS
        return bool(before_ms) and progress.waits and since >= EXPIRY_SECONDS

    def _has_deletable(self, table: Table) -> bool:
        if self._has_hive or self._clock.monotonic() < self._of(table.name).retry_at:
            return False  # with Hive, only a look says which
        state, now = table.owned.state, self._clock.epoch_ms() / 1000
        absent = never_in_hive(state)
        return any(each.partition in absent and is_over(each, now) for each in state.dropped)

    def _expire(self, table: Table, progress: _Progress, work: Retention) -> None:
        progress.listed_at = self._clock.monotonic()
        try:
            ledger = table.owned.ledger
            expired = ExpiredPeriods.of(
                wiring=self._wiring,
                rule=table.rule,
                state=ledger.state,
                certified=ledger.certified,
                most=work.room,
            )
        except ServiceUnavailable as error:
            progress.failed = True
            progress.kept = (f"what has expired is not known: {error.message}",)
            log.warning("%s: %s", table.name, progress.kept[0], extra=RECURRING)
            return
        progress.failed, progress.foreign = False, ()
        ready = [each.partition for each in expired.partitions if not each.waits]
        dropped = work.expire(expired.before_ms, ready, self._clock.epoch_ms() / 1000)
        dropping = {line.partition for line in work.owned.state.dropped}
        left = expired.more + sum(
            not each.waits and each.partition not in dropping for each in expired.partitions
        )
        progress.waits = bool(left) or any(each.partition not in dropping for each in expired.partitions)
        progress.kept = tuple(
            f"{each.partition.path} has expired and stays: {each.waits}"
            for each in expired.partitions
            if each.foreign or each.waits == NEEDS_HIVE
        )
        if left:
            progress.kept += (
                f"at least {counted(left, 'expired partition')} wait: {MOST_DROPPED:,} are dropped at a time",
            )
        if dropped:
            paths = sorted(each.path for each in dropped)
            named = paths[0] if len(paths) == 1 else f"{paths[0]} to {paths[-1]}"
            log.info(
                "%s: %s that ended by %s expired and will be dropped: %s",
                table.name,
                counted(len(dropped), "partition"),
                expired.before_text,
                named,
            )

    def _delete(self, table: Table, progress: _Progress, removal: Removal) -> None:
        if removal.error is not None:
            progress.retry_at = self._clock.monotonic() + RETRY_SECONDS
            log.warning(
                "%s: files of dropped partitions are deleted later: %s",
                table.name,
                removal.error,
                extra=RECURRING,
            )
        if removal.files or removal.cleared:
            log.info(
                "%s: %s of dropped partitions deleted, %s cleared",
                table.name,
                counted(removal.files, "file"),
                counted(len(removal.cleared), "partition"),
            )
            progress.foreign = removal.foreign


def _note(progress: _Progress, event: DropLookResult) -> None:
    look = event.look
    progress.absent |= dict.fromkeys(look.gone, event.at)
    for home in (*look.present, *look.refused):
        progress.absent.pop(home, None)
    for home in (*look.gone, *look.present):
        progress.refused.pop(home, None)
    progress.refused |= look.refused


def _warnings(progress: _Progress) -> tuple[str, ...]:
    refused = (
        f"{home.path} is not dropped from Hive: {why}" for home, why in sorted(progress.refused.items())
    )
    foreign = (
        f"{path} stays in a dropped partition: this ledger did not write it" for path in progress.foreign
    )
    return tuple(islice((*progress.kept, *refused, *foreign), MOST_WARNINGS))
