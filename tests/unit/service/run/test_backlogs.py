"""What is committed before a table reads on: topic ids that its ledger does not know, as after a rebuilding."""

from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.config.load import load_map
from kafka2hive.kafka.port import ClusterView, TopicView, Watermark
from kafka2hive.kafka.positions import Logs
from kafka2hive.ledger.draft import draft
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import Change
from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.offsets import UNKNOWN_ID, OffsetRange, Position, TopicPartition
from kafka2hive.model.paths.ledger import Generation
from kafka2hive.service.run.backlogs import Backlogs
from kafka2hive.service.tables.table_state import MapTable, Table
from tests.harness.cli_ledger import wired
from tests.harness.values import snapshot
from tests.unit.service.owned_table import own, restate

ZERO, ONE, GONE = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("gone", 0)


def rebuilt_table(folder: Path) -> Table:
    """Read up to 50; no topic id and no cluster id is known."""
    wiring = wired(folder, "tables: [{table: d.t, topics: [t, gone], format: raw}]", service="view")
    rule, paths = wiring.map.tables[0], wiring.paths("d.t")
    positions = tuple(Position(tp, 0, 50) for tp in (GONE, ZERO, ONE))
    state = snapshot(owner="rebuilt", positions=positions)
    table = Table(MapTable(rule, paths, ("t", "gone")))
    return own(table, OwnedLedger(paths, Generation(2, "now", "me"), state))


def logs(topic_id: str, numbers: tuple[int, ...] = (0, 1), end: int = 80) -> Logs:
    ends = {TopicPartition("t", n): Watermark(end) for n in numbers}
    begins = {tp: Watermark(0) for tp in ends}
    return Logs(ClusterView("c", {"t": TopicView("t", topic_id, numbers)}), begins, ends)


class Ledger:
    """Drafts and keeps what is published."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self._backlogs = Backlogs(self.publish)

    def publish(self, table: Table, change: Change) -> None:
        self.changes.append(change)
        ledger = table.owned.ledger
        own(table, replace(ledger, state=draft(ledger, "view", "now", change)))

    def ranges(self, table: Table, now: Logs) -> tuple[OffsetRange, ...]:
        return self._backlogs.ranges_to_read(table, now, (), "now")


def test_a_topic_made_again_after_a_rebuilding_stops_the_table_although_it_has_grown_past_the_position(
    tmp_path: Path,
) -> None:
    ledger, table = Ledger(), rebuilt_table(tmp_path)
    assert ledger.ranges(table, logs("old")) == (OffsetRange(ZERO, 50, 80), OffsetRange(ONE, 50, 80))
    with pytest.raises(ManualActionRequired) as raised:
        ledger.ranges(table, logs("new"))
    assert raised.value.code == "kafka.topic_recreated"


def test_an_id_is_learned_once_with_the_clusters_and_moves_no_position(tmp_path: Path) -> None:
    ledger, table = Ledger(), rebuilt_table(tmp_path)
    for _ in range(3):
        ledger.ranges(table, logs("id", numbers=(0,)))
    assert len(ledger.changes) == 1
    assert {p.topic_partition: (p.end, p.topic_id) for p in table.owned.state.positions} == {
        GONE: (50, UNKNOWN_ID),
        ZERO: (50, "id"),
        ONE: (50, "id"),
    }
    assert table.owned.state.cluster_id == "c"


def test_a_new_topic_partition_and_an_id_are_one_snapshot(tmp_path: Path) -> None:
    ledger, table = Ledger(), rebuilt_table(tmp_path)
    ranges = ledger.ranges(table, logs("id", numbers=(0, 1, 2)))
    assert ranges[2] == OffsetRange(TopicPartition("t", 2), 0, 80) and len(ledger.changes) == 1
    with pytest.raises(ManualActionRequired):
        ledger.ranges(table, logs("other", numbers=(0, 1, 2)))


def test_nothing_is_written_where_the_brokers_give_no_ids_or_the_table_cannot_go_on(tmp_path: Path) -> None:
    ledger, table = Ledger(), rebuilt_table(tmp_path)
    ledger.ranges(table, logs(UNKNOWN_ID))
    with pytest.raises(ManualActionRequired):
        ledger.ranges(table, logs("id", end=40))
    assert ledger.changes == []


def began(folder: Path, start: str, positions: tuple[Position, ...] = (), recorded: str = "-") -> Table:
    """A table whose map says `start`, and whose ledger has these positions, chosen by `recorded`."""
    table = rebuilt_table(folder)
    path = folder / "began.yaml"
    text = (folder / "map.yaml").read_text().replace("[t, gone], ", f"[t], start: {start}, ")
    path.write_text(text)
    table.in_map = replace(table.in_map, rule=load_map(str(path), {}).tables[0], topics=("t",))
    restate(table, positions=positions, start=recorded)
    return table


def test_start_latest_says_how_many_offsets_it_leaves_out_and_how_to_take_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = began(tmp_path, "latest")
    assert all(len(r) == 0 for r in Ledger().ranges(table, logs("id")))
    assert [record.getMessage() for record in caplog.records] == [
        "d.t: start: latest leaves out 160 offsets of topic t that Kafka holds; to dump them too, set start: earliest"
        " and start the table over with `kafka2hive reset --table d.t --move-data -c MAP`"
    ]
    assert table.owned.state.start == "latest"


@pytest.mark.parametrize("start", ["latest", "earliest"])
def test_a_start_that_leaves_nothing_out_says_nothing(
    start: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Ledger().ranges(began(tmp_path, start), logs("id", end=0 if start == "latest" else 80))
    assert caplog.records == []


def test_a_start_changed_after_the_first_positions_is_warned_about_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    at = tuple(Position(tp, 50, 50, "id") for tp in (ZERO, ONE))
    table, ledger = began(tmp_path, "earliest", at, "latest"), Ledger()
    for _ in range(2):
        assert ledger.ranges(table, logs("id")) == (OffsetRange(ZERO, 50, 80), OffsetRange(ONE, 50, 80))
    (warning,) = [record.getMessage() for record in caplog.records]
    assert "the map's start is earliest now, but the table began with latest" in warning
    assert "`kafka2hive reset --table d.t --move-data -c MAP`" in warning
    assert table.warnings["positions"] == (warning.removeprefix("d.t: "),), "status does not show it"


def test_the_start_of_a_rebuilt_ledger_is_not_known_and_not_guessed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    at = tuple(Position(tp, 50, 50, "id") for tp in (ZERO, ONE))
    Ledger().ranges(began(tmp_path, "latest", at), logs("id"))
    assert caplog.records == []
