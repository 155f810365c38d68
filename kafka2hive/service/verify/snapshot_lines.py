"""Auditing what snapshots say beside offsets: headers, file lines, decisions, pending registrations. Pure.

The program writes many things twice: in a file's name and in its line, in a snapshot and in the next one. An edit of
one of them, even with a right checksum, contradicts the other. What stands once, for people only, is believed:
`written_at`, `newest_ms` of the newest epoch, an account's bytes, how and when a decision was typed.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from kafka2hive.ledger.snapshot.codec import checksum_of
from kafka2hive.ledger.snapshot.line import Life
from kafka2hive.ledger.snapshot.lines import LINES
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.offsets import OffsetRange
from kafka2hive.model.paths.data_file import DataFileName, ledger_tag
from kafka2hive.model.paths.path import base_name, join, parent
from kafka2hive.model.paths.table_directory import staging_directory
from kafka2hive.model.snapshot import REBUILT, Snapshot
from kafka2hive.service.verify.result import Finding, of_epoch

_CODE = "verify.completeness"
Counts = tuple[int, int, int]
"""Since which epoch, files, rows."""


def audit_completeness(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Open partitions and certificates of a snapshot follow from the one before it, its own data files, and its losses."""
    if after.tracking is None:
        if after.open or after.certificates:
            yield of_epoch(after, _CODE, "partitions are open or complete, though none are tracked")
        return
    yield from _tracking(before, after)
    strange = set(after.reopened) - {each.partition for each in before.certificates}
    if strange:
        yield of_epoch(after, _CODE, f"{min(strange).path} is open again, and had no certificate before")
    left = _counted(before, after)
    for certificate in after.certificates:
        known = left.pop(certificate.partition.path, None)
        told = (certificate.since, certificate.files, certificate.rows)
        if known != told:
            wanted = (
                "nothing" if known is None else f"{known[1]} files, {known[2]} rows since epoch {known[0]}"
            )
            yield Finding(
                _CODE,
                certificate.partition.location,
                f"epoch {after.epoch}: its certificate counts {certificate.files} files, {certificate.rows} rows since epoch"
                f" {certificate.since}; its snapshots have {wanted}",
            )
        if certificate.through > after.tracking.through:
            yield Finding(
                _CODE,
                certificate.partition.location,
                f"epoch {after.epoch}: its certificate says read through {certificate.through}, its snapshot"
                f" {after.tracking.through}",
            )
    for each in after.open:
        if left.pop(each.partition.path, None) != (each.since, each.files, each.rows):
            yield Finding(
                _CODE, each.partition.location, f"epoch {after.epoch}: its counts of open files are wrong"
            )
        if (late := _opened_before(before, each.partition.path)) is not None and each.opened_at > late:
            yield Finding(
                _CODE, each.partition.location, f"epoch {after.epoch}: it was open since {late} already"
            )
    for path in sorted(left):
        yield of_epoch(after, _CODE, f"{path} is neither open nor complete")


def _opened_before(before: Snapshot, path: str) -> str | None:
    if before.tracking is None:
        return None
    return next((each.opened_at for each in before.open if each.partition.path == path), None)


def _counted(before: Snapshot, after: Snapshot) -> dict[str, Counts]:
    """By path of the Hive partition: what no certificate counts, without this snapshot's own."""
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
    places = {path: set[str]() for path, _ in parts}
    for known in (*(o.partition for o in before.open), *(c.partition for c in before.certificates)):
        places.setdefault(known.path, set()).add(known.location)
    sums: dict[str, Counts] = {}
    for path, (since, files, rows) in parts:
        sofar = sums.get(path, (since, 0, 0))
        sums[path] = (min(sofar[0], since), sofar[1] + files, sofar[2] + rows)
    for loss in after.losses[len(before.losses) :]:
        directory, _, name = loss.path.rpartition("/")
        parsed = DataFileName.parse(name)
        for path, (since, files, rows) in list(sums.items()):
            at_path = bool(path) and directory.endswith("/" + path) and "/source_table=" not in directory
            if parsed and (directory in places[path] or at_path) and parsed[0].epoch >= since:
                sums[path] = (since, files - 1, rows - loss.rows)
    return {path: counts for path, counts in sums.items() if counts[1]}


