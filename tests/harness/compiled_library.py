"""Tests of the compiled library (native/), where it is not installed: left out and counted, not forgotten."""

from dataclasses import dataclass

import pytest

NEEDS_IT = "needs_compiled"
needs_compiled: pytest.MarkDecorator = getattr(pytest.mark, NEEDS_IT)
DESCRIPTION = f"{NEEDS_IT}: a test of the compiled library, left out where that is not installed"


@dataclass(frozen=True, slots=True)
class Uncovered:
    """`left_out`: tests of the library; `python_only`: tests of each decoder, which took the one in Python alone."""

    left_out: int = 0
    python_only: int = 0

    def __str__(self) -> str:
        if self == Uncovered():
            return ""
        return (
            f"NOT COVERED, for kafka2hive-native is not installed: {self.left_out} tests were left out, and"
            f" {self.python_only} took the decoder in Python alone (scripts/setup builds it with cargo; .cache/cargo.log)"
        )


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> Uncovered:
    """Deselects what needs the library, if that is not here; `items` were collected."""
    from kafka2hive.config.native_library import LIBRARY

    return without_library(config, items) if LIBRARY is None else Uncovered()


def without_library(config: pytest.Config, items: list[pytest.Item]) -> Uncovered:
    """Deselects what needs the library."""
    left_out = [item for item in items if item.get_closest_marker(NEEDS_IT)]
    items[:] = [item for item in items if item not in set(left_out)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
    return Uncovered(len(left_out), sum(map(_takes_each_way, items)))


def _takes_each_way(item: pytest.Item) -> bool:
    """In a loop of its own: a test with a parameter for the way has a sibling that is left out."""
    has_ways = hasattr(getattr(item, "module", None), "WAYS")
    return has_ways and not hasattr(item, "callspec")
