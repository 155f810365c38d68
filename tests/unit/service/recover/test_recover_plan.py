"""`recover --plan` shows what the same command does without it."""

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.kafka.port import ClusterView, RecordAddress, TopicView, Watermark, any_topic
from kafka2hive.kafka.positions import GapAcceptance
from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.snapshot.change import FirstPositions
from kafka2hive.ledger.start import Owners, StartRequest, start
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.service.recover.repair import Repairs
from kafka2hive.service.recover.result import RecoveredTable, RecoverRequest
from kafka2hive.service.recover.service import recover
from kafka2hive.service.start.takeover import RegistrationOutcome
from kafka2hive.service.wiring import Wiring
from tests.harness.cli_ledger import TABLE, pending_service, tree
from tests.harness.fake_kafka import FakeKafka
from tests.harness.owner import new_owner
from tests.harness.repairs import no_rewrite
from tests.unit.service.recover.test_recover_meanwhile import Fetched


class Kafka(FakeKafka):
    """One topic of one partition; the ledger stands at 15 of a topic without an id."""

    def __init__(self, earliest: int, latest: int, cluster_id: str = "-", topic_id: str = "-") -> None:
        self.ends = (Watermark(earliest), Watermark(latest))
        self.view = ClusterView(cluster_id, {"flights": TopicView("flights", topic_id, (0,))})

    def cluster(self, is_wanted: Callable[[str], bool] = any_topic) -> ClusterView:
        return self.view

    def earliest(self, topic_partitions: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        return dict.fromkeys(topic_partitions, self.ends[0])

    def latest(self, topic_partitions: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        return dict.fromkeys(topic_partitions, self.ends[1])

    def record_epochs(self, addresses: Collection[RecordAddress]) -> dict[RecordAddress, int | None]:
        return {}


def recovered(wiring: Wiring, kafka: Kafka, order: RecoverRequest) -> RecoveredTable:
    repairs = Repairs(wiring, lambda: kafka, Fetched(wiring), no_rewrite)
    (table,) = recover(wiring, order, RegistrationOutcome, repairs, kafka).tables
    return table


def learn_id(wiring: Wiring, topic_id: str) -> None:
    """The ledger knows this id of the topic."""
    owned = start(wiring.ports, StartRequest(wiring.paths(TABLE), lambda: None, Owners(new_owner))).owned
    publish(wiring.ports, owned, FirstPositions(positions=(), topic_ids={"flights": topic_id}))


ACCEPTED = (GapAcceptance("flights", None),)


@pytest.mark.parametrize(
    ("kafka", "at"),
    [(Kafka(0, 13), 13), (Kafka(20, 30), 20), (Kafka(0, 40), 15)],
    ids=["cut", "aged", "fits"],
)
def test_a_plan_resumes_where_the_command_does_and_names_the_same_gaps(
    tmp_path: Path, kafka: Kafka, at: int
) -> None:
    service = pending_service(tmp_path)
    order, before = RecoverRequest(accept_gap=ACCEPTED), tree(tmp_path)
    planned = recovered(service.wiring, kafka, replace(order, plan_only=True))
    assert tree(tmp_path) == before
    done = recovered(service.wiring, kafka, order)
    assert (planned.error, done.error) == (None, None)
    assert [p.end for p in planned.resumes_at] == [p.end for p in done.resumes_at] == [at]
    assert [(g.range, g.reason) for g in planned.gaps] == [(g.range, g.reason) for g in done.gaps]


def test_a_plan_for_a_topic_that_was_made_again_begins_where_the_command_does(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    learn_id(service.wiring, "old")
    remade, order = Kafka(0, 3, topic_id="new"), RecoverRequest(accept_gap=ACCEPTED)
    refused = recovered(service.wiring, remade, RecoverRequest(plan_only=True))
    assert refused.error is not None and refused.error.code == "kafka.topic_recreated"
    planned = recovered(service.wiring, remade, replace(order, plan_only=True))
    done = recovered(service.wiring, remade, order)
    assert [p.end for p in planned.resumes_at] == [p.end for p in done.resumes_at] == [0]
    assert len(planned.gaps) == len(done.gaps) == 1
