"""The audit of a ledger's snapshots among themselves. Pure.

The invariants (docs/protocol.md, I3): every epoch has a snapshot; it begins at the offsets at which the epoch before ended;
every offset that it covers has an account or belongs to an accepted gap. A dead letter is replayed at most once: the epoch
that replays it counts it as a row, as filtered, as a tombstone, or as a dead letter again.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from kafka2hive.model.files import DataFile, FileKind
from kafka2hive.model.offsets import (
    UNKNOWN_ID,
    AccountingMismatch,
    OffsetAccounting,
    OffsetRange,
    Position,
)
from kafka2hive.model.paths.table_directory import other_place
from kafka2hive.model.snapshot import REBUILT, REFETCH, AcceptedGap, AcceptedLoss, ReplayedFile, Snapshot
from kafka2hive.model.text import counted
from kafka2hive.model.window_counts import check_windows
from kafka2hive.service.verify.result import Finding, of_epoch
from kafka2hive.service.verify.snapshot_lines import audit_lines


def audit_history(snapshots: Sequence[Snapshot]) -> tuple[Finding, ...]:
    """Audit snapshots in the order of their epochs, from the first to the newest (which may be pending)."""
    findings = list(_epochs(snapshots))
    for before, after in pairwise(snapshots):
        if after.epoch == before.epoch + 1:
            findings.extend(_positions(before, after))
    earlier: dict[str, DataFile] = {}
    replayed: set[str] = set()
    for snapshot in snapshots:
        findings.extend(_accounts(snapshot))
        for replayed_file in snapshot.replayed:
            findings.extend(_replay(snapshot, replayed_file, earlier, replayed))
            replayed.add(replayed_file.path)
        findings.extend(_losses(snapshot, earlier))
        findings.extend(_rows(snapshot, earlier))
        earlier.update({file.final: file for file in snapshot.files})
    findings.extend(audit_lines(snapshots))
    return tuple(findings)


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
                after,
                "verify.ledger",
                f"its ledger is {after.ledger_id}, but {before.ledger_id} in the epoch before",
            )
        if after.generation < before.generation:
            yield of_epoch(
                after, "verify.generation", f"generation {after.generation} after {before.generation}"
            )


def _positions(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Audit that every position begins where it ended in the epoch before, unless this epoch accepted a gap."""
    with_gap = {gap.range.topic_partition: gap for gap in after.gaps if gap.epoch == after.epoch}
    for position in before.positions:
        now = after.position(position.topic_partition)
        gap = with_gap.get(position.topic_partition)
        if gap is not None and gap.moved_to:
            yield from _move(before, after, position, gap)
        elif now is None:
            yield _offsets(
                after, "verify.position", position, "lacks this position, which the epoch before has"
            )
        elif now.start != position.end and position.topic_partition not in with_gap:
            kind = "overlap" if now.start < position.end else "hole"
            yield _offsets(
                after,
                f"verify.{kind}",
                now,
                f"begins at {now.start}, but epoch {before.epoch} ended at {position.end}",
            )


def _move(before: Snapshot, after: Snapshot, position: Position, gap: AcceptedGap) -> Iterator[Finding]:
    """Audit that a move begins where the position ended; in the same Kafka cluster it goes on at the same offset."""
    target = after.position(gap.target)
    if (gap.range.start, gap.range.end) != (position.end, position.end):
        yield _offsets(
            after, "verify.position", position, f"moves at {gap.range}, but was read up to {position.end}"
        )
    if target is None:
        yield _offsets(after, "verify.position", position, f"moves to {gap.target}, which has no position")
    elif (
        before.position(gap.target) is None
        and UNKNOWN_ID != before.cluster_id == after.cluster_id
        and target.start != position.end
    ):
        message = (
            f"moves to {gap.target}@{target.start} of the same cluster, but was read up to {position.end}"
        )
        yield _offsets(after, "verify.position", position, message)


