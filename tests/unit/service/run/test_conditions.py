"""What a run says of its tables reaches a reader, whatever fails or is half written; and it is told once that it does not."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.config.load import load_map
from kafka2hive.ledger.reading.board import Board, delete_dead_boards, read_boards
from kafka2hive.ledger.reading.heartbeat import Heartbeat, ProcessIdentity
from kafka2hive.model.errors import ManualActionRequired, TableError
from kafka2hive.model.paths.heartbeat import (
    condition_name,
    heartbeat_directory,
    parse_condition_name,
)
from kafka2hive.service.conditions.condition import (
    Retrying,
    Serving,
    Stopped,
    TableCondition,
    Trouble,
    decode,
    encode,
)
from kafka2hive.service.run.watch.liveness import ConditionTeller
from kafka2hive.service.shared.table_state import Table
from kafka2hive.service.shared.wiring import Wiring, wire
from kafka2hive.storage.port import Denied, FileSystem, FileWriter, OutcomeUnknown, write_file
from tests.harness.cli_ledger import TABLE, write_map
from tests.harness.clock import SkippedTime

ME = "here-7-" + "a" * 32
OTHER = "there-8-" + "b" * 32
REFUSED = TableError("hive.columns", f"{TABLE}: Hive has no column b", "add it")


@pytest.fixture
def wiring(tmp_path: Path) -> Wiring:
    return wire(load_map(str(write_map(tmp_path)), {}))


class Troubled:
    """A file system that is asked to fail: `fault` is raised by every create, `late` lets the file lie there all the same."""

    def __init__(self, files: FileSystem) -> None:
        self._files = files
        self.fault: Exception | None = None
        self.creates = 0

    def create(self, path: str) -> FileWriter:
        self.creates += 1
        if isinstance(self.fault, OutcomeUnknown):
            write_file(self._files, path, b"")
        if self.fault is not None:
            raise self.fault
        return self._files.create(path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)


def make_board(wiring: Wiring, owner: str = ME) -> Board:
    return Board(wiring.ports, wiring.map.storage.ledger_root, "demo", owner)


def read(wiring: Wiring) -> dict[str, tuple[TableCondition, ...]]:
    return read_boards(wiring.ports, wiring.map.storage.ledger_root, "demo", decode)


def files_of(wiring: Wiring) -> list[str]:
    directory = heartbeat_directory(wiring.map.storage.ledger_root, "demo")
    return [child.name for child in wiring.ports.files.list(directory)]


def make_table(wiring: Wiring) -> Table:
    rule = wiring.map.tables[0]
    return Table(rule, wiring.paths(TABLE), ("flights",), rule.location)


CONDITIONS = (
    TableCondition("a.a", Serving(), ("column Titel was never filled",)),
    TableCondition("a.b", Retrying(Trouble("hive.columns", "no column b", "add it"), "2026-11-21T08:00:05Z")),
    TableCondition("a.c", Stopped(Trouble("kafka.offsets_lost", "gone", "kafka2hive recover"))),
)


def test_conditions_survive_their_text() -> None:
    assert decode(encode(CONDITIONS)) == CONDITIONS
    assert encode(reversed(CONDITIONS)) == encode(CONDITIONS)


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b'{"format": 2, "tables": []}', b'{"format": 1, "tables": [{"table": "a.b"}]}']
)
def test_a_text_that_is_none_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError):
        decode(text)


def test_a_condition_is_named_and_parsed_exactly() -> None:
    assert parse_condition_name(condition_name(ME, 12)) == (ME, 12)
    for name in (f"condition.{ME}.012", f"condition.{ME}", f"beat.{ME}.1", f"condition.{ME}.1.x"):
        assert parse_condition_name(name) is None


def test_a_reader_finds_what_was_said_last_and_only_that_lies_there(wiring: Wiring) -> None:
    board = make_board(wiring)
    board.show(encode(CONDITIONS[:1]))
    board.show(encode(CONDITIONS))
    board.show(encode(CONDITIONS))
    assert read(wiring) == {ME: CONDITIONS}
    assert files_of(wiring) == [condition_name(ME, 1)]
    board.end()
    assert files_of(wiring) == []


def test_the_text_before_stays_until_the_new_one_is_whole(wiring: Wiring) -> None:
    files = Troubled(wiring.ports.files)
    troubled = replace(wiring, ports=replace(wiring.ports, files=files))
    board = make_board(troubled)
    board.show(encode(CONDITIONS[:1]))
    files.fault = OutcomeUnknown("x", "no answer")
    board.show(encode(CONDITIONS))
    assert read(wiring) == {ME: CONDITIONS[:1]}, "a half written text hides the one before"
    files.fault = None
    board.show(encode(CONDITIONS))
    assert read(wiring) == {ME: CONDITIONS}
    assert len(files_of(wiring)) == 1


def test_a_directory_that_may_not_be_written_is_told_once(
    wiring: Wiring, caplog: pytest.LogCaptureFixture
) -> None:
    files = Troubled(wiring.ports.files)
    troubled = replace(wiring, ports=replace(wiring.ports, files=files))
    board, root = make_board(troubled), wiring.map.storage.ledger_root
    beat = Heartbeat(troubled.ports, root, "demo", ME, ProcessIdentity("here", "boot", 7, 1))
    with caplog.at_level(logging.WARNING):
        for fault in (Denied("x", "read-only"), Denied("x", "read-only"), None, Denied("x", "read-only")):
            files.fault = fault
            for number in range(20):
                board.show(b"%d" % number)
                beat.send()
    told = [r for r in caplog.records if "not told" in r.getMessage()]
    beats = [r for r in caplog.records if r.getMessage().startswith("heartbeat in")]
    assert (len(told), len(beats)) == (2, 1), caplog.text
    assert files.creates > 40


def test_what_a_dead_owner_said_is_deleted_and_what_a_live_one_says_is_not(wiring: Wiring) -> None:
    root, me = wiring.map.storage.ledger_root, wiring.processes.me()
    gone = replace(me, started=me.started - 1)
    for owner, identity in ((ME, me), (OTHER, gone)):
        Heartbeat(wiring.ports, root, "demo", owner, identity).send()
        make_board(wiring, owner).show(encode(CONDITIONS))
    silent = "there-9-" + "c" * 32
    make_board(wiring, silent).show(encode(CONDITIONS))
    assert delete_dead_boards(wiring.ports, root, "demo", wiring.processes) == 2
    assert set(read(wiring)) == {ME}
    assert delete_dead_boards(wiring.ports, root, "nobody", wiring.processes) == 0


class SetBack(SkippedTime):
    """Its wall clock may be set back."""

    by_ms = 0

    def epoch_ms(self) -> int:
        return super().epoch_ms() - self.by_ms


def test_a_run_tells_state_error_and_the_time_of_the_next_try_which_stands_still(wiring: Wiring) -> None:
    clock, table = SetBack(), make_table(wiring)
    teller = ConditionTeller(make_board(wiring), clock)

    def told() -> TableCondition:
        teller.tell([table])
        ((condition,),) = read(wiring).values()
        return condition

    assert told() == TableCondition(TABLE, Serving())
    table.set_aside(REFUSED, clock.monotonic())
    retrying = told()
    assert retrying.state == Retrying(Trouble.of(REFUSED), "2025-11-21T08:00:05Z")
    files = files_of(wiring)
    clock.seconds, clock.by_ms = 3.7, 1_500
    assert told() == retrying and files_of(wiring) == files, "written again, though nothing changed"
    clock.by_ms = 0
    table.set_aside(REFUSED, clock.monotonic())
    assert told().state == Retrying(Trouble.of(REFUSED), "2025-11-21T08:00:13Z")
    stop = ManualActionRequired("kafka.offsets_lost", "gone", "kafka2hive recover")
    table.set_aside(stop, clock.monotonic())
    assert told().state == Stopped(Trouble.of(stop))


def test_warnings_are_told_as_long_as_they_hold(wiring: Wiring) -> None:
    table = make_table(wiring)
    table.missing = ("planes",)
    table.warnings["columns"] = ("column Titel was never filled, did you mean Title?",)
    teller = ConditionTeller(make_board(wiring), SkippedTime())
    teller.tell([table])
    ((condition,),) = read(wiring).values()
    assert condition.warnings == ("topic planes does not exist (yet)", *table.warnings["columns"])
    table.missing, table.warnings["columns"] = (), ()
    teller.tell([table])
    ((condition,),) = read(wiring).values()
    assert condition.warnings == ()


def test_a_table_that_is_tried_again_is_served_only_when_it_has_published_or_has_nothing_to_do(
    wiring: Wiring,
) -> None:
    table, teller = make_table(wiring), ConditionTeller(make_board(wiring), SkippedTime())

    def told() -> TableCondition:
        teller.tell([table])
        ((condition,),) = read(wiring).values()
        return condition

    table.set_aside(REFUSED, 0.0)
    retrying, table.lag_records, table.state = told(), 7, table.ownership
    assert isinstance(retrying.state, Retrying)
    assert told() == retrying, "taken over again, and nothing published yet"
    table.lag_records = 0
    assert told().state == Serving(), "nothing waits for it"
    table.set_aside(REFUSED, 0.0)
    assert told().state != Serving()
    table.lag_records, table.failures, table.state = 7, 0, table.ownership
    assert told().state == Serving(), "published"
