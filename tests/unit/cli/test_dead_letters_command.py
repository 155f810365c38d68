"""`kafka2hive dead-letters`: records that could not become rows, counted and shown, on a local disk."""

import base64
import shutil
from collections import deque
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from kafka2hive.config.load import load_map
from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.history import Letters, final_snapshots
from kafka2hive.ledger.inbox import Inbox, ReplayLetters
from kafka2hive.ledger.init import init
from kafka2hive.ledger.look import look
from kafka2hive.ledger.snapshot.change import Expiry, FirstPositions, RegistrationUpdate
from kafka2hive.ledger.start import Owners, StartRequest, start
from kafka2hive.model.errors import AmbiguousOutcome, ServiceUnavailable
from kafka2hive.model.files import FileKind
from kafka2hive.model.footer import Footer
from kafka2hive.model.offsets import Position, TopicPartition
from kafka2hive.model.snapshot import EventBounds
from kafka2hive.plan.contract import TableManifest, TableTask, TaskPlan
from kafka2hive.service.hive.schemas import MapTables
from kafka2hive.service.inspect.dead_letters import count_letters
from kafka2hive.service.orders.delivery import give_order
from kafka2hive.service.recover.rebuild import rebuild_ledger
from kafka2hive.service.replay.command import ReplayRequest, replay_service
from kafka2hive.service.replay.letter_files import oldest_first, search_letters
from kafka2hive.service.tables.manifests import judge_manifests
from kafka2hive.service.wiring import wire
from kafka2hive.storage.local import LocalFileSystem
from kafka2hive.storage.port import Unavailable
from kafka2hive.task import run_task
from tests.harness.beating import beating_owner
from tests.harness.cli_ledger import TABLE, document, invoke, local, write_map
from tests.harness.fake_consumer import FakeConsumer, FakeLog
from tests.harness.one_task import manifests_of
from tests.harness.owner import new_owner
from tests.harness.seen_progress import SeenProgress
from tests.harness.task_files import PLANNED_AT_MS, offsets, table_settings, task_settings

GOOD = b'{"carrier": "UA", "flight": 1545, "time_hour": "2013-01-01T10:00:00Z"}'
TYPE = b'{"carrier": "UA", "flight": "late", "time_hour": "2013-01-01T10:00:00Z"}'
RECORDS: dict[int, bytes | None] = {
    **dict.fromkeys(range(20), GOOD),
    3: TYPE,
    4: b"\xff\x00bytes",
    7: TYPE,
    8: b"{late",
    9: None,
    14: TYPE,
}


@dataclass(frozen=True, slots=True)
class Dumped:
    map: Path
    letters: tuple[Path, ...]
    """The dead-letter files, oldest epoch first."""


@pytest.fixture
def dumped(tmp_path: Path) -> Dumped:
    return dump(tmp_path, FakeLog(RECORDS, 20))


def dump(folder: Path, log: FakeLog, bounds: EventBounds | None = None) -> Dumped:
    """Dump two epochs of ten records each with the real task, gate and ledger."""
    path = write_map(folder)
    wiring = wire(load_map(str(path), {}))
    paths, location = wiring.paths(TABLE), wiring.map.tables[0].location
    init(wiring.ports, paths, wiring.map.service, location)
    owned = start(wiring.ports, StartRequest(paths, lambda: None, Owners(new_owner), location)).owned
    first = FirstPositions(positions=(Position(TopicPartition("flights", 0), 0, 0),), location=location)
    owned = publish(wiring.ports, owned, first).owned
    columns = (("carrier", "string"), ("flight", "bigint"), ("time_hour", "timestamp"))
    table = replace(table_settings(TABLE, "json", columns), location=location)
    if bounds is not None:
        table = replace(table, bucketing=wiring.map.tables[0].bucketing)
    settings = replace(
        task_settings("", table, stall_seconds=2.0),
        dead_letter_table=wiring.map.dead_letters.table,
        dead_letter_location=wiring.map.dead_letters.location,
    )
    letters: list[Path] = []
    for epoch in range(2):
        source = offsets("flights", 0, 10 * epoch, 10 * epoch + 10)
        task = TableTask(
            table=TABLE,
            ledger_id=owned.state.ledger_id,
            generation=owned.generation.number,
            epoch=owned.next_epoch,
            planned_at_ms=PLANNED_AT_MS,
            ranges=(source,),
            bounds=bounds,
        )
        consumer = FakeConsumer({("flights", 0): log})
        (manifest,) = manifests_of(TaskPlan(0, (task,)), settings, wiring.ports.files, consumer)
        outcome = judge_manifests(TABLE, [source], [manifest], 1.0, frozenset(), "c", location, bounds)
        owned = publish(wiring.ports, owned, outcome.change).owned
        letters += [local(f.final) for f in outcome.change.files if f.kind is FileKind.DEAD_LETTER]
    return Dumped(path, tuple(letters))