def _accounts(snapshot: Snapshot) -> Iterator[Finding]:
    """Audit that each account adds up, and that the accounts cover exactly the offsets by which the positions moved."""
    ranges: dict[str, list[OffsetRange]] = {}
    for gap in _inner_gaps(snapshot):
        ranges.setdefault(str(gap.topic_partition), []).append(gap)
    for account in snapshot.accounts:
        ranges.setdefault(str(account.range.topic_partition), []).append(account.range)
        try:
            account.check()
        except AccountingMismatch as error:
            yield Finding("verify.account", str(account.range), f"epoch {snapshot.epoch}: {error}")
    if snapshot.windows:
        try:
            check_windows(snapshot.accounts, snapshot.windows)
        except AccountingMismatch as error:
            yield of_epoch(snapshot, "verify.account", str(error))
    for position in snapshot.positions:
        end = position.start
        for r in sorted(ranges.pop(str(position.topic_partition), [])):
            if r.start != end:
                yield _offsets(snapshot, "verify.account", position, f"no account of [{end}, {r.start})")
            end = r.end
        if end != position.end:
            yield _offsets(snapshot, "verify.account", position, f"no account of [{end}, {position.end})")
    for name in sorted(ranges):
        yield of_epoch(snapshot, "verify.account", f"an account of {name}, which has no position")


def _losses(snapshot: Snapshot, earlier: Mapping[str, DataFile]) -> Iterator[Finding]:
    """Audit that an earlier epoch committed each file that this epoch gives up, with the same number of rows."""
    for loss in _lost_now(snapshot):
        lost = earlier.get(loss.path)
        if lost is None:
            yield Finding(
                "verify.decision",
                loss.path,
                f"epoch {snapshot.epoch} gives it up, but no earlier epoch has it",
            )
        elif lost.rows != loss.rows:
            message = (
                f"epoch {snapshot.epoch} gives up {loss.rows} rows of it, but {lost.rows} were committed"
            )
            yield Finding("verify.decision", loss.path, message)


def _replay(
    snapshot: Snapshot,
    replayed_file: ReplayedFile,
    earlier: Mapping[str, DataFile],
    replayed: Collection[str],
) -> Iterator[Finding]:
    """Audit one replayed file: it is a dead-letter file of an earlier epoch and was not replayed or given up before.

    The files of the task that replayed it must have its offsets, and as many rows and dead letters as its account says.
    """
    file = earlier.get(replayed_file.path)
    problem = None
    if file is None or file.kind is not FileKind.DEAD_LETTER:
        problem = "no earlier epoch has this file of dead letters"
    elif replayed_file.path in replayed or any(loss.path == replayed_file.path for loss in snapshot.losses):
        problem = "it was replayed or given up before"
    elif file.rows != replayed_file.account.read:
        problem = f"{replayed_file.account.read} letters are replayed, but {file.rows} were committed"
    if problem is None:
        assert file is not None
        of_task = [f for f in snapshot.files if f.task == replayed_file.task]
        try:
            replayed_file.account.check(replayed_file.path)
        except AccountingMismatch as error:
            problem = str(error)
        for kind, expected in (
            (FileKind.DATA, replayed_file.account.rows),
            (FileKind.DEAD_LETTER, replayed_file.account.dead_lettered),
        ):
            held = sum(f.rows for f in of_task if f.kind is kind)
            if held != expected:
                problem = f"its letters became {expected} {kind.value} rows, but its task's files hold {held}"
        if any(f.ranges != file.ranges for f in of_task):
            problem = "the files of its task have different offsets"
    if problem is not None:
        yield Finding("verify.replay", replayed_file.path, f"epoch {snapshot.epoch}: {problem}")


