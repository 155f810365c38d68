"""Long work shows its progress on standard error: bars on a terminal, otherwise a line a minute; quick work shows nothing."""

import io
import os
import pty
import subprocess
import sys

import pytest

from kafka2hive.cli.terminal.progress import Bars, Lines, ShownProgress
from tests.harness.clock import SkippedTime

LONG_WORK = """
import logging, sys, time
from kafka2hive.cli.terminal.progress import shown_progress
from kafka2hive.observe.log import configure

configure()
with shown_progress() as progress, progress.work("verify", tables=2):
    with progress.work("air.flights", files=4, rows=1_000, bytes=5_000_000) as advance:
        advance(files=1, rows=250, bytes=1_000_000)
        time.sleep(2.6)
        logging.getLogger().warning("a line of the log")
        time.sleep(0.4)
print('{"format": 1}')
"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_pipe_gets_a_line_a_minute_with_amounts_and_the_time_left() -> None:
    clock, lines = SkippedTime(), list[str]()
    progress = ShownProgress(Lines(lines.append, clock.monotonic()), clock.monotonic)
    with progress.work("verify", tables=3) as tables:
        tables(tables=1)
        with progress.work("air.flights", files=4, rows=1_000, bytes=5_000_000) as advance:
            for _ in range(240):
                clock.sleep(0.5)
                progress.tick()
                if clock.seconds == 50:
                    advance(files=1, rows=250, bytes=1_000_000)
    assert lines == [
        "verify: 1 of 3 tables, 60.0 s, about 2 min left; "
        "air.flights: 1 of 4 files, 250 of 1,000 rows, 1.0 MB of 5.0 MB, 60.0 s, about 4 min left",
        "verify: 1 of 3 tables, 2 min, about 4 min left; "
        "air.flights: 1 of 4 files, 250 of 1,000 rows, 1.0 MB of 5.0 MB, 2 min, about 8 min left",
    ]


def test_amounts_without_a_total_are_counted_and_nothing_is_told_between_works() -> None:
    clock, lines = SkippedTime(), list[str]()
    progress = ShownProgress(Lines(lines.append, clock.monotonic()), clock.monotonic)
    clock.sleep(70)
    progress.tick()
    assert lines == []
    with progress.work("drop partitions") as advance:
        advance(partitions=1, files=20)
        clock.sleep(5)
        progress.tick()
    assert lines == ["drop partitions: 1 partition, 20 files, 5.0 s"]


def test_a_terminal_sees_a_bar_after_two_seconds_and_nothing_of_it_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    terminal, clock = Terminal(), SkippedTime()
    monkeypatch.setattr(sys, "stderr", terminal)
    bars = Bars(color=False, began=clock.monotonic())
    progress = ShownProgress(bars, clock.monotonic)
    with progress.work("air.flights", files=4, rows=1_000) as advance:
        clock.sleep(1.9)
        progress.tick()
        assert terminal.getvalue() == ""
        advance(files=2, rows=500)
        clock.sleep(0.2)
        progress.tick()
    bars.end()
    assert "air.flights ━━━" in terminal.getvalue()
    assert "2 of 4 files, 500 of 1,000 rows, 2.1 s, about 2.1 s left" in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K"), "the bar's last line is erased"
    assert sys.stderr is terminal


def test_on_a_pseudo_terminal_the_log_goes_above_the_bars_and_standard_output_stays_clean() -> None:
    reading, terminal = pty.openpty()
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    process = subprocess.Popen(
        [sys.executable, "-c", LONG_WORK], env=environ, stdout=subprocess.PIPE, stderr=terminal, text=True
    )
    os.close(terminal)
    shown = b""
    try:
        while more := os.read(reading, 4096):
            shown += more
    except OSError:  # the other end is closed
        pass
    output, _ = process.communicate()
    os.close(reading)
    assert (process.returncode, output) == (0, '{"format": 1}\n')
    text = shown.decode()
    assert "verify " in text and "1 of 4 files, 250 of 1,000 rows, 1.0 MB of 5.0 MB" in text
    (line,) = [line for line in text.splitlines() if "a line of the log" in line]
    assert "━" not in line and "files" not in line
