"""Names in a table's directory: data files in staging and at their final places, and names with `_`, which Hive ignores."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kafka2hive.model.paths.path import CACHE_SIZE, base_name, join, parent

STAGING_DIRECTORY = "_tmp"
OWNER_MARKER = "_kafka2hive_owner"
EARLY_PLACES = "_open"
"""The directory in which partitions wait for compaction. Hive reads it only through the locations of these partitions."""
RESET_ASIDE = "_kafka2hive_reset"
REPLAYED = ".replayed"
_HIDDEN = "_kafka2hive_"
_DATA_FILE = re.compile(
    r"(?P<slug>.{1,80})_task_(?P<task>[0-9]{1,18})-(?P<ledger>[0-9a-f]{8})"
    r"-g(?P<generation>[0-9]{6,18})-e(?P<epoch>[0-9]{6,18})"
    r"-(?P<uuid>[0-9a-f]{32})\.(?P<extension>[a-z0-9.]+?)\.(?P<state>in-progress|pending|final)"
    r"(?P<codec>\.gz|\.zst)?"
)
_CODECS = (".gz", ".zst")
"""Suffixes by which Hadoop recognises a compressed file: they must end the name, after the state."""
_DRAFT = re.compile(r"(.+\.json)\.[0-9a-f]{32}\.in-progress")
_RETIREMENT = re.compile(r"moved-([0-9a-f]{8})-e([0-9]{6,18})\.gz")
_CERTIFICATE = re.compile(r"_kafka2hive_complete-([0-9a-f]{8})-g([0-9]{6,18})-e([0-9]{6,18})\.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFileName:
    """The name of a data file in all its states; `extension` is e.g. `parquet` or `json.gz`."""

    slug: str
    task: int
    ledger: str
    generation: int
    epoch: int
    uuid: str
    extension: str

    def in_state(self, state: str) -> str:
        """Return the name in a state: `in-progress`, `pending` or `final`. A codec's suffix follows it: `.json.final.gz`."""
        codec = next((suffix for suffix in _CODECS if self.extension.endswith(suffix)), "")
        return (
            f"{self.slug}_task_{self.task}-{self.ledger}-g{self.generation:06d}-e{self.epoch:06d}"
            f"-{self.uuid}.{self.extension.removesuffix(codec)}.{state}{codec}"
        )

    @staticmethod
    @lru_cache(CACHE_SIZE)
    def parse(name: str) -> "tuple[DataFileName, str] | None":
        """Return `(name, state)`, None if it is not exactly the name of a data file."""
        match = _DATA_FILE.fullmatch(name)
        if not match:
            return None
        parts: dict[str, Any] = match.groupdict()
        state, codec = parts.pop("state"), parts.pop("codec") or ""
        parts["extension"] += codec
        parsed = DataFileName(**parts | {n: int(parts[n]) for n in ("task", "generation", "epoch")})
        return (parsed, state) if parsed.in_state(state) == name else None


def extension_of(path: str) -> str:
    """Return the extension of a data file, empty for any other path."""
    parsed = DataFileName.parse(base_name(path))
    return "" if parsed is None else parsed[0].extension


@lru_cache(CACHE_SIZE)
def bucket_slug(partition_path: str) -> str:
    """Return how the names of a bucket's files begin: at most 60 characters, the first neither `_` nor `.`, which Hive hides."""
    slug = re.sub(r"[^A-Za-z0-9=.-]+", "-", partition_path).strip("-._")
    return slug[:60].rstrip("-._") or "all"


def ledger_tag(ledger_id: str) -> str:
    """Return the first eight digits of a ledger id, which stand for it in file names."""
    return ledger_id[:8]


def owner_marker(table_location: str) -> str:
    return join(table_location, OWNER_MARKER)


def owner_marker_draft(table_location: str, uuid: str) -> str:
    return join(table_location, f"{OWNER_MARKER}.{uuid}.in-progress")


def staging_directory(table_location: str) -> str:
    return join(table_location, STAGING_DIRECTORY)


