"""The query on a Spark standalone cluster: our package is shipped, tasks run on the workers."""

import getpass
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from threading import Event

import pytest
from pyspark.sql import SparkSession

import kafka2hive.plan.contract
from kafka2hive.config.keys import SparkOptions
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.plan.contract import PlannedEpoch, TableFailure, TableManifest, TableTask, TaskPlan
from kafka2hive.spark.jobs import task_function
from kafka2hive.spark.jvm import launched
from kafka2hive.spark.query import DumpQuery, EndReason, QueryEnd
from kafka2hive.spark.session import Scratch, session_slots, start_session
from tests.services.spark_standalone import SparkStandalone

Session = tuple[SparkSession, Path]
PLANS = tuple(
    TaskPlan(
        index,
        (
            TableTask(
                table="db.t",
                ledger_id="id",
                generation=1,
                epoch=1,
                planned_at_ms=0,
                ranges=(OffsetRange(TopicPartition("a", index), 0, 5),),
            ),
        ),
    )
    for index in range(2)
)


class OneEpoch:
    """One epoch of two tasks."""

    def __init__(self) -> None:
        self.manifests: list[TableManifest] = []
        self.failed: list[str] = []

    def plan(self) -> PlannedEpoch | None:
        return None if self.manifests or self.failed else PlannedEpoch(1, PLANS)

    def on_epoch(self, number: int, manifests: Sequence[TableManifest]) -> None:
        self.manifests += manifests

    def on_failed(self, number: int, reason: str) -> None:
        self.failed.append(reason)


@pytest.fixture(scope="module")
def session(spark_standalone: SparkStandalone, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """One session on the cluster, and its scratch directory, which is gone when it has ended."""
    folder = tmp_path_factory.mktemp("cluster")
    options = SparkOptions(master=spark_standalone.url)
    with Scratch(folder) as scratch, launched(options, "cluster-test") as jvm:
        spark = start_session(options, "cluster-test", scratch, jvm.connect())
        try:
            yield spark, scratch
        finally:
            spark.stop()
    assert list(folder.iterdir()) == []


def test_a_job_runs_on_both_workers(session: Session) -> None:
    context = session[0].sparkContext

    def where(_: Iterable[int]) -> list[str]:
        time.sleep(1)
        return [os.environ["SPARK_EXECUTOR_DIRS"]]

    while context._jsc.sc().getExecutorMemoryStatus().size() < 3:
        time.sleep(0.1)
    assert len(set(context.parallelize(range(4), 4).mapPartitions(where).collect())) == 2


def test_tasks_run_on_the_workers_with_the_shipped_package(session: Session) -> None:
    def where(plan: TaskPlan, settings: str) -> Iterator[TableManifest]:
        """A task that says where it found the package; a closure, as the workers do not have this test."""
        home = str(kafka2hive.plan.contract.__file__)
        yield TableManifest(
            table="db.t",
            task=plan.index,
            generation=1,
            epoch=1,
            failure=TableFailure("here", f"{settings} {home}", os.environ["HADOOP_USER_NAME"]),
        )

    epoch, (spark, scratch) = OneEpoch(), session
    query = DumpQuery(
        spark, epoch, epoch, task_function(where, "secret"), scratch, trigger_seconds=1, once=True
    )
    query.start()
    ended = query.run_until(Event(), lambda: None)
    assert epoch.failed == []
    assert ended == QueryEnd(EndReason.DRAINED)
    assert session_slots(spark, {}, 1) == 4, "the cores of executors that registered late"
    assert sorted(m.task for m in epoch.manifests) == [0, 1]
    for manifest in epoch.manifests:
        assert manifest.failure is not None
        assert manifest.failure.message.startswith("secret ")
        assert "kafka2hive.zip" in manifest.failure.message
        assert manifest.failure.remedy == getpass.getuser()
