"""The audit of snapshots' headers, file lines, decisions, registrations and completeness. Pure.

Snapshots are redundant: much of a file's line is in the file's name, and much of a snapshot is in the next one. An edit
of one of them, even with a correct checksum, contradicts the other. What is written only once, for people, is not
audited: `written_at`, `newest_ms` of the newest epoch, an account's bytes, reason and time of a decision.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from kafka2hive.ledger.snapshot.codec import checksum_of
from kafka2hive.ledger.snapshot.line import Life
from kafka2hive.ledger.snapshot.lines import LINES
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange
from kafka2hive.model.paths.path import base_name, join, parent
from kafka2hive.model.paths.table_directory import DataFileName, early_place, ledger_tag, staging_directory
from kafka2hive.model.snapshot import (
    MOST_ORDERS,
    ORDER_DONE,
    REBUILT,
    EventBounds,
    Pause,
    RunningReplay,
    Snapshot,
)
from kafka2hive.model.text import utc_text
from kafka2hive.service.verify.compaction import audit_places
from kafka2hive.service.verify.result import Finding, of_epoch

_COMPLETENESS = "verify.completeness"
_BOUNDS = "verify.bounds"
_CUMULATIVE = [line for line in LINES if line.life is Life.CUMULATIVE]
_UNKNOWN = "-"
_UNKNOWN_EPOCH = -1

Counts = tuple[int, int, int]
"""First epoch, files, rows."""


def audit_lines(snapshots: Sequence[Snapshot]) -> Iterator[Finding]:
    """Audit snapshots, which are in the order of their epochs."""
    for before, after in pairwise(snapshots):
        if after.epoch == before.epoch + 1:
            yield from _chain(before, after)
            yield from _header(before, after)
            yield from _topics(before, after)
            yield from _decisions(before, after)
            yield from _orders(before, after)
            yield from _replaying(before, after)
            yield from _registrations(before, after)
            yield from _completeness(before, after)
            yield from _bounds(before, after)
            yield from audit_places(before, after)
    ranges = {file.final: set(file.ranges) for snapshot in snapshots for file in snapshot.files}
    for snapshot in snapshots:
        refetched = [ranges.get(loss.path) for loss in snapshot.losses if loss.epoch == snapshot.epoch]
        replayed = [ranges.get(one.path) for one in snapshot.replayed]
        if len({p.topic_partition for p in snapshot.positions}) != len(snapshot.positions):
            yield of_epoch(snapshot, "verify.position", "it has two positions of one topic partition")
        for file in snapshot.files:
            if problem := _file_problem(file, snapshot, refetched, replayed):
                yield Finding("verify.file", file.final, f"epoch {snapshot.epoch}: {problem}")
    counts = Counter(file.final for snapshot in snapshots for file in snapshot.files)
    for path, times in counts.items():
        if times > 1:
            yield Finding("verify.file", path, f"is named {times} times")


def _chain(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Audit that each snapshot names the checksum of the one before, so that an edit with a correct checksum shows."""
    if after.previous != checksum_of(before):
        message = f"it was written after a snapshot with {after.previous}, that of epoch {before.epoch} has {checksum_of(before)}"
        yield of_epoch(after, "verify.chain", message)


