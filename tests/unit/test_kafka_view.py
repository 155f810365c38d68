"""Logs in a newer leader epoch: asked once, and not read on before the answer is there."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from kafka2hive.config.load import load_map
from kafka2hive.kafka.views import ClusterView, TopicView, Watermark
from kafka2hive.ledger.tenure import Tenure
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.layout import Generation
from kafka2hive.model.offsets import Position, TopicPartition
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.kafka_view import KafkaView
from kafka2hive.service.table import Table
from kafka2hive.service.wiring import wire

ZERO, ONE = TopicPartition("t", 0), TopicPartition("t", 1)


class Kafka:
    """Two logs in epoch 5, 100 records each; both were read up to 50 in epoch 4."""

    def __init__(self) -> None:
        self.answers: dict[TopicPartition, int | None] = {ZERO: 4, ONE: 4}
        self.away = False
        self.asked: list[dict[TopicPartition, int]] = []

    def cluster(self) -> ClusterView:
        return ClusterView("c", {"t": TopicView("t", "id", (0, 1))})

    def earliest(self, wanted: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        return {tp: Watermark(0, 0) for tp in wanted}

    def latest(self, wanted: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        return {tp: Watermark(100, 5) for tp in wanted}

    def record_epochs(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        self.asked.append(dict(offsets))
        if self.away:
            raise ServiceUnavailable("kafka.unavailable", "away")
        return {tp: self.answers[tp] for tp in offsets if tp in self.answers}


def make(folder: Path) -> tuple[KafkaView, Kafka, Table]:
    path = folder / "map.yaml"
    path.write_text(
        f"""\
service: view
kafka: {{bootstrap.servers: "127.0.0.1:9"}}
storage: {{uri: "{folder.as_uri()}"}}
tables: [{{table: d.t, topics: [t], format: raw}}]
"""
    )
    wiring = wire(load_map(str(path), {}))
    paths = wiring.paths("d.t")
    positions = tuple(Position(tp, 0, 50, "id", 4) for tp in (ZERO, ONE))
    state = Snapshot("l", "view", "d.t", 1, "me", 1, "now", "c", positions=positions)
    table = Table(wiring.map.tables[0], paths, ("t",), str(folder))
    table.tenure = Tenure(paths, Generation(1, "now", "me"), state)
    kafka = Kafka()
    return KafkaView(kafka, wiring.ports.clock), kafka, table  # type: ignore[arg-type]  # a fake


def test_each_log_in_a_newer_epoch_is_asked_for_once(tmp_path: Path) -> None:
    view, kafka, table = make(tmp_path)
    logs = view.logs([table])
    assert logs.last_read == {ZERO: 4, ONE: 4} and set(logs.latest) == {ZERO, ONE}
    assert view.logs([table]).last_read == {}
    assert kafka.asked == [{ZERO: 49, ONE: 49}], "all at once, and not again"


def test_a_log_that_cannot_be_checked_is_left_out_until_it_can(tmp_path: Path) -> None:
    view, kafka, table = make(tmp_path)
    del kafka.answers[ONE]
    logs = view.logs([table])
    assert set(logs.latest) == set(logs.earliest) == {ZERO}
    kafka.away = True
    assert set(view.logs([table]).latest) == {ZERO}
    kafka.away, kafka.answers[ONE] = False, 5
    logs = view.logs([table])
    assert logs.last_read == {ONE: 5} and set(logs.latest) == {ZERO, ONE}
    assert kafka.asked[1:] == [{ONE: 49}, {ONE: 49}]


def test_a_log_still_in_the_epoch_of_the_last_read_costs_nothing(tmp_path: Path) -> None:
    view, kafka, table = make(tmp_path)
    assert table.tenure is not None
    positions = tuple(replace(p, leader_epoch=5) for p in table.tenure.state.positions)
    table.tenure = replace(table.tenure, state=replace(table.tenure.state, positions=positions))
    assert set(view.logs([table]).latest) == {ZERO, ONE} and kafka.asked == []
