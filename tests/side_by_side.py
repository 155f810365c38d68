"""How `pytest -n` deals the tests out: which of them stay with one worker, and which begin first.

Most tests on real services wait, a simulation computes: they overlap well. A file's tests stay together, because they share
its fixtures; the folders that only compute are dealt out test by test. What takes longest begins first, so that the end is
not spent waiting for one worker.
"""

SPLIT = ("tests/simulation/", "tests/mutants/")
"""Folders whose tests share nothing."""
FOLDERS = ("tests/drills/", "tests/integration/", *SPLIT, "tests/fuzz/", "tests/contract/", "tests/unit/")
"""In the order in which they begin."""
GROUPS = {
    f"tests/integration/test_{file}.py": group
    for group, files in {
        "hive, outages": ("hive_compared", "dump_outages", "dump_flights"),
        "hive, the rest": (
            "commands_tell",
            "dump_columns",
            "dump_records",
            "task_in_hive",
            "hive_room",
            "services",
        ),
    }.items()
    for file in files
}
"""Files that share a HiveServer2, whose start is dear."""
LONGEST = (
    "hive, outages",
    "tests/simulation/test_simulation.py::test_every_record_is_visible_exactly_once_after_every_schedule",
    "tests/drills/test_damage.py",
    "tests/drills/test_driver_kills.py",
    "hive, the rest",
    "tests/drills/test_leader_moves.py",
    "tests/drills/test_executor_kills.py",
    "tests/drills/test_hive_troubles.py",
    "tests/simulation/test_simulation.py",
    "tests/drills/test_clocks.py",
    "tests/integration/test_reset.py",
    "tests/simulation/test_explore.py",
)
"""Groups (or how they begin) that take minutes; they begin before all others, in this order."""


def group(nodeid: str) -> str:
    """The name of a test's group; a test that stands alone is its own."""
    file, _, _ = nodeid.partition("::")
    return nodeid if file.startswith(SPLIT) else GROUPS.get(file, file)


def place(nodeid: str) -> tuple[int, int]:
    """Smaller begins earlier."""
    name = group(nodeid)
    longest = next((n for n, begin in enumerate(LONGEST) if name.startswith(begin)), len(LONGEST))
    folder = next((n for n, begin in enumerate(FOLDERS) if name.startswith(begin)), len(FOLDERS))
    return longest, folder