def _tracking(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    assert after.tracking is not None
    since = after.epoch if before.tracking is None else before.tracking.since
    if after.tracking.since != since:
        yield of_epoch(after, _CODE, f"partitions are tracked since {after.tracking.since}, not {since}")
    if before.tracking is not None and after.tracking.through < before.tracking.through:
        yield of_epoch(
            after, _CODE, f"read through {after.tracking.through}, before {before.tracking.through}"
        )


_CUMULATIVE = [line for line in LINES if line.life is Life.CUMULATIVE]
_UNKNOWN = "-"
_UNKNOWN_EPOCH = -1


def audit_lines(snapshots: Sequence[Snapshot]) -> Iterator[Finding]:
    """Snapshots in the order of their epochs."""
    for before, after in pairwise(snapshots):
        if after.epoch == before.epoch + 1:
            yield from _chain(before, after)
            yield from _header(before, after)
            yield from _topics(before, after)
            yield from _decisions(before, after)
            yield from _unregistered(before, after)
            yield from audit_completeness(before, after)
    ranges = {file.final: set(file.ranges) for snapshot in snapshots for file in snapshot.files}
    for snapshot in snapshots:
        again = [ranges.get(loss.path) for loss in snapshot.losses if loss.epoch == snapshot.epoch]
        if len({p.topic_partition for p in snapshot.positions}) != len(snapshot.positions):
            yield of_epoch(snapshot, "verify.position", "a topic partition stands there twice")
        for file in snapshot.files:
            if wrong := _wrong_with(file, snapshot, again):
                yield Finding("verify.file", file.final, f"epoch {snapshot.epoch}: {wrong}")
    named = Counter(file.final for snapshot in snapshots for file in snapshot.files)
    for path, times in named.items():
        if times > 1:
            yield Finding("verify.file", path, f"is named {times} times")


def _chain(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """A snapshot names the checksum of the one before it: an edit of that one, even with a right checksum, is told."""
    if after.previous != checksum_of(before):
        message = f"it was written after a snapshot with {after.previous}, that of epoch {before.epoch} has {checksum_of(before)}"
        yield of_epoch(after, "verify.chain", message)


def _header(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """A ledger has one table and one Kafka cluster, a generation one owner and service. A table moves by reading on, or by a
    snapshot without files (`--accept-location`): what it says then, the new location's owner marker confirms.
    """
    same = ["table"]
    same += ["owner", "service"] if after.generation == before.generation else []
    same += ["location"] if after.files and not after.accounts else []
    for what in same:
        now, then = getattr(after, what), getattr(before, what)
        if now != then:
            yield of_epoch(after, "verify.header", f"{what} {now}, in the epoch before it {then}")
    clusters = {before.cluster_id, after.cluster_id} - {_UNKNOWN}
    if len(clusters) > 1 and before.positions:
        yield of_epoch(after, "verify.header", f"cluster {after.cluster_id}, before {before.cluster_id}")
    if (before.newest_ms or 0) > (after.newest_ms or 0):
        yield of_epoch(
            after, "verify.header", f"newest record at {after.newest_ms}, before at {before.newest_ms}"
        )


def _topics(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """A topic partition keeps topic id and leader epoch (it may grow with what is read), and begins with nothing read."""
    explained = {gap.range.topic_partition for gap in after.gaps if gap.epoch == after.epoch}
    for now in after.positions:
        if now.topic_partition in explained:
            continue
        where = f"{after.table} {now.topic_partition}"
        old = before.position(now.topic_partition)
        if old is None:
            if now.start != now.end:
                message = f"epoch {after.epoch}: [{now.start}, {now.end}) was read without a first position"
                yield Finding("verify.position", where, message)
            continue
        if now.topic_id != old.topic_id and _UNKNOWN not in (now.topic_id, old.topic_id):
            message = f"epoch {after.epoch}: topic id {now.topic_id}, before {old.topic_id}"
            yield Finding("verify.position", where, message)
        unread = now.start == now.end and now.leader_epoch != old.leader_epoch
        if unread or _UNKNOWN_EPOCH < now.leader_epoch < old.leader_epoch:
            message = f"epoch {after.epoch}: leader epoch {now.leader_epoch}, before {old.leader_epoch}"
            yield Finding("verify.position", where, message)


def _decisions(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """What an operator accepted, and added columns, stand in every later snapshot; new ones are of their very epoch."""
    for line in _CUMULATIVE:
        old, new = getattr(before, line.attribute), getattr(after, line.attribute)
        if new[: len(old)] != old:
            yield of_epoch(
                after,
                "verify.decision",
                f"its {line.tag} lines are not those of the epoch before and new ones",
            )
        elif any(decision.epoch != after.epoch for decision in new[len(old) :]):
            yield of_epoch(
                after, "verify.decision", f"{line.tag} lines of another epoch appear for the first time"
            )


def _unregistered(before: Snapshot, after: Snapshot) -> Iterator[Finding]:
    """Pending registrations: those before without the ones registered since, and all partitions of this epoch's files;
    none that an operator gave up.
    """
    own = {file.hive_partition for file in after.files}
    then, registered, unregistered = map(
        frozenset, (before.unregistered, after.registered, after.unregistered)
    )
    wanted = (then - registered | own) - {f.partition for f in after.forgotten}
    for what, lines, different in (
        ("unregistered", after.unregistered, unregistered),
        ("registered", after.registered, registered),
    ):
        if len(lines) != len(different):
            yield of_epoch(after, "verify.registrations", f"a {what} line stands there twice")
    for partition in sorted(wanted - unregistered):
        why = (
            "wrote to it" if partition in own else f"was given it by epoch {before.epoch}, not as registered,"
        )
        yield _registration(after, partition, f"{why} and has no pending registration of it")
    for partition in sorted(unregistered - wanted):
        yield _registration(after, partition, "has a pending registration of it without a reason")
    for partition in sorted(registered - then):
        yield _registration(
            after, partition, f"says that it was registered, epoch {before.epoch} did not owe it"
        )


def _registration(snapshot: Snapshot, partition: HivePartition, message: str) -> Finding:
    return Finding("verify.registrations", partition.location, f"epoch {snapshot.epoch} {message}")


def _wrong_with(file: DataFile, snapshot: Snapshot, again: Sequence[set[OffsetRange] | None]) -> str | None:
    """A file's line against its own name, its partition, and the offsets of its epoch.

    An epoch that dumped a lost file again (`--refetch`) has that file's offsets, and stages where the map says now: `again`
    are those of the files that are lost since this epoch. A rebuilt ledger lists the files of many epochs.
    """
    parsed = DataFileName.parse(base_name(file.final))
    partition = file.hive_partition
    if parsed is None or parsed[1] != "final":
        return "its name is none of this program's"
    name = parsed[0]
    told = (name.ledger, name.generation, name.epoch, name.task)
    if snapshot.owner == REBUILT:
        if name.ledger != ledger_tag(snapshot.ledger_id) or name.generation >= snapshot.generation:
            return "its name is not one of before the ledger was rebuilt"
    elif told != (ledger_tag(snapshot.ledger_id), snapshot.generation, snapshot.epoch, file.task):
        told_here = f"generation {snapshot.generation}, task {file.task}"
        return f"its name tells of another ledger, generation, epoch or task than {told_here}"
    staging = parent(file.staged) if again else staging_directory(snapshot.location)
    if file.staged != join(staging, name.in_state("pending")):
        return f"its staged address is another file's: {file.staged}"
    if parent(file.final) != partition.location:
        return f"it does not lie in its partition's directory {partition.location}"
    if file.kind is FileKind.DATA:
        home = join(snapshot.location, partition.path) if partition.path else snapshot.location
        if partition.table != snapshot.table or partition.location != home:
            return f"its partition is {partition.table} {partition.path} at {partition.location}"
    elif partition.table == snapshot.table or not partition.location.endswith(f"/{partition.path}"):
        return f"its partition is {partition.table} {partition.path} at {partition.location}"
    rebuilt = snapshot.owner == REBUILT  # of many epochs, whose tasks have the same numbers
    read = {account.range for account in snapshot.accounts if rebuilt or account.task == file.task}
    if rebuilt:  # of a task whose files are not all there, the offsets are a gap
        read |= {gap.range for gap in snapshot.gaps}
    named = set(file.ranges)
    if named not in again and not (named and named <= read and len(named) == len(file.ranges)):
        return "its offset ranges are not some that its task read"
    return None