def _header(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Audit that a ledger has one table and one Kafka cluster, and each generation one owner and service.

    The location may change in an epoch that reads, or in one without files (`--accept-location`); the owner marker at the
    new location confirms it.
    """
    constant = ["table"]
    constant += ["owner", "service"] if after.generation == before.generation else []
    constant += ["location"] if after.files and not after.accounts else []
    for name in constant:
        now, then = getattr(after, name), getattr(before, name)
        if now != then:
            yield of_epoch(after, "verify.header", f"{name} {now}, in the epoch before it {then}")
    clusters = {before.cluster_id, after.cluster_id} - {_UNKNOWN}
    if len(clusters) > 1 and before.positions:
        yield of_epoch(after, "verify.header", f"cluster {after.cluster_id}, before {before.cluster_id}")
    if (before.newest_ms or 0) > (after.newest_ms or 0):
        yield of_epoch(
            after, "verify.header", f"newest record at {after.newest_ms}, before at {before.newest_ms}"
        )


def _topics(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Audit that a topic partition keeps its topic id, and that its leader epoch only grows, and only if records are read.

    A new topic partition must begin with an empty range.
    """
    with_gap = {gap.range.topic_partition for gap in after.gaps if gap.epoch == after.epoch}
    for now in after.positions:
        if now.topic_partition in with_gap:
            continue
        where = f"{after.table} {now.topic_partition}"
        then = before.position(now.topic_partition)
        if then is None:
            if now.start != now.end:
                message = f"epoch {after.epoch}: [{now.start}, {now.end}) was read without a first position"
                yield Finding("verify.position", where, message)
            continue
        if now.topic_id != then.topic_id and _UNKNOWN not in (now.topic_id, then.topic_id):
            message = f"epoch {after.epoch}: topic id {now.topic_id}, before {then.topic_id}"
            yield Finding("verify.position", where, message)
        changed_unread = now.start == now.end and now.leader_epoch != then.leader_epoch
        if changed_unread or _UNKNOWN_EPOCH < now.leader_epoch < then.leader_epoch:
            message = f"epoch {after.epoch}: leader epoch {now.leader_epoch}, before {then.leader_epoch}"
            yield Finding("verify.position", where, message)


def _decisions(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Audit that decisions and added columns are repeated in every later snapshot, and that new ones are of its epoch."""
    for line in _CUMULATIVE:
        old, new = getattr(before, line.attribute), getattr(after, line.attribute)
        if new[: len(old)] != old:
            yield of_epoch(
                after,
                "verify.decision",
                f"its {line.tag} lines do not continue those of the epoch before",
            )
        elif any(decision.epoch != after.epoch for decision in new[len(old) :]):
            yield of_epoch(
                after, "verify.decision", f"{line.tag} lines of another epoch appear for the first time"
            )


def _orders(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Audit that each order is new once, that only orders pause and resume the table, and that a paused one reads nothing."""
    new = [each for each in after.orders if each.epoch == after.epoch]
    if after.orders != (before.orders + tuple(new))[-MOST_ORDERS:]:
        yield of_epoch(after, "verify.order", "its order lines do not continue those of the epoch before")
    if len({each.id for each in after.orders}) != len(after.orders):
        yield of_epoch(after, "verify.order", "it has the same order twice")
    expected = before.paused
    for each in new:
        if each.result == ORDER_DONE and each.kind in ("pause", "resume"):
            pause = Pause(since=each.done_at, by=each.given_by, order=each.id, epoch=each.epoch)
            expected = None if each.kind == "resume" else expected or pause
    if after.paused != expected:
        yield of_epoch(after, "verify.order", f"paused is {after.paused}, its orders make it {expected}")
    if before.paused is not None and after.accounts:
        yield of_epoch(
            after, "verify.order", f"it has read records, and was paused in epoch {before.paused.epoch}"
        )


def _replaying(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Audit that an order to replay letters counts what its epochs have replayed, until the order is recorded."""
    expected, now = before.replaying, after.replaying
    new = {each.id for each in after.orders if each.epoch == after.epoch}
    if expected is not None and expected.order in new:
        expected = None
    elif after.replayed and now is not None and now != expected:
        if expected is None or expected.order != now.order:
            expected = RunningReplay(order=now.order, through=min(now.through, before.epoch))
        account = sum((each.account for each in after.replayed), expected.account)
        expected = replace(expected, files=expected.files + len(after.replayed), account=account)
    if now != expected:
        yield of_epoch(after, "verify.order", f"replaying is {now}, its lines make it {expected}")


def _registrations(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Audit the pending registrations.

    They must be those of the epoch before and the Hive partitions of this epoch's files, but not those that were registered
    since or given up, nor early places whose partition was compacted.
    """
    own = {file.hive_partition for file in after.files}
    earlier, registered, pending = map(frozenset, (before.unregistered, after.registered, after.unregistered))
    compacted = {e.partition for e in before.early} - {e.partition for e in after.early}
    expected = (earlier - registered - compacted | own) - {f.partition for f in after.forgotten}
    for tag, lines, distinct in (
        ("unregistered", after.unregistered, pending),
        ("registered", after.registered, registered),
    ):
        if len(lines) != len(distinct):
            yield of_epoch(after, "verify.registrations", f"it has the same {tag} line twice")
    for partition in sorted(expected - pending):
        why = "wrote to it" if partition in own else f"follows epoch {before.epoch}, where it is pending,"
        yield _registration(after, partition, f"{why} but has no pending registration of it")
    for partition in sorted(pending - expected):
        yield _registration(after, partition, "has a pending registration of it, but did not write to it")
    for partition in sorted(registered - earlier):
        yield _registration(
            after, partition, f"says that it was registered, but it is not pending in epoch {before.epoch}"
        )


def _registration(snapshot: Snapshot, partition: HivePartition, message: str) -> Finding:
    return Finding("verify.registrations", partition.location, f"epoch {snapshot.epoch} {message}")


def _completeness(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Audit open partitions and certificates against the snapshot before, and this epoch's files and losses."""
    if after.tracking is None:
        if after.open or after.certificates:
            yield of_epoch(after, _COMPLETENESS, "partitions are open or complete, though none are tracked")
        return
    yield from _tracking(before, after)
    uncertified = set(after.reopened) - {each.partition for each in before.certificates}
    if uncertified:
        yield of_epoch(
            after, _COMPLETENESS, f"{min(uncertified).path} is open again, and had no certificate before"
        )
    counts = _uncertified_counts(before, after)
    for certificate in after.certificates:
        expected = counts.pop(certificate.partition.path, None)
        if expected != (certificate.since, certificate.files, certificate.rows):
            text = (
                "nothing"
                if expected is None
                else f"{expected[1]} files, {expected[2]} rows since epoch {expected[0]}"
            )
            yield Finding(
                _COMPLETENESS,
                certificate.partition.location,
                f"epoch {after.epoch}: its certificate counts {certificate.files} files, {certificate.rows} rows since epoch"
                f" {certificate.since}; its snapshots have {text}",
            )
        if certificate.through > after.tracking.through:
            yield Finding(
                _COMPLETENESS,
                certificate.partition.location,
                f"epoch {after.epoch}: its certificate says read through {certificate.through}, its snapshot"
                f" {after.tracking.through}",
            )
    for each in after.open:
        place = each.partition.location
        if counts.pop(each.partition.path, None) != (each.since, each.files, each.rows):
            yield Finding(_COMPLETENESS, place, f"epoch {after.epoch}: its counts of open files are wrong")
        opened_at = _opened_at(before, each.partition.path)
        if opened_at is not None and each.opened_at > opened_at:
            yield Finding(_COMPLETENESS, place, f"epoch {after.epoch}: it was open since {opened_at} already")
    for path in sorted(counts):
        yield of_epoch(after, _COMPLETENESS, f"{path} is neither open nor complete")


def _tracking(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Audit since when partitions are tracked, and that the time through which the table is read never goes back."""
    assert after.tracking is not None
    since = after.epoch if before.tracking is None else before.tracking.since
    if after.tracking.since != since:
        yield of_epoch(
            after, _COMPLETENESS, f"partitions are tracked since {after.tracking.since}, not {since}"
        )
    if before.tracking is not None and after.tracking.through < before.tracking.through:
        yield of_epoch(
            after, _COMPLETENESS, f"read through {after.tracking.through}, before {before.tracking.through}"
        )


def _bounds(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Audit the bounds of event time: they change only if records are read, and no closed period opens again.

    A rebuilt ledger's epochs have the accounts of many, and no bounds.
    """
    if after.owner == REBUILT:
        return
    if not after.accounts and after.bounds != before.bounds and after.tracking is not None:
        yield of_epoch(after, _BOUNDS, "it read no records, but its bounds of event time have changed")
    then, now = (None if one.bounds is None else one.bounds.late_before_ms for one in (before, after))
    if now is not None:
        through = _UNKNOWN if before.tracking is None else before.tracking.through
        if then is not None and now < then:
            yield of_epoch(
                after, _BOUNDS, f"rows before {now} are late, in the epoch before it those before {then}"
            )
        closed = utc_text(now / 1000)
        if after.accounts and (through == _UNKNOWN or closed > through):
            yield of_epoch(
                after, _BOUNDS, f"rows before {closed} are late, but the table was read through {through}"
            )
    total = sum((each.account for each in after.accounts), OffsetAccounting())
    limits = after.bounds or EventBounds()
    if total.late and now is None:
        yield of_epoch(after, _BOUNDS, f"{total.late} dead letters are late, though no period was closed")
    if total.out_of_range and (limits.max_future_ms, limits.max_past_ms) == (None, None):
        yield of_epoch(
            after, _BOUNDS, f"{total.out_of_range} dead letters are out of range, without such a bound"
        )


def _opened_at(snapshot: Snapshot, path: str) -> str | None:
    if snapshot.tracking is None:
        return None
    return next((each.opened_at for each in snapshot.open if each.partition.path == path), None)


def _uncertified_counts(before: Snapshot, after: Snapshot) -> dict[str, Counts]:
    """Return, by path of the Hive partition, what its certificate or open line in `after` must say."""
    parts = [
        (each.partition.path, (each.since, each.files, each.rows))
        for each in (before.open if before.tracking is not None else ())
    ]
    parts += [
        (each.partition.path, (each.since, each.files, each.rows))
        for each in before.certificates
        if each.partition in after.reopened
    ]
    parts += [
        (file.hive_partition.path, (after.epoch, 1, file.rows))
        for file in after.files
        if file.kind is FileKind.DATA
    ]
    early = {each.partition.path: each.since for each in before.early}
    parts += [
        (file.hive_partition.path, (early.get(file.hive_partition.path, after.epoch), 1, file.rows))
        for file in after.files
        if file.kind is FileKind.COMPACTED
    ]
    locations = {path: set[str]() for path, _ in parts}
    for partition in (*(o.partition for o in before.open), *(c.partition for c in before.certificates)):
        locations.setdefault(partition.path, set()).add(partition.location)
    sums: dict[str, Counts] = {}
    for path, (since, files, rows) in parts:
        total = sums.get(path, (since, 0, 0))
        sums[path] = (min(total[0], since), total[1] + files, total[2] + rows)
    for loss in after.losses[len(before.losses) :]:
        directory, _, name = loss.path.rpartition("/")
        parsed = DataFileName.parse(name)
        for path, (since, files, rows) in list(sums.items()):
            at_path = bool(path) and directory.endswith("/" + path) and "/source_table=" not in directory
            if parsed and (directory in locations[path] or at_path) and parsed[0].epoch >= since:
                sums[path] = (since, files - 1, rows - loss.rows)
    return {path: counts for path, counts in sums.items() if counts[1]}


def _file_problem(
    file: DataFile,
    snapshot: Snapshot,
    refetched: Sequence[set[OffsetRange] | None],
    replayed: Sequence[set[OffsetRange] | None],
) -> str | None:
    """Compare a file's line with the file's name, its Hive partition, and the offsets of its epoch.

    `refetched` has the offsets of the files that this epoch gave up: a file with the same offsets replaces one of them
    (`--refetch`), and is staged where the map says, which may be elsewhere. `replayed` has the offsets of the dead-letter
    files that this epoch replayed. A rebuilt ledger lists the files of many epochs.
    """
    parsed = DataFileName.parse(base_name(file.final))
    partition = file.hive_partition
    if parsed is None or parsed[1] != "final":
        return "its name is not one that kafka2hive gives"
    name = parsed[0]
    origin = (name.ledger, name.generation, name.epoch, name.task)
    if snapshot.owner == REBUILT:
        if name.ledger != ledger_tag(snapshot.ledger_id) or name.generation >= snapshot.generation:
            return "its name is not of this ledger before it was rebuilt"
    elif origin != (ledger_tag(snapshot.ledger_id), snapshot.generation, snapshot.epoch, file.task):
        expected = f"generation {snapshot.generation}, task {file.task}"
        return f"its name has another ledger, epoch, generation or task than its snapshot ({expected})"
    staging = parent(file.staged) if refetched else staging_directory(snapshot.location)
    staged = name
    if file.kind is FileKind.COMPACTED and (parsed := DataFileName.parse(base_name(file.staged))):
        staged = replace(
            name, epoch=min(name.epoch, parsed[0].epoch)
        )  # units are written during earlier epochs
    if file.staged != join(staging, staged.in_state("pending")):
        return f"its staged path is that of another file: {file.staged}"
    if parent(file.final) != partition.location:
        return f"it is not in its partition's directory {partition.location}"
    if file.kind is FileKind.DATA:
        home = join(snapshot.location, partition.path) if partition.path else snapshot.location
        places = (home, early_place(snapshot.location, partition.path))
        if partition.table != snapshot.table or partition.location not in places:
            return f"its partition is {partition.table} {partition.path} at {partition.location}"
    elif file.kind is FileKind.COMPACTED:
        if file.ranges or not any(u.task == file.task and u.partition == partition for u in snapshot.units):
            return "it is compacted, and no unit of its epoch has its task and partition"
        return None  # its rows are those of early files, and it has no offsets of its own
    elif partition.table == snapshot.table or not partition.location.endswith(f"/{partition.path}"):
        return f"its partition is {partition.table} {partition.path} at {partition.location}"
    rebuilt = snapshot.owner == REBUILT
    # task numbers repeat in a rebuilt ledger's epochs, so its files may have the ranges of any task
    read = {account.range for account in snapshot.accounts if rebuilt or account.task == file.task}
    if rebuilt:  # if files of a task were missing, its offsets became a gap
        read |= {gap.range for gap in snapshot.gaps}
    ranges = set(file.ranges)
    if ranges not in (*refetched, *replayed) and not (
        ranges and ranges <= read and len(ranges) == len(file.ranges)
    ):
        return "its task did not read its offset ranges"
    return None
