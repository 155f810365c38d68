"""The paths and names of a table's ledger: generations, snapshots, archive and resets; of orders, and of stored schemas."""

import re
from dataclasses import dataclass
from functools import lru_cache

from kafka2hive.model.paths.path import CACHE_SIZE, OWNER, join

OFFSETS_DIRECTORY = "kafka_partition_offsets"
ARCHIVE_DIRECTORY = "archive"
FIRST_GENERATION = "g000000.init"
RESETS_DIRECTORY = "reset"
RESET_RECORD = "order.json"
RESET_TABLE = "table"
SCHEMAS_DIRECTORY = "schemas"
INBOX_DIRECTORY = "inbox"
PACKS_DIRECTORY = "packs"
DONE_ORDERS, REJECTED_ORDERS = "done", "rejected"
"""Directories in a service's inbox to which files of orders are moved."""

_HIVE_NAME = re.compile(r"[A-Za-z0-9_]{1,128}")
_GENERATION = re.compile(rf"g([0-9]{{6,18}})\.(?:init|([0-9]{{8}}T[0-9]{{6}}Z)-({OWNER}))")
_SNAPSHOT = re.compile(r"e([0-9]{6,18})\.(final|pending)")
_ORDER = re.compile(r"([0-9a-f]{32})\.json(\.in-progress)?")
_DRAFT = re.compile(r"e([0-9]{6,18})\.([0-9a-f]{32})\.in-progress")


@dataclass(frozen=True, slots=True)
class Generation:
    """The name of a generation directory: the number of the take-over, when it began, and the owner."""

    number: int
    started: str | None = None
    owner: str | None = None

    @property
    def name(self) -> str:
        if self.started is None:
            return f"g{self.number:06d}.init"
        return f"g{self.number:06d}.{self.started}-{self.owner}"

    @staticmethod
    @lru_cache(CACHE_SIZE)
    def parse(name: str) -> "Generation | None":
        """Return the generation, None if `name` does not match the grammar exactly."""
        match = _GENERATION.fullmatch(name)
        if not match:
            return None
        generation = Generation(int(match[1]), match[2], match[3])
        return generation if generation.name == name else None


class SnapshotState:
    """The states of a snapshot in its file's name, apart from drafts (`.in-progress`)."""

    PENDING = "pending"
    FINAL = "final"


def snapshot_name(epoch: int, state: str) -> str:
    return f"e{epoch:06d}.{state}"


@lru_cache(CACHE_SIZE)
def parse_snapshot_name(name: str) -> tuple[int, str] | None:
    """Return `(epoch, state)` of `e000041.final` or `e000042.pending`, None for any other name."""
    match = _SNAPSHOT.fullmatch(name)
    if not match or snapshot_name(int(match[1]), match[2]) != name:
        return None
    return int(match[1]), match[2]


def draft_name(epoch: int, uuid: str) -> str:
    return f"e{epoch:06d}.{uuid}.in-progress"


def is_draft_name(name: str) -> bool:
    match = _DRAFT.fullmatch(name)
    return match is not None and draft_name(int(match[1]), match[2]) == name


@dataclass(frozen=True, slots=True)
class LedgerPaths:
    """The paths of a table's ledger below the `root` of all ledgers."""

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
        """The directory of all resets of the table. No table is named `reset`, because tables' names have a dot."""
        return join(self.root, ARCHIVE_DIRECTORY, RESETS_DIRECTORY, self.table)

    def reset(self, uuid: str) -> str:
        return join(self.resets, uuid)


def inbox_directory(root: str, service: str) -> str:
    """Return the directory in which operators put orders to a service's runs."""
    return join(root, INBOX_DIRECTORY, service)


def order_name(order_id: str) -> str:
    return f"{order_id}.json"


def order_draft_name(order_id: str) -> str:
    """Return the name under which an order is written; it has no effect until it is renamed."""
    return f"{order_name(order_id)}.in-progress"


def parse_order_name(name: str) -> tuple[str, bool] | None:
    """Return the order's id and whether the name is that of a draft; None if it is neither."""
    match = _ORDER.fullmatch(name)
    return None if match is None else (match[1], match[2] is not None)


def schema_path(root: str, registry: str, schema_id: int | str) -> str:
    """Return the path of a registry's schema, by its number or GUID."""
    return join(root, SCHEMAS_DIRECTORY, registry, f"{schema_id}.schema")


def schema_draft(path: str, uuid: str, state: str) -> str:
    """Return a path for a schema that nobody reads, because it is `in-progress` or `damaged`."""
    return f"{path}.{uuid}.{state}"


def fault_of_table(name: str) -> str:
    """Return what is wrong with `db.table`, empty if nothing is."""
    database, dot, table = name.partition(".")
    if not dot:
        return "expected db.table, for example default." + (name or "events")
    if not _HIVE_NAME.fullmatch(database) or not _HIVE_NAME.fullmatch(table):
        return "a Hive name has letters, digits and _, at most 128, and exactly one dot between database and table"
    return ""
