"""`top`: what is shown in which order, the keys, lost services, many tables, and the terminal that it leaves."""

import asyncio
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from fcntl import ioctl
from pathlib import Path

import pytest
from textual.pilot import Pilot

from kafka2hive.cli.commands.top import give_order_of
from kafka2hive.cli.render.live_view import GiveOrder, LiveView, Note, TableList, no_orders
from kafka2hive.cli.render.top import (
    COLUMNS,
    Arrangement,
    amount,
    columns_for,
    detail,
    headline,
    render_frame,
)
from kafka2hive.cli.terminal.screen import Screen
from kafka2hive.config.load import load_map
from kafka2hive.kafka.port import ClusterView, RecordAddress, TopicView, Watermark, any_topic
from kafka2hive.ledger.look import look
from kafka2hive.model.errors import AmbiguousOutcome, ConfigError, ServiceUnavailable
from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import UNKNOWN_ID, TopicPartition
from kafka2hive.model.snapshot import EarlyPartition
from kafka2hive.service.inspect.state import NotRunning
from kafka2hive.service.inspect.top import Reading, Silence, TopReader, TopRow, next_tables, rate_of
from kafka2hive.service.tables.condition import Retrying, Stopped, Trouble
from tests.harness.cli_ledger import TABLE, Service, invoke, pending_service, wired
from tests.harness.fake_kafka import FakeKafka
from tests.harness.made_up_figures import NOW, MadeUpFigures, epochs, row, seen

GONE = Trouble(
    "kafka.offsets_gone", "offsets 5 to 9 of weather-0 are gone", "kafka2hive recover --accept-gap"
)
STOPPED = row("air.weather", Stopped(GONE), lag=7)
RETRYING = row("air.planes", Retrying(Trouble("hive.columns", "no column b"), "soon"), lag=5_000_000)
SERVING = row("air.flights", lag=12_345)
ROWS = (SERVING, RETRYING, STOPPED)
PLACES = {column.title: place for place, column in enumerate(COLUMNS)}


def names(rows: Sequence[TopRow]) -> list[str]:
    return [one.name.removeprefix("air.") for one in rows]


def test_the_table_that_needs_a_person_comes_first() -> None:
    silent = TopRow("air.silent", error=AmbiguousOutcome("ledger.no_answer", "no answer"), read_at=NOW)
    ended = row("air.ended", NotRunning())
    rows = (*ROWS, ended, silent)
    assert names(Arrangement().of(rows, NOW)) == ["weather", "silent", "planes", "ended", "flights"]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("table", ["flights", "planes", "weather"]),
        ("lag", ["planes", "flights", "weather"]),
        ("epoch", ["flights", "planes", "weather"]),  # all the same: by name
    ],
)
def test_tables_are_sorted_by_any_column_in_both_directions(column: str, expected: list[str]) -> None:
    order = Arrangement(PLACES[column])
    assert names(order.of(ROWS, NOW)) == expected
    if column != "epoch":
        assert names(Arrangement(PLACES[column], is_reversed=True).of(ROWS, NOW)) == expected[::-1]


def test_every_column_sorts_tables_that_were_never_read_without_a_figure() -> None:
    for place in range(len(COLUMNS)):
        assert len(Arrangement(place).of((*ROWS, TopRow("air.unread")), NOW)) == 4


def test_the_filter_looks_at_names_and_states() -> None:
    assert names(Arrangement(filter="WEA").of(ROWS, NOW)) == ["weather"]
    assert names(Arrangement(filter="serv").of(ROWS, NOW)) == ["flights"]


@pytest.mark.parametrize("width", [50, 80, 120, 200])
def test_the_columns_fit_the_screen(width: int) -> None:
    rows = (*ROWS, row("a_long_database_name.a_table_with_an_even_longer_name"))
    shown = columns_for(width, rows, NOW)
    assert sum(wide + 1 for _, wide in shown) <= width + 1
    text = render_frame(Reading("s", NOW, rows), Screen(width), NOW)
    assert max(len(line) for line in text.splitlines() if "serving" in line) <= width
    if width >= 80:
        assert {"table", "state", "lag", "newest", "rec/s", "bytes/s"} <= {
            column.title for column, _ in shown
        }


