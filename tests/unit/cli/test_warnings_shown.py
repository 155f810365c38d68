"""What a live run warns of is seen in `status` and `top`, however many tables the map has; what concerns all is said once."""

from dataclasses import replace

import pytest

from kafka2hive.cli.render.status import render_status
from kafka2hive.cli.render.status_document import status_document
from kafka2hive.cli.render.top import Arrangement, render_frame
from kafka2hive.cli.terminal.screen import Screen
from kafka2hive.model.files import HivePartition
from kafka2hive.model.snapshot import EarlyPartition, Pause
from kafka2hive.service.inspect.legend import MEANINGS
from kafka2hive.service.inspect.state import OwnerLife, Paused, Runs
from kafka2hive.service.inspect.status import StatusResult, TableStatus
from kafka2hive.service.inspect.top import Reading, TopRow
from kafka2hive.service.tables.condition import RunConditions, Serving
from tests.harness.values import view_of

NOW = 1_795_608_060.0
GENERATION = "g000007.20130101T000000Z-host-1-" + "0" * 32
AWAY = "HiveServer2 has not answered since 2026-11-25T12:00:00Z: refused; what to do: bring HiveServer2 back"
GONE = "topic planes is not in Kafka any more (since 2026-11-25T12:00:00Z); what to do: create it"
PAUSE = Pause(since="2026-11-25T12:00:00Z", by="anna@etl1", order="0c9d" * 8, epoch=41)


def table_of(name: str, *warnings: str, paused: Pause | None = None) -> TableStatus:
    view = view_of(GENERATION, table=name, paused=paused, written_at="2026-11-25T12:00:00Z")
    view = replace(view, newest=replace(view.newest, pending=False))
    state = Serving() if paused is None else Paused()
    return TableStatus(view, state, OwnerLife.ALIVE, warnings, {}, ())


def result_of(count: int) -> StatusResult:
    """A live run of so many tables: one has lost its topic, one is paused, and Hive does not answer."""
    tables = [table_of("air.planes", GONE), table_of("air.crews", paused=PAUSE)]
    tables += [table_of(f"air.t{number}") for number in range(count - 2)]
    runs = Runs(frozenset({"me"}), {"me": RunConditions((), warnings=(AWAY,))})
    return StatusResult(tuple(tables), (), None, runs=runs)


@pytest.mark.parametrize("count", [2, 6, 40])
def test_status_shows_each_warning_once_with_what_to_type(count: int) -> None:
    text = render_status("demo", result_of(count), Screen(200), NOW)
    assert text.count(f"warning: {AWAY}") == 1
    assert text.count(f"warning: {GONE}") == 1
    assert "serving, 1 warning" in text
    assert (
        "has been paused since 2026-11-25T12:00:00Z by anna@etl1; `kafka2hive resume --table air.crews"
        in text
    )
    assert status_document("demo", result_of(count))["warnings"] == [AWAY]


def test_top_marks_a_table_with_a_warning_and_sorts_it_before_the_others() -> None:
    result = result_of(30)
    rows = tuple(TopRow(t.name, t.state, t, read_at=NOW) for t in result.tables)
    reading = Reading("demo", NOW, rows, is_live=True, warnings=result.runs.warnings)
    assert next(row.name for row in Arrangement().of(rows, NOW)) == "air.planes"
    assert [row.name for row in Arrangement(filter="warning").of(rows, NOW)] == ["air.planes"]
    frame = render_frame(reading, Screen(200), NOW)
    assert frame.count(AWAY) == 1 and frame.count(GONE) == 1 and "by anna@etl1" in frame


def test_words_for_unfinished_work_are_explained_where_they_appear() -> None:
    quiet = table_of("air.planes")
    place = HivePartition("air.crews", "dt=2026-11-25", "/early/dt=2026-11-25")
    early = EarlyPartition(partition=place, since=1, closes="", files=3, rows=9, certified=0)
    view = replace(quiet.view, state=replace(quiet.view.state, unregistered=(place,), early=(early,)))
    busy = replace(quiet, view=replace(view, newest=replace(view.newest, pending=True)))

    def words(*tables: TableStatus) -> tuple[set[str], set[str]]:
        """The words that status and top explain."""
        status = render_status("demo", StatusResult(tables, (), None), Screen(), NOW)
        reading = Reading("demo", NOW, tuple(TopRow(t.name, t.state, t, read_at=NOW) for t in tables))
        top = render_frame(reading, Screen(), NOW)
        lines = {word: f"{word}: {meaning}" for word, meaning in MEANINGS.items()}
        return tuple({word for word, line in lines.items() if line in text} for text in (status, top))  # type: ignore[return-value]

    assert words(quiet) == (set(), set())
    assert words(busy) == ({"pending", "not in Hive", "early"}, {"pending", "not in Hive"})
    assert words(*[busy] * 9) == ({"pending", "not in Hive"}, {"pending", "not in Hive"})
    assert "early: 1 partition with 3 files" in render_status(
        "demo", StatusResult((busy,), (), None), Screen(), NOW
    )
