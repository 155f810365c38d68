"""How the tests are dealt out to workers."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.durations import Duration
from tests.side_by_side import GROUPS, Groups, group, seconds_by_group

ROOT = Path(__file__).resolve().parents[2]


def test_every_file_that_is_named_is_there() -> None:
    assert sorted(name for name in GROUPS if not (ROOT / name).exists()) == []


def test_the_tests_of_a_file_stay_together_and_those_that_only_compute_or_wait_do_not() -> None:
    assert group("tests/drills/test_damage.py::test_a") == group("tests/drills/test_damage.py::test_b")
    assert group("tests/integration/test_hive_client.py::test_a") == group(
        "tests/integration/test_hive_compared.py::test_b[x]"
    )
    assert group("tests/simulation/test_x.py::test_a[1]") != group("tests/simulation/test_x.py::test_a[2]")
    waits = "tests/unit/storage/test_hdfs_doubts.py"
    assert group(f"{waits}::test_a") != group(f"{waits}::test_b")


def test_a_group_takes_as_long_as_its_tests_of_this_run() -> None:
    hive, alone = "tests/integration/test_hive_client.py", "tests/drills/test_damage.py"
    known = {
        f"{hive}::test_a": Duration(5.0, 1.0),
        "tests/integration/test_hive_compared.py::test_b": Duration(7.0, 1.0),
        f"{alone}::test_a": Duration(8.0, 1.0),
        f"{alone}::test_not_run": Duration(80.0, 1.0),
    }
    tests = [f"{hive}::test_a", "tests/integration/test_hive_compared.py::test_b", f"{alone}::test_a"]
    assert seconds_by_group(tests, known) == {"hive, to kill": 12.0, alone: 8.0}


class Config:
    """As much of pytest's as a scheduler asks for."""

    option = SimpleNamespace(loadscopereorder=False)

    def getvalue(self, name: str) -> list[str]:
        return {"tx": ["popen", "popen"]}[name]


class Worker:
    """What it was given, by name."""

    shutting_down = False

    def __init__(self, name: str, tests: list[str]) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.tests = tests
        self.given: list[str] = []
        self._run = 0

    def send_runtest_some(self, indices: list[int]) -> None:
        self.given += [self.tests[index] for index in indices]

    def can_run(self) -> bool:
        """A test runs when the one after it is known, or the end."""
        return len(self.given) - self._run >= (1 if self.shutting_down else 2)

    def run_one(self) -> int:
        self._run += 1
        return self.tests.index(self.given[self._run - 1])

    def shutdown(self) -> None:
        self.shutting_down = True


def test_one_worker_computes_the_others_wait_and_nothing_is_handed_out_before_its_time() -> None:
    drills = [
        "tests/drills/test_a.py::test_1",
        "tests/drills/test_a.py::test_2",
        "tests/drills/test_b.py::test_1",
    ]
    simulated = ["tests/simulation/test_a.py::test_1", "tests/simulation/test_a.py::test_2"]
    tests = [*drills, *simulated, "tests/unit/test_a.py::test_1"]
    computing, waiting = Worker("gw0", tests), Worker("gw1", tests)
    groups = Groups(Config())
    for worker in (computing, waiting):
        groups.add_node(worker)
        groups.add_node_collection(worker, tests)
    groups.schedule()
    assert computing.given == simulated
    assert waiting.given == drills[:2]
    groups.mark_test_complete(waiting, 0)
    assert waiting.given == drills
    groups.mark_test_complete(computing, 3)
    assert computing.given == [*simulated, tests[-1]]
    groups.mark_test_complete(waiting, 1)
    groups.mark_test_complete(computing, 4)
    assert waiting.shutting_down and computing.shutting_down
    assert groups.tests_finished


@pytest.mark.parametrize("died_after", range(1, 40, 2))
def test_every_test_runs_where_a_worker_dies(died_after: int) -> None:
    tests = [f"tests/drills/test_{n:02}.py::test_{one}" for n in range(24) for one in range(1 + n % 3)]
    groups, workers, seen = Groups(Config()), [Worker(f"gw{n}", tests) for n in range(2)], []
    for worker in workers:
        groups.add_node(worker)
        groups.add_node_collection(worker, tests)
    groups.schedule()
    while running := next((w for w in workers if w.can_run()), None):
        index = running.run_one()
        seen.append(index)
        groups.mark_test_complete(running, index)
        if len(seen) == died_after:
            other = workers.pop(1 - workers.index(running))
            if crashed := groups.remove_node(other):
                seen.append(tests.index(crashed))
            workers.append(Worker("gw2", tests))
            groups.add_node(workers[-1])
            groups.add_node_collection(workers[-1], tests)
            groups.schedule()
        workers.reverse()
    assert set(seen) == set(range(len(tests)))
    assert groups.tests_finished
