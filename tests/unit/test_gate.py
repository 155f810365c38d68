"""What `scripts/test` runs and what only `scripts/test --all`: each test is one of the two, and nothing is lost."""

import ast
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.gate import (
    FOLDERS,
    ONLY_IN_ALL,
    STANDARD,
    Standard,
    deciding_name,
    files_of_tests,
    has_standard_tests,
    is_standard,
)

ROOT = Path(__file__).resolve().parents[2]
PROMISED = {
    "unit",
    "contract",
    "one set of schedules of each simulation",
    "the main way, on real Kafka, HDFS, HiveServer2 and Spark",
    "kill drills",
    "failover",
    "split brain",
    "broker restart",
    "news of complete partitions",
    "a secured way",
    "YARN",
}
SERVICES = {"kafka", "hdfs", "hive", "hdfs_ha", "yarn", "secure_kafka", "secure_hdfs", "secure_hive", "kdc"}
"""Fixtures of real services that standard tests use."""


@cache
def functions() -> dict[str, set[str]]:
    """Return the arguments of each test of each file, by the name that pytest gives it without parameters."""
    return {
        f"{file}::{node.name}": {argument.arg for argument in node.args.args}
        for file in files_of_tests(ROOT)
        for node in ast.parse((ROOT / file).read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def test_something_decides_about_every_test_and_every_declared_name_decides_about_some() -> None:
    deciding = {deciding_name(f"{test}") for test in functions()}
    assert None not in deciding
    assert {
        name for kinds in (STANDARD, ONLY_IN_ALL) for names in kinds.values() for name in names
    } == deciding


def test_no_name_is_declared_twice() -> None:
    names = [name for kinds in (STANDARD, ONLY_IN_ALL) for names in kinds.values() for name in names]
    assert sorted(names) == sorted(set(names))


def test_no_test_is_outside_the_folders() -> None:
    """Benchmarks and the soak have scripts of their own."""
    outside = {file.relative_to(ROOT).as_posix() for file in (ROOT / "tests").rglob("test_*.py")} - set(
        files_of_tests(ROOT)
    )
    assert outside == set()
    script = (ROOT / "scripts/test").read_text()
    assert all(f"tests/{folder}" in script for folder in FOLDERS)


def test_what_a_newcomer_must_believe_is_standard() -> None:
    assert set(STANDARD) == PROMISED
    standard = {test for test in functions() if is_standard(test)}
    for kind, names in STANDARD.items():
        assert [name for name in names if not any(deciding_name(test) == name for test in standard)] == [], (
            kind
        )
    assert set().union(*(functions()[test] for test in standard)) >= SERVICES
    simulations = ROOT / "tests/simulation/test_simulation.py"
    assert is_standard(
        f"{simulations.relative_to(ROOT)}::test_every_promise_holds_after_every_schedule[ledger-800]"
    )


def test_the_longest_name_decides() -> None:
    assert is_standard("tests/unit/new/test_new.py::test_x")
    assert not is_standard("tests/drills/test_new.py::test_x")
    assert not is_standard("tests/simulation/test_mutants.py::test_the_simulation_catches[x]")
    assert not is_standard("tests/benchmarks/test_x.py::test_x")
    assert has_standard_tests("tests/drills/test_executor_kills.py")
    assert not has_standard_tests("tests/drills/test_clocks.py")


def test_only_standard_tests_are_collected() -> None:
    plugin = Standard(ROOT)
    assert plugin.pytest_ignore_collect(ROOT / "tests/drills/test_clocks.py") is True
    assert plugin.pytest_ignore_collect(ROOT / "tests/drills/test_executor_kills.py") is None
    assert plugin.pytest_ignore_collect(ROOT / "tests/drills/conftest.py") is None
    names = [f"tests/drills/test_executor_kills.py::{name}" for name in (
        "test_killed_workers_cost_attempts_and_no_record",
        "test_on_a_cluster_killed_executors_and_speculation_double_nothing",
    )]  # fmt: skip
    items: list[Any] = [SimpleNamespace(nodeid=name) for name in names]
    told: list[Any] = []
    config: Any = SimpleNamespace(hook=SimpleNamespace(pytest_deselected=lambda items: told.extend(items)))
    plugin.pytest_collection_modifyitems(config, items)
    assert [item.nodeid for item in items] == names[:1]
    assert [item.nodeid for item in told] == names[1:]
