"""Heartbeats of runs and repairs, and what runs say about their tables: names with the owner and a count that grows."""

import re
from collections.abc import Callable

from kafka2hive.model.paths.path import join

HEARTBEAT_DIRECTORY = "alive"

_HEARTBEAT = re.compile(r"beat\.([A-Za-z0-9.-]+-[0-9]+-[0-9a-f]{32})\.([0-9]{1,18})")
_REPAIR = re.compile(r"repair\.([A-Za-z0-9.-]+-[0-9]+-[0-9a-f]{32})\.([0-9]{1,18})")
_CONDITION = re.compile(r"condition\.([A-Za-z0-9.-]+-[0-9]+-[0-9a-f]{32})\.([0-9]{1,18})")
_OUTCOME = re.compile(r"outcome\.([A-Za-z0-9.-]+-[0-9]+-[0-9a-f]{32})\.([0-9]{1,18})")


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


def repair_name(owner: str, count: int) -> str:
    """Name of the heartbeat of a command that repairs tables."""
    return f"repair.{owner}.{count}"


def parse_repair_name(name: str) -> tuple[str, int] | None:
    """`(owner, count)`, None when it is not exactly one of ours."""
    return _owner_and_count(_REPAIR.fullmatch(name), repair_name)


def condition_name(owner: str, count: int) -> str:
    """Name of what a live run says about its tables; `count` grows with each text."""
    return f"condition.{owner}.{count}"


def parse_condition_name(name: str) -> tuple[str, int] | None:
    """`(owner, count)`, None when it is not exactly one of ours."""
    return _owner_and_count(_CONDITION.fullmatch(name), condition_name)


def outcome_name(owner: str, count: int) -> str:
    """Name of what a run that has ended said about its tables; `count` grows with each try to write it."""
    return f"outcome.{owner}.{count}"


def parse_outcome_name(name: str) -> tuple[str, int] | None:
    """`(owner, count)`, None when it is not exactly one of ours."""
    return _owner_and_count(_OUTCOME.fullmatch(name), outcome_name)


def _owner_and_count(found: re.Match[str] | None, build: Callable[[str, int], str]) -> tuple[str, int] | None:
    if not found or build(found[1], int(found[2])) != found[0]:
        return None
    return found[1], int(found[2])
