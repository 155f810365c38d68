"""What a run says of its tables reaches a reader, whatever fails or is half written; and it is told once that it does not."""

import logging
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import kafka2hive
from kafka2hive.config.load import load_map
from kafka2hive.ledger.condition_files import (
    ConditionFiles,
    delete_dead_conditions,
    read_conditions,
    read_outcomes,
)
from kafka2hive.ledger.heartbeat import Heartbeat, ProcessIdentity
from kafka2hive.model.errors import ManualActionRequired, TableError
from kafka2hive.model.paths.ledger import (
    condition_name,
    heartbeat_directory,
    outcome_name,
    parse_condition_name,
    parse_outcome_name,
)
from kafka2hive.observe.endpoint import Health
from kafka2hive.service.inspect.state import Runs
from kafka2hive.service.run.telemetry.liveness import (
    SAY_IT_THEMSELVES,
    STUCK_SECONDS,
    ConditionTeller,
    Liveness,
    remedy_of,
)
from kafka2hive.service.tables.condition import (
    Retrying,
    RunConditions,
    RunEnd,
    Serving,
    Stopped,
    TableCondition,
    Trouble,
    decode,
    encode,
)
from kafka2hive.service.tables.table_state import HeldRecords, MapTable, Table
from kafka2hive.service.wiring import Wiring, wire
from kafka2hive.storage.port import Denied, FileSystem, OutcomeUnknown, StorageWriter, write_file
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

    def create(self, path: str) -> StorageWriter:
        self.creates += 1
        if isinstance(self.fault, OutcomeUnknown):
            write_file(self._files, path, b"")
        if self.fault is not None:
            raise self.fault
        return self._files.create(path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)


def make_condition_files(wiring: Wiring, owner: str = ME) -> ConditionFiles:
    return ConditionFiles(wiring.ports, wiring.map.storage.ledger_root, "demo", owner)


def read(wiring: Wiring) -> dict[str, tuple[TableCondition, ...]]:
    said = read_conditions(wiring.ports, wiring.map.storage.ledger_root, "demo", decode)
    return {owner: run.tables for owner, run in said.items()}


def outcomes(wiring: Wiring) -> dict[str, RunConditions]:
    return read_outcomes(wiring.ports, wiring.map.storage.ledger_root, "demo", decode)


def text_of(conditions: tuple[TableCondition, ...]) -> bytes:
    return encode(RunConditions(conditions, "2026-11-21T08:00:00Z"))


def files_of(wiring: Wiring) -> list[str]:
    directory = heartbeat_directory(wiring.map.storage.ledger_root, "demo")
    return [child.name for child in wiring.ports.files.list(directory)]


def make_table(wiring: Wiring) -> Table:
    rule = wiring.map.tables[0]
    return Table(MapTable(rule, wiring.paths(TABLE), ("flights",)))


CONDITIONS = (
    TableCondition("a.a", Serving(), ("column Titel was never filled",)),
    TableCondition(
        "a.b",
        Retrying(
            Trouble("hive.columns", "no column b", "add it"), "2026-11-21T08:00:05Z", "2026-11-21T08:00:00Z"
        ),
    ),
    TableCondition("a.c", Stopped(Trouble("kafka.offsets_lost", "gone", "kafka2hive recover"))),
)


ENDED = RunEnd(69, Trouble("kafka.unavailable", "nobody answers at broker:9092", "start it"))


@pytest.mark.parametrize("end", [None, RunEnd(0), ENDED])
def test_conditions_survive_their_text(end: RunEnd | None) -> None:
    run = RunConditions(CONDITIONS, "2026-11-21T08:00:00Z", end, map="ab" * 32)
    assert decode(encode(run)) == run
    assert encode(replace(run, tables=CONDITIONS[::-1])) == encode(run)


def test_the_text_of_a_version_that_told_no_time_is_understood() -> None:
    assert decode(b'{"format": 1, "tables": [{"table": "a.b", "state": "serving", "warnings": []}]}') == (
        RunConditions((TableCondition("a.b", Serving()),))
    )


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b'{"format": 2, "tables": []}',
        b'{"format": 1, "tables": [{"table": "a.b"}]}',
        b'{"format": 1, "tables": [], "end": 3}',
    ],
)
def test_a_text_that_is_none_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError):
        decode(text)


def test_a_condition_is_named_and_parsed_exactly() -> None:
    assert parse_condition_name(condition_name(ME, 12)) == (ME, 12)
    for name in (f"condition.{ME}.012", f"condition.{ME}", f"beat.{ME}.1", f"condition.{ME}.1.x"):
        assert parse_condition_name(name) is None
    assert parse_outcome_name(outcome_name(ME, 1)) == (ME, 1)
    for name in (f"outcome.{ME}.01", f"outcome.{ME}", condition_name(ME, 1), f"outcome.{ME}.1.in-progress"):
        assert parse_outcome_name(name) is None


