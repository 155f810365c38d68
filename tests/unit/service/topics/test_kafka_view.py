"""Logs in a newer leader epoch: asked once, and not read on before the answer is there."""

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.config.keys import StartKind, StartPolicy
from kafka2hive.kafka.port import ClusterView, RecordAddress, TopicView, Watermark, any_topic
from kafka2hive.kafka.positions import Decision, Halt, PositionsToCommit, Resume, TableIntent, decide
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.offsets import Position, TopicPartition
from kafka2hive.model.paths.ledger import Generation
from kafka2hive.service.tables.table_state import MapTable, Table
from kafka2hive.service.topics.kafka_view import METADATA_SECONDS, KafkaOffsets, KafkaView
from tests.harness.cli_ledger import wired
from tests.harness.clock import SkippedTime
from tests.harness.fake_kafka import FakeKafka
from tests.harness.values import snapshot
from tests.unit.service.owned_table import own, restate

ZERO, ONE = TopicPartition("t", 0), TopicPartition("t", 1)


class Kafka(FakeKafka):
    """Two logs in epoch 5, 100 records each; both were read up to 50 in epoch 4."""

    def __init__(self) -> None:
        self.answers: dict[RecordAddress, int | None] = {(ZERO, 49): 4, (ONE, 49): 4}
        self.ends = {ZERO: Watermark(100, 5), ONE: Watermark(100, 5)}
        self.away = False
        self.asked: list[set[RecordAddress]] = []
        self.asked_for_times: list[tuple[int, set[TopicPartition]]] = []

    def cluster(self, is_wanted: Callable[[str], bool] = any_topic) -> ClusterView:
        return ClusterView("c", {"t": TopicView("t", "id", (0, 1))})

    def earliest(self, wanted: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        return {tp: Watermark(0, 0) for tp in wanted}

    def latest(self, wanted: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        return {tp: self.ends[tp] for tp in wanted}

    def record_epochs(self, records: Collection[RecordAddress]) -> dict[RecordAddress, int | None]:
        self.asked.append(set(records))
        if self.away:
            raise ServiceUnavailable("kafka.unavailable", "away")
        return {record: self.answers[record] for record in records if record in self.answers}

    def offsets_for_times(
        self, topic_partitions: Collection[TopicPartition], timestamp_ms: int
    ) -> dict[TopicPartition, Watermark]:
        """One record a millisecond."""
        self.asked_for_times.append((timestamp_ms, set(topic_partitions)))
        return {tp: Watermark(timestamp_ms) for tp in topic_partitions}


def make(folder: Path) -> tuple[KafkaView, Kafka, Table, Table]:
    """Two tables of the same topic, d.a and d.b, that stand at the same offset."""
    rules = "{table: d.a, topics: [t], format: raw}, {table: d.b, topics: [t], format: raw}"
    wiring = wired(folder, f"tables: [{rules}]", service="view")
    tables = []
    for rule in wiring.map.tables:
        paths = wiring.paths(rule.table)
        positions = tuple(Position(tp, 0, 50, "id", 4) for tp in (ZERO, ONE))
        state = snapshot(table=rule.table, cluster_id="c", positions=positions)
        table = Table(MapTable(rule, paths, ("t",)))
        tables.append(own(table, OwnedLedger(paths, Generation(1, "now", "me"), state)))
    kafka = Kafka()
    first, second = tables
    return KafkaView(kafka, wiring.ports.clock), kafka, first, second


def stand(table: Table, offset: int, leader_epoch: int) -> None:
    """Both topic partitions were read up to `offset`."""
    positions = tuple(Position(tp, 0, offset, "id", leader_epoch) for tp in (ZERO, ONE))
    restate(table, positions=positions)


def decision(table: Table, kafka_offsets: KafkaOffsets) -> Decision:
    return decide(
        table.owned.state, kafka_offsets.of(table.name), TableIntent(table.topics, table.rule.start)
    )


def test_each_log_in_a_newer_epoch_is_asked_for_once(tmp_path: Path) -> None:
    view, kafka, table, _ = make(tmp_path)
    logs = view.look([table]).of(table.name)
    assert logs.last_read == {ZERO: 4, ONE: 4} and set(logs.latest) == {ZERO, ONE}
    assert view.look([table]).of(table.name).last_read == {}
    assert kafka.asked == [{(ZERO, 49), (ONE, 49)}], "all at once, and not again"


def test_a_log_that_cannot_be_checked_is_left_out_until_it_can(tmp_path: Path) -> None:
    view, kafka, table, _ = make(tmp_path)
    del kafka.answers[ONE, 49]
    logs = view.look([table]).of(table.name)
    assert set(logs.latest) == set(logs.earliest) == {ZERO}
    kafka.away = True
    assert set(view.look([table]).of(table.name).latest) == {ZERO}
    kafka.away, kafka.answers[ONE, 49] = False, 5
    logs = view.look([table]).of(table.name)
    assert logs.last_read == {ONE: 5} and set(logs.latest) == {ZERO, ONE}
    assert kafka.asked[1:] == [{(ONE, 49)}, {(ONE, 49)}]


def test_a_log_still_in_the_epoch_of_the_last_read_costs_nothing(tmp_path: Path) -> None:
    view, kafka, table, _ = make(tmp_path)
    stand(table, 50, leader_epoch=5)
    assert set(view.look([table]).of(table.name).latest) == {ZERO, ONE} and kafka.asked == []


@pytest.mark.parametrize(("earliest", "asked"), [(49, True), (50, False)])
def test_the_record_read_last_is_asked_for_while_the_log_holds_it(
    tmp_path: Path, earliest: int, asked: bool
) -> None:
    class Aged(Kafka):
        def earliest(self, wanted: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
            return {tp: Watermark(earliest, 0) for tp in wanted}

    _, _, table, _ = make(tmp_path)
    kafka = Aged()
    KafkaView(kafka, SkippedTime()).look([table])
    assert bool(kafka.asked) == asked


def test_a_table_that_lags_does_not_stop_another_of_the_same_topic(tmp_path: Path) -> None:
    view, _, behind, ahead = make(tmp_path)
    stand(ahead, 90, leader_epoch=5)
    kafka_offsets = view.look([behind, ahead])
    assert isinstance(decision(behind, kafka_offsets), Resume) and isinstance(
        decision(ahead, kafka_offsets), Resume
    )


@pytest.mark.parametrize("later_first", [False, True])
def test_a_rewrite_that_one_table_has_read_is_not_hidden_by_another_that_has_not(
    tmp_path: Path, later_first: bool
) -> None:
    view, kafka, rewritten, behind = make(tmp_path)
    kafka.ends = {ZERO: Watermark(100, 6), ONE: Watermark(100, 6)}
    kafka.answers = {(tp, offset): epoch for tp in (ZERO, ONE) for offset, epoch in ((49, 6), (19, 4))}
    stand(behind, 20, leader_epoch=4)
    kafka_offsets = view.look([behind, rewritten] if later_first else [rewritten, behind])
    halt = decision(rewritten, kafka_offsets)
    assert isinstance(halt, Halt) and {p.code for p in halt.problems} == {"kafka.log_rewritten"}
    assert isinstance(decision(behind, kafka_offsets), Resume)
    assert kafka.asked == [{(tp, offset) for tp in (ZERO, ONE) for offset in (49, 19)}], "all tables at once"


def test_what_one_table_has_to_wait_for_is_read_on_by_another(tmp_path: Path) -> None:
    view, kafka, waiting, ahead = make(tmp_path)
    stand(ahead, 90, leader_epoch=5)
    kafka.away = True
    kafka_offsets = view.look([waiting, ahead])
    assert set(kafka_offsets.of(waiting.name).latest) == set()
    assert set(kafka_offsets.of(ahead.name).latest) == {ZERO, ONE} and isinstance(
        decision(ahead, kafka_offsets), Resume
    )


def test_tables_of_one_topic_begin_at_times_of_their_own(tmp_path: Path) -> None:
    view, _, *tables = make(tmp_path)
    for table, begins in zip(tables, (10, 70), strict=True):
        restate(table, positions=())
        begins_at = StartPolicy(StartKind.TIMESTAMP, timestamp_ms=begins)
        table.in_map = replace(table.in_map, rule=replace(table.rule, start=begins_at))
    kafka_offsets = view.look(tables)
    for table, begins in zip(tables, (10, 70), strict=True):
        first = decision(table, kafka_offsets)
        assert isinstance(first, PositionsToCommit) and {p.end for p in first.positions} == {begins}


def test_tables_that_begin_at_the_same_time_cost_one_question(tmp_path: Path) -> None:
    """A topic partition without a leader costs each question a listing of all topics."""
    view, kafka, *tables = make(tmp_path)
    rules = [replace(tables[n % 2].rule, table=f"d.t{n}") for n in range(200)]
    start = StartPolicy(StartKind.TIMESTAMP, timestamp_ms=10)
    many = [
        replace(tables[0], in_map=replace(tables[0].in_map, rule=replace(rule, start=start)))
        for rule in rules
    ]
    for table in many:
        restate(table, positions=())
    kafka_offsets = view.look(many)
    assert kafka.asked_for_times == [(10, {ZERO, ONE})]
    for table in many:
        first = decision(table, kafka_offsets)
        assert isinstance(first, PositionsToCommit) and {p.end for p in first.positions} == {10}
    for table in many:
        restate(table, positions=(Position(ZERO, 0, 10, "id", 5), Position(ONE, 0, 10, "id", 5)))
    view.look(many)
    assert len(kafka.asked_for_times) == 1, "who has positions needs no answer"


def test_the_time_of_a_look_is_from_before_its_first_question(tmp_path: Path) -> None:
    """Also when a later question renews the metadata: these ends are older than that."""
    _, _, table, _ = make(tmp_path)
    clock = SkippedTime()
    told: list[int] = []

    class Asked(Kafka):
        def cluster(self, is_wanted: Callable[[str], bool] = any_topic) -> ClusterView:
            clock.sleep(3)
            told.append(clock.epoch_ms())
            return super().cluster(is_wanted)

    view = KafkaView(Asked(), clock)
    began = clock.epoch_ms()
    seen = view.look([table])
    clock.sleep(METADATA_SECONDS + 1)
    view.ends([table.owned.state])
    assert seen.asked_at_ms == began and len(told) == 2
    seen = view.look([table])
    assert seen.asked_at_ms == told[1] - 3000
    assert view.look_again([table], seen).asked_at_ms == seen.asked_at_ms, "not every end is newer"


def test_a_partition_that_was_listed_once_stays_listed_though_a_broker_has_older_metadata(
    tmp_path: Path,
) -> None:
    class Brokers(Kafka):
        topics = TopicView("t", "id", (0, 1))

        def cluster(self, is_wanted: Callable[[str], bool] = any_topic) -> ClusterView:
            return ClusterView("c", {self.topics.name: self.topics})

    view, *_ = make(tmp_path)
    view.kafka = kafka = Brokers()
    for answer, listed in [
        (TopicView("t", "id", (0, 1)), (0, 1)),
        (TopicView("t", "id", (0,)), (0, 1)),
        (TopicView("other", "id2", (0,)), None),
        (TopicView("t", "id", (0,)), (0, 1)),
        (TopicView("t", "id", (0, 2)), (0, 1, 2)),
        (TopicView("t", "made again", (0,)), (0,)),
        (TopicView("t", "-", ()), ()),
    ]:
        kafka.topics = answer
        found = view.cluster(fresh=True).topics.get("t")
        assert (None if found is None else found.partitions) == listed


def test_a_log_ends_for_readers_at_its_stable_offset_and_for_kafka_at_its_high_watermark(
    tmp_path: Path,
) -> None:
    class Held(Kafka):
        def high_watermarks(self, wanted: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
            return {tp: Watermark(120, 5) for tp in wanted}

    view, _, table, _ = make(tmp_path)
    view.kafka = Held()
    logs = view.look([table]).of(table.name)
    assert {w.offset for w in logs.latest.values()} == {100} and {w.offset for w in logs.high.values()} == {
        120
    }
    assert {w.offset for w in view.ends([table.owned.state]).values()} == {120}
