"""Text, JSON document and progress bar of `verify`."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from rich.console import RenderableType
from rich.text import Text

from kafka2hive.cli.terminal.document import Document, document, error_of
from kafka2hive.cli.terminal.screen import Screen, grid, render, screen_of
from kafka2hive.model.text import size
from kafka2hive.service.verify.result import Progress, VerifyResult

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress


_SHOWN = 50  # findings per table; --json prints all


def render_verify(service: str, result: VerifyResult, screen: Screen) -> str:
    """Return one line per table, then every finding with its place."""
    parts: list[RenderableType] = []
    if result.tables:
        numbers = ("epochs", "files", "rows", "bytes", "findings")
        overview = grid("table", *numbers, right=numbers)
        for table in result.tables:
            findings = Text(str(len(table.findings)), style="red" if table.findings else "green")
            counts = (f"{count:,}" for count in (table.epochs, table.files, table.rows))
            overview.add_row(table.table, *counts, size(table.bytes), findings)
        parts.append(overview)
    for table in result.tables:
        parts += [Text(f"{f.code}  {f.where}: {f.message}", style="red") for f in table.findings[:_SHOWN]]
        if len(table.findings) > _SHOWN:
            parts.append(f"{table.table}: {len(table.findings) - _SHOWN} more findings (all: --json)")
        parts += [Text(f"{table.table}: accepted: {what}", style="yellow") for what in table.accepted]
        parts += [Text(f"{table.table}: no answer from {what}", style="yellow") for what in table.no_answer]
        parts += [Text(f"{table.table}: not checked: {what}", style="yellow") for what in table.not_checked]
        parts += [Text(f"{table.table}: {what}", style="yellow") for what in table.notes]
    parts += [Text(f"{name}: {error}", style="red") for name, error in result.errors]
    if not result.tables and not result.errors:
        parts.append(f"service {service}: no ledger yet")
    return render(screen, parts)


def verify_document(service: str, result: VerifyResult) -> Document:
    """Return the document of `verify`, with all findings."""
    tables = [
        {
            "table": table.table,
            "epochs": table.epochs,
            "files": table.files,
            "rows": table.rows,
            "bytes": table.bytes,
            "findings": [{"code": f.code, "where": f.where, "message": f.message} for f in table.findings],
            "no_answer": list(table.no_answer),
            "not_checked": [*table.no_answer, *table.not_checked],
            "accepted": list(table.accepted),
            "notes": list(table.notes),
        }
        for table in result.tables
    ]
    errors = [{"table": table, **error_of(error)} for table, error in result.errors]
    return document("verify", result.exit_code, service=service, tables=tables, errors=errors)


@contextmanager
def shown_progress(stream: TextIO, color: bool) -> Iterator[Progress]:
    """Show a progress bar for the current table while the block runs; show nothing if `stream` is not a terminal."""
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