def test_a_reader_finds_what_was_said_last_and_only_that_lies_there(wiring: Wiring) -> None:
    condition_files = make_condition_files(wiring)
    condition_files.show(text_of(CONDITIONS[:1]))
    condition_files.show(text_of(CONDITIONS))
    condition_files.show(text_of(CONDITIONS))
    assert read(wiring) == {ME: CONDITIONS}
    assert files_of(wiring) == [condition_name(ME, 1)]
    condition_files.end(None)
    assert files_of(wiring) == []


def test_the_text_before_stays_until_the_new_one_is_whole(wiring: Wiring) -> None:
    files = Troubled(wiring.ports.files)
    troubled = replace(wiring, ports=replace(wiring.ports, files=files))
    condition_files = make_condition_files(troubled)
    condition_files.show(text_of(CONDITIONS[:1]))
    files.fault = OutcomeUnknown("x", "no answer")
    condition_files.show(text_of(CONDITIONS))
    assert read(wiring) == {ME: CONDITIONS[:1]}, "a half written text hides the one before"
    files.fault = None
    condition_files.show(text_of(CONDITIONS))
    assert read(wiring) == {ME: CONDITIONS}
    assert len(files_of(wiring)) == 1


def test_a_directory_that_may_not_be_written_is_told_once(
    wiring: Wiring, caplog: pytest.LogCaptureFixture
) -> None:
    files = Troubled(wiring.ports.files)
    troubled = replace(wiring, ports=replace(wiring.ports, files=files))
    condition_files, root = make_condition_files(troubled), wiring.map.storage.ledger_root
    beat = Heartbeat(troubled.ports, root, "demo", ME, ProcessIdentity("here", "boot", 7, 1))
    with caplog.at_level(logging.WARNING):
        for fault in (Denied("x", "read-only"), Denied("x", "read-only"), None, Denied("x", "read-only")):
            files.fault = fault
            for number in range(20):
                condition_files.show(b"%d" % number)
                beat.send()
    told = [r for r in caplog.records if "conditions cannot be written" in r.getMessage()]
    beats = [r for r in caplog.records if r.getMessage().startswith("cannot write the heartbeat in")]
    assert (len(told), len(beats)) == (2, 1), caplog.text
    assert files.creates > 40


def test_what_a_dead_owner_said_is_deleted_and_what_a_live_one_says_is_not(wiring: Wiring) -> None:
    root, me = wiring.map.storage.ledger_root, wiring.processes.me()
    gone = replace(me, started=me.started - 1)
    for owner, identity in ((ME, me), (OTHER, gone)):
        Heartbeat(wiring.ports, root, "demo", owner, identity).send()
        make_condition_files(wiring, owner).show(text_of(CONDITIONS))
    silent = "there-9-" + "c" * 32
    make_condition_files(wiring, silent).show(text_of(CONDITIONS))
    assert delete_dead_conditions(wiring.ports, root, "demo", wiring.processes) == 2
    assert set(read(wiring)) == {ME}
    assert delete_dead_conditions(wiring.ports, root, "nobody", wiring.processes) == 0


class SetBack(SkippedTime):
    """Its wall clock may be set back."""

    by_ms = 0

    def epoch_ms(self) -> int:
        return super().epoch_ms() - self.by_ms


def test_a_run_tells_state_error_and_the_time_of_the_next_try_which_stands_still(wiring: Wiring) -> None:
    clock, table = SetBack(), make_table(wiring)
    teller = ConditionTeller(make_condition_files(wiring), clock)

    def told() -> TableCondition:
        teller.note([table])
        teller.write()
        ((condition,),) = read(wiring).values()
        return condition

    assert told() == TableCondition(TABLE, Serving())
    table.set_aside(REFUSED, clock.monotonic())
    retrying = told()
    since = "2025-11-21T08:00:00Z"
    assert retrying.state == Retrying(Trouble.of(REFUSED), "2025-11-21T08:00:05Z", since)
    files = files_of(wiring)
    clock.seconds, clock.by_ms = 3.7, 1_500
    assert told() == retrying and files_of(wiring) == files, "written again, though nothing changed"
    clock.by_ms = 0
    clock.seconds = 5.2
    assert told().state == Retrying(Trouble.of(REFUSED), "", since), "due in the past"
    clock.seconds = 3.7
    table.set_aside(REFUSED, clock.monotonic())
    assert told().state == Retrying(Trouble.of(REFUSED), "2025-11-21T08:00:13Z", since)
    stop = ManualActionRequired("kafka.offsets_lost", "gone", "kafka2hive recover")
    table.set_aside(stop, clock.monotonic())
    stopped = Stopped(Trouble.of(stop), "2025-11-21T08:00:03Z")
    assert told().state == stopped
    clock.seconds += 60
    assert told().state == stopped, "since when it is stopped stands still"
    table.set_aside(stop_again := ManualActionRequired("kafka.offsets_lost", "gone", "recover"), 0.0)
    assert told().state == Stopped(Trouble.of(stop_again), "2025-11-21T08:01:03Z"), "repaired in between"


