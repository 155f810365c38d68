"""Auditing the certificates of complete partitions: each one's file is there, with the text that its snapshot gives."""

from collections.abc import Sequence

from kafka2hive.ledger.audit.finding import Finding
from kafka2hive.ledger.snapshot.completeness import certificate_text
from kafka2hive.model.completeness import Certificate
from kafka2hive.model.paths.table_directory import certificate_path
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.storage.port import Concurrency, FileSystem, NotFound

_CODE = "verify.certificate"


def audit_certificates(
    files: FileSystem, concurrency: Concurrency, finals: Sequence[Snapshot]
) -> list[Finding]:
    """Raises StorageError."""

    def look(told: tuple[Snapshot, Certificate]) -> list[Finding]:
        snapshot, certificate = told
        path = certificate_path(
            certificate.partition.location, snapshot.ledger_id, snapshot.generation, snapshot.epoch
        )
        try:
            text = files.read(path)
        except NotFound:
            return [
                Finding(_CODE, path, f"is not there; epoch {snapshot.epoch} says the partition is complete")
            ]
        if text != certificate_text(snapshot, certificate):
            return [Finding(_CODE, path, f"has another text than epoch {snapshot.epoch} gives it")]
        return []

    wanted = [(snapshot, certificate) for snapshot in finals for certificate in snapshot.certificates]
    return [finding for found in concurrency.map(look, wanted) for finding in found]
