"""Hive's table is dropped, renamed or created again while the files stay: their partitions are registered again (R12)."""

from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.config.keys import CompletionOptions
from kafka2hive.model.files import HivePartition
from kafka2hive.model.snapshot import (
    UNKNOWN_TIME,
    ComparedTable,
    DroppedPartition,
    EarlyPartition,
    ForgottenRegistration,
    Tracking,
)
from kafka2hive.service.hive.table_looks import TableGone
from kafka2hive.service.run.epochs import EpochLoop
from kafka2hive.service.run.hive_gate import Gate, HiveGate
from kafka2hive.service.run.hive_questions import Agreement
from kafka2hive.service.tables.report import Reporter
from kafka2hive.service.tables.table_state import Table
from kafka2hive.service.wiring import Wiring
from tests.harness.epoch_loop import (
    EARLY,
    AtOnce,
    HiveAnswers,
    Kafka,
    make_loop_and_tables,
    make_wiring,
    next_epoch,
    run,
)
from tests.harness.values import file_name
from tests.unit.service.owned_table import restate

LETTERS = "air.once_dead_letters"
MONDAY, TUESDAY = "Mon Nov 23 08:00:00 UTC 2026", "Tue Nov 24 09:17:31 UTC 2026"
DAYS = ("dt=2026-11-20", "dt=2026-11-21", "dt=2026-11-22")


class Hive:
    """Says when each table was created, and that it matches the map."""

    def __init__(self) -> None:
        self.created = {"air.early": MONDAY, "air.late": MONDAY, LETTERS: MONDAY}

    def spec(self, name: str) -> ComparedTable:
        return ComparedTable(
            table=name,
            location=f"file:///w/{name}",
            format="parquet",
            columns="a int",
            partition_columns="dt string",
            created=self.created[name],
        )

    def gate(self) -> Gate:
        return HiveGate(self.spec, lambda question: Agreement(), lambda table: None, LETTERS)


class Service:
    """A run over two tables that has registered the days of `air.early`."""

    def __init__(self, folder: Path) -> None:
        self.wiring: Wiring = make_wiring(folder)
        self.hive, self.kafka, self.answers = Hive(), Kafka(), HiveAnswers()
        self.lapsed: list[HivePartition] = []
        self.loop, self.tables = self._begin()
        self.go_on()
        for day in DAYS:
            self.place(self.day(day).location)

    def _begin(self) -> tuple[EpochLoop, dict[str, Table]]:
        reporter = Reporter(lapses=[self.lapsed.extend])
        loop, owned = make_loop_and_tables(
            self.wiring,
            self.kafka,
            once=False,
            gate=self.hive.gate(),
            registrar=self.answers,
            schemas=AtOnce(),
            reporter=reporter,
        )
        return loop, owned.tables

    @property
    def early(self) -> Table:
        return self.tables["air.early"]

    def day(self, path: str, below: str = "") -> HivePartition:
        return HivePartition("air.early", path, f"{self.early.location}/{below}{path}")

    def place(self, directory: str, ledger: str = "") -> None:
        """Put a visible file of the table's ledger there, or of another one."""
        name = file_name(ledger or self.early.owned.state.ledger_id, 1, 1).in_state("final")
        path = Path(directory.removeprefix("file://"))
        path.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(b"rows")

    def go_on(self) -> None:
        self.wiring.ports.clock.sleep(60)
        while (epoch := self.loop.plan()) is not None:
            run(self.loop, epoch)

    def restart(self) -> None:
        self.loop, self.tables = self._begin()

    @property
    def pending(self) -> set[HivePartition]:
        return set(self.early.owned.state.unregistered)


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path)


def recorded(table: Table, hive_table: str = "air.early") -> str:
    (created,) = (c.created for c in table.owned.state.compared if c.table == hive_table)
    return created


def test_all_days_of_an_idle_table_are_registered_again_when_its_table_was_created_again(
    service: Service,
) -> None:
    assert recorded(service.early) == MONDAY and not service.pending
    service.hive.created["air.early"] = TUESDAY
    service.go_on()
    assert service.pending == {service.day(day) for day in DAYS} == set(service.lapsed)
    assert recorded(service.early) == TUESDAY
    (text,) = service.early.warnings["hive_table"]
    assert "air.early was dropped and created again" in text and "3 partitions" in text
    before = service.early.owned.state.epoch
    service.go_on()
    assert service.early.owned.state.epoch == before and len(service.lapsed) == 3