def test_a_run_tells_how_many_tasks_an_epoch_has_and_only_a_live_one_is_heard(wiring: Wiring) -> None:
    teller = ConditionTeller(make_condition_files(wiring), SkippedTime())
    for most in (None, 2, 6):
        teller.note([make_table(wiring)], most)
        teller.write()
        said = read_conditions(wiring.ports, wiring.map.storage.ledger_root, "demo", decode)
        assert Runs(frozenset(said), said).most_tasks == most
    assert Runs(frozenset(), said).most_tasks is None


@pytest.mark.parametrize(
    ("source", "command"),
    [
        ("changed", "preview"),
        ("compaction", "compact --plan"),
        ("retention", "retain --plan"),
        ("hive_table", "verify"),
        ("certificates", "doctor"),
    ],
)
def test_a_warning_says_since_when_and_what_to_type(wiring: Wiring, source: str, command: str) -> None:
    table, teller = make_table(wiring), ConditionTeller(make_condition_files(wiring), SkippedTime())
    table.warnings[source] = ("something is wrong",)
    teller.note([table])
    (told,) = teller.newest.tables[0].warnings
    assert told.startswith("something is wrong (since 2025-11-21T08:00:00Z); what to do: ")
    assert f"`kafka2hive {command} " in told and told.count(" -c MAP`") == 1


def test_no_source_of_warnings_is_without_a_remedy() -> None:
    """The sources are the keys under which the code keeps the warnings of a table."""
    text = "\n".join(path.read_text() for path in Path(kafka2hive.__file__).parent.rglob("*.py"))
    sources = set(re.findall(r'warnings\["([a-z_ ]+)"\]', text))
    for names, values in re.findall(r"^((?:WARNED_BY|_ABOUT|_SLOTS|_POLICY)[^=\n]*) = (.+)$", text, re.M):
        found = re.findall(r'"([a-z_ ]+)"', values)
        assert len(found) == names.count(",") + 1
        sources |= set(found)
    assert len(sources) > 10
    assert {source for source in sources if not remedy_of(source, TABLE)} == SAY_IT_THEMSELVES


def test_warnings_are_told_as_long_as_they_hold(wiring: Wiring) -> None:
    table = make_table(wiring)
    table.in_map = replace(table.in_map, missing=("planes",))
    table.warnings["columns"] = ("column Titel was never filled, did you mean Title?",)
    teller = ConditionTeller(make_condition_files(wiring), SkippedTime())
    teller.note([table])
    teller.write()
    ((condition,),) = read(wiring).values()
    since = "(since 2025-11-21T08:00:00Z)"
    create = "what to do: create the topic, or correct the table's `topics` in the map"
    never_filled = f"{table.warnings['columns'][0]} {since}"
    assert condition.warnings == (f"topic planes does not exist (yet) {since}; {create}", never_filled)
    table.set_aside(TableError("kafka.unknown_topic", "no topic planes", "create it"), 0.0)
    teller.note([table])
    teller.write()
    ((condition,),) = read(wiring).values()
    assert condition.warnings == (never_filled,), "the error says so already"
    table.in_map, table.warnings["columns"] = replace(table.in_map, missing=()), ()
    teller.note([table])
    teller.write()
    ((condition,),) = read(wiring).values()
    assert condition.warnings == ()


def test_a_table_that_is_tried_again_is_served_only_when_it_has_published_or_has_nothing_to_do(
    wiring: Wiring,
) -> None:
    table, teller = make_table(wiring), ConditionTeller(make_condition_files(wiring), SkippedTime())

    def told() -> TableCondition:
        teller.note([table])
        teller.write()
        ((condition,),) = read(wiring).values()
        return condition

    table.set_aside(REFUSED, 0.0)
    retrying, table.lag, table.state = told(), 7, table.ownership
    assert isinstance(retrying.state, Retrying)
    trying = replace(retrying, state=replace(retrying.state, next_try=""))
    assert told() == trying, "taken over again, and nothing published yet"
    table.held = HeldRecords(7)
    assert told().state == Serving(), "what waits for it is behind an open transaction"
    table.set_aside(REFUSED, 0.0)
    assert told().state != Serving()
    table.lag, table.held, table.state = 0, HeldRecords(), table.ownership
    assert told().state == Serving(), "nothing waits for it"
    table.set_aside(REFUSED, 0.0)
    assert told().state != Serving()
    table.lag, table.is_on_trial, table.state = 7, False, table.ownership
    assert told().state == Serving(), "published"


