"""YARN's client mode on two nodes: executors, application masters, NodeManagers and the application are killed.

Not a part of `scripts/test`; `scripts/drill` runs it. The driver is on this machine, the executors take their Python from a
pack on HDFS, and a run without YARN goes on with the same ledger.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.drills.conftest import Figures
from tests.drills.driver_kills import PATIENCE
from tests.drills.executor_kills import WARN, Target, strike_until
from tests.drills.form import Form
from tests.drills.on_yarn import EXECUTORS, JARS, LOOPBACK, USER, client_masters, executors, owners, submitter
from tests.drills.spark_workers import Fed, Prey, kill_executor_of
from tests.drills.supervised import EVERY_CHANGE
from tests.harness.program import Running
from tests.services.hdfs import Hdfs
from tests.services.jvm import OPTIONS
from tests.services.kafka_broker import KafkaBroker
from tests.services.service_process import ServiceProcess
from tests.services.yarn import Yarn

EPOCH_RECORDS = 4_000
LOST_NODE = {"yarn.nm.liveness-monitor.expiry-interval-ms": "20000"}
"""So soon YARN gives up a node that is silent."""


@pytest.fixture
def yarn(tmp_path: Path, hdfs: Hdfs) -> Iterator[Yarn]:
    """A ResourceManager and two NodeManagers over the shared HDFS."""
    with Yarn(tmp_path / "yarn", hdfs.site_properties, 2, 3_072, OPTIONS, own=LOST_NODE) as cluster:
        yield cluster


class ClientMode:
    """A run whose driver is here and whose tasks are on `yarn`; `orphans` are containers that a NodeManager left behind."""

    def __init__(self, yarn: Yarn, target: Target, run: Running) -> None:
        self._yarn, self._target, self._run = yarn, target, run
        self.felt: Counter[str] = Counter()
        self.orphans: list[psutil.Process] = []

    def prey(self) -> Prey:
        """What writes on either node, and more for it to write: an epoch may take a third of a second."""
        self._target.send(4 * EPOCH_RECORDS)
        return self._target.prey([node.pid for node in self._yarn.nodemanagers], 4 * EPOCH_RECORDS)

    def kill_an_executor(self) -> None:
        """While it writes."""
        self.felt += strike_until(self._run, self.prey(), [("executors_killed", kill_executor_of)])

    def kill_the_master(self) -> None:
        """While an executor writes; YARN ends its executors with it, and the next master asks for others."""
        self.prey().writer(self._run)
        [master] = client_masters(self._yarn)
        master.kill()
        self._wait_for("another master", lambda: self._others(client_masters(self._yarn), [master]))
        self._go_on("masters_killed")

    def kill_a_node(self, *, with_containers: bool) -> None:
        """The NodeManager of a writing executor; without its containers these live on, and nobody looks after them."""
        writer = self.prey().writer(self._run)
        node = self._node_of(writer)
        containers = psutil.Process(node.pid).children(recursive=True)
        node.kill()
        if with_containers:
            end(containers)
        else:
            self.orphans += containers
        self._wait_for("without the node", lambda: self._yarn.active_nodes() == 1)
        self._go_on("nodes_killed" if with_containers else "nodemanagers_killed")
        node.start()
        node.wait_until(lambda: self._yarn.active_nodes() == 2)

    def _others(self, found: list[psutil.Process], before: list[psutil.Process]) -> bool:
        return bool(set(found) - set(before))

    def _node_of(self, writer: psutil.Process) -> ServiceProcess:
        above = {parent.pid for parent in writer.parents()}
        [node] = [node for node in self._yarn.nodemanagers if node.pid in above]
        return node

    def _go_on(self, blow: str) -> None:
        """Until two more epochs are committed: the first may have been committed when the blow fell."""
        epochs = self._run.epochs()
        self._target.send(EPOCH_RECORDS)
        self._wait_for(f"on after {blow}", lambda: self._run.epochs() >= epochs + 2)
        self.felt[blow] += 1

    def _wait_for(self, what: str, ready: object) -> None:
        assert callable(ready)
        self._run.wait_until(Fed(ready, lambda: self._target.send(EPOCH_RECORDS)), what, PATIENCE)


def end(processes: list[psutil.Process]) -> None:
    """SIGKILL to those that have not ended."""
    for process in processes:
        if process.is_running():
            process.kill()


@pytest.mark.timeout(7_200)
def test_in_client_mode_a_run_survives_executors_masters_and_nodes(
    yarn: Yarn,
    pack: Path,
    kafka: KafkaBroker,
    hdfs: Hdfs,
    unique: str,
    tmp_path: Path,
    form: Form,
    figures: Figures,
) -> None:
    kills = form.count(1, 5)
    target = Target(kafka, hdfs, unique, tmp_path, 2 * EPOCH_RECORDS)
    place = f"/packs-{unique}/{pack.name}"
    with hdfs.client().create(place) as file:
        file.write(pack.read_bytes())
    archive = {"spark.yarn.dist.archives": f"{hdfs.namenode_url}{place}#environment"}
    environment = submitter(yarn)
    config = target.config("yarn", EPOCH_RECORDS, EXECUTORS | LOOPBACK | JARS | WARN | archive)
    packed = {"PYSPARK_PYTHON": "./environment/bin/python"}
    with Running(config, env=environment | packed | EVERY_CHANGE) as run:
        run.wait_for_epoch(PATIENCE)
        mode = ClientMode(yarn, target, run)
        for number in range(kills):
            mode.kill_an_executor()
            mode.kill_the_master()
            mode.kill_a_node(with_containers=number % 2 == 0)
            mode.kill_a_node(with_containers=number % 2 == 1)
        assert executors(yarn)
        mode.prey().writer(run)
        yarn.kill_applications(USER)
        assert run.wait(PATIENCE) == 69, run.tail()
        assert run.said("[spark.ended]"), run.tail()
        epochs, failed = run.epochs(), run.times_said("the tasks of epoch")
    end(mode.orphans)
    local = target.config("local[2]", EPOCH_RECORDS, {})
    with Running(local, "--once", env=environment) as run:
        assert run.wait(PATIENCE) == 0, run.tail()
        epochs += run.epochs()
    assert owners(hdfs.client(), target) == {USER}
    orphans = target.assert_right()
    figures(
        **mode.felt, epochs=epochs, epochs_failed=failed, orphans_swept=orphans, records=len(target.end())
    )