def asked(dumped: Dumped, *arguments: str) -> dict[str, Any]:
    result = invoke("dead-letters", *arguments, "--json", "-c", str(dumped.map))
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = document(result)
    return found


def test_dead_letters_are_counted_by_reason_each_with_a_place_to_look_at(dumped: Dumped) -> None:
    found = asked(dumped, "list")
    assert (found["dead_letters"], found["files"], found["more_groups"], found["not_read"]) == (5, 2, 0, [])
    counts = {(g["table"], g["topic"], g["reason"]): g["count"] for g in found["groups"]}
    reasons = {"json.type": 3, "json.syntax": 1, "json.utf8": 1}
    assert counts == {(TABLE, "flights", reason): count for reason, count in reasons.items()}
    assert [g["reason"] for g in found["groups"]] == list(reasons), "the most frequent is not the first"
    assert found["groups"][0]["example"] == {
        "place": "flights-0@14",
        "detail": "column flight expects bigint, got string",
    }
    text = invoke("dead-letters", "list", "-c", str(dumped.map)).stdout
    assert "json.type" in text and "5 dead letters in 2 files" in text


def expire_letters(dumped: Dumped) -> None:
    """Drop the Hive partitions of all dead letters, as retention does; their files are still there."""
    wiring = wire(load_map(str(dumped.map), {}))
    location = wiring.map.tables[0].location
    request = StartRequest(wiring.paths(TABLE), lambda: None, Owners(new_owner), location)
    owned = start(wiring.ports, request).owned
    letters = {each for each in owned.state.unregistered if each.table == wiring.map.dead_letters.table}
    registered = RegistrationUpdate(registered=frozenset(owned.state.unregistered))
    owned = publish(wiring.ports, owned, registered).owned
    publish(wiring.ports, owned, Expiry(expired_before_ms=1, dropped=frozenset(letters)))


def test_dead_letters_that_have_expired_are_counted_and_neither_shown_nor_replayed(dumped: Dumped) -> None:
    expire_letters(dumped)
    found = asked(dumped, "list")
    assert (found["dead_letters"], found["files"], found["not_read"]) == (0, 0, [])
    assert (found["expired"], found["expired_files"]) == (5, 2)
    text = invoke("dead-letters", "list", "-c", str(dumped.map)).stdout
    assert "5 dead letters in 2 files expired, and cannot be replayed any more" in text
    shown = invoke("dead-letters", "show", "flights-0@4", "-c", str(dumped.map))
    assert shown.exit_code == 78 and f"expired: file://{dumped.letters[0]}" in shown.stderr
    planned = invoke("dead-letters", "replay", "--table", TABLE, "--plan", "-c", str(dumped.map))
    assert planned.exit_code == 0 and "no dead letter becomes a row" in planned.stdout
    told = invoke("where", "flights-0@4", "-c", str(dumped.map)).stdout
    assert "dropped by retention in epoch" in told


def test_the_lines_left_out_are_counted(dumped: Dumped) -> None:
    found = asked(dumped, "list", "--limit", "1")
    assert ([g["reason"] for g in found["groups"]], found["more_groups"]) == (["json.type"], 2)
    assert found["dead_letters"] == 5


def test_a_dead_letter_is_shown_with_every_byte(dumped: Dumped) -> None:
    (letter,) = asked(dumped, "show", "flights-0@4")["dead_letters"]
    assert base64.b64decode(letter["value"]) == RECORDS[4]
    assert (base64.b64decode(letter["key"]), letter["headers"]) == (b"k", None)
    assert (letter["table"], letter["reason"], letter["epoch"]) == (TABLE, "json.utf8", 2)
    assert letter["file"].endswith(dumped.letters[0].name)
    text = invoke("dead-letters", "show", "flights-0@4", "-c", str(dumped.map)).stdout
    assert "ff 00 62 79" in text and "1 B: k" in text


