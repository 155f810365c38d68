"""The chore that drops what has expired between epochs: rules E1 to E4 of docs/protocol.md."""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Protocol

from kafka2hive.ledger.retention import (
    FRESH_SECONDS,
    MOST_DROPPED,
    Removal,
    Retention,
    is_over,
    never_in_hive,
)
from kafka2hive.ledger.snapshot.expiry import NEEDS_HIVE
from kafka2hive.ledger.turns import Turns
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.files import HivePartition
from kafka2hive.model.text import counted
from kafka2hive.observe.log import RECURRING
from kafka2hive.service.chores.port import HiveLooks, TableOwner, publish_alone, work_on_serving
from kafka2hive.service.hive.dropped import DropLookResult
from kafka2hive.service.hive.registrar import RegistrarEvent
from kafka2hive.service.retention.expired import ExpiredPeriods, success_files
from kafka2hive.service.tables.read_through import expired_before
from kafka2hive.service.tables.table_state import Table, Unowned
from kafka2hive.service.wiring import Wiring

log = logging.getLogger(__name__)

EXPIRY_SECONDS = 3600.0
"""How often a table's expired partitions are listed; the recorded time moves by at least as much."""
MOST_DELETES = 1_000
"""After so many files, the rest is deleted in the next round, so that no epoch waits long."""
RETRY_SECONDS = 60.0
"""How long after a listing or a deletion that failed the next one is tried; the waits of a deletion double."""
MOST_WARNINGS = 5
WARNED_BY = "retention"


class RetentionListener(Protocol):
    """Learns what the chore does to each table."""

    def listed(self, table: str, expired: ExpiredPeriods, dropped: frozenset[HivePartition]) -> None:
        """Note what has expired, and which of it is dropped from now on."""
        ...

    def not_listed(self, table: str, error: ServiceUnavailable) -> None:
        """Note that what has expired is not known."""
        ...

    def removed(self, table: str, removal: Removal) -> None:
        """Note which files were deleted."""
        ...


@dataclass(slots=True)
class _Progress:
    """One table's progress since this process owns it.

    - `listed_at`: when the expired partitions were listed last, or when the chore began (monotonic seconds).
    - `waits`: whether partitions may have expired that could not be dropped at that time. `failed`: the listing failed.
    - `asked`: an operator wants to know now what has expired, and all of it.
    - `looks`: looks in Hive that are not recorded yet.
    - `absent`: the partitions that a look did not find, and when it began (Unix seconds).
    - `turns`: which partitions could not be deleted, and when they are tried again.
    - `kept`, `refused` and `foreign`: why partitions stay, are still in Hive, or leave directories behind, as warnings.
    """

    listed_at: float
    waits: bool = True
    failed: bool = False
    asked: bool = False
    looks: list[DropLookResult] = field(default_factory=list)
    absent: dict[HivePartition, float] = field(default_factory=dict)
    turns: Turns[HivePartition] = field(default_factory=lambda: Turns(RETRY_SECONDS))
    refused: dict[HivePartition, str] = field(default_factory=dict)
    foreign: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