@dataclass(frozen=True, slots=True)
class CertificateName:
    """The name of a certificate in the directory of a complete Hive partition; `ledger` is as in DataFileName."""

    ledger: str
    generation: int
    epoch: int

    @property
    def text(self) -> str:
        return f"_kafka2hive_complete-{self.ledger}-g{self.generation:06d}-e{self.epoch:06d}.json"

    @staticmethod
    def parse(name: str) -> "CertificateName | None":
        """Return the parsed name, None if it is not exactly the name of a certificate."""
        match = _CERTIFICATE.fullmatch(name)
        if match is None:
            return None
        certificate = CertificateName(match[1], int(match[2]), int(match[3]))
        return certificate if certificate.text == name else None


@dataclass(frozen=True, slots=True)
class RetirementName:
    """The name of the text file at an early place that was retired in `epoch`; `ledger` is as in DataFileName.

    A query that reads the file fails: its text is not valid in any file format, and Hadoop unpacks `.gz` as gzip, which it is
    not.
    """

    ledger: str
    epoch: int

    @property
    def text(self) -> str:
        return f"moved-{self.ledger}-e{self.epoch:06d}.gz"

    @staticmethod
    def parse(name: str) -> "RetirementName | None":
        """Return the parsed name, None if it is not exactly the name of a retirement's text file."""
        match = _RETIREMENT.fullmatch(name)
        retirement = match and RetirementName(match[1], int(match[2]))
        return retirement if retirement and retirement.text == name else None

    def draft(self, uuid: str) -> str:
        """Return the hidden name under which the file is written."""
        return f"_{self.text}.{uuid}.in-progress"


def early_place(table_location: str, partition_path: str) -> str:
    """Return where a partition's data files are until it is compacted; its home is `<table location>/<path>`."""
    return join(table_location, EARLY_PLACES, partition_path)


def is_early_place(location: str, partition_path: str) -> bool:
    return location.endswith(f"/{EARLY_PLACES}/{partition_path}")


def other_place(location: str, partition_path: str) -> str:
    """Return the home of an early place, or the early place of a home. `location` ends with the partition's path."""
    table = location.removesuffix("/" + partition_path)
    if is_early_place(location, partition_path):
        return join(table.removesuffix("/" + EARLY_PLACES), partition_path)
    return early_place(table, partition_path)


def certificate_path(hive_partition: str, ledger_id: str, generation: int, epoch: int) -> str:
    return join(hive_partition, CertificateName(ledger_tag(ledger_id), generation, epoch).text)


def certificate_draft_name(certificate: str, uuid: str) -> str:
    """Return the name of a certificate's draft. Both are in one directory, because a rename cannot leave an encryption zone."""
    return f"{certificate}.{uuid}.in-progress"


def certificate_of_draft(name: str) -> CertificateName | None:
    """Return the certificate of a draft, None if the name is not exactly that of a draft."""
    match = _DRAFT.fullmatch(name)
    return CertificateName.parse(match[1]) if match else None


def hidden_letters(final: str) -> str:
    """Return where a dead-letter file is hidden after its letters were replayed: in its directory, under a name with `_`.

    The name does not match that of a data file, so listings do not take it for a data file.
    """
    return join(parent(final), f"{_HIDDEN}{base_name(final)}{REPLAYED}")


def letters_name(name: str) -> str:
    """Return the visible name of a dead-letter file that `hidden_letters` has hidden; any other name is returned unchanged."""
    is_hidden = name.startswith(_HIDDEN) and name.endswith(REPLAYED)
    return name.removeprefix(_HIDDEN).removesuffix(REPLAYED) if is_hidden else name


def reset_aside(directory: str, uuid: str) -> str:
    """Return where a reset moves the content of `directory`: within it, hidden from Hive, in the same encryption zone."""
    return join(directory, RESET_ASIDE, uuid)


def probe_directory(place: str, uuid: str) -> str:
    """Return the directory in which `validate --online` tries its permissions; it is deleted at once."""
    return join(place, f"_kafka2hive_probe-{uuid}")
