"""The progress bar of an audit appears on a terminal's standard error, and nowhere else."""

import io

import pytest

from kafka2hive.cli.render.verify import shown_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def audit(stream: io.StringIO) -> None:
    with shown_progress(stream, color=False) as progress:
        progress.table("air.flights", 4, 1_000)
        progress.advance(3, 700)
        progress.advance(1, 300)


def test_a_terminal_sees_the_table_with_files_and_rows_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    terminal = Terminal()
    audit(terminal)
    assert "air.flights" in terminal.getvalue()
    assert "4/4 files, 1,000 of 1,000 rows" in terminal.getvalue()


@pytest.mark.parametrize(("stream", "term"), [(io.StringIO(), "xterm"), (Terminal(), "dumb")])
def test_a_pipe_or_a_dumb_terminal_sees_nothing(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, term: str
) -> None:
    monkeypatch.setenv("TERM", term)
    audit(stream)
    assert stream.getvalue() == ""
