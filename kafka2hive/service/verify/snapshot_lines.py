"""The audit of snapshots' headers, file lines, decisions, registrations and completeness. Pure.

Snapshots are redundant: much of a file's line is in the file's name, and much of a snapshot is in the next one. If somebody
edits one of the two, even with a correct checksum, it contradicts the other. Facts that are written only once cannot be
audited: `written_at`, `newest_ms` of the newest epoch, an account's bytes, the reason and time of a decision.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from kafka2hive.ledger.snapshot.codec import checksum_of
from kafka2hive.ledger.snapshot.line import Life
from kafka2hive.ledger.snapshot.lines import LINES
from kafka2hive.model.files import FileKind, HivePartition
from kafka2hive.model.offsets import OffsetAccounting
from kafka2hive.model.paths.table_directory import DataFileName, is_early_place, other_place
from kafka2hive.model.snapshot import (
    MOST_ORDERS,
    ORDER_DONE,
    REBUILT,
    AcceptedLoss,
    Certificate,
    EventBounds,
    Pause,
    RunningReplay,
    Snapshot,
)
from kafka2hive.model.text import utc_text
from kafka2hive.service.verify.compaction import audit_places
from kafka2hive.service.verify.file_lines import file_problem
from kafka2hive.service.verify.result import Finding, of_epoch

_COMPLETENESS = "verify.completeness"
_BOUNDS = "verify.bounds"
_DROPPED = "verify.retention"
_CUMULATIVE = [line for line in LINES if line.life is Life.CUMULATIVE]
_UNKNOWN = "-"
_UNKNOWN_EPOCH = -1

Counts = tuple[int, int, int]
"""The first epoch, the number of files, and the number of rows of a Hive partition."""
Counted = tuple[int, Certificate]
"""A certificate that no snapshot has withdrawn so far, and its epoch."""


def audit_lines(snapshots: Sequence[Snapshot]) -> Iterator[Finding]:
    """Audit snapshots in the order of their epochs."""
    certificates = dict[HivePartition, list[Counted]]()
    for before, after in pairwise(snapshots):
        for unit in before.units:  # the certificate at the home replaces those at the early place
            early = other_place(unit.partition.location, unit.partition.path)
            certificates.pop(replace(unit.partition, location=early), None)
        for entry in before.certificates:
            certificates.setdefault(entry.partition, []).append((before.epoch, entry))
        if after.epoch == before.epoch + 1:
            yield from _chain(before, after)
            yield from _header(before, after)
            yield from _topics(before, after)
            yield from _decisions(before, after)
            yield from _orders(before, after)
            yield from _replaying(before, after)
            yield from _registrations(before, after)
            yield from _completeness(before, after, certificates)
            yield from _bounds(before, after)
            yield from audit_places(before, after)
            yield from _dropped(before, after)
            yield from _news_progress(before, after)
    ranges = {file.final: set(file.ranges) for snapshot in snapshots for file in snapshot.files}
    for snapshot in snapshots:
        refetched = [ranges.get(loss.path) for loss in snapshot.losses if loss.epoch == snapshot.epoch]
        replayed = [ranges.get(replayed_file.path) for replayed_file in snapshot.replayed]
        if len({p.topic_partition for p in snapshot.positions}) != len(snapshot.positions):
            yield of_epoch(snapshot, "verify.position", "it has two positions of one topic partition")
        for file in snapshot.files:
            if problem := file_problem(file, snapshot, refetched, replayed):
                yield Finding("verify.file", file.final, f"epoch {snapshot.epoch}: {problem}")
    counts = Counter(file.final for snapshot in snapshots for file in snapshot.files)
    for path, times in counts.items():
        if times > 1:
            yield Finding("verify.file", path, f"is named {times} times")


def _chain(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Audit that `after` names the checksum of `before`, so that an edit of `before` with a correct checksum shows."""
    if after.previous != checksum_of(before):
        message = (
            f"it follows a snapshot with {after.previous}, but epoch {before.epoch} has {checksum_of(before)}"
        )
        yield of_epoch(after, "verify.chain", message)


