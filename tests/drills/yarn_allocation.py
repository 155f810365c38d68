"""Spark's dynamic allocation and speculation on YARN: executors come and go, and slow tasks get a twin on another node.

Not a part of `scripts/test`; `scripts/drill` runs it.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.drills.conftest import Figures
from tests.drills.driver_kills import PATIENCE
from tests.drills.executor_kills import (
    SPECULATED_EPOCH_RECORDS,
    SPECULATED_RECORD_BYTES,
    SPECULATION,
    WARN,
    Target,
    hang_until,
)
from tests.drills.form import Form
from tests.drills.on_yarn import EXECUTORS, JARS, LOOPBACK, executors, submitter
from tests.drills.spark_workers import Fed
from tests.drills.supervised import EVERY_CHANGE
from tests.harness.program import Running
from tests.services.hdfs import Hdfs
from tests.services.jvm import OPTIONS
from tests.services.kafka_broker import KafkaBroker
from tests.services.yarn import Yarn

MOST = 3
EPOCH_RECORDS = 3 * SPECULATED_EPOCH_RECORDS // 2
"""Of so many bytes, an epoch has three tasks."""
CLIENT = EXECUTORS | LOOPBACK | JARS | WARN
DYNAMIC = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "1",
    "spark.dynamicAllocation.maxExecutors": str(MOST),
    "spark.dynamicAllocation.executorIdleTimeout": "10s",
}


@pytest.fixture(scope="module")
def yarn(tmp_path_factory: pytest.TempPathFactory, hdfs: Hdfs) -> Iterator[Yarn]:
    """Two nodes over the shared HDFS."""
    with Yarn(tmp_path_factory.mktemp("yarn"), hdfs.site_properties, 2, 3_072, OPTIONS) as cluster:
        yield cluster


def test_dynamic_allocation_adds_and_ends_executors(
    yarn: Yarn, kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path, form: Form, figures: Figures
) -> None:
    """A backlog makes the run grow; without one only the least number of executors stays."""
    target = Target(kafka, hdfs, unique, tmp_path, 3 * EPOCH_RECORDS, SPECULATED_RECORD_BYTES)
    conf = {key: value for key, value in CLIENT.items() if key != "spark.executor.instances"}
    config = target.config("yarn", EPOCH_RECORDS, conf | DYNAMIC)
    times = form.count(1, 5)
    most = 0
    with Running(config, env=submitter(yarn)) as run:
        for _ in range(times):
            grows = Fed(lambda: len(executors(yarn)) > 1, lambda: target.send(EPOCH_RECORDS))
            run.wait_until(grows, "growing", PATIENCE, 0.2)
            most = max(most, len(executors(yarn)))
            run.wait_until(lambda: len(executors(yarn)) == 1, "small again", PATIENCE, 0.2)
            target.send(2 * EPOCH_RECORDS)
        target.scenario.end(run, target)
        epochs, failed = run.epochs(), run.times_said("the tasks of epoch")
    target.assert_right()
    figures(
        times=times, most_executors=most, most_tasks=len(target.tasks()), epochs=epochs, epochs_failed=failed
    )


def test_on_yarn_a_twin_of_a_slow_task_doubles_nothing(
    yarn: Yarn, kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path, form: Form, figures: Figures
) -> None:
    pauses = form.count(1, 10)
    records = (2 * pauses + 3) * SPECULATED_EPOCH_RECORDS // 2
    target = Target(kafka, hdfs, unique, tmp_path, records, SPECULATED_RECORD_BYTES)
    config = target.config("yarn", SPECULATED_EPOCH_RECORDS, CLIENT | SPECULATION)
    with Running(config, env=submitter(yarn) | EVERY_CHANGE) as run:
        run.wait_for_epoch(PATIENCE)
        prey = target.prey([node.pid for node in yarn.nodemanagers], SPECULATED_EPOCH_RECORDS)
        hang_until(run, prey, pauses)
        target.scenario.end(run, target)
        epochs, failed = run.epochs(), run.times_said("the tasks of epoch")
    target.assert_right()
    figures(overtaken_by_a_twin=pauses, epochs=epochs, epochs_failed=failed)
