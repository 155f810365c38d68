"""Whatever fails in the work on one table sets that table aside; the other tables go on, and nothing is read twice."""

import logging
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.ledger.heartbeat import ProcessIdentity
from kafka2hive.ledger.look import look
from kafka2hive.ledger.start import Owners, StartRequest, start
from kafka2hive.model.errors import ExitCode, Fenced, ManualActionRequired, TakeOverLost
from kafka2hive.plan.contract import PlannedEpoch
from kafka2hive.service.process import is_of_command, process_of
from kafka2hive.service.run.epochs import EpochLoop
from kafka2hive.service.run.result import exit_code
from kafka2hive.service.run.stopped_tables import LOOK_SECONDS
from kafka2hive.service.tables.report import Reporter
from kafka2hive.service.tables.table_state import Table
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import FileSystem
from tests.harness.epoch_loop import EARLY, LATE, AtOnce, Kafka, make_loop_and_tables, make_wiring, run


class BuggyFiles:
    """A file system whose client raises a ValueError in one operation on a path, before or after it is carried out."""

    def __init__(self, files: FileSystem, operation: str, path: str, *, after: bool, times: int = 1) -> None:
        self._files = files
        self._operation = operation
        self._path = re.compile(path)
        self._after = after
        self.left = times

    def __getattr__(self, name: str) -> Any:
        call: Callable[..., Any] = getattr(self._files, name)

        def buggy(*paths: str) -> Any:
            if name != self._operation or not self.left or not self._path.search(paths[-1]):
                return call(*paths)
            self.left -= 1
            if self._after:
                call(*paths)
            raise ValueError("year 10000 is out of range")

        return buggy


def with_files(wiring: Wiring, files: Any) -> Wiring:
    return replace(wiring, ports=replace(wiring.ports, files=files))


def dump_all(loop: EpochLoop, wiring: Wiring) -> None:
    """Let the loop work until nothing is due any more and no table waits for its next try."""
    for _ in range(12):
        while (epoch := loop.plan()) is not None:
            run(loop, epoch)
        wiring.ports.clock.sleep(60)


def ends_in_ledgers(wiring: Wiring, *names: str) -> dict[str, int]:
    names = names or ("early", "late")
    states = [look(wiring.ports.files, wiring.paths(f"air.{name}")).state for name in names]
    return {position.topic_partition.topic: position.end for state in states for position in state.positions}


STEPS = [
    pytest.param("list", r"/air\.early$", False, id="the look before the take-over"),
    pytest.param("rename", r"/air\.early/g000001[^/]*$", False, id="the take-over"),
    pytest.param("rename", r"/air\.early/g000001[^/]*$", True, id="the take-over, after it was done"),
    pytest.param("create", r"/air\.early/.*/e000001\..*in-progress", False, id="first positions"),
    pytest.param("rename", r"/air\.early/.*/e000002\.pending$", False, id="the commit"),
    pytest.param("rename", r"/air\.early/.*/e000002\.pending$", True, id="the commit, after it was done"),
    pytest.param("rename", r"/air\.early/.*/e000002\.final$", False, id="the end of an epoch"),
    pytest.param(
        "rename", r"/air\.early/.*/e000002\.final$", True, id="the end of an epoch, after it was done"
    ),
]


@pytest.mark.parametrize(("operation", "path", "after"), STEPS)
def test_a_bug_in_any_step_of_a_table_sets_it_aside_and_loses_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, operation: str, path: str, after: bool
) -> None:
    wiring = make_wiring(tmp_path)
    files = BuggyFiles(wiring.ports.files, operation, path, after=after)
    wiring = with_files(wiring, files)
    with caplog.at_level(logging.ERROR):
        loop, owned_tables = make_loop_and_tables(wiring, Kafka(), once=False, schemas=AtOnce())
        epoch = loop.plan()
        assert epoch is not None
        run(loop, epoch)
    assert not files.left
    aside = owned_tables.tables["air.early"].aside
    assert aside is not None and aside.error.code == "bug"
    assert "air.early" in aside.error.message and "year 10000 is out of range" in aside.error.message
    assert owned_tables.tables["air.late"].aside is None
    assert ends_in_ledgers(wiring, "late") == {"late": 11}
    assert caplog.text.count(": a bug: ") == 1 and "Traceback" in caplog.text
    dump_all(loop, wiring)
    assert ends_in_ledgers(wiring) == {"early": 7, "late": 11}
    assert owned_tables.tables["air.early"].aside is None


