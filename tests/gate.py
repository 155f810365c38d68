"""Which tests `scripts/test` runs, and which only `scripts/test --all`.

`STANDARD` is what a newcomer must believe, in the time of a break; `ONLY_IN_ALL` says for the rest what it is. Each name is
how names of tests begin, and of those that fit a test the longest decides; so a new file is decided by its folder. A test
that no name fits fails the check, and so does a name without a test (`tests/unit/test_gate.py`).
"""

from pathlib import Path

import pytest

FOLDERS = ("unit", "contract", "simulation", "mutants", "fuzz", "integration", "drills")
_CONTRACT, _IN, _DRILL = "tests/contract/test_", "tests/integration/test_", "tests/drills/test_"
STANDARD = {
    "unit": ("tests/unit/",),
    "contract": ("tests/contract/",),
    "one set of schedules of each simulation": ("tests/simulation/",),
    "the main way, on real Kafka, HDFS, HiveServer2 and Spark": (
        f"{_IN}dump_flights.py",
        f"{_IN}dump_records.py",
    ),
    "kill drills": (
        f"{_DRILL}committer_kills.py",
        f"{_DRILL}driver_kills.py",
        f"{_DRILL}executor_kills.py::test_killed_workers_cost_attempts_and_no_record",
    ),
    "failover": (f"{_DRILL}namenode_failovers.py",),
    "split brain": (f"{_DRILL}split_brain.py", f"{_DRILL}split_brain_runs.py"),
    "broker restart": (f"{_DRILL}broker_restarts.py",),
    "news of complete partitions": (f"{_IN}news_topic.py",),
    "a secured way": (f"{_IN}secure_service.py",),
    "YARN": (f"{_DRILL}yarn.py",),
}
ONLY_IN_ALL = {
    "rarer ways of the whole program": ("tests/integration/",),
    "rarer faults": ("tests/drills/",),
    "mutants": ("tests/mutants/", "tests/simulation/test_mutants.py"),
    "searches": ("tests/simulation/test_explore.py",),
    "damaged and hostile input": ("tests/fuzz/", f"{_CONTRACT}hostile_values.py"),
    "both decoders side by side": (
        f"{_CONTRACT}decode_against_reference.py",
        f"{_CONTRACT}decode_compiled.py",
        f"{_CONTRACT}decode_neighbours.py",
        f"{_CONTRACT}avro_compiled.py",
        f"{_CONTRACT}protobuf_compiled.py",
    ),
    "decoders against other programs": (
        f"{_CONTRACT}avro_against_fastavro.py",
        f"{_CONTRACT}protobuf_against_google.py",
    ),
    "long tables of formats": (
        f"{_CONTRACT}files_against_readers.py",
        f"{_CONTRACT}semantic_types.py",
    ),
    "rarer ways on YARN": (f"{_DRILL}yarn.py::test_on_yarn_the_key_of_masks_travels_with_the_map",),
    "contracts that kill or load services": (
        f"{_CONTRACT}fetch_clients.py",
        f"{_CONTRACT}hdfs_faults.py",
        f"{_CONTRACT}task_on_kafka.py",
    ),
}
_IS_STANDARD = {
    name: kinds is STANDARD for kinds in (STANDARD, ONLY_IN_ALL) for names in kinds.values() for name in names
}
_LONGEST_FIRST = sorted(_IS_STANDARD, key=len, reverse=True)


def deciding_name(test: str) -> str | None:
    """Return the declared name that decides about a test; None: nothing does."""
    return next((name for name in _LONGEST_FIRST if test.startswith(name)), None)


def is_standard(test: str) -> bool:
    """Say whether `scripts/test` runs this test without `--all`."""
    name = deciding_name(test)
    return name is not None and _IS_STANDARD[name]


def has_standard_tests(file: str) -> bool:
    """Say whether any test of this file may be one of `scripts/test`."""
    return is_standard(f"{file}::") or any(name.startswith(f"{file}::") for name in _names(STANDARD))


def files_of_tests(root: Path) -> list[str]:
    """Return every file of tests that `--all` runs, relative to the root of the repository."""
    files = (file for folder in FOLDERS for file in (root / "tests" / folder).rglob("test_*.py"))
    return sorted(file.relative_to(root).as_posix() for file in files)


def _names(kinds: dict[str, tuple[str, ...]]) -> list[str]:
    return [name for names in kinds.values() for name in names]


class Standard:
    """`--standard`: leaves out what only `--all` runs, and says so; files without any standard test are not even read."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Ignore such a file; pytest and its plugins decide about all others."""
        if not (collection_path.name.startswith("test_") and collection_path.suffix == ".py"):
            return None
        return None if has_standard_tests(collection_path.relative_to(self._root).as_posix()) else True

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Of a file that has tests of both kinds, take the standard ones."""
        left_out = [item for item in items if not is_standard(item.nodeid)]
        items[:] = [item for item in items if is_standard(item.nodeid)]
        if left_out:
            config.hook.pytest_deselected(items=left_out)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say that there is more."""
        files = files_of_tests(self._root)
        more = sum(not has_standard_tests(file) for file in files)
        terminalreporter.write_line(
            f"standard tests only: scripts/test --all runs all of {len(files)} files, of which {more} have none (tests/gate.py)"
        )
