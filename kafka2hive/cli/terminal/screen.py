"""Render a layout as text: coloured on a terminal; plain in a pipe, and if TERM is dumb or NO_COLOR is set."""

import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

TERMINAL_WIDTH = 80
"""Width in characters of a terminal that does not report one."""
UNLIMITED = 100_000


@dataclass(frozen=True, slots=True)
class Screen:
    """The destination of text: `width` in characters, and whether it may have colours. Text in a pipe is not wrapped."""

    width: int = UNLIMITED
    color: bool = False


def screen_of(stream: TextIO, color: bool, environ: Mapping[str, str]) -> Screen:
    """Return the screen of `stream`.

    Colours are off if `color` (--color/--no-color) is false, NO_COLOR is not empty, or TERM is `dumb` or `unknown`.
    """
    if not stream.isatty():
        return Screen()
    has_colour = color and not environ.get("NO_COLOR") and environ.get("TERM") not in ("dumb", "unknown")
    return Screen(max(40, shutil.get_terminal_size((TERMINAL_WIDTH, 24)).columns), has_colour)


def standard_output(color: bool) -> Screen:
    return screen_of(sys.stdout, color, os.environ)


def render(screen: Screen, parts: "Iterable[RenderableType]") -> str:
    """Render the parts one below the other, without trailing spaces.

    No word is broken, so names and paths stay whole; a table may become wider than the screen for that.
    """
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    out = StringIO()
    console = Console(
        file=out,
        width=screen.width,
        force_terminal=screen.color,
        color_system="standard" if screen.color else None,
        no_color=not screen.color,
        highlight=False,
        legacy_windows=False,
        markup=False,
        emoji=False,
    )
    for part in parts:
        # a path can be copied only if it is not broken
        if isinstance(part, str | Text):
            console.print(part, soft_wrap=True)
        else:
            if isinstance(part, Table):
                _keep_words_whole(part)
            narrowest = Measurement.get(console, console.options.update(max_width=UNLIMITED), part).minimum
            console.width = max(screen.width, narrowest)
            console.print(part)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def _keep_words_whole(table: "Table") -> None:
    """Let columns of single words (names, paths, numbers) keep their width; the other columns share the rest of the width."""
    for column in table.columns:
        column.no_wrap = not any(" " in str(cell) for cell in column.cells)


def grid(*headers: str, right: Iterable[str] = ()) -> "Table":
    """Return an empty table without lines, whose columns in `right` are right-aligned. Cells wrap, nothing is truncated."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", safe_box=True)
    for header in headers:
        table.add_column(header, justify="right" if header in set(right) else "left", overflow="fold")
    return table
