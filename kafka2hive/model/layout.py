"""Every path and file name: built here, parsed here, nowhere else. `parse(build(x)) == x`.

Grammar: docs/protocol.md, section Layout. Names sort by number, so numbers are parsed, never compared as text.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

OFFSETS_DIRECTORY = "kafka_partition_offsets"
ARCHIVE_DIRECTORY = "archive"
HEARTBEAT_DIRECTORY = "alive"
STAGING_DIRECTORY = "_tmp"
OWNER_MARKER = "_kafka2hive_owner"
FIRST_GENERATION = "g000000.init"
RESETS_DIRECTORY = "reset"
RESET_ASIDE = "_kafka2hive_reset"
RESET_RECORD = "order.json"
RESET_TABLE = "table"
SCHEMAS_DIRECTORY = "schemas"

# [0-9], since \d also means the digits of other scripts; at most 18 of them, since int() refuses very long texts
_GENERATION = re.compile(
    r"g([0-9]{6,18})\.(?:init|([0-9]{8}T[0-9]{6}Z)-([A-Za-z0-9.-]+-[0-9]+-[0-9a-f]{32}))"
)
_SNAPSHOT = re.compile(r"e([0-9]{6,18})\.(final|pending)")
_DRAFT = re.compile(r"e([0-9]{6,18})\.([0-9a-f]{32})\.in-progress")
_DATA_FILE = re.compile(
    r"(?P<slug>.{1,80})_task_(?P<task>[0-9]{1,18})-(?P<ledger>[0-9a-f]{8})"
    r"-g(?P<generation>[0-9]{6,18})-e(?P<epoch>[0-9]{6,18})"
    r"-(?P<uuid>[0-9a-f]{32})\.(?P<extension>[a-z0-9.]+?)\.(?P<state>in-progress|pending|final)"
    r"(?P<codec>\.gz|\.zst)?"
)
_CODECS = (".gz", ".zst")
"""Suffixes by which Hadoop knows how a whole file is compressed: they must be a name's last ones, after the state."""
_HEARTBEAT = re.compile(r"beat\.([A-Za-z0-9.-]+-[0-9]+-[0-9a-f]{32})\.([0-9]{1,18})")
_CONDITION = re.compile(r"condition\.([A-Za-z0-9.-]+-[0-9]+-[0-9a-f]{32})\.([0-9]{1,18})")

_REMEMBERED = 4096  # names and buckets come again and again in one run, few at a time


def join(directory: str, *names: str) -> str:
    """One path below another; the only place that puts paths together."""
    return "/".join((directory.rstrip("/"), *names))


def parent(path: str) -> str:
    return path.rsplit("/", 1)[0]


def base_name(path: str) -> str:
    return path.rsplit("/", 1)[1]


@dataclass(frozen=True, slots=True)
class Generation:
    """The generation directory's name: how often the table was taken over, since when, and by whom."""

    number: int
    started: str | None = None
    owner: str | None = None

    @property
    def name(self) -> str:
        if self.started is None:
            return f"g{self.number:06d}.init"
        return f"g{self.number:06d}.{self.started}-{self.owner}"

    @staticmethod
    @lru_cache(_REMEMBERED)
    def parse(name: str) -> "Generation | None":
        """None when `name` does not match the grammar exactly."""
        found = _GENERATION.fullmatch(name)
        if not found:
            return None
        generation = Generation(int(found[1]), found[2], found[3])
        return generation if generation.name == name else None


class SnapshotState:
    """The states a snapshot file can carry in its name besides `.in-progress`."""

    PENDING = "pending"
    FINAL = "final"


def snapshot_name(epoch: int, state: str) -> str:
    return f"e{epoch:06d}.{state}"


@lru_cache(_REMEMBERED)
def parse_snapshot_name(name: str) -> tuple[int, str] | None:
    """`(epoch, state)` of `e000041.final` or `e000042.pending`, None for anything else."""
    found = _SNAPSHOT.fullmatch(name)
    if not found or snapshot_name(int(found[1]), found[2]) != name:
        return None
    return int(found[1]), found[2]


def draft_name(epoch: int, uuid: str) -> str:
    return f"e{epoch:06d}.{uuid}.in-progress"


def is_draft_name(name: str) -> bool:
    found = _DRAFT.fullmatch(name)
    return found is not None and draft_name(int(found[1]), found[2]) == name


@dataclass(frozen=True, slots=True)
class LedgerPaths:
    root: str
    table: str

    @property
    def ledgers(self) -> str:
        return join(self.root, OFFSETS_DIRECTORY)

    @property
    def table_directory(self) -> str:
        return join(self.root, OFFSETS_DIRECTORY, self.table)

    def beside(self, uuid: str) -> str:
        """Where init builds a new ledger before it is renamed into place."""
        return join(self.root, OFFSETS_DIRECTORY, f"init-{uuid}")

    def generation(self, generation: Generation) -> str:
        return join(self.table_directory, generation.name)

    def archive(self, generation: Generation) -> str:
        return join(self.root, ARCHIVE_DIRECTORY, self.table, generation.started or "init")

    @property
    def archives(self) -> str:
        return join(self.root, ARCHIVE_DIRECTORY, self.table)

    @property
    def resets(self) -> str:
        """What was there before the table was started over: one directory for each time. No table is called so: it has no dot."""
        return join(self.root, ARCHIVE_DIRECTORY, RESETS_DIRECTORY, self.table)

    def reset(self, uuid: str) -> str:
        return join(self.resets, uuid)


