"""Errors of a table become its failure, and its files are abandoned; any other error, and a transient one, ends the task."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pytest

from kafka2hive.model.errors import TableError
from kafka2hive.model.files import FileKind
from kafka2hive.plan.contract import TableManifest, TaskPlan
from kafka2hive.sql.shuffle import whole_plan
from kafka2hive.storage.port import Denied, OutcomeUnknown, Unavailable
from kafka2hive.task.failures import TableErrors
from kafka2hive.task.sql import workers
from kafka2hive.task.write.bucketer import BucketIds
from kafka2hive.task.write.destination import Destination, PassingSink, RowSink
from tests.harness.fake_consumer import FakeConsumer, FakeLog
from tests.harness.one_task import manifests_of
from tests.harness.task_files import (
    MemoryFiles,
    offsets,
    table_settings,
    table_task,
    task_settings,
)

AMBIGUOUS = [Unavailable("no answer"), OutcomeUnknown("no answer")]


class Sinks:
    """Sinks: rows of db.a raise `error`, other rows are dropped. `abandoned` has the kinds of db.a's sinks in order."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.abandoned: list[FileKind] = []

    def open(self, destination: Destination, schema: pa.Schema) -> RowSink:
        sinks = self

        class Sink(PassingSink):
            def abandon(self) -> None:
                if destination.table == "db.a":
                    sinks.abandoned.append(destination.kind)

        return Sink(self._fail if destination.table == "db.a" else _let_go)

    def _fail(self, rows: pa.RecordBatch, ids: BucketIds, paths: Sequence[str]) -> None:
        raise self.error


def _let_go(rows: pa.RecordBatch, ids: BucketIds, paths: Sequence[str]) -> None:
    """Drop the rows."""


def manifests(sinks: Sinks) -> dict[str, TableManifest]:
    """Return the manifests of db.a and db.b, each with a topic partition of ten records."""
    logs = {("t", number): FakeLog(dict.fromkeys(range(10), b"x"), 10) for number in range(2)}
    tables = [table_task("db.a", offsets("t", 0, 0, 10)), table_task("db.b", offsets("t", 1, 0, 10))]
    settings = task_settings("", table_settings("db.a"), table_settings("db.b"))
    plan, consumer = TaskPlan(0, tuple(tables)), FakeConsumer(logs)
    found = manifests_of(plan, settings, MemoryFiles(), consumer, open_sink=sinks.open)
    return {manifest.table: manifest for manifest in found}


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (TableError("bucket.field", "no"), "bucket.field"),
        (Denied("no"), "storage.denied"),
        (pa.ArrowInvalid("no"), "task.rows"),
        # whoever looks at rows must not see them twice, so the table is not read again
        (Unavailable("no"), "storage.unavailable"),
    ],
)
def test_an_error_of_a_table_is_its_failure_and_both_its_sinks_are_given_up(
    error: Exception, code: str
) -> None:
    sinks = Sinks(error)
    found = manifests(sinks)
    assert found["db.a"].failure is not None and found["db.a"].failure.code == code
    assert found["db.b"].failure is None and found["db.b"].accounts[0].account.written == 10
    assert sinks.abandoned == [FileKind.DATA, FileKind.DEAD_LETTER]


def test_an_error_of_no_table_ends_the_task_and_gives_up_all_sinks() -> None:
    sinks = Sinks(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        manifests(sinks)
    assert sinks.abandoned == [FileKind.DATA, FileKind.DEAD_LETTER]


@pytest.mark.parametrize("error", AMBIGUOUS, ids=lambda error: type(error).__name__)
def test_an_error_that_may_pass_is_raised_where_spark_tries_again(error: Exception) -> None:
    with pytest.raises(type(error)), TableErrors(retried=(Unavailable, OutcomeUnknown)):
        raise error
    errors = TableErrors()
    assert errors.__exit__(type(error), error, None) and errors.error is error


def failing(error: Exception) -> Iterator[pa.RecordBatch]:
    yield from ()
    raise error


@pytest.mark.parametrize("error", AMBIGUOUS, ids=lambda error: type(error).__name__)
def test_behind_the_select_an_error_that_may_pass_ends_the_attempt(error: Exception) -> None:
    whole, settings = whole_plan([TaskPlan(2, (SHARE,))]), task_settings("", table_settings("db.a"))
    with pytest.raises(type(error)):
        workers.receive_rows(failing(error), 0, whole, settings)
    with pytest.raises(type(error)):
        workers.write_rows(failing(error), whole, 1, settings)
    with pytest.raises(type(error)):
        list(workers.send_rows(failing(error), whole, whole, 0, 1, 1, settings, lambda _: None))
    told = workers.receive_rows(failing(Denied("no")), 0, whole, settings)
    assert told.failure is not None and told.failure.code == "storage.denied"


SHARE = table_task("db.a", offsets("t", 0, 0, 10))
