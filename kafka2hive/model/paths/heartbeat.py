"""Names of heartbeats, and of the files in which runs report on their tables: each has the owner and an ascending count."""

import re
from collections.abc import Callable

from kafka2hive.model.paths.path import OWNER, join

HEARTBEAT_DIRECTORY = "alive"

_NAME = re.compile(rf"[a-z]+\.({OWNER})\.([0-9]{{1,18}})")


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
    """Parse a name; None if `build` does not return it for its owner and count, e.g. because it is of another kind."""
    match = _NAME.fullmatch(name)
    if not match or build(match[1], int(match[2])) != name:
        return None
    return match[1], int(match[2])