def test_a_rate_is_what_the_last_epochs_read_up_to_now() -> None:
    last = epochs(NOW, 10.0, 1_000, 200_000)
    rate = rate_of(last, NOW)
    assert rate is not None and (rate.records, rate.bytes) == (100.0, 20_000.0)
    later = rate_of(last, NOW + 40)
    assert later is not None and later.records == pytest.approx(100 / 3)
    idle = rate_of(last, NOW + 601)
    assert idle is not None and idle.records == 0.0
    backlog = [*epochs(NOW, 10.0, 1_000, 200_000)[:3], *epochs(NOW - 30, 10.0, 1_000_000, 200_000_000)[1:]]
    assert rate_of(backlog, NOW) == rate, "a backlog that was read before is over"
    assert rate_of(last[:1], NOW) is None and rate_of((), NOW) is None


def test_early_files_are_counted_over_all_partitions_that_are_not_compacted() -> None:
    table = SERVING.table
    assert table is not None
    places = [HivePartition(table.view.state.table, f"dt={day}", f"/early/dt={day}") for day in (1, 2)]
    early = tuple(
        EarlyPartition(partition=place, since=1, closes="", files=files, rows=files * 10, certified=0)
        for place, files in zip(places, (7, 5), strict=True)
    )
    state = replace(table.view.state, early=early)
    compacting = replace(SERVING, table=replace(table, view=replace(table.view, state=state)))
    cell = COLUMNS[PLACES["early"]].cell
    assert [cell(one, NOW).plain for one in (compacting, SERVING, TopRow("air.unread"))] == ["12", "0", "-"]


def test_partitions_that_hive_gets_with_their_certificates_are_counted_and_listed_in_detail() -> None:
    table = SERVING.table
    assert table is not None
    days = [HivePartition(table.view.state.table, f"dt=2026-01-0{day}", f"/dt={day}") for day in (1, 2)]
    state = replace(table.view.state, withheld=tuple(days))
    waiting = replace(SERVING, table=replace(table, view=replace(table.view, state=state)))
    cell = COLUMNS[PLACES["withheld"]].cell
    assert [cell(one, NOW).plain for one in (waiting, SERVING, TopRow("air.unread"))] == ["2", "0", "-"]
    lines = "\n".join(map(str, detail(waiting, "none", NOW, hive=True)))
    assert all(f"not in Hive before its certificate: air.flights {day.path}" in lines for day in days)


def test_visible_tables_are_read_first_and_then_the_oldest() -> None:
    read_at = {"a": 5.0, "b": 1.0, "c": 3.0}
    assert next_tables(["c", "gone"], read_at, ["a", "b", "c", "d"], 2) == ["c", "d", "b"]


def test_large_numbers_are_short() -> None:
    assert [amount(n) for n in (0, 0.25, 9.96, 12, 999_999, 1_000_000, 12_345_678, 2.5e9)] == [
        "0",
        "0.2",
        "10.0",
        "12",
        "999,999",
        "1.0 M",
        "12.3 M",
        "2.5 G",
    ]


def test_a_lost_service_is_named_with_the_age_of_the_figures() -> None:
    outages = (Silence("Kafka", NOW - 30, "no broker answers"), Silence("HDFS", 0.0, "connection refused"))
    text = "\n".join(line.plain for line in headline(Reading("s", NOW, ROWS, outages), 3, NOW))
    assert (
        "Kafka does not answer (lag: figures of 2013-01-01T00:26:10Z, 30.0 s old): no broker answers" in text
    )
    assert "HDFS does not answer (all: no figures): connection refused" in text


def test_hostile_names_do_not_reach_the_terminal() -> None:
    text = render_frame(Reading("s", NOW, (TopRow("air.\x1b[31mred"),)), Screen(), NOW)
    assert "\x1b" not in text and r"air.\x1b[31mred" in text


