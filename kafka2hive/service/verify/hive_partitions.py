"""The audit of Hive partitions: the certificates of complete ones, and the registrations of all in Hive. It only reads.

The check of certificates shares no code with the module that writes them.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Protocol

from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import MetastoreRefused
from kafka2hive.model.paths.path import same_location
from kafka2hive.model.paths.table_directory import certificate_path, other_place
from kafka2hive.model.snapshot import Certificate, Snapshot
from kafka2hive.service.verify.result import Finding
from kafka2hive.storage.port import Clock, Concurrency, FileSystem, NotFound

_CERTIFICATE = "verify.certificate"
PENDING_SECONDS = 15.0
"""Longer than the 10 s after which a live run retries a registration."""


class Locations(Protocol):
    """The part of Metastore that looks partitions up."""

    def location(self, partition: HivePartition) -> str | None: ...


def audit_certificates(
    files: FileSystem, concurrency: Concurrency, finals: Sequence[Snapshot], dropped: Collection[str] = ()
) -> list[Finding]:
    """Compare every certificate with its snapshot; `finals` are ordered by epoch. Raises StorageError.

    At the places in `dropped` (expired Hive partitions) certificates may be gone, and those of the newest epoch may not be
    written yet. The certificate of a reopened Hive partition may be missing, or empty because of a delayed RPC; if it has
    text, the text must be right. It may be missing, too, if a file of its partition was given up or fetched again later: its
    directory may be gone, and the repair has withdrawn it.
    """
    repaired = {loss.path.rpartition("/")[0]: loss.epoch for loss in finals[-1].losses} if finals else {}
    reopened = {
        (before.epoch, partition) for before, after in pairwise(finals) for partition in after.reopened
    }

    def audit(pair: tuple[Snapshot, Certificate]) -> list[Finding]:
        snapshot, certificate = pair
        path = certificate_path(
            certificate.partition.location, snapshot.ledger_id, snapshot.generation, snapshot.epoch
        )
        withdrawn = (snapshot.epoch, certificate.partition) in reopened
        try:
            text = files.read(path)
        except NotFound:
            location = certificate.partition.location
            is_repaired = repaired.get(location, -1) > snapshot.epoch
            if snapshot is finals[-1] or withdrawn or is_repaired or location in dropped:
                return []
            return [
                Finding(
                    _CERTIFICATE,
                    path,
                    f"does not exist; epoch {snapshot.epoch} says the partition is complete",
                )
            ]
        if not (withdrawn and not text) and not _agrees(text, snapshot, certificate):
            return [Finding(_CERTIFICATE, path, f"differs from what epoch {snapshot.epoch} certifies")]
        return []

    certificates = [(snapshot, certificate) for snapshot in finals for certificate in snapshot.certificates]
    return [finding for findings in concurrency.map(audit, certificates) for finding in findings]


def audit_registrations(
    finals: Sequence[Snapshot],
    newest: Snapshot,
    metastore: Locations,
    clock: Clock,
    dropped: Collection[str] = (),
) -> list[Finding]:
    """Return a finding for each Hive partition with data that Hive lacks or has at another location.

    If the newest snapshot withholds a partition, Hive must not have it before any snapshot has certified it.

    Hive need not have the partitions at the places in `dropped` (expired partitions), nor those of which an operator has given
    up every file. A partition whose registration is
    pending in the ledger may be registered by a live run at this moment, so it is looked up again after PENDING_SECONDS. If
    it is still missing, that is a finding, too: no run registers it, or Hive refuses it. Raises MetastoreUnavailable.
    """
    given_up = {f.partition for f in newest.forgotten}
    units = {unit.partition for snapshot in finals for unit in snapshot.units}
    early_places = {replace(home, location=other_place(home.location, home.path)) for home in units}
    lost = {loss.path for loss in newest.given_up}
    files = (file for snapshot in finals for file in snapshot.files if file.final not in lost)
    with_data = {file.hive_partition for file in files if file.hive_partition.path}
    withheld = {p.name: p for p in newest.withheld}
    expected = {
        p for p in with_data - given_up - early_places if p.location not in dropped and p.name not in withheld
    }
    pending = {p for p in newest.unregistered if p.path}
    findings = [
        Finding("verify.hive", _name(p), problem)
        for p in sorted(expected - pending)
        if (problem := wrong_registration(p, metastore))
    ]
    complete = {entry.partition.name for snapshot in finals for entry in snapshot.certificates}
    findings += [
        Finding("verify.hive", _name(p), _too_early(p, location))
        for name, p in sorted(withheld.items())
        if name not in complete and (location := _location(p, metastore)) is not None
    ]
    pending |= {
        withheld[entry.partition.name] for entry in newest.certificates if entry.partition.name in withheld
    }
    missing = [p for p in sorted(pending) if wrong_registration(p, metastore)]
    if missing:
        clock.sleep(PENDING_SECONDS)
    findings += [
        Finding("verify.unregistered", _name(p), f"{problem}; its registration is pending in the ledger")
        for p in missing
        if (problem := wrong_registration(p, metastore))
    ]
    return findings


def _too_early(partition: HivePartition, location: str) -> str:
    from kafka2hive.hive.description import PURGE_PROPERTY
    from kafka2hive.hive.hiveql import partition_spec

    statement = f"ALTER TABLE {partition.table} DROP {partition_spec(partition.path)}"
    return (
        f"is registered at {location}, although it is withheld until it is complete (`register: complete`), as after MSCK"
        f" REPAIR TABLE: `{statement}` hides it until then; the files stay, unless Hive's table has {PURGE_PROPERTY}=true"
    )


def _location(partition: HivePartition, metastore: Locations) -> str | None:
    """Return Hive's location of the partition, None if Hive does not have it or refuses to say."""
    try:
        return metastore.location(partition)
    except MetastoreRefused:
        return None


