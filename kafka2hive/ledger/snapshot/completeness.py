"""Which Hive partitions are open and which become complete, from one snapshot to the next; a certificate's text. Pure."""

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

import orjson

from kafka2hive.ledger.snapshot.change import Completeness, NotTracked
from kafka2hive.model.completeness import Certificate, OpenPartition, Tracking
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.paths.data_file import DataFileName
from kafka2hive.model.paths.path import base_name, parent
from kafka2hive.model.snapshot import AcceptedLoss, Snapshot

CERTIFICATE_FORMAT = 1


class NotOpen(ValueError):
    """A partition without a file that no certificate counts would get one: a bug, never committed."""


def with_completeness(
    before: Snapshot,
    after: Snapshot,
    completeness: Completeness | NotTracked | None,
    certified: frozenset[HivePartition],
) -> Snapshot:
    """`after`, which has its files and losses already, with its open partitions and certificates. Raises NotOpen.

    `certified`: partitions whose certificates in `before` are in place; the others are open again.
    """
    match completeness:
        case NotTracked():
            return replace(after, tracking=None, open=())
        case None if before.tracking is None:
            return after
        case None:
            asked = Completeness()
        case Completeness():
            asked = completeness
        case _:
            assert_never(completeness)
    reopened = tuple(each.partition for each in before.certificates if each.partition not in certified)
    now = _open_now(before, after, frozenset(reopened))
    wanted = {each.path for each in asked.complete}
    if strange := wanted - now.keys():
        raise NotOpen(f"{after.table}: {min(strange)} has no files that no certificate counts")
    complete = tuple(
        Certificate(
            partition=now[path].partition,
            since=now[path].since,
            files=now[path].files,
            rows=now[path].rows,
            through=asked.through,
            policy=asked.policy,
            success_file=asked.success_file,
        )
        for path in sorted(wanted)
    )
    return replace(
        after,
        tracking=tracked(before, after.epoch, asked.through),
        open=tuple(now[path] for path in sorted(now.keys() - wanted)),
        certificates=complete,
        reopened=reopened,
    )


def tracked(before: Snapshot, epoch: int, through: str) -> Tracking:
    """The time never goes back: what was read once stays read."""
    known = before.tracking
    if known is None:
        return Tracking(epoch, through)
    return Tracking(known.since, max(known.through, through))  # the unknown one is the smallest text


def _open_now(
    before: Snapshot, after: Snapshot, reopened: frozenset[HivePartition]
) -> dict[str, OpenPartition]:
    """By path, not yet without the complete ones: those of the snapshot before, those whose certificates were not written,
    and those that this epoch's data files went to; without files that are given up now.

    A partition whose files lie at two locations (`recover --accept-location`) is one; it is where its newest files are.
    """
    now: dict[str, OpenPartition] = {}

    def add(more: OpenPartition) -> None:
        path = more.partition.path
        known = now.get(path)
        now[path] = more if known is None else _both(known, more)

    for certificate in before.certificates:
        if certificate.partition in reopened:
            counts = {"files": certificate.files, "rows": certificate.rows}
            add(_opened(certificate.partition, certificate.since, before.written_at, **counts))
    for known in sorted(before.open, key=lambda each: each.since) if before.tracking is not None else ():
        add(known)
    for file in _data(after.files):
        add(_opened(file.hive_partition, after.epoch, after.written_at, files=1, rows=file.rows))
    for loss in after.losses[len(before.losses) :]:
        _take_out(now, loss)
    return now


def _opened(partition: HivePartition, since: int, at: str, *, files: int, rows: int) -> OpenPartition:
    return OpenPartition(partition=partition, since=since, opened_at=at, files=files, rows=rows)


def _both(known: OpenPartition, more: OpenPartition) -> OpenPartition:
    """Open since the first of its files: later ones do not postpone its certificate."""
    return replace(
        known,
        partition=more.partition,
        since=min(known.since, more.since),
        files=known.files + more.files,
        rows=known.rows + more.rows,
    )


def _take_out(now: dict[str, OpenPartition], loss: AcceptedLoss) -> None:
    parsed = DataFileName.parse(base_name(loss.path))
    for path, each in now.items():
        if parsed and is_lost_from(loss, each.partition) and parsed[0].epoch >= each.since:
            now[path] = replace(each, files=each.files - 1, rows=each.rows - loss.rows)
            if not now[path].files:
                del now[path]
            return


def is_lost_from(loss: AcceptedLoss, partition: HivePartition) -> bool:
    """Whether the file lay in this partition, also at an earlier location of the table."""
    place = parent(loss.path)
    moved = partition.path and place.endswith("/" + partition.path) and "/source_table=" not in place
    return bool(place == partition.location or moved)


def certificate_text(snapshot: Snapshot, certificate: Certificate) -> bytes:
    """The file in the partition's directory: from the snapshot alone, so whoever rolls it forward writes the same."""
    place = certificate.partition
    text = {
        "format": CERTIFICATE_FORMAT,
        "table": place.table,
        "partition": place.path,
        "location": place.location,
        "ledger": snapshot.ledger_id,
        "generation": snapshot.generation,
        "epochs": [certificate.since, snapshot.epoch],
        "files": certificate.files,
        "rows": certificate.rows,
        "complete_through": certificate.through,
        "certified_at": snapshot.written_at,
        "policy": certificate.policy,
        "given_up": sorted(x.path for x in snapshot.losses if is_lost_from(x, place)),
        "positions": [
            {"topic": p.topic_partition.topic, "number": p.topic_partition.number, "end": p.end}
            for p in snapshot.positions
        ],
    }
    return orjson.dumps(text, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _data(files: Iterable[DataFile]) -> Iterable[DataFile]:
    return (file for file in files if file.kind is FileKind.DATA)
