"""Two topics whose names make one table: what the ledger reads stays, the other is refused and told, whenever it comes."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kafka2hive.config.keys import TableSettings
from kafka2hive.kafka.port import ClusterView, TopicView, any_topic
from kafka2hive.model.errors import ExitCode, TableError
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.service.run.epochs import EpochLoop
from kafka2hive.service.run.owned_tables import DECIDE_SECONDS, OwnedTables
from kafka2hive.service.run.result import exit_code
from kafka2hive.service.tables.table_state import MapTable
from kafka2hive.service.wiring import Wiring
from tests.harness.cli_ledger import wired
from tests.harness.epoch_loop import Clock, Schemas, make_loop_and_tables, planned, run
from tests.harness.epoch_loop import Kafka as TwoTopics

LEADS, CAPITALS, OTHER = "crm.eu.Leads-2", "crm.eu.LEADS-2", "crm.eu.deals"
TABLE = "crm.eu_leads_2"
LONG = 1000.0  # beyond every wait of a run


class Kafka(TwoTopics):
    """Topics of one partition with 7 records each."""

    def __init__(self, *topics: str) -> None:
        super().__init__()
        self.ends = {TopicPartition(topic, 0): 7 for topic in topics}

    def cluster(self, is_wanted: Callable[[str], bool] = any_topic) -> ClusterView:
        return ClusterView("cluster", {tp.topic: TopicView(tp.topic, tp.topic, (0,)) for tp in self.ends})

    def add(self, topic: str) -> None:
        self.ends[TopicPartition(topic, 0)] = 7

    def delete(self, topic: str) -> None:
        del self.ends[TopicPartition(topic, 0)]


def make_wiring(folder: Path) -> Wiring:
    rule = r"{table: 'crm.{1}_{2}', pattern: 'crm\.(\w+)\.(.+)', format: raw, bucket: {path: ''}}"
    real = wired(folder, f"defaults: {{start: earliest}}\ntables: [{rule}]")
    return replace(real, ports=replace(real.ports, clock=Clock()))


def dumped(loop: EpochLoop) -> set[str]:
    """The topics of all epochs until nothing is due."""
    topics: set[str] = set()
    while (epoch := loop.plan()) is not None:
        topics |= {r.topic_partition.topic for r in planned(epoch)}
        run(loop, epoch)
    return topics


def code_of(tables: OwnedTables) -> ExitCode:
    return exit_code(None, None, [error for _, error in tables.troubles()])


def dump_leads(wiring: Wiring) -> None:
    """A run before the other topic came."""
    loop, tables = make_loop_and_tables(wiring, Kafka(LEADS, OTHER))
    assert dumped(loop) == {LEADS, OTHER}
    assert code_of(tables) is ExitCode.DONE


def test_a_newcomer_does_not_take_the_table_over_at_a_restart(tmp_path: Path) -> None:
    wiring = make_wiring(tmp_path)
    dump_leads(wiring)
    kafka = Kafka(LEADS, CAPITALS, OTHER)
    kafka.ends[TopicPartition(LEADS, 0)] = 9
    loop, tables = make_loop_and_tables(wiring, kafka)
    assert dumped(loop) == {LEADS}
    ((name, error),) = tables.troubles()
    assert (name, error.code, code_of(tables)) == (TABLE, "route.conflict", ExitCode.SET_ASIDE)
    assert CAPITALS in error.message
    assert tables.tables[TABLE].warnings["routes"] == (f"{error.message}; what to do: {error.remedy}",)


def test_a_newcomer_in_a_live_run_is_refused_and_the_others_go_on(tmp_path: Path) -> None:
    wiring, kafka = make_wiring(tmp_path), Kafka(LEADS, OTHER)
    loop, tables = make_loop_and_tables(wiring, kafka, once=False)
    assert dumped(loop) == {LEADS, OTHER}
    kafka.add(CAPITALS)
    kafka.add("crm.eu.new")
    kafka.ends[TopicPartition(LEADS, 0)] = 9
    wiring.ports.clock.sleep(LONG)
    assert dumped(loop) == {LEADS, "crm.eu.new"}
    assert [name for name, _ in tables.troubles()] == [TABLE]
    kafka.delete(CAPITALS)
    wiring.ports.clock.sleep(LONG)
    assert dumped(loop) == set() and tables.troubles() == ()
    assert tables.tables[TABLE].warnings["routes"] == ()


def test_of_two_that_are_new_at_the_same_time_neither_is_read_and_no_ledger_is_made(tmp_path: Path) -> None:
    wiring, kafka = make_wiring(tmp_path), Kafka(LEADS, CAPITALS, OTHER)
    for _ in range(2):
        loop, tables = make_loop_and_tables(wiring, kafka)
        assert CAPITALS not in (read := dumped(loop)) and LEADS not in read
        assert {name for name, _ in tables.troubles()} == {TABLE}
        assert code_of(tables) is ExitCode.SET_ASIDE
    assert not (tmp_path / "kafka2hive/kafka_partition_offsets" / TABLE).exists()
    kafka.delete(CAPITALS)
    loop, tables = make_loop_and_tables(wiring, kafka)
    assert dumped(loop) == {LEADS} and code_of(tables) is ExitCode.DONE


def test_once_a_ledger_can_be_read_again_its_topic_is_read(tmp_path: Path) -> None:
    wiring, kafka = make_wiring(tmp_path), Kafka(LEADS, CAPITALS, OTHER)
    dump_leads(wiring)
    ledger = tmp_path / "kafka2hive/kafka_partition_offsets" / TABLE
    newest = max(ledger.glob("g*/e*.final"))
    whole = newest.read_bytes()
    newest.write_bytes(b"half")
    kafka.ends[TopicPartition(LEADS, 0)] = 9
    loop, tables = make_loop_and_tables(wiring, kafka, once=False)
    assert dumped(loop) == set()
    assert sorted(name for name, _ in tables.troubles()) == [TABLE, TABLE]
    newest.write_bytes(whole)
    wiring.ports.clock.sleep(LONG)
    assert dumped(loop) == {LEADS}
    assert [error.message.split()[1] for _, error in tables.troubles()] == [CAPITALS]


def test_a_topic_that_came_while_its_table_could_not_start_leaves_both_to_be_decided(tmp_path: Path) -> None:
    wiring, kafka = make_wiring(tmp_path), Kafka(LEADS, OTHER)
    ledgers = tmp_path / "kafka2hive/kafka_partition_offsets"
    ledgers.mkdir(parents=True)
    (ledgers / TABLE).write_text("in the way")
    loop, tables = make_loop_and_tables(wiring, kafka, once=False)
    kafka.add(CAPITALS)
    (ledgers / TABLE).unlink()
    wiring.ports.clock.sleep(LONG)
    assert dumped(loop) == {OTHER}
    wiring.ports.clock.sleep(LONG)
    assert dumped(loop) == set()
    assert {error.code for _, error in tables.troubles()} == {"route.conflict"}
    assert not (ledgers / TABLE).exists()


def test_the_ledger_of_a_topic_that_is_gone_is_not_given_to_another(tmp_path: Path) -> None:
    wiring = make_wiring(tmp_path)
    dump_leads(wiring)
    loop, tables = make_loop_and_tables(wiring, Kafka(CAPITALS, OTHER))
    assert dumped(loop) == set()
    assert code_of(tables) is ExitCode.SET_ASIDE
    assert tables.tables[TABLE].owned.state.topics == {LEADS}


def test_what_another_run_decides_about_a_table_that_two_topics_claim_is_heard(tmp_path: Path) -> None:
    wiring, kafka = make_wiring(tmp_path), Kafka(LEADS, CAPITALS, OTHER)
    loop, tables = make_loop_and_tables(wiring, kafka, once=False)
    assert dumped(loop) == {OTHER}
    assert dumped(make_loop_and_tables(wiring, Kafka(LEADS))[0]) == {LEADS}
    kafka.ends[TopicPartition(LEADS, 0)] = 9
    assert dumped(loop) == set()
    wiring.ports.clock.sleep(DECIDE_SECONDS)
    assert dumped(loop) == {LEADS}
    assert [conflict.topic for conflict in tables.conflicts] == [CAPITALS]


def test_a_ledger_that_another_run_begins_after_the_topics_were_routed_keeps_its_topic(
    tmp_path: Path,
) -> None:
    wiring, kafka = make_wiring(tmp_path), Kafka()

    class AnotherRun(Schemas):
        """It makes the ledger between this run's look for one and its take-over."""

        def resolve(self, table: MapTable) -> TableSettings:
            if not (tmp_path / "kafka2hive/kafka_partition_offsets" / TABLE).exists():
                assert dumped(make_loop_and_tables(wiring, Kafka(LEADS))[0]) == {LEADS}
            return super().resolve(table)

    loop, tables = make_loop_and_tables(wiring, kafka, once=False, schemas=AnotherRun())
    kafka.add(CAPITALS)
    wiring.ports.clock.sleep(LONG)
    assert dumped(loop) == set()
    assert tables.tables[TABLE].owned.state.topics == {LEADS}
    assert [conflict.topic for conflict in tables.conflicts] == [CAPITALS]


