"""Nothing is committed to a table that Hive has otherwise than the map, nor to one that was never compared."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.model.errors import TableError
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.metastore import HiveLoginRefused, MetastoreUnavailable
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, RangeAccounting
from kafka2hive.model.paths.path import join
from kafka2hive.model.paths.table_directory import staging_directory
from kafka2hive.model.snapshot import ComparedTable
from kafka2hive.plan.contract import PlannedEpoch, TableManifest
from kafka2hive.service.hive.registrar import NoRegistrar, RefusedByHive, RegisteredInHive
from kafka2hive.service.run.epochs import EpochLoop
from kafka2hive.service.run.hive_gate import Gate, HiveGate, ask_hive
from kafka2hive.service.run.hive_questions import Agreement, Answer, Disagreement, NoAnswer, Question
from kafka2hive.service.run.outages import Absence, systems_away
from kafka2hive.service.run.owned_tables import OwnedTables
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import write_file
from tests.harness.epoch_loop import (
    EARLY,
    HiveAnswers,
    Kafka,
    Schemas,
    make_loop_and_tables,
    make_wiring,
    next_epoch,
    planned,
    run,
)
from tests.harness.task_files import delivered_as
from tests.harness.values import data_file, file_name

LETTERS = "air.once_dead_letters"
AWAY = NoAnswer("connection refused")
OTHER = Disagreement(
    TableError("hive.format", "it does not hold Parquet files but is read by TextInputFormat")
)
MISPLACED = TableError("hive.misplaced", "is registered elsewhere")


class Hive:
    """What Hive says to each table; `columns` is the map's."""

    def __init__(self, answer: Answer = Agreement()) -> None:  # noqa: B008  a value
        self.otherwise = answer
        self.answers: dict[str, Answer] = {}
        self.asked: list[Question] = []
        self.forgotten: list[str] = []
        self.columns = "a int"

    def answer(self, question: Question) -> Answer:
        self.asked.append(question)
        return self.answers.get(question.table, self.otherwise)

    def spec(self, name: str) -> ComparedTable:
        return ComparedTable(
            table=name,
            location=f"file:///w/{name}",
            format="parquet",
            columns=self.columns,
            partition_columns="dt string",
        )

    def gate(self) -> Gate:
        return HiveGate(self.spec, self.answer, self.forgotten.append, LETTERS)


def begin(
    wiring: Wiring,
    kafka: Kafka,
    gate: Gate,
    registrar: NoRegistrar = NoRegistrar(),  # noqa: B008  it holds nothing
) -> tuple[EpochLoop, OwnedTables]:
    """A start of the run, as far as its first take-over."""
    schemas = Schemas()
    schemas.tries.append("air.late")  # there at the first try
    return make_loop_and_tables(wiring, kafka, once=False, registrar=registrar, gate=gate, schemas=schemas)


def pass_time(wiring: Wiring, seconds: float = 400.0) -> None:
    wiring.ports.clock.sleep(seconds)


def codes(owned_tables: OwnedTables) -> dict[str, str]:
    return {t.name: t.aside.error.code for t in owned_tables.set_aside_tables() if t.aside is not None}


def epochs(wiring: Wiring, table: str) -> list[str]:
    """The names of the table's snapshots; none without a ledger."""
    root = Path(wiring.paths(table).table_directory.removeprefix("file://"))
    return sorted(path.name for path in root.glob("g*/e*"))


def dumped(loop: EpochLoop, wiring: Wiring) -> int:
    """Records planned and committed until nothing is due."""
    records = 0
    for _ in range(20):
        pass_time(wiring)
        epoch = loop.plan()
        if epoch is None:
            return records
        records += sum(map(len, planned(epoch)))
        run(loop, epoch)
    raise AssertionError("it goes on for ever")


def test_a_table_that_was_never_compared_has_not_even_a_ledger_before_hive_answers(tmp_path: Path) -> None:
    wiring, hive = make_wiring(tmp_path), Hive(AWAY)
    loop, owned_tables = begin(wiring, Kafka(), hive.gate())
    assert codes(owned_tables) == {"air.early": "hive.not_compared", "air.late": "hive.not_compared"}
    assert dumped(loop, wiring) == 0 and epochs(wiring, "air.early") == []
    assert not any(question.conform for question in hive.asked)
    hive.otherwise = Agreement()
    assert dumped(loop, wiring) == 18 and codes(owned_tables) == {}