def test_a_missing_file_stops_its_table_and_is_counted(tmp_path: Path) -> None:
    missing: list[str] = []
    loop, owned_tables = make_loop_and_tables(
        make_wiring(tmp_path),
        Kafka(),
        once=False,
        schemas=AtOnce(),
        reporter=Reporter(losses=[missing.append]),
    )
    for name, code in (("air.late", "ledger.length"), ("air.early", "ledger.missing")):

        def stop(_: Table, code: str = code) -> None:
            raise ManualActionRequired(code, "a file is gone", "recover")

        table = owned_tables.tables[name]
        assert loop._steps.guard.attempt(table, stop) == []
        assert table.needs_manual_action
    assert missing == ["air.early"]


def test_a_bug_at_every_try_is_logged_once_and_tried_ever_more_seldom(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each try takes the table over, so the waits grow although the table may publish in between."""
    wiring = make_wiring(tmp_path)
    files = BuggyFiles(wiring.ports.files, "create", r"/air\.early/.*in-progress", after=False, times=1000)
    wiring = with_files(wiring, files)
    with caplog.at_level(logging.ERROR):
        loop, _ = make_loop_and_tables(wiring, Kafka(), once=False, schemas=AtOnce())
        dump_all(loop, wiring)
    assert caplog.text.count(": a bug: ") == 1 and "Traceback" in caplog.text
    assert 5 <= 1000 - files.left <= 8
    assert ends_in_ledgers(wiring) == {"late": 11}


def test_a_run_of_once_tries_a_table_with_a_bug_three_times_and_ends_with_75(tmp_path: Path) -> None:
    wiring = make_wiring(tmp_path)
    files = BuggyFiles(wiring.ports.files, "create", r"/air\.early/.*in-progress", after=False, times=1000)
    wiring = with_files(wiring, files)
    loop, owned_tables = make_loop_and_tables(wiring, Kafka(), schemas=AtOnce())
    while (epoch := loop.plan()) is not None:
        run(loop, epoch)
    assert 1000 - files.left == 3
    assert exit_code(None, None, [error for _, error in owned_tables.troubles()]) is ExitCode.SET_ASIDE


def test_a_table_that_cannot_even_be_planned_is_left_out_of_the_epoch(tmp_path: Path) -> None:
    wiring = make_wiring(tmp_path)
    loop, owned_tables = make_loop_and_tables(wiring, Kafka(), once=False, schemas=AtOnce())
    owned_tables.tables["air.early"].record_sizes.mean = "500"  # type: ignore[assignment]
    epoch = loop.plan()
    assert epoch is not None
    assert [task.table for plan in epoch.tasks for task in plan.tables] == ["air.late"]
    aside = owned_tables.tables["air.early"].aside
    assert aside is not None and aside.error.code == "bug"


def test_a_bug_in_a_report_stops_neither_the_run_nor_a_table(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def listener(*_: object) -> None:
        raise ZeroDivisionError

    wiring = make_wiring(tmp_path)
    reporter = Reporter(epochs=[listener], starts=[listener])
    loop, owned_tables = make_loop_and_tables(
        wiring, Kafka(), once=False, schemas=AtOnce(), reporter=reporter
    )
    dump_all(loop, wiring)
    assert ends_in_ledgers(wiring) == {"early": 7, "late": 11}
    assert not owned_tables.set_aside_tables()
    assert caplog.text.count(": a bug: ") == 1 and "Traceback" in caplog.text


def taken_over_by(wiring: Wiring, make_owners: Callable[[Wiring], Owners]) -> None:
    """Another process takes table `early` over and ends."""
    other = replace(wiring, owner_names=set())
    start(wiring.ports, StartRequest(wiring.paths("air.early"), lambda: None, make_owners(other)))


def begun(wiring: Wiring, kafka: Kafka) -> tuple[EpochLoop, Any, PlannedEpoch]:
    loop, owned_tables = make_loop_and_tables(wiring, kafka, once=False, schemas=AtOnce())
    epoch = loop.plan()
    assert epoch is not None
    return loop, owned_tables, epoch


def test_a_table_that_a_command_has_taken_over_waits_and_is_served_again(tmp_path: Path) -> None:
    wiring = make_wiring(tmp_path)
    loop, owned_tables, epoch = begun(wiring, kafka := Kafka())
    taken_over_by(wiring, lambda other: other.command_owners)
    run(loop, epoch)
    aside = owned_tables.tables["air.early"].aside
    assert aside is not None and aside.error.code == "ledger.repair_under_way"
    assert ends_in_ledgers(wiring, "late") == {"late": 11}
    kafka.ends = {EARLY: 9, LATE: 12}
    dump_all(loop, wiring)
    assert ends_in_ledgers(wiring) == {"early": 9, "late": 12}


def test_a_run_whose_table_another_run_has_taken_over_is_fenced(tmp_path: Path) -> None:
    wiring = make_wiring(tmp_path)
    loop, _, epoch = begun(wiring, Kafka())
    taken_over_by(wiring, lambda other: other.owners)
    with pytest.raises(Fenced):
        run(loop, epoch)


class Racing:
    """A file system on which another process takes table `early` over at the moment of this process's take-over."""

    def __init__(self, files: FileSystem, race: Callable[[], object] | None = None) -> None:
        self._files = files
        self.race = race

    def rename(self, source: str, target: str) -> None:
        if self.race is not None and re.search(r"/air\.early/g\d{6}[^/]*$", source):
            race, self.race = self.race, None
            race()
        self._files.rename(source, target)

    @property
    def has_raced(self) -> bool:
        return self.race is None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)


