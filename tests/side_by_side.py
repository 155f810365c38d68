"""How `pytest -n` deals the tests out: which of them stay with one worker, and who takes which.

Most tests on real services wait, a simulation computes: they overlap well. So one worker computes for as long as there is
something to compute, and the others take what waits. A file's tests stay together, because they share its fixtures; the
folders that only compute are dealt out test by test. What took longest (`tests/durations.json`) begins first, so that the
end is not spent waiting for one worker.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tests.durations import Duration, expected

SPLIT = ("tests/simulation/",)
"""Folders whose tests share nothing."""
COMPUTING = (*SPLIT, "tests/mutants/", "tests/fuzz/", "tests/contract/test_decode")
"""What hardly ever waits."""
WAITING = ("tests/unit/task/test_task_chunk.py", "tests/unit/storage/test_hdfs_doubts.py")
"""Their tests share nothing either; some wait four seconds each."""
THE_COMPUTING_WORKER = "gw0"
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


def group(nodeid: str) -> str:
    """The name of a test's group; a test that stands alone is its own."""
    file, _, _ = nodeid.partition("::")
    return nodeid if file.startswith((*SPLIT, *WAITING)) else GROUPS.get(file, file)


def seconds_by_group(tests: Iterable[str], known: Mapping[str, Duration]) -> dict[str, float]:
    """Return how long the tests of each group take together, by the durations that are known."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for test in tests:
        groups[group(test)].append(test)
    return {name: expected(members, known) for name, members in groups.items()}


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
