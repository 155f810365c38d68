"""Audit the certificates of complete partitions: each file must exist and agree with its snapshot.

The check is independent: it shares no code with the module that writes certificates.
"""

import json
from collections.abc import Sequence
from itertools import pairwise

from kafka2hive.model.paths.table_directory import certificate_path
from kafka2hive.model.snapshot import Certificate, Snapshot
from kafka2hive.service.verify.result import Finding
from kafka2hive.storage.port import Concurrency, FileSystem, NotFound

_CODE = "verify.certificate"


def audit_certificates(
    files: FileSystem, concurrency: Concurrency, finals: Sequence[Snapshot]
) -> list[Finding]:
    """Compare every certificate with its snapshot; `finals` are ordered by epoch. Raises StorageError.

    Certificates of the newest epoch may not be written yet. The certificate of a reopened partition may be missing or empty,
    as late calls leave it, but otherwise it must be right.
    """
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
            if snapshot is finals[-1] or withdrawn:
                return []
            return [
                Finding(_CODE, path, f"is not there; epoch {snapshot.epoch} says the partition is complete")
            ]
        if not (withdrawn and not text) and not _agrees(text, snapshot, certificate):
            return [Finding(_CODE, path, f"has another text than epoch {snapshot.epoch} gives it")]
        return []

    certificates = [(snapshot, certificate) for snapshot in finals for certificate in snapshot.certificates]
    return [finding for findings in concurrency.map(audit, certificates) for finding in findings]


def _agrees(text: bytes, snapshot: Snapshot, certificate: Certificate) -> bool:
    """Whether the file `text` says what the snapshot's `certificate` line says."""
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