def accepted_registrations(newest: Snapshot) -> tuple[str, ...]:
    """Return a line for each registration that an operator gave up."""
    return tuple(
        f"{f.partition.table} {f.partition.path} is not registered in Hive; given up at {f.accepted_at}: {f.reason}"
        for f in newest.forgotten
    )


def wrong_registration(partition: HivePartition, metastore: Locations) -> str | None:
    """Return how Hive's location of the partition differs from the ledger's; None if it does not. Raises MetastoreUnavailable."""
    try:
        location = metastore.location(partition)
    except MetastoreRefused as error:
        return str(error)
    if location is None:
        return f"is not registered; its rows are at {partition.location}"
    if not same_location(location, partition.location):
        return f"is registered at {location}, its rows are at {partition.location}"
    return None


def _agrees(text: bytes, snapshot: Snapshot, certificate: Certificate) -> bool:
    """Return whether the file `text` says what the snapshot's `certificate` line says."""
    try:
        document = json.loads(text)
    except ValueError:
        return False
    partition = certificate.partition
    expected = {
        "table": snapshot.table,
        "partition": partition.path,
        "location": partition.location,
        "ledger": snapshot.ledger_id,
        "generation": snapshot.generation,
        "epochs": [certificate.since, snapshot.epoch],
        "files": certificate.files,
        "rows": certificate.rows,
        "complete_through": certificate.through,
        "positions": [
            {"topic": p.topic_partition.topic, "number": p.topic_partition.number, "end": p.end}
            for p in snapshot.positions
        ],
    }
    if not isinstance(document, dict) or any(document.get(key) != value for key, value in expected.items()):
        return False
    losses = {loss.path for loss in snapshot.losses}
    in_partition = {path for path in losses if path.rpartition("/")[0] == partition.location}
    return in_partition <= set(document.get("given_up", ())) <= losses


def _name(partition: HivePartition) -> str:
    return f"{partition.table} {partition.path}"