def test_without_a_place_the_newest_of_a_table_is_shown(dumped: Dumped) -> None:
    found = asked(dumped, "show", "--table", TABLE)
    assert ([x["place"] for x in found["dead_letters"]], found["more"]) == (["flights-0@14"], True)
    found = asked(dumped, "show", "--table", TABLE, "--limit", "9")
    assert {x["place"] for x in found["dead_letters"]} == {f"flights-0@{n}" for n in (3, 4, 7, 8, 14)}
    assert not found["more"]


def test_the_newest_letters_are_those_of_the_newest_records_of_the_newest_epoch(dumped: Dumped) -> None:
    def newest(limit: int) -> list[str]:
        letters = asked(dumped, "show", "--table", TABLE, "--limit", str(limit))["dead_letters"]
        return [letter["place"] for letter in letters]

    assert newest(9) == [f"flights-0@{n}" for n in (14, 8, 7, 4, 3)]
    with_times(dumped.letters[0], [1_900, 1_800, 1_700, None])
    assert newest(9) == [f"flights-0@{n}" for n in (14, 3, 4, 7, 8)]
    assert newest(2) == ["flights-0@14", "flights-0@3"]


def test_the_example_of_a_reason_is_its_newest_letter(dumped: Dumped) -> None:
    wiring = wire(load_map(str(dumped.map), {}))
    snapshots = final_snapshots(
        wiring.ports.files, paths := wiring.paths(TABLE), look(wiring.ports.files, paths).directory
    )
    newest_first = [
        (TABLE, file) for each in snapshots for file in each.files if file.kind is FileKind.DEAD_LETTER
    ]

    def example() -> str:
        (group,) = (g for g in count_letters(wiring, files, 9).groups if g.reason == "json.type")
        return str(group.place)

    files = newest_first[::-1]  # as two tasks of one epoch may write them
    assert example() == "flights-0@14"
    files = [each for each in files if local(each[1].final) == dumped.letters[0]]
    assert example() == "flights-0@7"
    with_times(dumped.letters[0], [1_900, 1_800, None, None])
    assert example() == "flights-0@3"


def with_times(letters: Path, timestamps: list[int | None]) -> None:
    """Give the letters of a file other timestamps, in milliseconds."""
    rows = pq.read_table(letters)
    index = rows.schema.get_field_index("timestamp")
    times = pa.array(timestamps, pa.timestamp("ms")).cast(rows["timestamp"].type)
    pq.write_table(rows.set_column(index, "timestamp", times), letters)


@pytest.mark.parametrize("place", ["flights-0@5", "flights-1@4", "other-0@4", "flights-0@400"])
def test_a_place_without_a_dead_letter_is_an_error_that_says_where_to_look(
    dumped: Dumped, place: str
) -> None:
    result = invoke("dead-letters", "show", place, "-c", str(dumped.map))
    assert result.exit_code == 78
    assert "usage.no_dead_letter" in result.stderr
    assert "kafka2hive where" in result.stderr


def test_another_table_has_none_of_them(dumped: Dumped) -> None:
    wiring = wire(load_map(str(dumped.map), {}))
    init(wiring.ports, wiring.paths("air.other"), wiring.map.service, "file:///nowhere")
    both = asked(dumped, "list", "--table", "air.other", "--table", TABLE)
    assert both["dead_letters"] == 5, "--table may be repeated"
    assert asked(dumped, "list", "--table", "air.other")["groups"] == []
    assert invoke("dead-letters", "show", "--table", "air.other", "-c", str(dumped.map)).exit_code == 78


@pytest.mark.parametrize("what", ["list", "show"])
def test_a_table_that_nobody_knows_is_an_error(dumped: Dumped, what: str) -> None:
    result = invoke("dead-letters", what, "--table", "air.flihgts", "-c", str(dumped.map))
    assert result.exit_code == 78
    assert "did you mean air.flights?" in result.stderr