def _rows(snapshot: Snapshot, earlier: Mapping[str, DataFile]) -> Iterator[Finding]:
    """Audit that the files have as many rows as the accounts say.

    The files have the rows that the epoch's accounts count, those of offsets and those of replayed letters, and the rows of
    lost files that the epoch refetched. In a rebuilt ledger, a file whose offsets became a gap has no account, and is left out.
    """
    gaps = set(_inner_gaps(snapshot))
    accounts = [a.account for a in snapshot.accounts] + [
        replayed_file.account for replayed_file in snapshot.replayed
    ]
    total = sum(accounts, OffsetAccounting())
    refetched = [earlier[x.path] for x in _lost_now(snapshot) if x.remedy == REFETCH and x.path in earlier]
    for kind, read in ((FileKind.DATA, total.rows), (FileKind.DEAD_LETTER, total.dead_lettered)):
        rows = sum(f.rows for f in snapshot.files if f.kind is kind and not gaps.intersection(f.ranges))
        expected = read + sum(lost.rows for lost in refetched if lost.kind is kind)
        if rows != expected:
            including = f", including {counted(len(refetched), 'refetched file')}" if refetched else ""
            yield of_epoch(
                snapshot,
                "verify.rows",
                f"{kind.value} files hold {rows} rows, but the accounts say {expected}{including}",
            )


def _lost_now(snapshot: Snapshot) -> list[AcceptedLoss]:
    return [loss for loss in snapshot.losses if loss.epoch == snapshot.epoch]


def _inner_gaps(snapshot: Snapshot) -> list[OffsetRange]:
    """Return the gaps within the offsets by which this epoch's positions moved; only a rebuilt ledger has any."""
    positions = {p.topic_partition: p for p in snapshot.positions}
    return [
        gap.range
        for gap in snapshot.gaps
        if gap.epoch == snapshot.epoch
        and (position := positions.get(gap.range.topic_partition)) is not None
        and len(gap.range)
        and position.start <= gap.range.start
        and gap.range.end <= position.end
    ]


def lost_paths(snapshots: Iterable[Snapshot]) -> frozenset[str]:
    """Return the final paths of files that were given up, refetched or replayed, which may be missing."""
    losses = {loss.path for snapshot in snapshots for loss in snapshot.losses}
    return frozenset(losses | replayed_paths(snapshots))


def files_with_rows(snapshots: Sequence[Snapshot]) -> Iterator[DataFile]:
    """Yield files that have each row once: not those whose rows are in newer files, or that were given up."""
    gone = lost_paths(snapshots)
    units = {unit.partition for snapshot in snapshots for unit in snapshot.units}
    early = {other_place(home.location, home.path) for home in units}
    for snapshot in snapshots:
        for file in snapshot.files:
            if file.final not in gone and not (
                file.kind is FileKind.DATA and file.hive_partition.location in early
            ):
                yield file


def retired_paths(snapshots: Iterable[Snapshot]) -> frozenset[str]:
    """Return the final paths of early files that may be gone, because their rows are in compacted ones (K8)."""
    snapshots = list(snapshots)
    through = {entry.early: entry.through for snapshot in snapshots for entry in snapshot.retired}
    return frozenset(
        file.final
        for snapshot in snapshots
        for file in snapshot.files
        if file.kind is FileKind.DATA and snapshot.epoch <= through.get(file.hive_partition.location, -1)
    )


def dropped_places(snapshots: Iterable[Snapshot]) -> dict[str, int]:
    """Return the newest epoch whose files may be gone (E4), by place of a dropped partition."""
    return {
        place: line.epoch
        for snapshot in snapshots
        for line in snapshot.dropped
        for place in (line.partition.location, other_place(line.partition.location, line.partition.path))
    }


def expired_paths(snapshots: Iterable[Snapshot]) -> frozenset[str]:
    """Return the final paths of files that may be gone, because their Hive partition was dropped."""
    snapshots = list(snapshots)
    through = dropped_places(snapshots)
    return frozenset(
        file.final
        for snapshot in snapshots
        for file in snapshot.files
        if snapshot.epoch <= through.get(file.hive_partition.location, -1)
    )


def replayed_paths(snapshots: Iterable[Snapshot]) -> set[str]:
    """Return the final paths of dead-letter files whose letters were replayed, which must be hidden."""
    return {replayed_file.path for snapshot in snapshots for replayed_file in snapshot.replayed}


def _offsets(snapshot: Snapshot, code: str, position: Position, message: str) -> Finding:
    return Finding(code, f"{snapshot.table} {position.topic_partition}", f"epoch {snapshot.epoch}: {message}")