def reset_aside(directory: str, uuid: str) -> str:
    """Where a reset puts what lay in `directory`: beside it, hidden from Hive, in the same encryption zone."""
    return join(directory, RESET_ASIDE, uuid)


def owner_marker(table_location: str) -> str:
    return join(table_location, OWNER_MARKER)


def owner_marker_draft(table_location: str, uuid: str) -> str:
    return join(table_location, f"{OWNER_MARKER}.{uuid}.in-progress")


def staging_directory(table_location: str) -> str:
    return join(table_location, STAGING_DIRECTORY)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFileName:
    """Name of a data file in all its states; `extension` without dots at the ends, e.g. `parquet` or `json.gz`."""

    slug: str
    task: int
    ledger: str
    generation: int
    epoch: int
    uuid: str
    extension: str

    def in_state(self, state: str) -> str:
        """`state` is `in-progress`, `pending` or `final`; it stands before the suffix of a codec: `.json.final.gz`."""
        codec = next((suffix for suffix in _CODECS if self.extension.endswith(suffix)), "")
        return (
            f"{self.slug}_task_{self.task}-{self.ledger}-g{self.generation:06d}-e{self.epoch:06d}"
            f"-{self.uuid}.{self.extension.removesuffix(codec)}.{state}{codec}"
        )

    @staticmethod
    @lru_cache(_REMEMBERED)
    def parse(name: str) -> "tuple[DataFileName, str] | None":
        """`(name, state)`, None when it is not exactly one of ours."""
        found = _DATA_FILE.fullmatch(name)
        if not found:
            return None
        parts: dict[str, Any] = found.groupdict()
        state, codec = parts.pop("state"), parts.pop("codec") or ""
        parts["extension"] += codec
        parsed = DataFileName(**parts | {n: int(parts[n]) for n in ("task", "generation", "epoch")})
        return (parsed, state) if parsed.in_state(state) == name else None


def extension_of(path: str) -> str:
    """Of a data file, empty for any other path."""
    parsed = DataFileName.parse(base_name(path))
    return "" if parsed is None else parsed[0].extension


@lru_cache(_REMEMBERED)
def bucket_slug(partition_path: str) -> str:
    """A bucket's path as the beginning of a file name: never hidden to Hive, at most 60 characters."""
    slug = re.sub(r"[^A-Za-z0-9=.-]+", "-", partition_path).strip("-._")
    return slug[:60].rstrip("-._") or "all"


def ledger_tag(ledger_id: str) -> str:
    """The part of a ledger id that stands in file names: its first eight digits."""
    return ledger_id[:8]


def heartbeat_directories(root: str) -> str:
    """The directory that holds one of every service."""
    return join(root, HEARTBEAT_DIRECTORY)


def heartbeat_directory(root: str, service: str) -> str:
    return join(heartbeat_directories(root), service)


def heartbeat_name(owner: str, count: int) -> str:
    return f"beat.{owner}.{count}"


def parse_heartbeat_name(name: str) -> tuple[str, int] | None:
    """`(owner, count)`, None when it is not exactly one of ours."""
    return _owner_and_count(_HEARTBEAT.fullmatch(name), heartbeat_name)


def condition_name(owner: str, count: int) -> str:
    """Name of what a live run says about its tables; `count` grows with each text."""
    return f"condition.{owner}.{count}"


def parse_condition_name(name: str) -> tuple[str, int] | None:
    """`(owner, count)`, None when it is not exactly one of ours."""
    return _owner_and_count(_CONDITION.fullmatch(name), condition_name)


def _owner_and_count(found: re.Match[str] | None, build: Callable[[str, int], str]) -> tuple[str, int] | None:
    if not found or build(found[1], int(found[2])) != found[0]:
        return None
    return found[1], int(found[2])


def schema_path(root: str, registry: str, schema_id: int) -> str:
    """Where a schema of a registry is kept: beside the ledgers, where nothing takes it for one."""
    return join(root, SCHEMAS_DIRECTORY, registry, f"{schema_id}.schema")


def schema_beside(path: str, uuid: str, state: str) -> str:
    return f"{path}.{uuid}.{state}"  # `in-progress` or `damaged`: nobody reads it


def probe_directory(place: str, uuid: str) -> str:
    """Where `validate --online` tries what it may do; Hive does not see it, and it is taken away at once."""
    return join(place, f"_kafka2hive_probe-{uuid}")