def test_a_file_that_is_gone_or_damaged_is_named_and_the_others_are_read(dumped: Dumped) -> None:
    dumped.letters[0].unlink()
    assert asked(dumped, "list")["not_read"][0]["why"] == "does not exist"
    dumped.letters[1].write_bytes(b"no Parquet")
    found = asked(dumped, "list")
    assert (found["dead_letters"], found["groups"]) == (0, [])
    assert [x["path"].rsplit("/", 1)[1] for x in found["not_read"]] == [
        dumped.letters[1].name,
        dumped.letters[0].name,
    ]
    result = invoke("dead-letters", "show", "flights-0@4", "-c", str(dumped.map))
    assert dumped.letters[0].name in result.stderr


@pytest.mark.parametrize("arguments", [("show",), ("show", "flights"), ("list", "--limit", "0"), ("tell",)])
def test_a_wrong_command_line_ends_with_2(dumped: Dumped, arguments: tuple[str, ...]) -> None:
    assert invoke("dead-letters", *arguments, "-c", str(dumped.map)).exit_code == 2


def test_where_nothing_was_dumped_there_are_none(tmp_path: Path) -> None:
    result = invoke("dead-letters", "list", "-c", str(write_map(tmp_path)))
    assert (result.exit_code, result.stdout) == (0, "service demo: no dead letters\n")
    for command in ("list", "show"):
        assert "Exit codes: 0 " in invoke("dead-letters", command, "--help").stdout


def corrected(dumped: Dumped) -> None:
    """Change the map so that a flight's number may be a text; two records are still no JSON."""
    dumped.map.write_text(dumped.map.read_text().replace("flight: bigint", "flight: string"))


def hidden(path: Path) -> Path:
    """The place of a file of replayed letters."""
    return path.with_name(f"_kafka2hive_{path.name}.replayed")


def table_of(dumped: Dumped, *arguments: str) -> dict[str, Any]:
    """What a command with --json says of the only table."""
    found: Any = document(invoke(*arguments, "-c", str(dumped.map), "--json"))
    (table,) = found["tables"]
    return dict(table)


def rows_in(folder: Path) -> list[tuple[str, str]]:
    """The rows of the table that readers see, apart from those of the first two epochs."""
    files = [p for p in folder.rglob("dt=*/*.parquet.final") if p.name[0] != "_" and "-e000004-" in p.name]
    tables = [pq.read_table(p) for p in files if "source_table" not in str(p)]
    return sorted((row["carrier"], row["flight"]) for table in tables for row in table.to_pylist())


def test_replayed_letters_are_rows_and_what_fails_again_stays_a_letter(dumped: Dumped) -> None:
    before = asked(dumped, "replay", "--table", TABLE)
    assert (before["files"], before["unchanged_files"], before["unchanged_letters"]) == (0, 2, 5)
    assert asked(dumped, "list")["dead_letters"] == 5 and before["epochs"] == []
    corrected(dumped)
    planned = asked(dumped, "replay", "--table", TABLE, "--plan")
    assert (planned["letters"], planned["written"], planned["again"], planned["epochs"]) == (5, 3, 2, [])
    assert asked(dumped, "list")["dead_letters"] == 5

    done = asked(dumped, "replay", "--table", TABLE)
    assert {**planned, "plan": False, "epochs": [4], "unregistered": 4} == done
    assert rows_in(dumped.map.parent) == [("UA", "late")] * 3
    assert {g["reason"]: g["count"] for g in asked(dumped, "list")["groups"]} == {
        "json.utf8": 1,
        "json.syntax": 1,
    }
    (letter,) = asked(dumped, "show", "flights-0@4")["dead_letters"]
    assert base64.b64decode(letter["value"]) == RECORDS[4] and base64.b64decode(letter["key"]) == b"k"
    for path in dumped.letters:
        assert not path.exists() and hidden(path).exists()
    assert not list(dumped.map.parent.rglob("_tmp/*"))
    footers = [Footer.parse(pq.read_metadata(p).metadata) for p in dumped.map.parent.rglob("*.parquet.final")]
    assert {(footer.epoch, footer.replay) for footer in footers if footer} == {
        (2, False),
        (3, False),
        (4, True),
    }
    assert table_of(dumped, "verify", "--contents")["findings"] == []

    again = asked(dumped, "replay", "--table", TABLE)
    assert (again["files"], again["unchanged_letters"], again["not_read"]) == (0, 2, [])
    answer = table_of(dumped, "where", "flights-0@3")
    assert sorted(f["kind"] for f in answer["files"]) == ["data", "data", "dead_letter"]