def test_a_topic_found_by_a_pattern_is_missed_when_it_vanishes_during_the_run(tmp_path: Path) -> None:
    wiring, kafka = make_wiring(tmp_path), Kafka(LEADS, OTHER)
    loop, tables = make_loop_and_tables(wiring, kafka)
    kafka.delete(LEADS)
    wiring.ports.clock.sleep(LONG)
    assert dumped(loop) == {OTHER}
    ((name, error),) = tables.troubles()
    assert (name, error.code, code_of(tables)) == (TABLE, "kafka.unknown_topic", ExitCode.SET_ASIDE)
    assert f"listed topic {LEADS} when the run began" in error.message
    loop, tables = make_loop_and_tables(wiring, kafka)
    assert dumped(loop) == set() and code_of(tables) is ExitCode.DONE


def test_it_is_missed_also_when_it_vanishes_between_the_look_at_topics_and_that_at_offsets(
    tmp_path: Path,
) -> None:
    wiring, kafka = make_wiring(tmp_path), Kafka(LEADS, OTHER)

    class Slow(Schemas):
        starts = 0

        def resolve(self, table: MapTable) -> TableSettings:
            if table.name == TABLE:
                self.starts += 1
                if self.starts == 1:
                    raise TableError("hive.no_answer", "away")
                wiring.ports.clock.sleep(LONG)
                kafka.delete(LEADS)
            return super().resolve(table)

    loop, tables = make_loop_and_tables(wiring, kafka, schemas=Slow())
    assert dumped(loop) == {OTHER}
    assert [(name, error.code) for name, error in tables.troubles()] == [(TABLE, "kafka.unknown_topic")]