async def until(pilot: Pilot[None], is_so: Callable[[], bool]) -> None:
    """Wait until it is so, at most five minutes: on a busy machine a frame may take seconds."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        if is_so():
            return
        await pilot.pause(0.02)
    raise AssertionError("it does not come to be so")


def played(
    figures: MadeUpFigures,
    play: Callable[[LiveView, Pilot[None]], Awaitable[None]],
    size: tuple[int, int] = (80, 24),
    now: Callable[[], float] = lambda: NOW,
    interval: float = 0.05,
    give: GiveOrder = no_orders,
) -> LiveView:
    """Run the view in a made-up terminal of this size, once it shows the first reading."""
    view = LiveView(figures, interval, hive=True, now=now, give_order=give)

    async def run() -> None:
        async with view.run_test(size=size) as pilot:
            await seen(view, pilot, "records/s")
            await play(view, pilot)

    asyncio.run(run())
    return view


def test_states_lags_rates_and_keys_are_seen_at_80_by_24() -> None:
    async def play(view: LiveView, pilot: Pilot[None]) -> None:
        await seen(
            view, pilot, "a run is alive", "3 tables", "STOP", "retrying", "12,345", "5.0 M", "100", "20.0 kB"
        )
        await seen(view, pilot, "what to do: kafka2hive recover --accept-gap")
        await seen(view, pilot, "quit", "help", "filter", "sort", "reverse")

    played(MadeUpFigures(*ROWS), play)


def test_enter_shows_epochs_topic_partitions_and_dead_letters_and_escape_goes_back() -> None:
    async def play(view: LiveView, pilot: Pilot[None]) -> None:
        await pilot.press("end")
        rows = view.query_one(TableList)
        await until(pilot, lambda: rows.row is not None and rows.row.name == "air.flights")
        await pilot.press("enter")
        await seen(
            view,
            pilot,
            "air.flights",
            "owner: process 4711",
            "38",
            "12,345",
            "flights-0",
            "json.type",
            "back",
        )
        await pilot.press("escape")
        await seen(view, pilot, "air.weather", "filter")

    played(MadeUpFigures(*ROWS), play, size=(100, 50))


def test_filter_sort_and_reverse_by_keys() -> None:
    async def play(view: LiveView, pilot: Pilot[None]) -> None:
        await pilot.press("slash", *"pla")
        await seen(view, pilot, "1 of 3 tables", "air.planes", "drop it", but="air.weather")
        await pilot.press("escape")
        await seen(view, pilot, "air.weather")
        shown = view.query_one(TableList)
        assert shown.row is not None and shown.row.name == "air.weather", (
            "the first one, until one is selected"
        )
        await pilot.press("down", "greater_than_sign")
        await seen(view, pilot, "by lag▼")
        assert names(shown.rows) == ["planes", "flights", "weather"]
        assert shown.selected == "air.planes", "the selected table stays selected"
        await pilot.press("r")
        await seen(view, pilot, "by lag▲")
        assert names(shown.rows) == ["weather", "flights", "planes"]
        await pilot.press("question_mark")
        await seen(view, pilot, "the age of the newest record")
        await pilot.press("escape")

    played(MadeUpFigures(*ROWS), play)


def test_an_order_is_given_by_a_key_only_after_a_yes() -> None:
    given: list[tuple[str, str]] = []

    def give(command: str, table: str, note: Note) -> str:
        note("waiting: an epoch is under way")
        given.append((command, table))
        if command == "compact":
            raise ConfigError("compact.not_in_map", "it has no `compact`", "")
        return f"{table}: order to {command} was carried out"

    async def play(view: LiveView, pilot: Pilot[None]) -> None:
        await pilot.press("p")
        await seen(view, pilot, "pause air.weather?", "y: yes")
        await pilot.press("n")
        await seen(view, pilot, "air.flights", but="pause air.weather?")
        assert given == []
        for key, command in (("p", "pause"), ("u", "resume")):
            await pilot.press(key)
            await seen(view, pilot, f"{command} air.weather?")
            await pilot.press("y")
            await seen(view, pilot, f"air.weather: order to {command} was carried out")
        await pilot.press("c")
        await seen(view, pilot, "compact air.weather?")
        await pilot.press("y")
        await seen(view, pilot, "[compact.not_in_map]")

    played(MadeUpFigures(*ROWS), play, give=give)
    assert given == [(command, "air.weather") for command in ("pause", "resume", "compact")]


def test_the_orders_of_the_view_are_those_of_the_commands(tmp_path: Path) -> None:
    service, notes = pending_service(tmp_path), list[str]()
    service_map = load_map(str(service.map), {})

    def kinds() -> list[str]:
        return [
            each.kind for each in look(service.wiring.ports.files, service.wiring.paths(TABLE)).state.orders
        ]

    told = give_order_of(service_map, "pause", TABLE, notes.append)
    assert "to pause was carried out in epoch 3" in told and notes and kinds() == ["pause"]
    give_order_of(service_map, "resume", TABLE, notes.append)
    assert kinds() == ["pause", "resume"]
    assert "no run is alive" in give_order_of(service_map, "compact", TABLE, notes.append)
    assert kinds() == ["pause", "resume"]


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
def test_q_and_control_c_quit_with_0(key: str) -> None:
    async def play(view: LiveView, pilot: Pilot[None]) -> None:
        await pilot.press("slash" if key == "ctrl+c" else "down")
        await pilot.press(key)
        await until(pilot, lambda: not view.is_running)

    view = played(MadeUpFigures(*ROWS), play)
    assert view.return_code == 0 and not view.is_running


def test_a_small_and_changing_terminal_keeps_the_selected_table_on_the_screen() -> None:
    async def play(view: LiveView, pilot: Pilot[None]) -> None:
        shown = view.query_one(TableList)
        await pilot.press("end")
        await until(pilot, lambda: shown.selected == "air.t0099")
        for size in ((80, 24), (30, 6), (200, 50), (40, 10)):
            await pilot.resize_terminal(*size)
            await until(pilot, lambda size=size: view.size == size)  # type: ignore[misc]
            await until(pilot, lambda: "air.t0099" in {one.name for one in shown.window})
            assert shown.selected == "air.t0099"

    played(MadeUpFigures(*(row(f"air.t{n:04}") for n in range(100))), play)


def test_a_reading_without_an_answer_shows_the_age_of_the_figures_and_the_view_goes_on() -> None:
    moment = [NOW]
    figures = MadeUpFigures(*ROWS)
    figures.reading = replace(figures.reading, silences=(Silence("Kafka", NOW - 5, "no broker answers"),))

    async def play(view: LiveView, pilot: Pilot[None]) -> None:
        figures.go.clear()
        moment[0] = NOW + 35
        await seen(view, pilot, "no answer for 35.0 s: figures of 2013-01-01T00:26:40Z")
        await pilot.press("down", "greater_than_sign")
        await seen(view, pilot, "12,345")
        figures.reading = Reading("flights", moment[0], ROWS)
        figures.go.set()
        await seen(view, pilot, "12,345", but="no answer for")

    played(figures, play, size=(110, 24), now=lambda: moment[0])


class Broken(MadeUpFigures):
    """Every reading is a bug, once `go` is cleared."""

    def read(self, visible: Collection[str]) -> Reading:
        return super().read(visible) if self.go.is_set() else Reading("s", 1 / 0)


def test_a_bug_in_a_reading_ends_the_view() -> None:
    async def play(view: LiveView, pilot: Pilot[None]) -> None:
        figures.go.clear()
        await until(pilot, lambda: not view.is_running)

    figures = Broken(*ROWS)
    assert isinstance(played(figures, play).bug, ZeroDivisionError)


def test_of_5000_tables_only_those_on_the_screen_are_asked_for() -> None:
    figures = MadeUpFigures(*(row(f"air.t{n:04}") for n in range(5_000)))

    async def play(view: LiveView, pilot: Pilot[None]) -> None:
        began = time.process_time()
        for _ in range(5):
            await pilot.press("pagedown")
        await pilot.press("end")
        await seen(view, pilot, "air.t4999")
        spent = time.process_time() - began
        assert spent < 3, f"six keys cost {spent} s of CPU time"
        await until(pilot, lambda: "air.t4999" in figures.asked[-1])
        assert max(map(len, figures.asked)) <= 24

    played(figures, play, interval=2.0)


class OldFiles:
    """A storage that answers until `is_lost`."""

    def __init__(self, service: Service) -> None:
        self._files = service.wiring.ports.files
        self.is_lost = False

    def __getattr__(self, name: str) -> object:
        from kafka2hive.storage.port import Unavailable

        if self.is_lost:
            raise Unavailable("file:///", "connection refused")
        return getattr(self._files, name)


class Answering(FakeKafka):
    """Both ends of the topic's log, as long as somebody answers."""

    def __init__(self) -> None:
        self.is_silent = False

    def cluster(self, is_wanted: Callable[[str], bool] = any_topic) -> ClusterView:
        if self.is_silent:
            raise ServiceUnavailable("kafka.unavailable", "no broker answers")
        return ClusterView("k", {"flights": TopicView("flights", UNKNOWN_ID, (0,))})

    def earliest(self, topic_partitions: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        return dict.fromkeys(topic_partitions, Watermark(0))

    latest = earliest

    def high_watermarks(
        self, topic_partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, Watermark]:
        return dict.fromkeys(topic_partitions, Watermark(100))

    def record_epochs(self, addresses: Collection[RecordAddress]) -> dict[RecordAddress, int | None]:
        return dict.fromkeys(addresses)


def test_the_lag_is_kept_while_kafka_does_not_answer(tmp_path: Path) -> None:
    service, kafka, moment = pending_service(tmp_path), Answering(), [NOW]
    reader = TopReader(service.wiring, lambda: kafka, lambda: moment[0])
    assert [(one.lag, one.name) for one in reader.read([]).rows] == [(85, TABLE)]
    kafka.is_silent, moment[0] = True, NOW + 60
    silent = reader.read([])
    assert [(one.lag, one.read_at) for one in silent.rows] == [(85, NOW + 60)]
    assert silent.silences == (Silence("Kafka", NOW, "no broker answers"),)
    kafka.is_silent = False
    assert reader.read([]).silences == ()


def test_tables_of_other_services_below_the_same_root_are_not_shown(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    tables = "tables:\n  - {table: air.crews, topics: [crews], format: raw}"
    (tmp_path / "other").mkdir()
    other = wired(tmp_path / "other", tables, service="other")
    storage = replace(other.map, storage=service.wiring.map.storage)
    reader = TopReader(replace(other, map=storage, ports=service.wiring.ports), Answering)
    assert [(one.name, one.state) for one in reader.read([]).rows] == [("air.crews", NotRunning())]
    assert [one.name for one in reader.read([]).rows] == ["air.crews"]


def reader_over(service: Service) -> tuple[TopReader, OldFiles]:
    files = OldFiles(service)
    ports = replace(service.wiring.ports, files=files)  # type: ignore[arg-type]
    wiring = replace(service.wiring, ports=ports)
    return TopReader(wiring, lambda: wiring.kafka(1.0, shared_timeout=True)), files


def test_figures_of_a_lost_storage_stay_and_come_again(tmp_path: Path) -> None:
    reader, files = reader_over(pending_service(tmp_path))
    first = reader.read([])
    assert [one.name for one in first.rows] == [TABLE]
    assert [one.system for one in first.silences] == ["Kafka"]
    table = first.rows[0].table
    assert table is not None and (table.view.state.epoch, len(table.view.state.files)) == (2, 2)

    files.is_lost = True
    lost = reader.read([])
    assert lost.rows == first.rows and lost.at == first.at
    assert [(one.system, one.since) for one in lost.silences] == [("HDFS", first.at)]
    assert "connection refused" in lost.silences[0].why

    files.is_lost = False
    again = reader.read([])
    assert again.at > first.at and [one.system for one in again.silences] == ["Kafka"]


def test_a_frame_goes_into_a_pipe_and_the_live_view_does_not(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    frame = invoke("top", "-c", str(service.map), "--once", "--kafka-timeout", "1")
    assert frame.exit_code == 0
    assert (
        TABLE in frame.stdout
        and "Kafka does not answer" in frame.stdout
        and "no run is alive" in frame.stdout
    )
    refusal = invoke("top", "-c", str(service.map))
    assert refusal.exit_code == 2 and "top needs a terminal; --once prints one frame" in refusal.stderr


def in_a_terminal(config: Path, keys: bytes | None, environ: dict[str, str]) -> tuple[int, str, bool]:
    """Run `top` in a terminal of its own until it shows the table, and send the keys, or SIGTERM.

    Gives its exit code, its output, and whether it showed the table.
    """
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update({"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24", **environ})
        os.execv(
            sys.executable,
            [sys.executable, "-m", "kafka2hive.cli.main", "top", "-c", str(config), "--kafka-timeout", "1"],
        )
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    before = termios.tcgetattr(terminal)
    said, sent = b"", False
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 0.5)[0]:
            continue
        try:
            part = os.read(terminal, 65536)
        except OSError:  # its end
            break
        said += part
        if not sent and TABLE.encode() in said:
            after = termios.tcgetattr(terminal)
            assert after[3] != before[3], "the view takes keys one by one"
            if keys is None:
                os.kill(child, signal.SIGTERM)
            else:
                os.write(terminal, keys)
            sent = True
    else:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), said.decode(errors="replace"), sent


@pytest.mark.parametrize(("keys", "ends_with"), [(b"q", 0), (b"\x03", 0), (None, 143)])
def test_a_real_terminal_is_left_as_it_was(tmp_path: Path, keys: bytes | None, ends_with: int) -> None:
    code, said, sent = in_a_terminal(pending_service(tmp_path).map, keys, {"NO_COLOR": "1"})
    assert (code, sent) == (ends_with, True), said[-2000:]
    assert "\x1b[?1049l" in said and "\x1b[?25h" in said, "neither the screen nor the cursor was given back"
    assert not re.search(r"\x1b\[[\d;]*\b(3[0-7]|4[0-7]|38|48|9[0-7])[;m]", said), "NO_COLOR, and colours"