def test_only_chosen_letters_are_decoded_again(dumped: Dumped) -> None:
    corrected(dumped)
    for nothing in (("--reason", "json.syntax"), ("--reason", "no.such"), ("--since", "2100-01-01")):
        assert asked(dumped, "replay", "--table", TABLE, *nothing)["files"] == 0
    assert asked(dumped, "replay", "--table", TABLE, "--plan", "--since", "1970-01-01")["written"] == 3
    done = asked(dumped, "replay", "--table", TABLE, "--reason", "json.type")
    assert (done["letters"], done["written"], done["again"], done["refusals"]) == (5, 3, 2, [])
    assert asked(dumped, "list")["dead_letters"] == 2


def test_letters_of_a_missing_file_are_named_and_the_others_replayed(dumped: Dumped) -> None:
    corrected(dumped)
    dumped.letters[0].unlink()
    done = asked(dumped, "replay", "--table", TABLE)
    assert (done["files"], done["written"]) == (1, 1)
    assert [one["why"] for one in done["not_read"]] == ["does not exist"]


@pytest.mark.parametrize("spoil", ["shortened", "altered"])
def test_letters_of_a_damaged_file_are_named_and_the_others_replayed(dumped: Dumped, spoil: str) -> None:
    corrected(dumped)
    path = dumped.letters[0]
    letters = pq.read_table(path)
    if spoil == "shortened":
        letters = letters.slice(0, 2)
    else:
        other = pa.array([TYPE.replace(b"late", b"evil")] * len(letters), pa.binary())
        letters = letters.set_column(letters.schema.get_field_index("value"), "value", other)
    pq.write_table(letters, path)
    planned = asked(dumped, "replay", "--table", TABLE, "--plan")
    done = asked(dumped, "replay", "--table", TABLE)
    for answer in (planned, done):
        assert (answer["files"], answer["written"]) == (1, 1)
        assert ["crc32" in one["why"] for one in answer["not_read"]] == [True]
    assert rows_in(dumped.map.parent) == [("UA", "late")] and path.exists()


def test_a_replayed_file_that_readers_see_again_is_a_finding(dumped: Dumped) -> None:
    corrected(dumped)
    asked(dumped, "replay", "--table", TABLE)
    hidden(dumped.letters[1]).rename(dumped.letters[1])
    audited = table_of(dumped, "verify")
    assert [(f["code"], Path(f["where"]).name) for f in audited["findings"]] == [
        ("verify.replay", dumped.letters[1].name)
    ]


def test_replayed_letters_are_not_fetched_again(dumped: Dumped) -> None:
    corrected(dumped)
    asked(dumped, "replay", "--table", TABLE)
    path = dumped.letters[0].as_uri()
    result = invoke("recover", "--refetch", path, "-c", str(dumped.map))
    assert result.exit_code == 78 and "usage.no_such_file" in result.stderr


def test_a_table_of_no_map_is_not_replayed(dumped: Dumped) -> None:
    result = invoke("dead-letters", "replay", "--table", "air.none", "-c", str(dumped.map))
    assert result.exit_code == 78 and "air.none" in result.stderr


@pytest.mark.parametrize(
    "bounds",
    [EventBounds(late_before_ms=2**41), EventBounds(planned_ms=1, max_future_ms=1000)],
    ids=["late", "out of range"],
)
def test_letters_of_bounds_that_a_rebuilt_ledger_does_not_have_stay_letters(
    tmp_path: Path, bounds: EventBounds
) -> None:
    dumped = dump(tmp_path, FakeLog(RECORDS, 20), bounds)
    (refused,) = (g["count"] for g in asked(dumped, "list")["groups"] if g["reason"].startswith("bucket."))
    assert refused == 14
    assert asked(dumped, "replay", "--table", TABLE)["files"] == 0
    wiring = wire(load_map(str(dumped.map), {}))
    shutil.rmtree(local(wiring.paths(TABLE).table_directory))
    rebuild_ledger(wiring, TABLE, (), plan_only=False, take_over=True, kafka=_no_kafka)
    done = asked(dumped, "replay", "--table", TABLE)
    assert (done["files"], done["unchanged_letters"], done["not_read"]) == (0, 5, [])
    assert refused in [g["count"] for g in asked(dumped, "list")["groups"]]