def end_text(at: str) -> bytes:
    return encode(RunConditions(CONDITIONS, at, ENDED))


def test_how_a_run_ended_replaces_what_it_said_and_how_the_run_before_it_ended(wiring: Wiring) -> None:
    first, second = make_condition_files(wiring, OTHER), make_condition_files(wiring)
    first.show(text_of(CONDITIONS))
    first.end(end_text("2026-11-21T08:00:00Z"))
    assert files_of(wiring) == [outcome_name(OTHER, 0)]
    second.show(text_of(CONDITIONS))
    assert set(outcomes(wiring)) == {OTHER}, "gone before the next run has ended"
    second.end(end_text("2026-11-21T09:00:00Z"))
    assert files_of(wiring) == [outcome_name(ME, 0)]
    assert outcomes(wiring) == {ME: RunConditions(CONDITIONS, "2026-11-21T09:00:00Z", ENDED)}


def test_an_end_that_cannot_be_told_leaves_what_was_said_and_one_without_an_answer_is_told_once_more(
    wiring: Wiring,
) -> None:
    files = Troubled(wiring.ports.files)
    troubled = replace(wiring, ports=replace(wiring.ports, files=files))
    earlier, condition_files = make_condition_files(troubled, OTHER), make_condition_files(troubled)
    earlier.end(end_text("2026-11-21T08:00:00Z"))
    condition_files.show(text_of(CONDITIONS))
    before = files_of(wiring)
    files.fault = Denied("x", "read-only")
    condition_files.end(end_text("2026-11-21T09:00:00Z"))
    assert files_of(wiring) == before, "deleted, though nothing was written"

    class OneLostAnswer(Troubled):
        def create(self, path: str) -> StorageWriter:
            self.fault = OutcomeUnknown("x", "no answer") if not self.creates else None
            return super().create(path)

    late = replace(wiring, ports=replace(wiring.ports, files=OneLostAnswer(wiring.ports.files)))
    make_condition_files(late, "there-9-" + "c" * 32).end(end_text("2026-11-21T10:00:00Z"))
    assert [run.at for run in outcomes(wiring).values()] == ["2026-11-21T10:00:00Z"]


def test_a_run_leaves_the_states_of_the_tables_that_it_came_to(wiring: Wiring) -> None:
    clock, reached, never = SkippedTime(), make_table(wiring), make_table(wiring)
    never.in_map = replace(never.in_map, paths=wiring.paths("air.never"))
    reached.warnings["columns"] = ("column Titel was never filled",)
    teller = ConditionTeller(make_condition_files(wiring), clock)
    reached.set_aside(REFUSED, clock.monotonic())
    teller.note([reached, never])
    teller.write()
    teller.end(RunEnd(75), [reached, never])
    (left,) = outcomes(wiring).values()
    assert (left.at, left.end) == ("2025-11-21T08:00:00Z", RunEnd(75))
    (table,) = left.tables
    assert isinstance(table.state, Retrying) and table.state.trouble == Trouble.of(REFUSED)
    assert (table.table, table.warnings) == (
        TABLE,
        ("column Titel was never filled (since 2025-11-21T08:00:00Z)",),
    )
    assert read(wiring) == {}


def test_a_run_says_which_map_it_has_loaded(wiring: Wiring) -> None:
    loaded = replace(wiring, map=replace(wiring.map, fingerprint="ab" * 32))
    liveness = Liveness(loaded, ME)
    liveness.tick(0.0, [make_table(wiring)])
    said = read_conditions(wiring.ports, wiring.map.storage.ledger_root, "demo", decode)
    assert [run.map for run in said.values()] == ["ab" * 32]
    liveness.end(RunEnd(0), [])
    assert [run.map for run in outcomes(wiring).values()] == ["ab" * 32]


def test_a_run_without_progress_does_not_beat(wiring: Wiring) -> None:
    directory = heartbeat_directory(wiring.map.storage.ledger_root, "demo")

    def beats() -> list[str]:
        return sorted(child.name for child in wiring.ports.files.list(directory))

    liveness = Liveness(wiring, ME)
    liveness.begin()
    before = beats()
    assert not liveness.tick(STUCK_SECONDS + 1, [make_table(wiring)])
    assert beats() == before


def test_how_long_a_run_took_until_its_first_beat_does_not_make_it_seem_dead(wiring: Wiring) -> None:
    seconds = [0.0]
    health = Health(lambda: seconds[0])
    seconds[0] = 300.0
    Liveness(wiring, ME, health=health).begin()
    assert health.is_live