def test_the_next_data_of_a_busy_table_begin_it(service: Service) -> None:
    service.hive.created["air.early"] = TUESDAY
    service.kafka.ends[EARLY] += 3
    service.wiring.ports.clock.sleep(60)
    run(service.loop, next_epoch(service.loop))
    assert service.pending >= {service.day(day) for day in DAYS}
    assert service.early.owned.state.accounts, "it is an epoch with records"


def test_a_table_that_was_created_again_while_the_service_was_stopped_is_noticed_at_the_start(
    service: Service,
) -> None:
    service.hive.created["air.early"] = TUESDAY
    service.restart()
    service.go_on()
    assert service.pending == {service.day(day) for day in DAYS}


def test_each_partition_is_registered_at_the_place_that_the_ledger_gives_it_and_none_that_was_given_up(
    service: Service,
) -> None:
    early, dropped, forgotten, foreign = "dt=2026-11-24", DAYS[0], DAYS[1], "dt=2026-11-19"
    open_day = service.day(early, "_open/")
    service.place(open_day.location)
    service.place(service.day(foreign).location, ledger="f" * 32)
    restate(
        service.early,
        early=(
            EarlyPartition(
                partition=open_day, since=1, closes="2026-11-25T00:00:00Z", files=1, rows=1, certified=0
            ),
        ),
        dropped=(DroppedPartition(partition=service.day(dropped), epoch=1),),
        forgotten=(
            ForgottenRegistration(
                partition=service.day(forgotten), reason="no", accepted_by="a", accepted_at="b", epoch=1
            ),
        ),
    )
    service.hive.created["air.early"] = TUESDAY
    service.go_on()
    assert service.pending == {open_day, service.day(DAYS[2])}


def test_a_day_that_waits_for_its_certificate_is_not_registered_again(service: Service) -> None:
    waiting = service.day(DAYS[1])
    restate(service.early, withheld=(waiting,), tracking=Tracking(1, UNKNOWN_TIME))
    rule = replace(service.early.rule, completion=CompletionOptions(), register="complete")
    service.early.in_map = replace(service.early.in_map, rule=rule)
    service.hive.created["air.early"] = TUESDAY
    service.kafka.ends[EARLY] += 5
    service.go_on()
    assert service.pending == {service.day(DAYS[0]), service.day(DAYS[2])} == set(service.lapsed)
    assert service.early.owned.state.withheld == (waiting,)


def test_letters_are_registered_again_by_the_ledger_of_each_table(service: Service) -> None:
    letters = service.wiring.map.dead_letters.location
    mine = f"source_table=air.early/{DAYS[0]}"
    service.place(f"{letters}/{mine}")
    service.place(f"{letters}/source_table=air.late/{DAYS[0]}")
    service.hive.created[LETTERS] = TUESDAY
    service.go_on()
    assert service.pending == {HivePartition(LETTERS, mine, f"{letters}/{mine}")}
    assert recorded(service.early, LETTERS) == TUESDAY


def test_a_ledger_that_has_recorded_no_time_only_records_it(service: Service) -> None:
    (mine,) = (c for c in service.early.owned.state.compared if c.table == "air.early")
    restate(service.early, compared=(replace(mine, created=""),))
    service.go_on()
    assert recorded(service.early) == MONDAY and not service.pending


def test_the_same_time_in_another_zone_is_the_same_table(service: Service) -> None:
    service.hive.created["air.early"] = "Mon Nov 23 09:00:00 CET 2026"
    service.go_on()
    assert not service.pending and recorded(service.early) == MONDAY


def test_a_table_that_is_gone_is_told_with_the_one_that_has_its_location(service: Service) -> None:
    service.answers.events.append(TableGone("air.early", "air.early_old", is_created=True))
    service.go_on()
    (text,) = service.early.warnings["hive_table"]
    assert "no table air.early any more" in text and "created again" in text
    assert "air.early_old has its location" in text and "external.table.purge" in text
