"""How far a long audit is: a bar on a terminal's standard error, nothing elsewhere."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from kafka2hive.cli.screen import screen_of
from kafka2hive.service.audit.verified import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress


@contextmanager
def shown_progress(stream: TextIO, color: bool) -> Iterator[Progress]:
    """A bar of the table under way while the block runs, wiped away at its end; nothing when `stream` is no terminal."""
    if not stream.isatty() or os.environ.get("TERM") == "dumb":
        yield Progress()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    screen = screen_of(stream, color, os.environ)
    console = Console(file=stream, no_color=not screen.color, highlight=False, markup=False, emoji=False)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("files, {task.fields[rows]:,} of {task.fields[all_rows]:,} rows", markup=False),
        TimeRemainingColumn(),
    )
    with RichProgress(*columns, console=console, transient=True, redirect_stdout=False) as bars:
        yield _Bar(bars)


class _Bar(Progress):
    def __init__(self, bars: "RichProgress") -> None:
        self._bars = bars
        self._task = bars.add_task("verify", total=None, rows=0, all_rows=0)
        self._rows = 0

    def table(self, name: str, files: int, rows: int) -> None:
        self._rows = 0
        self._bars.reset(self._task, total=files, description=name, rows=0, all_rows=rows)

    def advance(self, files: int, rows: int) -> None:
        self._rows += rows
        self._bars.update(self._task, advance=files, rows=self._rows)