def _header(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Audit that the table never changes, owner and service only with the generation, and the Kafka cluster with a move.

    The location may change in an epoch that reads records, or in an epoch without files (`--accept-location`); the owner
    marker at the new location confirms it.
    """
    constant = ["table"]
    constant += ["owner", "service"] if after.generation == before.generation else []
    constant += ["location"] if after.files and not after.accounts else []
    for name in constant:
        now, then = getattr(after, name), getattr(before, name)
        if now != then:
            yield of_epoch(after, "verify.header", f"{name} is {now}, but {then} in the epoch before it")
    clusters = {before.cluster_id, after.cluster_id} - {_UNKNOWN}
    moved = any(gap.moved_to for gap in after.gaps if gap.epoch == after.epoch)
    if len(clusters) > 1 and before.positions and not moved:
        text = f"cluster is {after.cluster_id}, but {before.cluster_id} in the epoch before it"
        yield of_epoch(after, "verify.header", text)
    if (before.newest_ms or 0) > (after.newest_ms or 0):
        text = (
            f"newest record is of {after.newest_ms} ms, but of {before.newest_ms} ms in the epoch before it"
        )
        yield of_epoch(after, "verify.header", text)


def _topics(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Audit that a topic partition keeps its topic id, and that its leader epoch grows only if records are read.

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
                message = f"epoch {after.epoch}: [{now.start}, {now.end}) was read, but no earlier epoch has a position"
                yield Finding("verify.position", where, message)
            continue
        if now.topic_id != then.topic_id and _UNKNOWN not in (now.topic_id, then.topic_id):
            message = (
                f"epoch {after.epoch}: topic id is {now.topic_id}, but {then.topic_id} in the epoch before it"
            )
            yield Finding("verify.position", where, message)
        changed_unread = now.start == now.end and now.leader_epoch != then.leader_epoch
        if changed_unread or _UNKNOWN_EPOCH < now.leader_epoch < then.leader_epoch:
            message = f"epoch {after.epoch}: leader epoch is {now.leader_epoch}, but {then.leader_epoch} in the epoch before it"
            yield Finding("verify.position", where, message)


def _decisions(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Audit that `after` repeats all decisions and added columns of `before`, and that its new ones name its epoch."""
    for line in _CUMULATIVE:
        old, new = getattr(before, line.attribute), getattr(after, line.attribute)
        if new[: len(old)] != old:
            yield of_epoch(
                after,
                "verify.decision",
                f"its {line.tag} lines do not begin with those of the epoch before",
            )
        elif any(decision.epoch != after.epoch for decision in new[len(old) :]):
            yield of_epoch(after, "verify.decision", f"its new {line.tag} lines name a different epoch")


def _orders(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Audit that an order is recorded once, that only orders pause and resume, and that a paused table reads no records."""
    new = [entry for entry in after.orders if entry.epoch == after.epoch]
    if after.orders != (before.orders + tuple(new))[-MOST_ORDERS:]:
        yield of_epoch(after, "verify.order", "its order lines do not continue those of the epoch before")
    if len({entry.id for entry in after.orders}) != len(after.orders):
        yield of_epoch(after, "verify.order", "it has the same order twice")
    expected = before.paused
    for entry in new:
        if entry.result == ORDER_DONE and entry.kind in ("pause", "resume"):
            pause = Pause(since=entry.done_at, by=entry.given_by, order=entry.id, epoch=entry.epoch)
            expected = None if entry.kind == "resume" else expected or pause
    if after.paused != expected:
        yield of_epoch(
            after, "verify.order", f"paused is {after.paused}, but its orders result in {expected}"
        )
    if before.paused is not None and after.accounts:
        yield of_epoch(
            after,
            "verify.order",
            f"it has read records, though the table was paused in epoch {before.paused.epoch}",
        )


def _replaying(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Audit that a running replay counts the files that its epochs have replayed, and ends when its order is recorded."""
    expected, now = before.replaying, after.replaying
    new = {entry.id for entry in after.orders if entry.epoch == after.epoch}
    if expected is not None and expected.order in new:
        expected = None
    elif after.replayed and now is not None and now != expected:
        if expected is None or expected.order != now.order:
            expected = RunningReplay(order=now.order, through=min(now.through, before.epoch))
        account = sum((entry.account for entry in after.replayed), expected.account)
        expected = replace(expected, files=expected.files + len(after.replayed), account=account)
    if now != expected:
        yield of_epoch(after, "verify.order", f"replaying is {now}, but its lines result in {expected}")


def _registrations(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Audit the pending registrations.

    They must be those of the epoch before, those that are withheld no more, the Hive partitions of this epoch's files, and those
    that have lapsed, without partitions that have since been registered or given up, without early places that have since been
    compacted, without those that were dropped now, and without those that wait for their certificate.
    """
    yield from _withheld(before, after)
    written, lapsed = {file.hive_partition for file in after.files}, frozenset(after.lapsed)
    registered, pending, withheld = map(frozenset, (after.registered, after.unregistered, after.withheld))
    names = {each.name for each in withheld}
    earlier = frozenset(before.unregistered) | {each for each in before.withheld if each.name not in names}
    compacted = {e.partition for e in before.early} - {e.partition for e in after.early}
    dropped = {line.partition for line in after.dropped if line.epoch == after.epoch}
    forgotten = {f.partition for f in after.forgotten}
    expected = ((earlier - registered | lapsed) - compacted - dropped | written) - forgotten - withheld
    for tag, lines, distinct in (
        ("unregistered", after.unregistered, pending),
        ("registered", after.registered, registered),
        ("lapsed", after.lapsed, lapsed),
        ("withheld", after.withheld, withheld),
    ):
        if len(lines) != len(distinct):
            yield of_epoch(after, "verify.registrations", f"it has the same {tag} line twice")
    for partition in sorted(expected - pending):
        why = f"follows epoch {before.epoch}, where it is pending,"
        if partition in written | lapsed:
            why = "wrote to it" if partition in written else "says that it has lapsed"
        yield _registration(after, partition, f"{why} but lacks its pending registration")
    for partition in sorted(pending - expected):
        yield _registration(after, partition, "has its pending registration, but did not write to it")
    for partition in sorted(registered - earlier):
        yield _registration(
            after, partition, f"says that it was registered, but it is not pending in epoch {before.epoch}"
        )


def _withheld(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Audit the partitions that wait for their certificate (G1 to G3).

    One that the epoch before has certified, and that this one does not open again, must wait no longer. One that begins to wait
    must have its first files now, and must not be pending before. Without tracking, none waits.
    """
    waiting = {each.name: each for each in after.withheld}
    earlier = {each.name for each in before.withheld}
    reopened = {each.name for each in after.reopened}
    for certificate in before.certificates:
        name = certificate.partition.name
        if name in waiting and name not in reopened:
            yield _registration(after, waiting[name], "withholds it, though it has a certificate")
    written = {file.hive_partition.name for file in after.files}
    pending = {each.name for each in (*before.unregistered, *after.unregistered)}
    for name in sorted(waiting.keys() - earlier):
        if name not in written or name in pending:
            yield _registration(after, waiting[name], "withholds it, but these are not its first files")
    if after.tracking is None and after.withheld:
        yield of_epoch(
            after, "verify.registrations", "partitions wait for certificates, though tracking is off"
        )


def _registration(snapshot: Snapshot, partition: HivePartition, message: str) -> Finding:
    return Finding("verify.registrations", partition.location, f"epoch {snapshot.epoch} {message}")


def _completeness(
    before: Snapshot, after: Snapshot, certificates: dict[HivePartition, list[Counted]]
) -> Iterator[Finding]:
    """Audit open partitions and certificates against the snapshot before, and this epoch's files and losses.

    `certificates` has all that were not withdrawn before `after`; those that it withdraws are removed. It withdraws the one of
    the snapshot before, or all of a partition if one of them counts a file that it gives up or fetches again.
    """
    withdrawn: list[Counted] = []
    for partition in after.reopened:
        held = certificates.pop(partition, [])
        new = after.losses[len(before.losses) :]
        if any(_counts(entry, loss.path) for entry in held for loss in new):
            withdrawn += held
        else:
            withdrawn += held[-1:]
            certificates[partition] = held[:-1]
    if after.tracking is None:
        if after.open or after.certificates:
            yield of_epoch(after, _COMPLETENESS, "partitions are open or complete, though tracking is off")
        return
    yield from _tracking(before, after)
    uncertified = set(after.reopened) - {entry.partition for _, entry in withdrawn}
    if uncertified:
        yield of_epoch(
            after,
            _COMPLETENESS,
            f"{min(uncertified).path} is open again, though no epoch before certified it",
        )
    counts = _uncertified_counts(before, after, withdrawn)
    for certificate in after.certificates:
        expected = counts.pop(certificate.partition.path, None)
        if expected != (certificate.since, certificate.files, certificate.rows):
            text = (
                "no open files"
                if expected is None
                else f"{expected[1]} files, {expected[2]} rows since epoch {expected[0]}"
            )
            yield Finding(
                _COMPLETENESS,
                certificate.partition.location,
                f"epoch {after.epoch}: its certificate counts {certificate.files} files, {certificate.rows} rows since epoch"
                f" {certificate.since}, but the snapshots have {text}",
            )
        if certificate.through > after.tracking.through:
            yield Finding(
                _COMPLETENESS,
                certificate.partition.location,
                f"epoch {after.epoch}: its certificate says read through {certificate.through}, but its snapshot says"
                f" {after.tracking.through}",
            )
    for entry in after.open:
        place = entry.partition.location
        if counts.pop(entry.partition.path, None) != (entry.since, entry.files, entry.rows):
            yield Finding(_COMPLETENESS, place, f"epoch {after.epoch}: its counts of open files are wrong")
        opened_at = _opened_at(before, entry.partition.path)
        if opened_at is not None and entry.opened_at > opened_at:
            yield Finding(_COMPLETENESS, place, f"epoch {after.epoch}: it was already open since {opened_at}")
    for path in sorted(counts):
        yield of_epoch(after, _COMPLETENESS, f"{path} is neither open nor complete")


def _tracking(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Audit the epoch since which partitions are tracked, and that the time read through never goes back."""
    assert after.tracking is not None
    since = after.epoch if before.tracking is None else before.tracking.since
    if after.tracking.since != since:
        yield of_epoch(
            after, _COMPLETENESS, f"partitions are tracked since {after.tracking.since} instead of {since}"
        )
    if before.tracking is not None and after.tracking.through < before.tracking.through:
        text = f"read through {after.tracking.through}, but {before.tracking.through} in the epoch before it"
        yield of_epoch(after, _COMPLETENESS, text)


def _bounds(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Audit the bounds of event time: they change only if records are read, and a closed or expired period stays so.

    Only the bound of expired periods may also grow in a snapshot without records. Rebuilt snapshots are left out: they have
    accounts of many epochs, and lack bounds.
    """
    if after.owner == REBUILT:
        return
    then_expired, expired = before.expired_before_ms, after.expired_before_ms
    if expired < then_expired:
        text = (
            f"rows before {expired} have expired, but in the epoch before it those before {then_expired} had"
        )
        yield of_epoch(after, _BOUNDS, text)
    same = replace(after.bounds or EventBounds(), expired_before_ms=then_expired) == (
        before.bounds or EventBounds()
    )
    if not after.accounts and not same and after.tracking is not None:
        yield of_epoch(after, _BOUNDS, "it read no records, but its bounds of event time have changed")
    then, now = (
        None if snapshot.bounds is None else snapshot.bounds.late_before_ms for snapshot in (before, after)
    )
    if now is not None:
        through = _UNKNOWN if before.tracking is None else before.tracking.through
        if then is not None and now < then:
            text = f"rows before {now} are late, but in the epoch before it those before {then} were"
            yield of_epoch(after, _BOUNDS, text)
        closed = utc_text(now / 1000)
        if after.accounts and (through == _UNKNOWN or closed > through):
            yield of_epoch(
                after,
                _BOUNDS,
                f"rows before {closed} are late, but the table was only read through {through}",
            )
    total = sum((entry.account for entry in after.accounts), OffsetAccounting())
    limits = after.bounds or EventBounds()
    if total.late and now is None and not expired:
        yield of_epoch(after, _BOUNDS, f"{total.late} dead letters are late, but no period was closed")
    if total.out_of_range and (limits.max_future_ms, limits.max_past_ms) == (None, None):
        yield of_epoch(
            after, _BOUNDS, f"{total.out_of_range} dead letters are out of range, but no range was set"
        )


def _opened_at(snapshot: Snapshot, path: str) -> str | None:
    if snapshot.tracking is None:
        return None
    return next((entry.opened_at for entry in snapshot.open if entry.partition.path == path), None)


def _counts(entry: Counted, path: str) -> bool:
    """Return whether the certificate counts the file at this path, as far as its directory and the epoch in its name tell."""
    epoch, certificate = entry
    directory, _, name = path.rpartition("/")
    parsed = DataFileName.parse(name)
    is_here = directory == certificate.partition.location
    return is_here and parsed is not None and certificate.since <= parsed[0].epoch <= epoch


def _without_losses(entry: Counted, losses: Sequence[AcceptedLoss]) -> Counts:
    """Return the certificate's counts without the files that were recorded as lost after it."""
    epoch, certificate = entry
    gone = [loss for loss in losses if loss.epoch > epoch and _counts(entry, loss.path)]
    rows = certificate.rows - sum(loss.rows for loss in gone)
    return certificate.since, certificate.files - len(gone), rows


def _uncertified_counts(before: Snapshot, after: Snapshot, withdrawn: Sequence[Counted]) -> dict[str, Counts]:
    """Return the counts that the certificate or open line of each Hive partition in `after` must have, by path."""
    parts = [
        (entry.partition.path, (entry.since, entry.files, entry.rows))
        for entry in (before.open if before.tracking is not None else ())
    ]
    parts += [(entry[1].partition.path, _without_losses(entry, before.losses)) for entry in withdrawn]
    parts += [
        (file.hive_partition.path, (after.epoch, 1, file.rows))
        for file in after.files
        if file.kind is FileKind.DATA
    ]
    early = {entry.partition.path: entry.since for entry in before.early}
    parts += [
        (file.hive_partition.path, (early.get(file.hive_partition.path, after.epoch), 1, file.rows))
        for file in after.files
        if file.kind is FileKind.COMPACTED
    ]
    locations = {path: set[str]() for path, _ in parts}
    known = [entry.partition for entry in before.open] + [entry.partition for entry in before.certificates]
    for partition in known + [certificate.partition for _, certificate in withdrawn]:
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
            at_path = at_path and not is_early_place(directory, path)
            if parsed and (directory in locations[path] or at_path) and parsed[0].epoch >= since:
                sums[path] = (since, files - 1, rows - loss.rows)
    return {path: counts for path, counts in sums.items() if counts[1]}


def _dropped(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Audit the dropped lines of `after` against `before` and the files of `after`."""
    known = {line.partition: line for line in before.dropped}
    lines = {line.partition: line for line in after.dropped}
    has_expired = after.expired_before_ms > 0
    compared = {each.table for each in before.compared}
    unknown = {home for home in before.unregistered if home.table not in compared}
    for home, line in lines.items():
        if home not in known and (line.epoch != after.epoch or not has_expired):
            yield Finding(_DROPPED, home.location, f"epoch {after.epoch} drops it, though it had not expired")
        if home not in known and line.gone_since and home not in unknown:
            yield Finding(_DROPPED, home.location, f"epoch {after.epoch} drops it, but Hive may have had it")
        if home in known and line.epoch != known[home].epoch:
            yield Finding(
                _DROPPED, home.location, f"was dropped in epoch {known[home].epoch}, now in {line.epoch}"
            )
    for home in known.keys() - lines.keys():
        if not known[home].gone_since:
            text = f"epoch {after.epoch} says that its files are deleted, but Hive may still have had it"
            yield Finding(_DROPPED, home.location, text)
    filled = {file.hive_partition.name for file in after.files}
    for _, path in sorted({home.name for home in lines} & filled):
        yield of_epoch(after, _DROPPED, f"it has files for {path}, which was dropped")


def _news_progress(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Audit that no receiver of news goes back, and that none is told of an epoch that was not final."""
    known = {each.receiver: each.through for each in before.told}
    for each in after.told:
        if not known.get(each.receiver, each.through) <= each.through <= before.epoch:
            yield of_epoch(
                after,
                "verify.told",
                f"receiver {each.receiver} of news is at epoch {each.through}, after {known.get(each.receiver)}",
            )
