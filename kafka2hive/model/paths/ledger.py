"""A table's ledger: generations, their snapshots, the archive and resets; and the schemas kept beside the ledgers."""

import re
from dataclasses import dataclass
from functools import lru_cache

from kafka2hive.model.paths.path import REMEMBERED, join

OFFSETS_DIRECTORY = "kafka_partition_offsets"
ARCHIVE_DIRECTORY = "archive"
FIRST_GENERATION = "g000000.init"
RESETS_DIRECTORY = "reset"
RESET_RECORD = "order.json"
RESET_TABLE = "table"
SCHEMAS_DIRECTORY = "schemas"

_GENERATION = re.compile(
    r"g([0-9]{6,18})\.(?:init|([0-9]{8}T[0-9]{6}Z)-([A-Za-z0-9.-]+-[0-9]+-[0-9a-f]{32}))"
)
_SNAPSHOT = re.compile(r"e([0-9]{6,18})\.(final|pending)")
_DRAFT = re.compile(r"e([0-9]{6,18})\.([0-9a-f]{32})\.in-progress")


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
    @lru_cache(REMEMBERED)
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


@lru_cache(REMEMBERED)
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

    def draft(self, uuid: str) -> str:
        """Return where init builds a ledger before it is renamed into place."""
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


def schema_path(root: str, registry: str, schema_id: int | str) -> str:
    """Where a schema of a registry is kept by its number or GUID: beside the ledgers, where nothing takes it for one."""
    return join(root, SCHEMAS_DIRECTORY, registry, f"{schema_id}.schema")


def schema_beside(path: str, uuid: str, state: str) -> str:
    return f"{path}.{uuid}.{state}"  # `in-progress` or `damaged`: nobody reads it
