"""How `pytest -n` deals the tests out: which of them stay with one worker, and which begin first.

Most tests on real services wait, a simulation computes: they overlap well. A file's tests stay together, because they share
its fixtures; the folders that only compute are dealt out test by test. What takes longest begins first, so that the end is
not spent waiting for one worker.
"""

from collections.abc import Iterable

import pytest

SPLIT = ("tests/simulation", "tests/mutants")
"""Folders whose tests share nothing."""
FOLDERS = ("tests/drills", "tests/integration", *SPLIT, "tests/fuzz", "tests/contract", "tests/unit")
"""In the order in which they begin."""
LONGEST = (
    "hive",
    "tests/simulation/test_simulation.py::test_every_record_is_visible_exactly_once_after_every_schedule",
    "tests/drills/test_damage.py",
    "tests/drills/test_driver_kills.py",
    "tests/drills/test_leader_moves.py",
    "tests/drills/test_executor_kills.py",
    "tests/drills/test_hive_troubles.py",
    "tests/simulation/test_simulation.py",
    "tests/drills/test_clocks.py",
    "tests/integration/test_reset.py",
    "tests/simulation/test_explore.py",
)
"""Groups (or how they begin) that take minutes; they begin before all others, in this order."""


def arrange(items: list[pytest.Item]) -> None:
    """Give each test its group, and put the groups into the order in which they begin."""
    for item in items:
        item.add_marker(pytest.mark.xdist_group(group(item.nodeid, getattr(item, "fixturenames", ()))))
    items.sort(
        key=lambda item: place(item.nodeid, getattr(item, "fixturenames", ()))
    )  # keeps the order of equals


def group(nodeid: str, fixtures: Iterable[str]) -> str:
    """The name of a test's group: the tests of one group run in one worker, one after the other."""
    file, _, _ = nodeid.partition("::")
    if file.startswith("tests/integration/") and "hive" in fixtures:
        return "hive"  # its start is dear
    return nodeid if file.startswith(SPLIT) else file


def place(nodeid: str, fixtures: Iterable[str]) -> tuple[int, int]:
    """Smaller begins earlier."""
    name = group(nodeid, fixtures)
    longest = next((n for n, begin in enumerate(LONGEST) if name.startswith(begin)), len(LONGEST))
    folder = next((n for n, begin in enumerate(FOLDERS) if name.startswith(f"{begin}/")), len(FOLDERS))
    return longest, folder