@pytest.mark.parametrize("by_command", [True, False])
def test_a_start_that_loses_the_race_for_a_table_waits_for_a_command_and_ends_for_a_run(
    tmp_path: Path, by_command: bool
) -> None:
    wiring = make_wiring(tmp_path)
    other = replace(wiring, owner_names=set())
    owners = other.command_owners if by_command else other.owners
    request = StartRequest(wiring.paths("air.early"), lambda: None, owners)
    files = Racing(wiring.ports.files, lambda: start(other.ports, request))
    raced = with_files(wiring, files)
    if not by_command:
        with pytest.raises(TakeOverLost):
            make_loop_and_tables(raced, Kafka(), once=False, schemas=AtOnce())
        return
    loop, owned_tables = make_loop_and_tables(raced, Kafka(), once=False, schemas=AtOnce())
    aside = owned_tables.tables["air.early"].aside
    assert aside is not None and aside.error.code == "ledger.repair_under_way"
    assert "by a command" in aside.error.message
    dump_all(loop, raced)
    assert ends_in_ledgers(wiring) == {"early": 7, "late": 11}


class Elsewhere:
    """The Processes port of a process on another host."""

    def me(self) -> ProcessIdentity:
        return ProcessIdentity("elsewhere", "boot", 1, 1)

    def is_gone(self, identity: ProcessIdentity) -> bool:
        return False


def test_a_repaired_table_that_another_run_takes_first_stays_stopped_and_the_run_goes_on(
    tmp_path: Path,
) -> None:
    plain = make_wiring(tmp_path)
    other = replace(plain, processes=Elsewhere(), owner_names=set())
    files = Racing(plain.ports.files)
    wiring, kafka = with_files(plain, files), Kafka()
    loop, owned_tables = make_loop_and_tables(wiring, kafka, once=False, schemas=AtOnce())
    dump_all(loop, wiring)
    early = owned_tables.tables["air.early"]
    owned_tables.set_aside(early, ManualActionRequired("ledger.missing", "a file is gone", "recover"))
    taken_over_by(other, lambda process: process.command_owners)
    files.race = lambda: taken_over_by(other, lambda process: process.owners)
    kafka.ends = {EARLY: 9, LATE: 12}
    wiring.ports.clock.sleep(LOOK_SECONDS)
    epoch = loop.plan()
    assert epoch is not None and files.has_raced
    run(loop, epoch)
    assert early.needs_manual_action
    assert ends_in_ledgers(wiring) == {"early": 7, "late": 12}
    dump_all(loop, wiring)
    assert ends_in_ledgers(wiring) == {"early": 9, "late": 12}


def test_the_name_of_an_owner_tells_a_command_from_a_run(tmp_path: Path) -> None:
    wiring = make_wiring(tmp_path)
    for _ in range(100):
        assert not is_of_command(wiring.new_owner())
        assert is_of_command(wiring.new_command_owner())
    assert process_of(wiring.new_owner()) == process_of(wiring.new_command_owner())