def test_a_refused_login_is_told_as_such_before_the_first_comparison(tmp_path: Path) -> None:
    said = "HiveServer2 at h:1 refuses user etl"
    wiring, hive = make_wiring(tmp_path), Hive(NoAnswer(said, HiveLoginRefused(said)))
    _loop, owned_tables = begin(wiring, Kafka(), hive.gate())
    assert codes(owned_tables) == {"air.early": "hive.login", "air.late": "hive.login"}
    aside = owned_tables.tables["air.early"].aside
    assert aside is not None and said in str(aside.error) and "correct the login" in str(aside.error)
    assert epochs(wiring, "air.early") == []


def test_ask_hive_keeps_a_refusal_apart_from_an_outage() -> None:
    def answer(error: Exception) -> Answer:
        class Says:
            def compare(self, session: object, name: str) -> None:
                raise error

        says: Any = Says()
        return ask_hive(says, says, Question("a.b", conform=False))

    refused = HiveLoginRefused("no")
    assert answer(refused) == NoAnswer("no", refused)
    assert answer(MetastoreUnavailable("away")) == NoAnswer("away")


def test_partitions_that_hive_was_not_told_of_stay_open_and_why_is_said_once(tmp_path: Path) -> None:
    wiring, registrar = make_wiring(tmp_path), HiveAnswers()
    loop, owned_tables = begin(_with_any_dead_letters(wiring), Kafka(), Hive().gate(), registrar)
    epoch = next_epoch(loop)
    loop.on_epoch(epoch.number, with_a_dead_letter(wiring, epoch, "air.early"))
    table = owned_tables.tables["air.early"]
    (owed,) = table.open_registrations
    registrar.why = HiveLoginRefused("HiveServer2 at h:1 refuses user etl")
    loop.plan()
    away = systems_away(None, registrar.no_answer, owned_tables.tables.values())
    assert away == {"hive": Absence("HiveServer2 at h:1 refuses user etl", refuses=True)}
    registrar.events.append(RegisteredInHive(frozenset({owed})))
    loop.plan()
    assert not table.open_registrations


def test_a_table_that_was_compared_dumps_on_without_hive(tmp_path: Path) -> None:
    wiring, kafka = make_wiring(tmp_path), Kafka()
    loop, owned_tables = begin(wiring, kafka, Hive().gate())
    pass_time(wiring)
    loop.plan()  # first positions alone
    state = owned_tables.tables["air.early"].owned
    assert [c.table for c in state.state.compared] == ["air.early", LETTERS]
    loop, owned_tables = begin(wiring, kafka, Hive(AWAY).gate())
    assert dumped(loop, wiring) == 18 and codes(owned_tables) == {}


def test_a_table_that_the_map_describes_otherwise_now_counts_as_never_compared(tmp_path: Path) -> None:
    wiring, kafka = make_wiring(tmp_path), Kafka()
    dumped(begin(wiring, kafka, Hive().gate())[0], wiring)
    before = epochs(wiring, "air.early")
    hive = Hive(AWAY)
    hive.columns = "a bigint"
    kafka.ends[EARLY] = 50
    loop, owned_tables = begin(wiring, kafka, hive.gate())
    assert dumped(loop, wiring) == 0 and codes(owned_tables)["air.early"] == "hive.not_compared"
    assert epochs(wiring, "air.early") == before
    hive.otherwise = Agreement()
    assert dumped(loop, wiring) == 43


def test_a_table_that_agreed_is_compared_again_when_it_is_to_have_other_columns(tmp_path: Path) -> None:
    hive = Hive()
    gate = hive.gate()
    _, owned_tables = begin(make_wiring(tmp_path), Kafka(), gate)
    table = owned_tables.tables["air.early"]
    hive.asked.clear()
    gate.admit(table)
    assert Question("air.early", conform=True) not in hive.asked, "once a run is enough for the same columns"
    hive.columns = "a int, b int"
    gate.admit(table)
    assert Question("air.early", conform=True) in hive.asked
    hive.columns, hive.answers["air.early"] = "a int, b int, c int", OTHER
    with pytest.raises(TableError, match="does not hold Parquet files"):
        gate.admit(table)


