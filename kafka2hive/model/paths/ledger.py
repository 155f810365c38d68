"""All paths and names below the root of the ledgers: generations, snapshots, archive, resets; orders, heartbeats, schemas."""

import re
from collections.abc import Callable
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
HEARTBEAT_DIRECTORY = "alive"
DONE_ORDERS, REJECTED_ORDERS = "done", "rejected"
"""Directories in a service's inbox to which files of orders are moved."""
_HIVE_NAME = re.compile(r"[A-Za-z0-9_]{1,128}")
_GENERATION = re.compile(rf"g([0-9]{{6,18}})\.(?:init|([0-9]{{8}}T[0-9]{{6}}Z)-({OWNER}))")
_SNAPSHOT = re.compile(r"e([0-9]{6,18})\.(final|pending)")
_ORDER = re.compile(r"([0-9a-f]{32})\.json(\.in-progress)?")
_DRAFT = re.compile(r"e([0-9]{6,18})\.([0-9a-f]{32})\.in-progress")
_NAME = re.compile(rf"[a-z]+\.({OWNER})\.([0-9]{{1,18}})")


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
    """Return the directory into which operators' commands put orders to a service's runs."""
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


def heartbeat_root(root: str) -> str:
    """Return the directory that holds the heartbeat directories of all services."""
    return join(root, HEARTBEAT_DIRECTORY)


def heartbeat_directory(root: str, service: str) -> str:
    return join(heartbeat_root(root), service)


def heartbeat_name(owner: str, count: int) -> str:
    return f"beat.{owner}.{count}"


def parse_heartbeat_name(name: str) -> tuple[str, int] | None:
    """Return `(owner, count)`, None if the name is not exactly of this kind."""
    return _owner_and_count(name, heartbeat_name)


def repair_name(owner: str, count: int) -> str:
    """Return the name of the heartbeat of a command that repairs tables."""
    return f"repair.{owner}.{count}"


def parse_repair_name(name: str) -> tuple[str, int] | None:
    """Return `(owner, count)`, None if the name is not exactly of this kind."""
    return _owner_and_count(name, repair_name)


def condition_name(owner: str, count: int) -> str:
    """Return the name of a live run's report on its tables; `count` grows with each report."""
    return f"condition.{owner}.{count}"


def parse_condition_name(name: str) -> tuple[str, int] | None:
    """Return `(owner, count)`, None if the name is not exactly of this kind."""
    return _owner_and_count(name, condition_name)


def outcome_name(owner: str, count: int) -> str:
    """Return the name of a run's last report on its tables; `count` grows with each attempt to write it."""
    return f"outcome.{owner}.{count}"


def parse_outcome_name(name: str) -> tuple[str, int] | None:
    """Return `(owner, count)`, None if the name is not exactly of this kind."""
    return _owner_and_count(name, outcome_name)


def _owner_and_count(name: str, build: Callable[[str, int], str]) -> tuple[str, int] | None:
    """Return `(owner, count)`; None unless `build` builds exactly this name from them, so that kinds are not mixed up."""
    match = _NAME.fullmatch(name)
    if not match or build(match[1], int(match[2])) != name:
        return None
    return match[1], int(match[2])


def schema_path(root: str, registry: str, schema_id: int | str) -> str:
    """Return the path of a registry's schema, by its number or GUID."""
    return join(root, SCHEMAS_DIRECTORY, registry, f"{schema_id}.schema")


def schema_draft(path: str, uuid: str, state: str) -> str:
    """Return a path that readers of schemas ignore; `state` is `in-progress` or `damaged`."""
    return f"{path}.{uuid}.{state}"


def fault_of_table(name: str) -> str:
    """Return why `name` is not a valid `db.table`, or an empty string if it is valid."""
    database, dot, table = name.partition(".")
    if not dot:
        return "expected db.table, for example default." + (name or "events")
    if not _HIVE_NAME.fullmatch(database) or not _HIVE_NAME.fullmatch(table):
        return "database and table each have 1 to 128 letters, digits or _, with exactly one dot between them"
    return ""
