"""Which Hive partitions are open and which become complete, from one snapshot to the next; a certificate's text. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import assert_never

import orjson

from kafka2hive.ledger.snapshot.change import Completeness, NotTracked
from kafka2hive.model.completeness import Certificate, OpenPartition, Tracking
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.paths.path import parent
from kafka2hive.model.snapshot import Snapshot

CERTIFICATE_FORMAT = 1


class NotOpen(ValueError):
    """A partition without a file that no certificate counts would get one: a bug, never committed."""


def with_completeness(
    before: Snapshot, after: Snapshot, completeness: Completeness | NotTracked | None
) -> Snapshot:
    """`after`, which has its files already, with its open partitions and certificates. Raises NotOpen."""
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
    now = open_partitions(before, after)
    if strange := asked.complete - now.keys():
        raise NotOpen(f"{after.table}: {min(strange)} has no files that no certificate counts")
    complete = tuple(
        Certificate(
            partition=partition,
            since=now[partition].since,
            files=now[partition].files,
            rows=now[partition].rows,
            through=asked.through,
            policy=asked.policy,
            success_file=asked.success_file,
        )
        for partition in sorted(asked.complete)
    )
    return replace(
        after,
        tracking=tracked(before, after.epoch, asked.through),
        open=tuple(now[partition] for partition in sorted(now.keys() - asked.complete)),
        certificates=complete,
    )


def tracked(before: Snapshot, epoch: int, through: str) -> Tracking:
    """The time never goes back: what was read once stays read."""
    known = before.tracking
    if known is None:
        return Tracking(epoch, through)
    return Tracking(known.since, max(known.through, through))  # the unknown one is the smallest text


def open_partitions(before: Snapshot, after: Snapshot) -> Mapping[HivePartition, OpenPartition]:
    """Those of the snapshot before, and those that this epoch's data files went to; not yet without the complete ones."""
    now = {known.partition: known for known in before.open} if before.tracking is not None else {}
    for file in _data(after.files):
        known = now.get(file.hive_partition) or OpenPartition(
            partition=file.hive_partition, since=after.epoch, opened_at=after.written_at, files=0, rows=0
        )
        now[file.hive_partition] = replace(known, files=known.files + 1, rows=known.rows + file.rows)
    return now


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
        "given_up": sorted(x.path for x in snapshot.losses if parent(x.path) == place.location),
        "positions": [
            {"topic": p.topic_partition.topic, "number": p.topic_partition.number, "end": p.end}
            for p in snapshot.positions
        ],
    }
    return orjson.dumps(text, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _data(files: Iterable[DataFile]) -> Iterable[DataFile]:
    return (file for file in files if file.kind is FileKind.DATA)
