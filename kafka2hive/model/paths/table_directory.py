"""What stands in a table's directories besides its rows: each name begins with `_`, so Hive does not see it."""

import re
from dataclasses import dataclass

from kafka2hive.model.paths.data_file import ledger_tag
from kafka2hive.model.paths.path import join

STAGING_DIRECTORY = "_tmp"
OWNER_MARKER = "_kafka2hive_owner"
RESET_ASIDE = "_kafka2hive_reset"
_DRAFT = re.compile(r"(.+\.json)\.[0-9a-f]{32}\.in-progress")
_CERTIFICATE = re.compile(r"_kafka2hive_complete-([0-9a-f]{8})-g([0-9]{6,18})-e([0-9]{6,18})\.json")


def owner_marker(table_location: str) -> str:
    return join(table_location, OWNER_MARKER)


def owner_marker_draft(table_location: str, uuid: str) -> str:
    return join(table_location, f"{OWNER_MARKER}.{uuid}.in-progress")


def staging_directory(table_location: str) -> str:
    return join(table_location, STAGING_DIRECTORY)


@dataclass(frozen=True, slots=True)
class CertificateName:
    """Name of a complete Hive partition's certificate, in the partition's own directory; `ledger` as in DataFileName."""

    ledger: str
    generation: int
    epoch: int

    @property
    def text(self) -> str:
        return f"_kafka2hive_complete-{self.ledger}-g{self.generation:06d}-e{self.epoch:06d}.json"

    @staticmethod
    def parse(name: str) -> "CertificateName | None":
        """None when it is not exactly one of ours."""
        found = _CERTIFICATE.fullmatch(name)
        if found is None:
            return None
        parsed = CertificateName(found[1], int(found[2]), int(found[3]))
        return parsed if parsed.text == name else None


def certificate_path(hive_partition: str, ledger_id: str, generation: int, epoch: int) -> str:
    return join(hive_partition, CertificateName(ledger_tag(ledger_id), generation, epoch).text)


def certificate_draft_name(certificate: str, uuid: str) -> str:
    """In the partition's own directory, where its rename crosses no mount and no encryption zone; Hive does not see it."""
    return f"{certificate}.{uuid}.in-progress"


def certificate_of_draft(name: str) -> CertificateName | None:
    """Whose draft it is, None when it is not exactly one."""
    found = _DRAFT.fullmatch(name)
    return CertificateName.parse(found[1]) if found else None


def reset_aside(directory: str, uuid: str) -> str:
    """Where a reset puts what lay in `directory`: beside it, hidden from Hive, in the same encryption zone."""
    return join(directory, RESET_ASIDE, uuid)


def probe_directory(place: str, uuid: str) -> str:
    """Where `validate --online` tries what it may do; Hive does not see it, and it is taken away at once."""
    return join(place, f"_kafka2hive_probe-{uuid}")
