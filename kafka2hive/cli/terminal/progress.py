"""Show the progress of long work on standard error: bars on a terminal, otherwise a line a minute. Quick work shows nothing."""

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from kafka2hive.cli.terminal.outcome import shown, tell_line
from kafka2hive.cli.terminal.screen import screen_of
from kafka2hive.model.progress import Advance, Progress
from kafka2hive.model.text import counted, duration, printable, size

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

QUICK_SECONDS = 2.0
"""A terminal shows nothing of work that takes less."""
LINE_SECONDS = 60.0
_TICK_SECONDS = 0.25
_MEASURES = ("bytes", "rows", "files")
"""What the time left and a bar go by, the most exact first; otherwise the first amount whose total is known."""


@dataclass(eq=False, slots=True)
class Work:
    """A piece of work: its totals, and the amounts done so far. `began` is in monotonic seconds."""

    name: str
    began: float
    totals: dict[str, int]
    done: dict[str, int] = field(default_factory=dict)

    @property
    def share(self) -> float | None:
        """How much is done, from 0 to 1; None if no total is known."""
        measure = next((name for name in (*_MEASURES, *self.totals) if self.totals.get(name)), None)
        return None if measure is None else min(1.0, self.done.get(measure, 0) / self.totals[measure])

    def amounts(self, now: float) -> str:
        """Return `3 of 10 files, 700 of 1,000 rows, 12.0 s, about 28.0 s left`."""
        texts = [
            _amount(name, self.done.get(name, 0), self.totals.get(name)) for name in self.totals | self.done
        ]
        seconds = now - self.began
        texts.append(duration(seconds))
        if 0 < (share := self.share or 0) < 1:
            texts.append(f"about {duration(seconds / share - seconds)} left")
        return ", ".join(texts)


def _amount(name: str, done: int, total: int | None) -> str:
    if name == "bytes":
        return size(done) if total is None else f"{size(done)} of {size(total)}"
    noun = name.removesuffix("s")
    return counted(done, noun) if total is None else f"{done:,} of {counted(total, noun)}"


class Face(Protocol):
    """Shows the works that are under way, each a part of the one before it."""

    def show(self, works: list[Work], now: float) -> None: ...

    def end(self) -> None: ...


class ShownProgress(Progress):
    """Keeps the works that are under way, and shows them at each `tick`. `now` returns monotonic seconds."""

    def __init__(self, face: Face, now: Callable[[], float]) -> None:
        self._face = face
        self._now = now
        self._lock = threading.Lock()
        self._works: list[Work] = []

    @contextmanager
    def work(self, name: str, **totals: int) -> Iterator[Advance]:
        work = Work(printable(name), self._now(), totals)

        def advance(**done: int) -> None:
            with self._lock:
                for amount, more in done.items():
                    work.done[amount] = work.done.get(amount, 0) + more

        with self._lock:
            self._works.append(work)
        try:
            yield advance
        finally:
            with self._lock:
                self._works.remove(work)

    def tick(self) -> None:
        """Show the progress so far; the caller ticks a few times a second."""
        with self._lock:
            if self._works:
                self._face.show(self._works, self._now())


class Lines:
    """A line of text a minute, of which `tell` gets the first one after a minute."""

    def __init__(self, tell: Callable[[str], None], began: float) -> None:
        self._tell = tell
        self._told = began

    def show(self, works: list[Work], now: float) -> None:
        if now - self._told >= LINE_SECONDS:
            self._told = now
            self._tell("; ".join(f"{work.name}: {work.amounts(now)}" for work in works))

    def end(self) -> None:
        pass


class Bars:
    """Bars below what the terminal shows; they go when the work ends, and lines of the log go above them."""

    def __init__(self, color: bool, began: float) -> None:
        self._stream = sys.stderr
        self._color = color
        self._began = began
        self._live: Live | None = None

    def show(self, works: list[Work], now: float) -> None:
        if now - self._began < QUICK_SECONDS:
            return
        from rich.console import Console, Group
        from rich.live import Live
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        if self._live is None:
            color = screen_of(self._stream, self._color, os.environ).color
            console = Console(
                file=self._stream, no_color=not color, highlight=False, markup=False, emoji=False
            )
            self._live = Live(console=console, auto_refresh=False, transient=True, redirect_stdout=False)
            self._live.start()
            _move_log(self._stream, sys.stderr)
        parts: list[RenderableType] = []
        for work in works:
            head = Table.grid(padding=(0, 1))
            total = 1.0 if (share := work.share) is not None else None
            head.add_row(Text(work.name), ProgressBar(total, share or 0.0, width=30, animation_time=now))
            parts += [head, Text(f"  {shown(work.amounts(now))}", overflow="ellipsis", no_wrap=True)]
        self._live.update(Group(*parts), refresh=True)

    def end(self) -> None:
        if self._live is not None:
            above = sys.stderr
            self._live.stop()
            _move_log(above, self._stream)


def _move_log(old: object, new: object) -> None:
    """Let the log's lines go to the stream `new` if they go to `old`."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.StreamHandler) and handler.stream is old:
            handler.setStream(new)


@contextmanager
def shown_progress(color: bool = True, now: Callable[[], float] = time.monotonic) -> Iterator[Progress]:
    """Show on standard error what the block reports. `now` returns monotonic seconds."""
    is_terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    face = Bars(color, now()) if is_terminal else Lines(tell_line, now())
    progress, done = ShownProgress(face, now), threading.Event()

    def tick() -> None:
        while not done.wait(_TICK_SECONDS):
            progress.tick()

    thread = threading.Thread(target=tick, name="progress", daemon=True)
    thread.start()
    try:
        yield progress
    finally:
        done.set()
        thread.join()
        face.end()