def _no_kafka() -> KafkaAdmin:
    raise AssertionError("nobody asked for Kafka")


def test_letters_without_a_timestamp_are_no_rows_of_a_table_that_keeps_it(tmp_path: Path) -> None:
    dumped = dump(tmp_path, FakeLog(RECORDS, 20, first_ms=2**60))
    corrected(dumped)
    assert asked(dumped, "replay", "--table", TABLE, "--plan")["written"] == 3
    dumped.map.write_text(
        dumped.map.read_text().replace("    bucket:", "    metadata: {timestamp: at}\n    bucket:")
    )
    done = asked(dumped, "replay", "--table", TABLE)
    assert done["files"] == 0
    assert {g["reason"]: g["count"] for g in asked(dumped, "list")["groups"]}["json.type"] == 3


def replayed_by_a_task(dumped: Dumped, reason: str = "") -> list[TableManifest]:
    """What a live run's tasks make of all files of letters."""
    wiring = wire(load_map(str(dumped.map), {}))
    view, tables = look(wiring.ports.files, wiring.paths(TABLE)), MapTables(wiring, None)
    (letters,) = deque(
        search_letters(wiring.ports.files, view.paths, view.directory, Letters(view.state, view.state.epoch)),
        maxlen=1,
    )
    tasks = [each.task(view.state, None, PLANNED_AT_MS, reason, "") for each in oldest_first(letters)]
    settings = tables.settings(TABLE)
    found: list[TableManifest] = []
    for index, task in enumerate(tasks):
        found += run_task(
            TaskPlan(index, (replace(task, epoch=4, ledger_id="a" * 32, generation=1),)), settings
        )
    return found


def test_a_task_of_a_live_run_makes_of_letters_what_the_command_does(dumped: Dumped) -> None:
    assert [(m.files, m.chosen) for m in replayed_by_a_task(dumped)] == [((), 4), ((), 1)]
    corrected(dumped)
    manifests = replayed_by_a_task(dumped)
    files = [(f.kind, f.rows, f.task) for m in manifests for f in m.files]
    assert files == [(FileKind.DATA, 2, 0), (FileKind.DEAD_LETTER, 2, 0), (FileKind.DATA, 1, 1)]
    footers = [Footer.parse(pq.read_metadata(local(f.staged)).metadata) for m in manifests for f in m.files]
    assert all(footer is not None and footer.replay for footer in footers)
    assert [(m.files, m.chosen) for m in replayed_by_a_task(dumped, "json.syntax")] == [((), 1), ((), 0)]
    staged = {local(f.staged) for m in manifests for f in m.files}
    assert set(dumped.map.parent.rglob("_tmp/*")) == staged, "what only fails again was staged"


def test_a_task_of_a_live_run_names_files_that_it_cannot_read(dumped: Dumped) -> None:
    corrected(dumped)
    dumped.letters[0].unlink()
    dumped.letters[1].write_bytes(dumped.letters[1].read_bytes()[:-8])
    codes = [m.failure.code for m in replayed_by_a_task(dumped) if m.failure is not None]
    assert codes == ["replay.missing", "replay.damaged"]


def test_the_command_outlives_two_runs_that_end_before_they_answer(dumped: Dumped) -> None:
    corrected(dumped)
    notes = []
    with ExitStack() as stack:
        runs = [stack.enter_context(beating_owner(dumped.map, TABLE))]

        def note(text: str) -> None:
            notes.append(text.partition(":")[0])
            if notes[-1] == "a run is alive, so it gets an order":
                runs[-1].kill()
                runs[-1].wait()
            elif notes[-1] == "the run has ended after it replaced 0 files for the order" and len(runs) < 2:
                runs.append(stack.enter_context(beating_owner(dumped.map, TABLE)))

        wiring = wire(load_map(str(dumped.map), {}))
        result = replay_service(wiring, ReplayRequest(table=TABLE), note=note)
    assert notes.count("a run is alive, so it gets an order") == len(runs) == 2
    assert result.files == 2 and Inbox(wiring.ports, wiring.map.storage.ledger_root, "demo").look()[0] == []