def test_what_was_compared_is_written_down_although_there_is_nothing_to_dump(tmp_path: Path) -> None:
    wiring, kafka = make_wiring(tmp_path), Kafka()
    dumped(begin(wiring, kafka, Gate())[0], wiring)
    dumped(begin(wiring, kafka, Hive().gate())[0], wiring)
    _, owned_tables = begin(wiring, kafka, Hive(AWAY).gate())
    assert codes(owned_tables) == {}


def test_a_table_that_hive_has_otherwise_commits_nothing_also_after_a_restart(tmp_path: Path) -> None:
    wiring, kafka, hive = make_wiring(tmp_path), Kafka(), Hive()
    dumped(begin(wiring, kafka, hive.gate())[0], wiring)
    kafka.ends[EARLY] = 50
    before = epochs(wiring, "air.early")
    hive.answers["air.early"] = OTHER
    for _ in range(2):
        loop, owned_tables = begin(wiring, kafka, hive.gate())
        assert dumped(loop, wiring) == 0 and codes(owned_tables) == {"air.early": "hive.format"}
        assert epochs(wiring, "air.early") == before
    hive.answers["air.early"] = AWAY
    assert dumped(loop, wiring) == 0, "Hive has refused it in this run, its silence changes nothing"
    del hive.answers["air.early"]
    assert dumped(loop, wiring) == 43 and codes(owned_tables) == {}


def test_an_epoch_under_way_is_not_committed_when_hive_refuses_the_table_meanwhile(tmp_path: Path) -> None:
    wiring, hive = make_wiring(tmp_path), Hive()
    registrar = HiveAnswers()
    loop, owned_tables = begin(wiring, Kafka(), hive.gate(), registrar)
    epoch = next_epoch(loop)
    before = epochs(wiring, "air.early")
    hive.answers["air.early"] = OTHER
    registrar.events.append(RefusedByHive("air.early", OTHER.error))
    run(loop, epoch)
    assert epochs(wiring, "air.early") == before and codes(owned_tables) == {"air.early": "hive.format"}
    waits = [owned_tables.tables["air.early"].failures]
    for _ in range(3):
        assert dumped(loop, wiring) == 0
        waits.append(owned_tables.tables["air.early"].failures)
    assert waits == sorted(set(waits)), "it waits longer each time"


def test_a_refused_partition_keeps_its_table_aside_until_hive_registers_it(tmp_path: Path) -> None:
    wiring, kafka = make_wiring(tmp_path), Kafka()
    registrar = HiveAnswers()
    loop, owned_tables = begin(wiring, kafka, Hive().gate(), registrar)
    dumped(loop, wiring)
    partition = frozenset({HivePartition("air.early", "dt=1", "file:///w/air.early/dt=1")})
    kafka.ends[EARLY] = 50
    registrar.events.append(RefusedByHive("air.early", MISPLACED, partition))
    assert loop.plan() is None
    assert dumped(loop, wiring) == 0 and codes(owned_tables) == {"air.early": "hive.misplaced"}
    registrar.events.append(RegisteredInHive(partition))
    loop.plan()
    assert codes(owned_tables) == {}, "at once, not when the wait is over"
    assert dumped(loop, wiring) == 43 and codes(owned_tables) == {}


def test_a_dead_letter_table_that_does_not_exist_does_not_count_as_compared(tmp_path: Path) -> None:
    wiring, hive = _with_any_dead_letters(make_wiring(tmp_path)), Hive()
    hive.answers[LETTERS] = Agreement(is_current=False)
    loop, owned_tables = begin(wiring, Kafka(), hive.gate())
    epoch = next_epoch(loop)
    owned = owned_tables.tables["air.early"].owned
    assert [c.table for c in owned.state.compared] == ["air.early"]
    assert [q for q in hive.asked if q.table == LETTERS] == [Question(LETTERS, conform=False)], (
        "looked at once"
    )
    hive.answers[LETTERS] = AWAY  # and somebody makes it, in another form
    before = epochs(wiring, "air.early")
    loop.on_epoch(epoch.number, with_a_dead_letter(wiring, epoch, "air.early"))
    assert codes(owned_tables) == {"air.early": "hive.not_compared"} and epochs(wiring, "air.early") == before


def test_a_table_that_does_not_exist_is_made_before_it_counts_as_compared(tmp_path: Path) -> None:
    hive = Hive()
    hive.answers["air.early"] = Agreement(is_current=False)
    begin(make_wiring(tmp_path), Kafka(), hive.gate())
    assert Question("air.early", conform=True) in hive.asked


