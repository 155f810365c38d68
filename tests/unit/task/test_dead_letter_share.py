"""The limit on dead letters in an epoch, and the message beyond it."""

import pickle
from typing import Any

import numpy as np
import pytest

from kafka2hive.model.errors import TableError
from kafka2hive.model.offsets import OffsetAccounting, TopicPartition
from kafka2hive.plan.contract import Refusal, TableManifest
from kafka2hive.plugins import Reason
from kafka2hive.service.tables.manifests import FLOOR_RECORDS, check_dead_letters
from kafka2hive.task.dead_letters import Reasons
from kafka2hive.task.fetch.chunk import Chunk, Segment
from kafka2hive.task.fetch.records import MessageRecords
from tests.harness.fake_consumer import FakeLog, log_of
from tests.harness.one_task import run_task_of
from tests.harness.task_files import offsets, table_settings

HERE = TopicPartition("t", 3)


def refusal(code: str, column: str, count: int, offset: int, detail: str = "why") -> Refusal:
    return Refusal(code=code, column=column, count=count, topic_partition=HERE, offset=offset, detail=detail)


def judge(read: int, dead: int, share: float = 0.1, *manifests: TableManifest) -> None:
    total = OffsetAccounting(read=read, written=read - dead, dead_lettered=dead)
    check_dead_letters("db.t", [offsets("t", 3, 0, read)], total, manifests, share)


@pytest.mark.parametrize(
    ("read", "dead", "share"),
    [
        (1_000, 100, 0.1),
        (3, 1, 0.1),
        (FLOOR_RECORDS - 1, FLOOR_RECORDS - 1, 0.1),
        (FLOOR_RECORDS, 10, 0.1),
        (0, 0, 0.0),
        (500, 0, 0.0),
        (500, 500, 1.0),
    ],
)
def test_few_dead_letters_or_a_small_epoch_are_committed(read: int, dead: int, share: float) -> None:
    judge(read, dead, share)


@pytest.mark.parametrize(
    ("read", "dead", "share"), [(1_000, 101, 0.1), (FLOOR_RECORDS, 11, 0.1), (3, 1, 0.0), (1, 1, 0.0)]
)
def test_too_many_are_refused_and_with_a_share_of_0_so_is_one(read: int, dead: int, share: float) -> None:
    with pytest.raises(TableError) as error:
        judge(read, dead, share)
    assert error.value.code == "dead_letters.too_many"


def test_the_three_most_frequent_reasons_are_named_each_with_a_place_and_the_column() -> None:
    first = TableManifest(
        table="db.t",
        task=0,
        generation=1,
        epoch=7,
        refusals=(
            refusal("json.type", "dep_time", 40, 7, "column dep_time expects bigint, got string"),
            refusal("json.utf8", "", 5, 9),
        ),
    )
    second = TableManifest(
        table="db.t",
        task=1,
        generation=1,
        epoch=7,
        refusals=(
            refusal("bucket.no_time", "at", 30, 1_000),
            refusal("json.range", "n", 10, 1_001),
            refusal("json.utf8", "", 20, 1_002),
        ),
    )
    with pytest.raises(TableError) as error:
        judge(150, 105, 0.1, first, second)
    assert (
        "Most frequent: 40 of 105 json.type in column dep_time, e.g. t-3@7"
        " (column dep_time expects bigint, got string);"
        " 30 of 105 bucket.no_time in column at, e.g. t-3@1000 (why);"
        " 25 of 105 json.utf8, e.g. t-3@9 (why)"
    ) in str(error.value)
    assert "json.range" not in str(error.value)


def test_reasons_are_counted_over_all_chunks_and_the_first_record_is_the_example() -> None:
    found, source = Reasons(), offsets("t", 3, 0, 20)
    for start in (0, 10):
        messages = [log_of(start, start + 1, start + 2).message(("t", 3), start + n) for n in range(3)]
        chunk = Chunk("db.t", (Segment(source, 3, 3, -1),), MessageRecords(messages))
        found.add(chunk, np.array([0, 2]), [Reason("json.utf8", "why"), Reason("json.utf8", "other")])
        found.add(chunk, np.array([1]), [Reason("json.type", "column n expects bigint, got string", "n")])
    assert found.most_frequent() == (
        Refusal(code="json.utf8", column="", count=4, topic_partition=HERE, offset=0, detail="why"),
        Refusal(
            code="json.type",
            column="n",
            count=2,
            topic_partition=HERE,
            offset=1,
            detail="column n expects bigint, got string",
        ),
    )


def test_a_task_says_why_its_records_were_refused() -> None:
    records: dict[int, Any] = {n: b'{"n": %d, "at": "2013-01-01T00:00:00Z"}' % n for n in range(20)}
    records |= {3: b'{"n": "x"}', 5: b"bad", 6: b'{"n": []}', 9: b"\xff"}
    table = table_settings("db.t", "json", (("n", "bigint"), ("at", "timestamp")))
    manifest, _ = run_task_of({("t", 0): FakeLog(records, 20)}, table, [offsets("t", 0, 2, 20)])
    assert pickle.loads(pickle.dumps(manifest)) == manifest
    found = {(r.code, r.column): (r.count, str(r.topic_partition), r.offset) for r in manifest.refusals}
    assert found == {
        ("json.type", "n"): (2, "t-0", 3),
        ("json.syntax", ""): (1, "t-0", 5),
        ("json.utf8", ""): (1, "t-0", 9),
    }
    assert manifest.refusals[0].detail == "column n expects bigint, got string"
