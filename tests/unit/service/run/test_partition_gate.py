"""A partition is compared with the map before it gets its first file of a run: it keeps what its table was."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.config.keys import Column
from kafka2hive.hive.session_tables import SessionTables
from kafka2hive.hive.tables import TableSpec
from kafka2hive.ledger.snapshot.change import Compaction, DataEpoch, Replay
from kafka2hive.model.errors import ServiceUnavailable, TableError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import NoSuchPartition
from kafka2hive.model.snapshot import ComparedTable
from kafka2hive.service.hive.partitions import (
    DESCRIBED_AT_ONCE,
    ComparedPartitions,
    compare_partitions,
)
from kafka2hive.service.run.hive_gate import HiveGate
from kafka2hive.service.run.hive_questions import Agreement, Answer, Disagreement, NoAnswer, Question
from kafka2hive.service.tables.table_state import Table
from tests.harness.epoch_loop import AtOnce, Kafka, make_loop_and_tables, make_wiring
from tests.harness.values import data_file

LETTERS = "air.once_dead_letters"
WRONG = TableError("hive.partition", "air.early partition dt=1 differs")
TEXT = "org.apache.hadoop.mapred.TextInputFormat"
PARQUET = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat"


class Hive:
    """Agrees about tables; `wrong` partitions contradict the map, `present` ones exist."""

    def __init__(self) -> None:
        self.wrong: set[str] = set()
        self.present: set[str] = set()
        self.away = False
        self.asked: list[Question] = []
        self.announced: list[Question] = []

    def answer(self, question: Question) -> Answer:
        self.asked.append(question)
        if self.away:
            return NoAnswer("connection refused")
        if len(question.partitions) > DESCRIBED_AT_ONCE:
            return Agreement(missing=frozenset(question.partitions) - self.present)
        return Disagreement(WRONG) if self.wrong.intersection(question.partitions) else Agreement()

    def spec(self, name: str) -> ComparedTable:
        return ComparedTable(
            table=name, location=f"file:///w/{name}", format="parquet", columns="a int", partition_columns=""
        )

    def described(self) -> list[str]:
        """The partitions that were asked about since the last call."""
        asked, self.asked = self.asked, []
        return [path for question in asked for path in question.partitions]

    def gate(self) -> HiveGate:
        return HiveGate(self.spec, self.answer, lambda _: None, LETTERS, self.announced.extend)


def epoch_of(paths: Collection[str], table: str = "air.early") -> DataEpoch:
    at = [HivePartition(table, path, f"file:///w/{table}/{path}") for path in paths]
    return DataEpoch(files=tuple(data_file(hive_partition=partition) for partition in at), accounts=())


@pytest.fixture
def hive() -> Hive:
    return Hive()


@pytest.fixture
def gate(hive: Hive) -> HiveGate:
    return hive.gate()


@pytest.fixture
def table(tmp_path: Path, gate: HiveGate) -> Table:
    _, tables = make_loop_and_tables(make_wiring(tmp_path), Kafka(), gate=gate, schemas=AtOnce())
    return tables.tables["air.early"]


def test_a_partition_is_compared_once_per_run_before_its_first_file(
    hive: Hive, gate: HiveGate, table: Table
) -> None:
    gate.check(table, epoch_of(["dt=1", "dt=2", ""]))
    assert hive.described() == ["dt=1", "dt=2"]
    gate.check(table, epoch_of(["dt=2", "dt=3"]))
    assert hive.described() == ["dt=3"]
    files = epoch_of(["dt=4"]).files
    gate.check(table, Compaction(files=files, units=(), policy="p"))
    assert hive.described() == [], "compaction copies files of the partition as they are"
    gate.check(table, Replay(files=files, replayed=()))
    assert hive.described() == ["dt=4"]


def test_a_contradiction_is_looked_at_again_before_the_next_records_are_read(
    hive: Hive, gate: HiveGate, table: Table
) -> None:
    hive.wrong = {"dt=1"}
    for _ in range(2):
        with pytest.raises(TableError, match="dt=1 differs"):
            gate.check(table, epoch_of(["dt=1"]))
    with pytest.raises(TableError, match="dt=1 differs"):
        gate.admit(table)
    hive.away = True
    with pytest.raises(TableError, match="dt=1 differs"):
        gate.admit(table)
    hive.away, hive.wrong = False, set()
    gate.admit(table)
    hive.described()
    gate.check(table, epoch_of(["dt=1"]))
    assert hive.described() == []


def test_partitions_are_not_waited_for_while_hive_is_away_and_compared_when_it_is_back(
    hive: Hive, gate: HiveGate, table: Table, tmp_path: Path
) -> None:
    owned = table.owned
    state = replace(owned.state, compared=(hive.spec("air.early"),))
    table.ownership = replace(owned, ledger=replace(owned.ledger, state=state))
    hive.away = True
    gate.check(table, epoch_of(["dt=1"]))
    hive.away = False
    hive.described()
    gate.check(table, epoch_of(["dt=1"]))
    assert hive.described() == ["dt=1"]
    table.ownership = replace(owned, ledger=replace(owned.ledger, state=replace(state, compared=())))
    hive.away = True
    with pytest.raises(ServiceUnavailable, match=r"air\.early"):
        gate.check(table, epoch_of(["dt=2"]))


def test_of_many_partitions_only_those_that_hive_has_are_described(
    hive: Hive, gate: HiveGate, table: Table
) -> None:
    paths = [f"dt={number:04}" for number in range(1_000)]
    hive.present = set(paths[::10])
    gate.check(table, epoch_of(paths))
    (listing, *slices) = [question for question in hive.asked if question.partitions]
    assert sorted(listing.partitions) == paths and slices == hive.announced
    assert [path for question in slices for path in question.partitions] == paths[::10]
    assert {len(question.partitions) for question in slices} == {DESCRIBED_AT_ONCE}
    hive.described()
    gate.check(table, epoch_of(paths))
    assert hive.described() == []


def test_a_table_that_hive_refused_has_its_partitions_compared_again(
    hive: Hive, gate: HiveGate, table: Table
) -> None:
    gate.check(table, epoch_of(["dt=1"]))
    hive.described()
    gate.differs("air.early", TableError("hive.format", "another format"))
    gate.check(table, epoch_of(["dt=1"]))
    assert hive.described() == ["dt=1"]


def test_the_partitions_of_dead_letters_are_compared_as_partitions_of_their_table(
    hive: Hive, gate: HiveGate, table: Table
) -> None:
    hive.wrong = {"source_table=air.early/dt=1"}
    with pytest.raises(TableError, match="differs"):
        gate.check(table, epoch_of(["source_table=air.early/dt=1"], LETTERS))
    assert Question(LETTERS, conform=False, partitions=("source_table=air.early/dt=1",)) in hive.asked


class Session:
    """Hive with partitions, by path as Hive writes them: each with its input format."""

    def __init__(self, partitions: dict[str, str]) -> None:
        self.partitions, self.sent = partitions, list[str]()

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        (statement,) = statements
        self.sent.append(statement)
        if statement.startswith("SHOW PARTITIONS"):
            return [(path,) for path in self.partitions]
        value = statement.rpartition("`='")[2].rstrip("')")
        known = {path.partition("=")[2].lstrip("0"): form for path, form in self.partitions.items()}
        if value.lstrip("0") not in known:
            raise NoSuchPartition(value)
        return [
            ("a", "int", ""),
            ("# Detailed Partition Information", None, None),
            ("# Storage Information", None, None),
            ("InputFormat:", known[value.lstrip("0")], None),
        ]

    def close(self) -> None:
        """Nothing is open."""


SPEC = TableSpec("a.b", (Column("a", "int"),), (Column("hr", "int"),), "hdfs://n/t")


def test_partitions_are_described_one_by_one_and_all_contradictions_are_counted() -> None:
    session = Session({"hr=1": PARQUET, "hr=2": TEXT, "hr=3": TEXT})
    assert compare_partitions(SessionTables(session), SPEC, ["hr=1", "hr=4"]) == {"hr=4"}
    with pytest.raises(TableError, match=r"partition hr=2 .*\(and 1 more of its partitions\)") as refused:
        compare_partitions(SessionTables(session), SPEC, ["hr=3", "hr=2", "hr=1"])
    assert refused.value.code == "hive.partition"


def test_hive_lists_many_partitions_and_none_is_missed_for_its_spelling() -> None:
    session = Session({f"hr={number}": TEXT for number in range(10)})
    paths = [f"hr={number:02}" for number in range(DESCRIBED_AT_ONCE + 1)]
    missing = compare_partitions(SessionTables(session), SPEC, paths)
    assert missing == set(paths[10:]) and session.sent == ["SHOW PARTITIONS `a`.`b`"]
    with pytest.raises(TableError, match="hr=05"):
        compare_partitions(SessionTables(session), SPEC, ["hr=05"])


def test_a_run_remembers_a_bounded_number_of_partitions_those_in_use_the_longest() -> None:
    known = ComparedPartitions(limit=3)
    known.add("a", ["1", "2", "3"])
    assert known.unknown("a", ["1", "4"]) == ["4"] and known.unknown("b", ["1"]) == ["1"]
    known.add("a", ["4"])
    assert known.unknown("a", ["1", "2", "3", "4"]) == ["2"]
    known.add("b", ["1"])
    known.forget("a")
    assert known.unknown("a", ["1"]) == ["1"] and known.unknown("b", ["1"]) == []
