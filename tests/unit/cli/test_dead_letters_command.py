"""`kafka2hive dead-letters`: records that could not become rows, counted and shown, on a local disk."""

import base64
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.config.load import load_map
from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.init import init
from kafka2hive.ledger.snapshot.change import FirstPositions
from kafka2hive.ledger.start import StartRequest, start
from kafka2hive.ledger.take_over import Owners
from kafka2hive.model.files import FileKind
from kafka2hive.model.offsets import Position, TopicPartition
from kafka2hive.plan.contract import TableTask, TaskPlan
from kafka2hive.service.tables.manifests import judge_manifests
from kafka2hive.service.wiring import wire
from tests.harness.cli_ledger import TABLE, document, invoke, local, write_map
from tests.harness.fake_consumer import FakeConsumer, FakeLog
from tests.harness.one_task import manifests_of
from tests.harness.owner import new_owner
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
    """Dump two epochs of ten records each with the real task, gate and ledger."""
    path = write_map(tmp_path)
    wiring = wire(load_map(str(path), {}))
    paths, location = wiring.paths(TABLE), wiring.map.tables[0].location
    init(wiring.ports, paths, wiring.map.service, location)
    owned = start(wiring.ports, StartRequest(paths, lambda: None, Owners(new_owner), location)).owned
    first = FirstPositions(positions=(Position(TopicPartition("flights", 0), 0, 0),), location=location)
    owned = publish(wiring.ports, owned, first).owned
    columns = (("carrier", "string"), ("flight", "bigint"), ("time_hour", "timestamp"))
    table = replace(table_settings(TABLE, "json", columns), location=location)
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
        )
        consumer = FakeConsumer({("flights", 0): FakeLog(RECORDS, 20)})
        (manifest,) = manifests_of(TaskPlan(0, (task,)), settings, wiring.ports.files, consumer)
        outcome = judge_manifests(TABLE, [source], [manifest], 1.0, frozenset(), "c", location)
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
    assert "ff 00 62 79" in text and "1 byte: k" in text


def test_without_a_place_the_newest_of_a_table_is_shown(dumped: Dumped) -> None:
    found = asked(dumped, "show", "--table", TABLE)
    assert ([x["place"] for x in found["dead_letters"]], found["more"]) == (["flights-0@14"], True)
    found = asked(dumped, "show", "--table", TABLE, "--limit", "9")
    assert {x["place"] for x in found["dead_letters"]} == {f"flights-0@{n}" for n in (3, 4, 7, 8, 14)}
    assert not found["more"]


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
    assert asked(dumped, "list", "--table", "air.other")["groups"] == []
    assert invoke("dead-letters", "show", "--table", "air.other", "-c", str(dumped.map)).exit_code == 78


@pytest.mark.parametrize("what", ["list", "show"])
def test_a_table_that_nobody_knows_is_an_error(dumped: Dumped, what: str) -> None:
    result = invoke("dead-letters", what, "--table", "air.flihgts", "-c", str(dumped.map))
    assert result.exit_code == 78
    assert "did you mean air.flights?" in result.stderr


def test_a_file_that_is_gone_or_damaged_is_named_and_the_others_are_read(dumped: Dumped) -> None:
    dumped.letters[0].unlink()
    assert asked(dumped, "list")["not_read"][0]["why"] == "is not there"
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
