"""YARN's capacity scheduler takes executors of one queue for an application in another.

Not a part of `scripts/test`; `scripts/drill` runs it.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.drills.conftest import Figures
from tests.drills.driver_kills import PATIENCE
from tests.drills.executor_kills import (
    SPECULATED_EPOCH_RECORDS,
    SPECULATED_RECORD_BYTES,
    WARN,
    Target,
)
from tests.drills.form import Form
from tests.drills.on_yarn import EXECUTORS, JARS, LOOPBACK, executors, submitter
from tests.drills.spark_workers import Fed, stop, wake, within
from tests.drills.supervised import EVERY_CHANGE
from tests.harness.program import Running
from tests.services.hdfs import Hdfs
from tests.services.jvm import OPTIONS
from tests.services.kafka_broker import KafkaBroker
from tests.services.yarn import Yarn

LOW, HIGH = "low", "high"
MOST = 3
"""As many executors have room beside an application master each of two runs."""
EPOCH_RECORDS = 3 * SPECULATED_EPOCH_RECORDS // 2
"""Of so many bytes, an epoch has three tasks."""
_MONITOR = "yarn.resourcemanager.monitor.capacity.preemption"
_PREEMPTION = {
    "yarn.resourcemanager.scheduler.monitor.enable": "true",
    f"{_MONITOR}.monitoring_interval": "1000",
    f"{_MONITOR}.max_wait_before_kill": "2000",
    f"{_MONITOR}.total_preemption_per_round": "1.0",
    f"{_MONITOR}.natural_termination_factor": "1.0",
}


@pytest.fixture(scope="module")
def yarn(tmp_path_factory: pytest.TempPathFactory, hdfs: Hdfs) -> Iterator[Yarn]:
    """Two nodes and two queues over the shared HDFS: `high` may have four fifths of them at any time."""
    folder, queues = tmp_path_factory.mktemp("yarn"), {LOW: 20, HIGH: 80}
    with Yarn(folder, hdfs.site_properties, 2, 3_072, OPTIONS, own=_PREEMPTION, queues=queues) as cluster:
        yield cluster


def in_queue(queue: str) -> dict[str, str]:
    """Settings of a run in client mode."""
    return EXECUTORS | LOOPBACK | JARS | WARN | {"spark.yarn.queue": queue}


def wait_fed(run: Running, target: Target, ready: Callable[[], bool], what: str) -> None:
    """Until `ready()`; a run that has read all gets more."""
    run.wait_until(Fed(ready, lambda: target.send(EPOCH_RECORDS)), what, PATIENCE, 0.2)


def test_preempted_executors_cost_attempts_and_no_record(
    yarn: Yarn, kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path, form: Form, figures: Figures
) -> None:
    """A run in `high` takes executors of the one in `low`, which has them all, in the middle of their tasks."""
    (tmp_path / LOW).mkdir()
    (tmp_path / HIGH).mkdir()
    low = Target(kafka, hdfs, f"{unique}_{LOW}", tmp_path / LOW, 2 * EPOCH_RECORDS, SPECULATED_RECORD_BYTES)
    high = Target(kafka, hdfs, f"{unique}_{HIGH}", tmp_path / HIGH, 0)
    count = {"spark.executor.instances": str(MOST)}
    config = low.config("yarn", EPOCH_RECORDS, in_queue(LOW) | count)
    urgent = high.config("yarn", EPOCH_RECORDS, in_queue(HIGH))
    times, tries, in_task = form.count(1, 5), 0, 0
    with Running(config, env=submitter(yarn) | EVERY_CHANGE) as run:
        while in_task < times:
            tries += 1
            assert tries <= 4 * times, f"no executor was taken in the middle of a task\n{run.tail()}"
            wait_fed(run, low, lambda: containers(yarn) - 1 == len(executors(yarn)) == MOST, "at full size")
            low.send(EPOCH_RECORDS)
            high.send(EPOCH_RECORDS)
            epochs, writer = caught(run, low, yarn)
            before = preempted(yarn)
            with Running(urgent, "--once", env=submitter(yarn)) as other:
                other.wait_until(lambda at=before: preempted(yarn) > at, "preferred", PATIENCE, 0.5)  # type: ignore[misc]
                in_task += within(30, lambda gone=writer: not gone.is_running()) and run.epochs() == epochs  # type: ignore[misc]
                wake(writer)
                assert other.wait(PATIENCE) == 0, other.tail()
            wait_fed(run, low, lambda at=epochs: run.epochs() > at, "on")  # type: ignore[misc]
        taken = preempted(yarn)
        low.scenario.end(run, low)
        epochs, failed = run.epochs(), run.times_said("the tasks of epoch")
    orphans = low.assert_right()
    high.assert_right()
    figures(
        runs_in_the_other_queue=tries,
        executors_preempted=taken,
        in_a_task=in_task,
        epochs=epochs,
        epochs_failed=failed,
        orphans_swept=orphans,
    )


def containers(yarn: Yarn) -> int:
    """How many containers the running applications of the queue `low` have."""
    return sum(int(found["runningContainers"]) for found in of_low(yarn) if found["state"] == "RUNNING")


def preempted(yarn: Yarn) -> int:
    """How many executors YARN has taken from the applications of the queue `low`."""
    return sum(int(found["numNonAMContainerPreempted"]) for found in of_low(yarn))


def of_low(yarn: Yarn) -> list[dict[str, Any]]:
    """What the ResourceManager says about the applications of the queue `low`."""
    found: list[dict[str, Any]] = (yarn.get(f"apps?queue={LOW}").get("apps") or {}).get("app", [])
    return found


def caught(run: Running, target: Target, yarn: Yarn) -> tuple[int, psutil.Process]:
    """The number of epochs, and a writing worker that is stopped; not of the oldest executor, which YARN takes last."""
    prey = target.prey([node.pid for node in yarn.nodemanagers], EPOCH_RECORDS)
    oldest = min(map(number_of, executors(yarn)))
    while True:
        writer = prey.writer(run)
        epochs = run.epochs()
        with suppress(psutil.NoSuchProcess):
            stop(writer)
            if max(map(number_of, writer.parents())) > oldest:
                return epochs, writer
            wake(writer)


def number_of(process: psutil.Process) -> int:
    """Spark's number of an executor, 0 of any other process."""
    words = process.cmdline()
    return int(words[words.index("--executor-id") + 1]) if "--executor-id" in words else 0
