"""Auditing a ledger's history: pure. Whoever reads the snapshots brings them; every finding names epoch and offsets.

What must hold (docs/protocol.md, I3): epochs without a hole, each beginning at the offsets where the one before it
ended; what an epoch moved is read and accounted for to the last offset, or explained by an accepted gap.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from kafka2hive.model.files import DataFile, FileKind
from kafka2hive.model.offset_accounting import AccountingMismatch, OffsetAccounting
from kafka2hive.model.offsets import OffsetRange, Position
from kafka2hive.model.snapshot import REBUILT, REFETCH, AcceptedLoss, Snapshot
from kafka2hive.model.text import counted
from kafka2hive.service.verify.result import Finding, of_epoch
from kafka2hive.service.verify.snapshot_lines import audit_lines


def audit_history(snapshots: Sequence[Snapshot]) -> tuple[Finding, ...]:
    """Audit snapshots in the order of their epochs, from the first to the newest (which may be pending)."""
    found = list(_epochs(snapshots))
    for before, after in pairwise(snapshots):
        if after.epoch == before.epoch + 1:
            found.extend(_step(before, after))
    named: dict[str, DataFile] = {}
    for snapshot in snapshots:
        found.extend(_accounts(snapshot))
        found.extend(_losses(snapshot, named))
        found.extend(_rows(snapshot, named))
        named.update({file.final: file for file in snapshot.files})
    found.extend(audit_lines(snapshots))
    return tuple(found)


def _epochs(snapshots: Sequence[Snapshot]) -> Iterator[Finding]:
    if snapshots and snapshots[0].epoch != 0 and snapshots[0].owner != REBUILT:
        yield of_epoch(
            snapshots[0], "verify.history", f"the history begins at epoch {snapshots[0].epoch}, not at 0"
        )
    for before, after in pairwise(snapshots):
        if after.epoch != before.epoch + 1:
            yield of_epoch(
                after, "verify.history", f"epochs {before.epoch + 1} to {after.epoch - 1} are missing"
            )
        if after.ledger_id != before.ledger_id:
            yield of_epoch(
                after, "verify.ledger", f"ledger {after.ledger_id}, the epoch before it {before.ledger_id}"
            )
        if after.generation < before.generation:
            yield of_epoch(
                after, "verify.generation", f"generation {after.generation} after {before.generation}"
            )


def _step(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Every position goes on where it stood, and never vanishes; a jump needs a gap accepted in this very epoch."""
    explained = {gap.range.topic_partition for gap in after.gaps if gap.epoch == after.epoch}
    for position in before.positions:
        now = after.position(position.topic_partition)
        tp = position.topic_partition
        if now is None:
            yield _offsets(after, "verify.position", position, "has no position any more")
        elif now.start != position.end and tp not in explained:
            hole = "overlap" if now.start < position.end else "hole"
            yield _offsets(
                after,
                f"verify.{hole}",
                now,
                f"begins at {now.start}, epoch {before.epoch} ended at {position.end}",
            )


def _accounts(snapshot: Snapshot) -> Iterator[Finding]:
    """The accounts of a topic partition tile exactly what the epoch moved, and each adds up."""
    ranges: dict[str, list[OffsetRange]] = {}
    for gap in _passed_over(snapshot):
        ranges.setdefault(str(gap.topic_partition), []).append(gap)
    for account in snapshot.accounts:
        ranges.setdefault(str(account.range.topic_partition), []).append(account.range)
        try:
            account.check()
        except AccountingMismatch as error:
            yield Finding("verify.account", str(account.range), f"epoch {snapshot.epoch}: {error}")
    for position in snapshot.positions:
        at = position.start
        for taken in sorted(ranges.pop(str(position.topic_partition), [])):
            if taken.start != at:
                yield _offsets(snapshot, "verify.account", position, f"no account of [{at}, {taken.start})")
            at = taken.end
        if at != position.end:
            yield _offsets(snapshot, "verify.account", position, f"no account of [{at}, {position.end})")
    for name in sorted(ranges):
        yield of_epoch(snapshot, "verify.account", f"an account of {name}, which has no position")


def _losses(snapshot: Snapshot, named: Mapping[str, DataFile]) -> Iterator[Finding]:
    """A file that this epoch gives up was committed before, with as many rows."""
    for loss in _lost_now(snapshot):
        lost = named.get(loss.path)
        if lost is None:
            yield Finding(
                "verify.decision", loss.path, f"epoch {snapshot.epoch} gives it up, no earlier one has it"
            )
        elif lost.rows != loss.rows:
            message = f"epoch {snapshot.epoch} gives up {loss.rows} rows of it, committed were {lost.rows}"
            yield Finding("verify.decision", loss.path, message)


def _rows(snapshot: Snapshot, named: Mapping[str, DataFile]) -> Iterator[Finding]:
    """The files hold as many rows as the accounts say, and as the lost files held whose records this epoch dumped again.

    Files of offsets that were accepted as a gap when a ledger was rebuilt stand in no account. `named`: earlier files.
    """
    unproven = set(_passed_over(snapshot))
    total = sum((a.account for a in snapshot.accounts), OffsetAccounting())
    again = [named[x.path] for x in _lost_now(snapshot) if x.remedy == REFETCH and x.path in named]
    for kind, read in ((FileKind.DATA, total.rows), (FileKind.DEAD_LETTER, total.dead_lettered)):
        rows = sum(f.rows for f in snapshot.files if f.kind is kind and not unproven.intersection(f.ranges))
        expected = read + sum(lost.rows for lost in again if lost.kind is kind)
        if rows != expected:
            of = f"; {counted(len(again), 'lost file')} dumped again among them" if again else ""
            yield of_epoch(
                snapshot,
                "verify.rows",
                f"{kind.value} files hold {rows} rows, the accounts say {expected}{of}",
            )


def _lost_now(snapshot: Snapshot) -> list[AcceptedLoss]:
    return [loss for loss in snapshot.losses if loss.epoch == snapshot.epoch]


def _passed_over(snapshot: Snapshot) -> list[OffsetRange]:
    """Gaps within what this very epoch moved: only a rebuilt ledger has some."""
    moved = {p.topic_partition: p for p in snapshot.positions}
    return [
        gap.range
        for gap in snapshot.gaps
        if gap.epoch == snapshot.epoch
        and (position := moved.get(gap.range.topic_partition)) is not None
        and len(gap.range)
        and position.start <= gap.range.start
        and gap.range.end <= position.end
    ]


def lost_paths(snapshots: Iterable[Snapshot]) -> frozenset[str]:
    """Final addresses given up or refetched: they need not be there."""
    return frozenset(loss.path for snapshot in snapshots for loss in snapshot.losses)


def _offsets(snapshot: Snapshot, code: str, position: Position, message: str) -> Finding:
    return Finding(code, f"{snapshot.table} {position.topic_partition}", f"epoch {snapshot.epoch}: {message}")