def test_what_hive_said_before_a_refusal_is_forgotten(tmp_path: Path) -> None:
    hive = Hive()
    registrar = HiveAnswers()
    loop, _ = begin(make_wiring(tmp_path), Kafka(), hive.gate(), registrar)
    registrar.events.append(RefusedByHive("air.early", OTHER.error))
    loop.plan()
    assert "air.early" in hive.forgotten


def with_a_dead_letter(wiring: Wiring, epoch: PlannedEpoch, of: str) -> list[TableManifest]:
    """Table `of` brings one dead letter, everything else is tombstones."""
    found = []
    for plan in epoch.tasks:
        for t in plan.tables:
            letters = 1 if t.table == of else 0
            accounts = tuple(
                RangeAccounting(
                    plan.index,
                    r,
                    OffsetAccounting(len(r), tombstones=len(r) - letters, dead_lettered=letters),
                )
                for r in t.ranges
            )
            files = (_letter_file(wiring, t.table, t.epoch, plan.index, t.ranges),) if letters else ()
            delivered = delivered_as(accounts)
            found.append(
                TableManifest(
                    table=t.table,
                    task=plan.index,
                    generation=t.generation,
                    epoch=t.epoch,
                    files=files,
                    accounts=accounts,
                    delivered=delivered,
                )
            )
    return found


def _letter_file(
    wiring: Wiring, table: str, epoch: int, task: int, ranges: Sequence[OffsetRange]
) -> DataFile:
    (rule,) = (r for r in wiring.map.tables if r.table == table)
    path = f"source_table={table}/dt=2026-11-21"
    partition = HivePartition(LETTERS, path, join(wiring.map.dead_letters.location, path))
    name = file_name("0" * 8, 1, epoch, slug="letters", task=task, uuid=wiring.ports.new_uuid())
    staged = join(staging_directory(rule.location), name.in_state("pending"))
    wiring.ports.files.mkdirs(staging_directory(rule.location))
    write_file(wiring.ports.files, staged, b"letter")
    final = join(partition.location, name.in_state("final"))
    return data_file(
        kind=FileKind.DEAD_LETTER,
        staged=staged,
        final=final,
        hive_partition=partition,
        length=6,
        checksum="crc32:0",
        task=task,
        ranges=tuple(ranges),
    )


@pytest.mark.parametrize("answer", [OTHER, AWAY], ids=["another table", "never compared"])
def test_only_a_table_with_dead_letters_waits_for_the_table_of_the_dead_letters(
    tmp_path: Path, answer: Answer
) -> None:
    wiring, hive = _with_any_dead_letters(make_wiring(tmp_path)), Hive()
    hive.answers[LETTERS] = answer
    loop, owned_tables = begin(wiring, Kafka(), hive.gate())
    epoch = next_epoch(loop)
    loop.on_epoch(epoch.number, with_a_dead_letter(wiring, epoch, "air.early"))
    code = "hive.format" if answer is OTHER else "hive.not_compared"
    assert codes(owned_tables) == {"air.early": code}
    assert epochs(wiring, "air.early") == ["e000000.final", "e000001.final"]
    assert dumped(loop, wiring) == 0, "its records are not read again and again"
    del hive.answers[LETTERS]
    pass_time(wiring)
    epoch = next_epoch(loop)
    loop.on_epoch(epoch.number, with_a_dead_letter(wiring, epoch, "air.early"))
    assert codes(owned_tables) == {} and "e000002.final" in epochs(wiring, "air.early")


def _with_any_dead_letters(wiring: Wiring) -> Wiring:
    tables = tuple(replace(rule, dead_letter_share=1.0) for rule in wiring.map.tables)
    return replace(wiring, map=replace(wiring.map, tables=tables))


def test_the_same_trouble_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    wiring, hive = make_wiring(tmp_path), Hive(AWAY)
    with caplog.at_level(logging.INFO):
        loop, _ = begin(wiring, Kafka(), hive.gate())
        for _ in range(5):
            pass_time(wiring)
            loop.plan()
    assert caplog.text.count("air.early is set aside") == 1


def test_a_map_without_hive_compares_nothing(tmp_path: Path) -> None:
    wiring = make_wiring(tmp_path)
    loop, owned_tables = begin(wiring, Kafka(), Gate())
    assert dumped(loop, wiring) == 18
    owned = owned_tables.tables["air.early"].owned
    assert owned.state.compared == ()
