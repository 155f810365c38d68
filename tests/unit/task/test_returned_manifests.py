"""Plans and manifests between driver and workers: their content, and what the driver accepts from a job."""

import enum
import pickle
import subprocess
import sys
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest

from kafka2hive.config.keys import MetadataColumn
from kafka2hive.model.offsets import AccountingMismatch
from kafka2hive.plan.contract import ColumnsSeen, TableManifest, TaskPlan, planned_manifests
from tests.harness.fake_consumer import FakeLog
from tests.harness.one_task import run_task_of
from tests.harness.task_files import (
    offsets,
    table_settings,
    table_task,
)

TASKS = tuple(
    TaskPlan(index, tuple(table_task(table, offsets("t", index, 0, 9)) for table in ("db.a", "db.b")))
    for index in range(2)
)
RETURNED = tuple(
    TableManifest(table=t.table, task=task.index, generation=t.generation, epoch=t.epoch)
    for task in TASKS
    for t in task.tables
)
DRIVER_MODULES = (
    "pyspark",
    "pydantic",
    *(f"kafka2hive.{room}" for room in ("service", "ledger", "spark", "sql", "hive")),
)


def real_manifest() -> tuple[TaskPlan, TableManifest]:
    """Return the manifest of a task with rows, dead letters, tombstones, holes and a column that stays empty."""
    records: dict[int, Any] = {n: b'{"n": %d}' % n for n in range(40)} | {
        3: b'{"n": "x"}',
        7: None,
        8: b"bad",
    }
    del records[20]
    table = table_settings(
        "db.t", "json", (("n", "bigint"), ("at", "timestamp")), ((MetadataColumn.OFFSET, "o"),)
    )
    source = offsets("t", 0, 2, 40)
    plan = TaskPlan(0, (table_task("db.t", source),))
    manifest, _ = run_task_of({("t", 0): FakeLog(records, 40)}, table, [source])
    assert manifest.failure is None, manifest.failure
    return plan, manifest


def plain_values(value: object) -> bool:
    """Check that all values are ours or Python's: no arrays or scalars of numpy or Arrow."""
    if is_dataclass(value):
        return all(plain_values(getattr(value, field.name)) for field in fields(value))
    if isinstance(value, tuple):
        return all(map(plain_values, value))
    return isinstance(value, enum.Enum) or type(value) in (str, bool, int, float, type(None))


def test_a_real_plan_and_manifest_are_plain_values_and_come_out_of_the_pickle_as_they_were() -> None:
    plan, manifest = real_manifest()
    assert manifest.files and manifest.refusals and manifest.columns.empty == ("at",)
    for value in (plan, manifest):
        assert plain_values(value)
        assert pickle.loads(pickle.dumps(value)) == value


def test_a_worker_needs_no_module_of_the_driver_to_unpickle_them() -> None:
    code = (
        "import pickle, sys; pickle.load(sys.stdin.buffer);"
        f" print([m for m in sys.modules if m.startswith({DRIVER_MODULES!r})])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(real_manifest()), stdout=subprocess.PIPE, check=True
    )
    assert done.stdout.strip() == b"[]"


def test_one_manifest_per_table_and_task_is_taken_in_whatever_order() -> None:
    assert planned_manifests(TASKS, RETURNED[::-1]) == list(RETURNED[::-1])
    seen = replace(RETURNED[0], columns=ColumnsSeen(5))
    assert planned_manifests(TASKS, (seen, *RETURNED[1:]))[0].columns.rows == 5


@pytest.mark.parametrize(
    "returned",
    [
        RETURNED[1:],
        (*RETURNED, RETURNED[0]),
        (RETURNED[1], *RETURNED[1:]),
        (replace(RETURNED[0], table="db.c"), *RETURNED[1:]),
        (replace(RETURNED[0], task=1), *RETURNED[1:]),
        (replace(RETURNED[0], task=2), *RETURNED[1:]),
        (replace(RETURNED[0], generation=RETURNED[0].generation + 1), *RETURNED[1:]),
        (replace(RETURNED[0], epoch=RETURNED[0].epoch - 1), *RETURNED[1:]),
        ("db.a", *RETURNED[1:]),
        (*RETURNED, None),
    ],
    ids=[
        "missing",
        "twice",
        "one for another",
        "table",
        "task",
        "no task",
        "generation",
        "epoch",
        "text",
        "null",
    ],
)
def test_whatever_else_tasks_return_ends_the_epoch(returned: tuple[object, ...]) -> None:
    with pytest.raises(AccountingMismatch):
        planned_manifests(TASKS, returned)
