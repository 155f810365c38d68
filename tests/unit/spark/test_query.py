"""The end of the query, against a scripted Spark; the real one is in tests/integration/test_spark_query.py."""

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.model.errors import Fenced, ServiceUnavailable
from kafka2hive.plan.contract import PlannedEpoch, TableManifest, TaskPlan
from kafka2hive.spark.query import DumpQuery, EndReason, QueryEnd
from tests.harness.task_files import offsets, table_task

TRIGGER_SECONDS = 0.05


class Spark:
    """Session, reader, writer and query in one: every call returns the object itself."""

    def __init__(self) -> None:
        self.batch: Callable[[object, int], None] = lambda rows, number: None
        self.lives = True
        self.ended = False
        self.context_stopped = False

    def __getattr__(self, name: str) -> Any:
        itself = {"conf", "readStream", "writeStream", "sparkContext", "_jsc"}
        return self if name in itself else lambda *_, **__: self

    def isStopped(self) -> bool:  # noqa: N802 (Spark's name)
        return self.context_stopped

    def foreachBatch(self, batch: Callable[[object, int], None]) -> "Spark":  # noqa: N802 (Spark's name)
        self.batch = batch
        return self

    @property
    def isActive(self) -> bool:  # noqa: N802 (Spark's name)
        if not self.lives:
            raise ConnectionRefusedError("no JVM")
        return not self.ended

    def exception(self) -> None:
        if not self.lives:
            raise ConnectionRefusedError("no JVM")

    def stop(self) -> None:
        self.ended = True


class Idle:
    """A planner with nothing due, or that raises; and a listener that is never called."""

    def __init__(self, error: Exception | None = None) -> None:
        self.asked = 0
        self._error = error

    def plan(self) -> PlannedEpoch | None:
        self.asked += 1
        if self._error is not None:
            raise self._error
        return None

    def on_epoch(self, number: int, manifests: object) -> None:
        raise AssertionError("there was no epoch")

    def on_failed(self, number: int, reason: str) -> None:
        raise AssertionError("there was no epoch")


def started(spark: Spark, planner: Idle, folder: Path, *, once: bool = False) -> DumpQuery:
    query = DumpQuery(
        spark,
        planner,
        planner,
        lambda plans: iter(()),
        folder,
        trigger_seconds=TRIGGER_SECONDS,
        once=once,
        stop_seconds=1.0,
    )
    query.start()
    return query


def run(query: DumpQuery, tick: Callable[[], None] = lambda: None) -> QueryEnd:
    return query.run_until(threading.Event(), tick)


def test_nothing_is_planned_after_the_jvm_is_gone(tmp_path: Path) -> None:
    spark, planner = Spark(), Idle()
    query = started(spark, planner, tmp_path)
    batch = threading.Thread(target=spark.batch, args=(None, 0))
    batch.start()

    def kill_when_asked() -> None:
        spark.lives = planner.asked < 3

    ended = run(query, kill_when_asked)
    batch.join(60)
    assert not batch.is_alive(), "it asks for ever"
    assert ended.reason is EndReason.FAILED
    assert isinstance(ended.error, ServiceUnavailable) and ended.error.code == "spark.gone"
    asked = planner.asked
    spark.batch(None, 1)
    assert planner.asked == asked


def test_a_context_that_was_stopped_ends_the_query_that_does_not_notice(tmp_path: Path) -> None:
    spark, planner = Spark(), Idle()
    query = started(spark, planner, tmp_path)
    spark.context_stopped = True
    ended = run(query)
    assert not spark.ended
    assert ended.reason is EndReason.FAILED
    assert isinstance(ended.error, ServiceUnavailable) and ended.error.code == "spark.ended"
    assert "from outside" in ended.error.message


@pytest.mark.parametrize("once", [True, False])
def test_an_error_ends_the_query_without_going_through_spark(tmp_path: Path, once: bool) -> None:
    spark, planner = Spark(), Idle(Fenced("ledger.fenced", "db.t belongs to another run"))
    query = started(spark, planner, tmp_path, once=once)
    spark.batch(None, 0)  # raises nothing: Spark would print it
    assert run(query) == QueryEnd(EndReason.FAILED, planner._error)
    assert spark.ended
    spark.batch(None, 1)
    assert planner.asked == 1


def test_once_is_drained_only_when_the_planner_has_said_so(tmp_path: Path) -> None:
    spark, planner = Spark(), Idle()
    query = started(spark, planner, tmp_path, once=True)
    spark.ended = True
    ended = run(query)
    assert ended.reason is EndReason.FAILED
    assert isinstance(ended.error, ServiceUnavailable) and ended.error.code == "spark.ended"

    again = Spark()
    query = started(again, planner, tmp_path, once=True)
    again.batch(None, 0)
    again.ended = True
    assert run(query) == QueryEnd(EndReason.DRAINED)


def test_a_stop_ends_the_wait_for_the_next_trigger(tmp_path: Path) -> None:
    spark, planner, stop = Spark(), Idle(), threading.Event()
    query = started(spark, planner, tmp_path)
    batch = threading.Thread(target=spark.batch, args=(None, 0))
    batch.start()
    while not planner.asked:
        time.sleep(0.01)
    stop.set()
    assert query.run_until(stop, lambda: None) == QueryEnd(EndReason.STOPPED)
    batch.join(60)
    assert not batch.is_alive()


class OneEpoch(Idle):
    """One epoch of two tables with SQL."""

    def plan(self) -> PlannedEpoch | None:
        self.asked += 1
        tasks = tuple(table_task(name, offsets("t", 0, 0, 9)) for name in ("db.a", "db.b"))
        return PlannedEpoch(7, (TaskPlan(0, tasks),))


class StoppedInside:
    """A runner of tables with SQL that stops the query while the first table runs."""

    def __init__(self) -> None:
        self.query: DumpQuery | None = None
        self.began: list[str] = []

    def is_for(self, table: str) -> bool:
        return True

    def run(
        self, table: str, shares: Sequence[TaskPlan], is_abandoned: Callable[[], bool]
    ) -> list[TableManifest]:
        assert self.query is not None
        self.began.append(table)
        self.query.stop()
        assert is_abandoned()
        return []


def test_no_job_of_sql_begins_once_the_epoch_is_abandoned(tmp_path: Path) -> None:
    spark, planner, runner = Spark(), OneEpoch(), StoppedInside()
    query = DumpQuery(
        spark,
        planner,
        planner,
        lambda plans: iter(()),
        tmp_path,
        trigger_seconds=TRIGGER_SECONDS,
        stop_seconds=0.1,
        sql=runner,
    )
    query.start()
    runner.query = query
    spark.batch(None, 0)
    assert runner.began == ["db.a"]
    assert query.stop().abandoned == 7