class RetentionChore:
    """Drops the expired partitions of tables between epochs. Hive is asked elsewhere (HiveLooks)."""

    def __init__(
        self,
        wiring: Wiring,
        owner: TableOwner,
        hive: HiveLooks,
        listeners: Sequence[RetentionListener] = (),
    ) -> None:
        self._wiring = wiring
        self._owner = owner
        self._hive = hive
        self._listeners = listeners
        self._clock = wiring.ports.clock
        self._has_hive = wiring.map.hive is not None
        self._began = self._clock.monotonic()
        self._progress: dict[str, _Progress] = {}
        self._dropping: set[str] = set()

    def forget(self, table: Table) -> None:
        self._forget(table.name)

    def _forget(self, table: str) -> None:
        self._progress.pop(table, None)

    def watch(self, table: Table) -> None:
        dropped = table.owned.state.dropped
        self._hive.drop(table.name, {each.partition: bool(each.gone_since) for each in dropped})
        if dropped:
            self._dropping.add(table.name)

    def release(self) -> None:
        """Let nothing be dropped from Hive for tables that this process does not own any more, or that are stopped (E5)."""
        for name in self._dropping.copy():
            table = self._owner.tables.get(name)
            if table is None or table.needs_manual_action or isinstance(table.ownership, Unowned):
                self._dropping.discard(name)
                self._hive.drop(name, {})
                self._forget(name)

    def note(self, event: RegistrarEvent) -> None:
        """Keep a look in Hive until the next step records it."""
        if isinstance(event, DropLookResult) and event.table in self._dropping:  # not from before a stop
            self._of(event.table).looks.append(event)

    def step(self, *, is_idle: bool) -> None:
        """Record what has expired and the looks in Hive, and delete the files whose time is over (E1 to E4)."""
        work_on_serving(self._owner, self.has_work, self._drop)

    def ask(self, table: Table) -> None:
        """List all that has expired at the next step, whenever it was listed last."""
        self._of(table.name).asked = True

    def has_work(self, table: Table) -> bool:
        """Return whether a step would do anything for the table. Asks nobody."""
        progress, now = self._progress.get(table.name), self._clock.epoch_ms() / 1000
        looked = progress is not None and (
            progress.looks or any(progress.turns.is_due(home, now) for home in progress.absent)
        )
        return bool(looked) or self._is_listing_due(table) or self._has_deletable(table)

    def _drop(self, table: Table) -> None:
        progress = self._of(table.name)
        work = Retention(
            self._wiring.ports,
            table.owned.ledger,
            partial(publish_alone, self._owner, table),
            success_files(table.rule),
            has_hive=self._has_hive,
            turns=progress.turns,
        )
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
        if progress.asked:
            return True
        before_ms = expired_before(table.rule, state, self._clock.epoch_ms())
        since = self._clock.monotonic() - progress.listed_at
        if before_ms - state.expired_before_ms >= EXPIRY_SECONDS * 1000:
            return not progress.failed or since >= RETRY_SECONDS
        return bool(before_ms) and progress.waits and since >= EXPIRY_SECONDS

    def _has_deletable(self, table: Table) -> bool:
        if self._has_hive:
            return False  # only a look says which
        state, now = table.owned.state, self._clock.epoch_ms() / 1000
        absent, turns = never_in_hive(state), self._of(table.name).turns
        return any(
            each.partition in absent and is_over(each, now) and turns.is_due(each.partition, now)
            for each in state.dropped
        )

    def _expire(self, table: Table, progress: _Progress, work: Retention) -> None:
        progress.listed_at = self._clock.monotonic()
        most, progress.asked = math.inf if progress.asked else work.room, False
        try:
            ledger = table.owned.ledger
            expired = ExpiredPeriods.of(
                wiring=self._wiring,
                rule=table.rule,
                state=ledger.state,
                certified=ledger.certified,
                most=most,
            )
        except ServiceUnavailable as error:
            progress.failed = True
            progress.kept = (f"what has expired is not known: {error.message}",)
            log.warning("%s: %s", table.name, progress.kept[0], extra=RECURRING)
            for listener in self._listeners:
                listener.not_listed(table.name, error)
            return
        progress.failed, progress.foreign = False, ()
        ready = [each.partition for each in expired.partitions if not each.waits]
        dropped = work.expire(expired.before_ms, ready, self._clock.epoch_ms() / 1000)
        for listener in self._listeners:
            listener.listed(table.name, expired, dropped)
        dropping = {line.partition for line in work.owned.state.dropped}
        left = expired.more + sum(
            not each.waits and each.partition not in dropping for each in expired.partitions
        )
        progress.waits = bool(left or expired.unreadable) or any(
            each.partition not in dropping for each in expired.partitions
        )
        progress.kept = tuple(
            f"{each.partition.path} has expired and stays: {each.waits}"
            for each in expired.partitions
            if each.foreign or each.waits == NEEDS_HIVE
        )
        if left:
            progress.kept += (
                f"at least {counted(left, 'expired partition')} wait: {MOST_DROPPED:,} are dropped at a time",
            )
        progress.kept += tuple(
            f"what has expired in {path} is not known: {why}" for path, why in expired.unreadable
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
        for listener in self._listeners:
            listener.removed(table.name, removal)


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
