"""The consumer group follows what was published; a run that was fenced commits nothing more."""

import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import pytest

from kafka2hive.kafka.port import GroupCommits
from kafka2hive.model.errors import Fenced, Kafka2HiveError, ManualActionRequired, TakeOverLost
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.service.run.telemetry.metrics import GroupFollower
from kafka2hive.service.tables.report import EpochReport
from kafka2hive.service.tables.table_state import Table
from kafka2hive.service.topics.routes import routed_tables
from tests.harness.cli_ledger import pending_service
from tests.harness.fake_kafka import FakeKafka
from tests.unit.service.later_epochs import FLIGHTS, epoch, take
from tests.unit.service.owned_table import own

PATIENCE = 60.0


@dataclass
class Kafka(FakeKafka):
    """Takes offsets of the group; holds the first commit until `go`."""

    began: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)
    commits: list[int] = field(default_factory=list)
    asked: list[Mapping[TopicPartition, int]] = field(default_factory=list)

    def group_commits(self, group: str) -> AbstractContextManager[GroupCommits]:
        return nullcontext(self)

    def commit(self, offsets: Mapping[TopicPartition, int]) -> bool:
        self.began.set()
        assert self.go.wait(PATIENCE)
        self.asked.append(offsets)
        self.commits += [offsets[FLIGHTS]] if FLIGHTS in offsets else []
        return True


@dataclass
class Report:
    """Of an EpochReport what the follower looks at."""

    tables: list[Table]


@pytest.mark.parametrize(
    ("ended_by", "commits"),
    [
        (None, [15, 25]),
        (ManualActionRequired("x.y", "why"), [15, 25]),
        (Fenced("ledger.fenced", "why"), [15]),
        (TakeOverLost("ledger.lost", "why"), [15]),
    ],
)
def test_a_fenced_run_commits_no_group_offsets_any_more(
    tmp_path: Path, ended_by: Kafka2HiveError | None, commits: list[int]
) -> None:
    wiring = pending_service(tmp_path).wiring
    (in_map,) = routed_tables(wiring, {"flights"})
    table = Table(in_map)
    kafka = Kafka()
    follower = GroupFollower(kafka, "g", wiring.background)
    own(table, take(wiring))
    follower(cast(EpochReport, Report([table])))
    assert kafka.began.wait(PATIENCE)
    own(table, epoch(wiring, table.owned.ledger, "2013-01-02"))
    follower(cast(EpochReport, Report([table])))
    follower.end(0.0, ended_by)  # while the first commit is under way
    kafka.go.set()
    follower.end(PATIENCE, ended_by)
    assert kafka.commits == commits


def test_offsets_of_a_topic_that_kafka_does_not_have_any_more_are_left_out(tmp_path: Path) -> None:
    wiring = pending_service(tmp_path).wiring
    (in_map,) = routed_tables(wiring, {"flights"})
    table, kafka = Table(replace(in_map, topics=())), Kafka()
    follower = GroupFollower(kafka, "g", wiring.background)
    own(table, take(wiring))
    kafka.go.set()
    follower(cast(EpochReport, Report([table])))
    table.in_map = in_map
    follower.end(PATIENCE, None)
    assert kafka.asked == [{}]
