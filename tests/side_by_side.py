"""How `pytest -n` deals the tests out: which of them stay with one worker, which begin first, and who takes which.

Most tests on real services wait, a simulation computes: they overlap well. So one worker computes for as long as there is
something to compute, and the others take what waits. A file's tests stay together, because they share its fixtures; the
folders that only compute are dealt out test by test. What takes longest begins first, so that the end is not spent waiting
for one worker.
"""

from collections.abc import Iterable

from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

SPLIT = ("tests/simulation/",)
"""Folders whose tests share nothing."""
COMPUTING = (*SPLIT, "tests/mutants/", "tests/fuzz/", "tests/contract/test_decode")
"""What hardly ever waits."""
WAITING = ("tests/unit/task/test_task_chunk.py", "tests/unit/storage/test_hdfs_doubts.py")
"""Their tests share nothing either; some wait four seconds each."""
THE_COMPUTING_WORKER = "gw0"
FOLDERS = (
    "tests/drills/",
    "tests/integration/",
    *SPLIT,
    "tests/mutants/",
    "tests/fuzz/",
    "tests/contract/",
    "tests/unit/",
)
"""In the order in which they begin."""
GROUPS = {
    f"tests/{file}.py": group
    for group, files in {
        "hive, to kill": (
            "drills/test_hive_troubles",
            "integration/test_hive_compared",
            "integration/test_hive_client",
        ),
        "registry": (
            "integration/test_dump_avro",
            "integration/test_dump_protobuf",
            "integration/test_evolution_by_registry",
        ),
        "services, to kill": (
            "drills/test_hdfs_troubles",
            "drills/test_namenode_failovers",
            "integration/test_services",
            "integration/test_kafka_client",
            "contract/test_hdfs_faults",
        ),
        "secured services": (
            "integration/test_hive_logins",
            "integration/test_kafka_access",
            "integration/test_secrets_unseen",
            "integration/test_secure_refusals",
            "integration/test_secure_service",
        ),
        "yarn": ("drills/test_secure_yarn", "drills/test_yarn", "integration/test_spark_pack"),
    }.items()
    for file in files
}
"""Files that share a service of their own, whose start is dear."""
LONGEST = (
    "hive, to kill",
    "services, to kill",
    "secured services",
    "tests/simulation/test_simulation.py::test_every_promise_holds_after_every_schedule",
    "tests/integration/test_compaction.py",
    "tests/drills/test_driver_kills.py",
    "tests/drills/test_table_life.py",
    "registry",
    "tests/drills/test_executor_kills.py",
    "yarn",
    "tests/integration/test_dump_flights.py",
    "tests/integration/test_dead_letters_replay.py",
    "tests/integration/test_orders.py",
    "tests/mutants/test_generated.py",
    "tests/integration/test_dump_complete.py",
    "tests/integration/test_latest_view.py",
    "tests/integration/test_take_over.py",
    "tests/integration/test_report.py",
    "tests/integration/test_release.py",
    "tests/drills/test_damage.py",
    "tests/drills/test_leader_moves.py",
    "tests/fuzz/",
    "tests/mutants/test_text_mutants.py",
    "tests/integration/test_demo.py",
    "tests/integration/test_dump_sql.py",
    "tests/drills/test_broker_restarts.py",
    "tests/integration/test_dump_plugins.py",
    "tests/drills/test_clocks.py",
    "tests/integration/test_reset.py",
    "tests/integration/test_dump_signals.py",
    "tests/integration/test_dump_topics.py",
    "tests/simulation/test_explore.py",
    "tests/drills/test_split_brain_runs.py",
    *WAITING,
)
"""Groups (or how they begin) that take minutes, and those that wait; they begin before all others, in this order."""


def group(nodeid: str) -> str:
    """The name of a test's group; a test that stands alone is its own."""
    file, _, _ = nodeid.partition("::")
    return nodeid if file.startswith((*SPLIT, *WAITING)) else GROUPS.get(file, file)


def place(nodeid: str) -> tuple[int, int]:
    """Smaller begins earlier."""
    name = group(nodeid)
    longest = next((n for n, begin in enumerate(LONGEST) if name.startswith(begin)), len(LONGEST))
    folder = next((n for n, begin in enumerate(FOLDERS) if name.startswith(begin)), len(FOLDERS))
    return longest, folder


def next_group(waiting: Iterable[str], *, computes: bool) -> str | None:
    """The first group for a worker that computes, or for one that does not; None: there is only the other kind."""
    return next((name for name in waiting if name.startswith(COMPUTING) == computes), None)


class Groups(LoadScopeScheduling):  # type: ignore[misc]  # it ships no types
    """Hands out one group after the other, the next one not before a worker has come to its last test."""

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        wanted = next_group(self.workqueue, computes=node.gateway.id == THE_COMPUTING_WORKER)
        if wanted is not None:
            self.workqueue.move_to_end(wanted, last=False)
        super()._assign_work_unit(node)

    def _reschedule(self, node: WorkerController) -> None:
        # a worker must know of one test more than the one it runs; what it is given earlier than that, no other can take;
        # groups without a test left come back from a worker that died
        while self.workqueue and not node.shutting_down and self._pending_of(self.assigned_work[node]) < 2:
            self._assign_work_unit(node)
        if not self.workqueue:
            super()._reschedule(node)
