"""What another tool's positions say about topic partitions that it does not name, and what may change while they are read."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from kafka2hive.kafka.port import ClusterView, TopicView, Watermark, any_topic
from kafka2hive.kafka.positions import Logs
from kafka2hive.ledger.look import look
from kafka2hive.model.errors import ConfigError, ServiceUnavailable
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.service.init.init import ImportRequest, InitOutcome, InitResult, import_positions
from kafka2hive.service.init.offset_sources import (
    ForeignOffsets,
    OffsetSource,
    place_offsets,
    read_offsets,
)
from kafka2hive.service.wiring import Wiring
from tests.harness.cli_ledger import wired
from tests.harness.fake_kafka import FakeKafka

TABLES = "defaults: {start: earliest, format: raw}\ntables: [{table: air.days, topics: [days]}]"
FIRST, SECOND = TopicPartition("days", 0), TopicPartition("days", 1)


class Group(FakeKafka):
    """A topic of two partitions, [5, 40) each, and the offsets of another tool's group, which goes on reading.

    `asked` are the requests in order.
    """

    def __init__(self, committed: Mapping[TopicPartition, int], moves: int = 0) -> None:
        self.committed, self.moves, self.asked = dict(committed), moves, list[str]()
        self.ends = dict.fromkeys((FIRST, SECOND), 40)

    def cluster(self, is_wanted: object = any_topic) -> ClusterView:
        return ClusterView("c", {"days": TopicView("days", "id", (0, 1))})

    def earliest(self, topic_partitions: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        return dict.fromkeys(topic_partitions, Watermark(5))

    def latest(self, topic_partitions: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        self.asked.append("ends")
        return {tp: Watermark(self.ends[tp]) for tp in topic_partitions}

    def group_offsets(
        self, group: str, topic_partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """The producers and the other tool go on meanwhile."""
        if group != "tool":
            return {}  # the service's own group
        self.asked.append(group)
        for tp in self.committed:
            self.ends[tp] += self.moves
            self.committed[tp] += self.moves
        return {tp: offset for tp, offset in self.committed.items() if tp in topic_partitions}


@pytest.fixture
def wiring(tmp_path: Path) -> Wiring:
    return wired(tmp_path, TABLES)


def imported(wiring: Wiring, kafka: Group, source: str = "group:tool") -> InitResult:
    return import_positions(wiring, kafka, ImportRequest(OffsetSource.parse(source)))


def positions(wiring: Wiring) -> dict[TopicPartition, int]:
    state = look(wiring.ports.files, wiring.paths("air.days")).state
    return {position.topic_partition: position.end for position in state.positions}


def test_a_topic_partition_without_a_committed_offset_is_asked_about_and_never_guessed(
    wiring: Wiring,
) -> None:
    """The group may have read it: its offsets expire, and it commits only what it has polled."""
    (table,) = imported(wiring, Group({FIRST: 17})).tables
    assert table.outcome is InitOutcome.FAILED
    assert table.error is not None and table.error.code == "offsets.missing"
    assert "days-1" in table.error.message
    assert not list(Path(wiring.map.storage.ledger_root.removeprefix("file://")).glob("*/air.days"))


def test_a_group_that_goes_on_reading_is_asked_before_the_ends_of_the_logs(wiring: Wiring) -> None:
    """Otherwise its offsets would seem to be beyond the ends, as those of a recreated topic."""
    (table,) = imported(wiring, Group({FIRST: 40, SECOND: 38}, moves=3)).tables
    assert (table.outcome, table.error) == (InitOutcome.IMPORTED, None)
    assert positions(wiring) == {FIRST: 43, SECOND: 41}


@dataclass(eq=False)
class Raced(Wiring):
    """A wiring whose process is overtaken: `rival` runs before the first take-over."""

    rival: object = None

    def new_command_owner(self) -> str:
        rivals = self.rival
        assert isinstance(rivals, list)
        if rivals:
            rivals.pop()()
        return Wiring.new_command_owner(self)


def test_positions_that_another_process_commits_meanwhile_are_kept(wiring: Wiring) -> None:
    def rival() -> None:
        assert imported(wiring, Group({FIRST: 20, SECOND: 21})).exit_code == 0

    raced = Raced(wiring.map, wiring.ports, wiring.processes, rival=[rival])
    (table,) = imported(raced, Group({FIRST: 30, SECOND: 31})).tables
    assert table.error is not None
    assert positions(wiring) == {FIRST: 20, SECOND: 21}


@pytest.mark.parametrize(
    ("offset", "code"), [(4, "offsets.outside"), (5, ""), (40, ""), (41, "offsets.outside")]
)
def test_a_position_is_within_its_log(offset: int, code: str) -> None:
    ends = Logs(ClusterView("c", {}), {FIRST: Watermark(5)}, {FIRST: Watermark(40)})
    foreign = ForeignOffsets(OffsetSource.parse("csv:x"), {FIRST: offset}, rest_is_unread=False)
    if not code:
        assert [placed.offset for placed in place_offsets(foreign, ends, [FIRST])] == [offset]
        return
    with pytest.raises(ConfigError) as refused:
        place_offsets(foreign, ends, [FIRST])
    assert refused.value.code == code


def test_a_log_whose_ends_kafka_does_not_report_is_waited_for() -> None:
    foreign = ForeignOffsets(OffsetSource.parse("csv:x"), {FIRST: 7}, rest_is_unread=True)
    for earliest, latest in (({}, {FIRST: Watermark(40)}), ({FIRST: Watermark(5)}, {})):
        with pytest.raises(ServiceUnavailable):
            place_offsets(foreign, Logs(ClusterView("c", {}), earliest, latest), [FIRST])


def test_the_greatest_of_kafka_connect_s_names_counts_whatever_their_order_and_width(
    wiring: Wiring, tmp_path: Path
) -> None:
    for name in (
        "days/dt=3/days+0+0000000000+0000000009.parquet",  # late data: listed after greater offsets
        "days/dt=1/days+0+10+30.parquet",
        "days/dt=2/days+0+0000000020+0000000029.parquet",
        "days/dt=2/days+1+0000000005+0000000006.parquet",
        "days/.hidden/days+1+0000000007+0000000035.parquet",
        "days/_temporary/days+1+0000000007+0000000036.parquet",
        "+tmp/days/days+1+0000000007+0000000037.parquet",
        "days/dt=2/copy of days+1+0000000007+0000000038.parquet",
    ):
        path = tmp_path / "topics" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    source = OffsetSource.parse(f"connect:{(tmp_path / 'topics').as_uri()}")
    foreign = read_offsets(source, wiring, FakeKafka(), [FIRST, SECOND])
    assert foreign.offsets == {FIRST: 31, SECOND: 7}
    assert foreign.rest_is_unread


@pytest.mark.parametrize("newest", [9, 10, 100])
def test_the_newest_batch_of_a_checkpoint_is_the_greatest_number(
    wiring: Wiring, tmp_path: Path, newest: int
) -> None:
    for batch in range(newest - 2, newest + 1):
        for kind in ("offsets", "commits"):
            file = tmp_path / "checkpoint" / kind / str(batch)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f'v1\n{{}}\n{{"days":{{"0":{batch + 5}}}}}')
    source = OffsetSource.parse(f"spark:{tmp_path}/checkpoint")
    assert read_offsets(source, wiring, FakeKafka(), [FIRST]).offsets == {FIRST: newest + 5}
