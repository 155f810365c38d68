"""Names of heartbeats, and of the files in which runs report on their tables: each has the owner and an ascending count."""

import re
from collections.abc import Callable

from kafka2hive.model.paths.path import join

HEARTBEAT_DIRECTORY = "alive"

_HEARTBEAT = re.compile(r"beat\.([A-Za-z0-9.-]+-[0-9]+-[0-9a-f]{32})\.([0-9]{1,18})")
_REPAIR = re.compile(r"repair\.([A-Za-z0-9.-]+-[0-9]+-[0-9a-f]{32})\.([0-9]{1,18})")
_CONDITION = re.compile(r"condition\.([A-Za-z0-9.-]+-[0-9]+-[0-9a-f]{32})\.([0-9]{1,18})")
_OUTCOME = re.compile(r"outcome\.([A-Za-z0-9.-]+-[0-9]+-[0-9a-f]{32})\.([0-9]{1,18})")


def heartbeat_root(root: str) -> str:
    """Return the directory that holds the heartbeat directories of all services."""
    return join(root, HEARTBEAT_DIRECTORY)


def heartbeat_directory(root: str, service: str) -> str:
    return join(heartbeat_root(root), service)


def heartbeat_name(owner: str, count: int) -> str:
    return f"beat.{owner}.{count}"


def parse_heartbeat_name(name: str) -> tuple[str, int] | None:
    """Return `(owner, count)`, None if the name is not exactly of this kind."""
    return _owner_and_count(_HEARTBEAT.fullmatch(name), heartbeat_name)


def repair_name(owner: str, count: int) -> str:
    """Return the name of the heartbeat of a command that repairs tables."""
    return f"repair.{owner}.{count}"


def parse_repair_name(name: str) -> tuple[str, int] | None:
    """Return `(owner, count)`, None if the name is not exactly of this kind."""
    return _owner_and_count(_REPAIR.fullmatch(name), repair_name)


def condition_name(owner: str, count: int) -> str:
    """Return the name of a live run's report on its tables; `count` grows with each report."""
    return f"condition.{owner}.{count}"


def parse_condition_name(name: str) -> tuple[str, int] | None:
    """Return `(owner, count)`, None if the name is not exactly of this kind."""
    return _owner_and_count(_CONDITION.fullmatch(name), condition_name)


def outcome_name(owner: str, count: int) -> str:
    """Return the name of a run's last report on its tables; `count` grows with each attempt to write it."""
    return f"outcome.{owner}.{count}"


def parse_outcome_name(name: str) -> tuple[str, int] | None:
    """Return `(owner, count)`, None if the name is not exactly of this kind."""
    return _owner_and_count(_OUTCOME.fullmatch(name), outcome_name)


def _owner_and_count(match: re.Match[str] | None, build: Callable[[str, int], str]) -> tuple[str, int] | None:
    if not match or build(match[1], int(match[2])) != match[0]:
        return None
    return match[1], int(match[2])