def test_an_order_that_cannot_be_withdrawn_is_not_replayed_beside_it(dumped: Dumped) -> None:
    corrected(dumped)
    wiring = wire(load_map(str(dumped.map), {}))

    class Closed(LocalFileSystem):
        """A file system that moves nothing out of the inbox."""

        def rename(self, source: str, target: str) -> None:
            if "/rejected/" in target:
                raise Unavailable(f"{source}: no answer")
            super().rename(source, target)

    ports = replace(wiring.ports, files=Closed())
    with pytest.raises(AmbiguousOutcome, match="cannot be removed from"):
        give_order(replace(wiring, ports=ports), TABLE, ReplayLetters("", "", ""))
    assert len(Inbox(wiring.ports, wiring.map.storage.ledger_root, "demo").look()[0]) == 1


def test_a_replay_by_the_command_is_not_under_way_in_the_ledger(dumped: Dumped) -> None:
    corrected(dumped)
    assert asked(dumped, "replay", "--table", TABLE)["files"] == 2
    wiring = wire(load_map(str(dumped.map), {}))
    state = look(wiring.ports.files, wiring.paths(TABLE)).state
    assert state.replaying is None and state.orders == ()


@pytest.mark.parametrize(
    ("plan_only", "name"), [(True, "decode dead letters of"), (False, "replay dead letters of")]
)
def test_a_replay_reports_files_and_letters(dumped: Dumped, plan_only: bool, name: str) -> None:
    corrected(dumped)
    progress = SeenProgress()
    wiring = wire(load_map(str(dumped.map), {}), progress)
    replay_service(wiring, ReplayRequest(table=TABLE, plan_only=plan_only))
    assert progress.totals[f"{name} {TABLE}"] == {"files": 2}
    assert progress.done[f"{name} {TABLE}"] == {"files": 2, "letters": 5}


def test_a_file_that_cannot_be_read_now_ends_the_command_and_a_second_one_replays_all(dumped: Dumped) -> None:
    corrected(dumped)
    wiring = wire(load_map(str(dumped.map), {}))

    class Silent(LocalFileSystem):
        """A file system that does not answer for one file of letters."""

        def read(self, path: str) -> bytes:
            if path.endswith(dumped.letters[1].name):
                raise Unavailable(f"{path}: no answer")
            return super().read(path)

    ports = replace(wiring.ports, files=Silent())
    with pytest.raises(ServiceUnavailable, match="no answer") as error:
        replay_service(replace(wiring, ports=ports), ReplayRequest(table=TABLE))
    assert error.value.code == "storage.unavailable"
    assert asked(dumped, "list")["dead_letters"] == 5, "nothing was committed"
    done = asked(dumped, "replay", "--table", TABLE)
    assert (done["files"], done["written"], done["not_read"]) == (2, 3, [])


@pytest.mark.parametrize("name", ["air.flights", "air.{1}"])
def test_no_bytes_of_a_record_are_shown_if_its_table_has_masks(dumped: Dumped, name: str) -> None:
    document = yaml.safe_load(dumped.map.read_text())
    (table,) = document["tables"]
    table["columns"] = {
        "carrier": {"type": "string", "mask": "hash"},
        "flight": "bigint",
        "time_hour": "timestamp",
    }
    if name != TABLE:
        table |= {
            "table": name,
            "pattern": "(flights)",
            "location": f"{dumped.map.parent.as_uri()}/{{table}}",
        }
        del table["topics"]
    document["dead_letters"] = {"payload": "keep"}
    dumped.map.write_text(yaml.safe_dump(document))
    (letter,) = asked(dumped, "show", "flights-0@3")["dead_letters"]
    assert (letter["hidden"], letter["key"], letter["value"], letter["headers"]) == (True, None, None, None)
    text = invoke("dead-letters", "show", "flights-0@3", "-c", str(dumped.map)).stdout
    assert "not shown, because the table has columns with a mask" in text and "late" not in text


def test_the_bytes_of_a_table_without_masks_are_shown(dumped: Dumped) -> None:
    (letter,) = asked(dumped, "show", "flights-0@3")["dead_letters"]
    assert not letter["hidden"] and letter["value"]
