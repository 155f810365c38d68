"""The live view of `top`: a Textual application that shows readings of another thread. Needs the extra `top`."""

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterable
from contextvars import copy_context
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Protocol

from rich.console import Group, RenderableType
from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.message import Message
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Footer, Input, Static

from kafka2hive.cli.render.top import (
    COLUMNS,
    MEANINGS,
    OLD_SECONDS,
    Arrangement,
    detail,
    headline,
    tables,
    trouble,
)
from kafka2hive.model.errors import ExitCode, Kafka2HiveError
from kafka2hive.model.text import duration, printable, utc_text
from kafka2hive.service.inspect.top import Reading, TopRow

if TYPE_CHECKING:
    from kafka2hive.service.inspect.dead_letters import LetterPage

_STYLE = """
Screen { background: ansi_default; color: ansi_default; }
#head { height: auto; max-height: 9; }
#trouble { height: auto; max-height: 40%; }
TableList { height: 1fr; }
#filter { height: 1; border: none; padding: 0; background: ansi_default; }
#body { height: auto; }
VerticalScroll { height: 1fr; scrollbar-size-vertical: 1; }
Help, OrderQuestion { align: center middle; }
#question { width: auto; max-width: 100%; height: auto; border: round ansi_default; padding: 0 1; }
#help { width: 76; max-width: 100%; height: auto; max-height: 100%; border: round ansi_default; padding: 0 1; }
"""
_KEYS = (
    ("↑ ↓ PgUp PgDn Home End, j k", "move between the tables"),
    ("Enter", "last epochs, topic partitions and dead letters of the table; Esc goes back"),
    ("/", "show only the tables whose name or state has a text; Enter keeps it, Esc drops it"),
    ("← →, < >", "sort by the column on the left, on the right"),
    ("r", "reverse the order"),
    (
        "p, u, c",
        "pause, resume (unpause) or compact the table, after a question: the order is that of the command",
    ),
    ("q, Ctrl-C", "quit"),
)


class Figures(Protocol):
    """The source of readings and dead letters. It is called in other threads than the view's, because a call may take long."""

    def read(self, visible: Collection[str]) -> Reading: ...

    def letters(self, table: str) -> "LetterPage": ...


Note = Callable[[str], None]
GiveOrder = Callable[[str, str, Note], str]
"""Gives the order of a command (`pause`) for a table, with notes of its progress; returns the result. Raises Kafka2HiveError."""


def no_orders(command: str, table: str, note: Note) -> str:
    return f"this view gives no order to {command} {table}"


class TableList(Widget):
    """The rows on the screen: a window into the sorted and filtered tables that follows the selected one."""

    class Selection(Message):
        """Another table is selected."""

    def __init__(self, now: Callable[[], float]) -> None:
        super().__init__()
        self._now = now
        self._all: tuple[TopRow, ...] = ()
        self.order = Arrangement()
        self.rows: list[TopRow] = []
        self.selected: str | None = None
        self._first = 0

    def show(self, rows: tuple[TopRow, ...] | None = None, order: Arrangement | None = None) -> None:
        """Take new rows or another order. The selected table stays selected; if the user has selected none, it is the first."""
        place = self._place
        self._all = self._all if rows is None else rows
        self.order = order or self.order
        self.rows = self.order.of(self._all, self._now())
        if self.rows and self.selected and self.selected not in {row.name for row in self.rows}:
            self.selected = self.rows[min(place, len(self.rows) - 1)].name
        self._follow()

    @property
    def row(self) -> TopRow | None:
        """The selected row."""
        return self.rows[self._place] if self.rows else None

    @property
    def window(self) -> tuple[TopRow, ...]:
        """The rows on the screen, as far as they fit below the titles."""
        return tuple(self.rows[self._first : self._first + self._height])

    @property
    def _place(self) -> int:
        return next((place for place, row in enumerate(self.rows) if row.name == self.selected), 0)

    @property
    def _height(self) -> int:
        return max(self.size.height - 1, 1)

    def _follow(self) -> None:
        place = self._place
        last_first = max(len(self.rows) - self._height, 0)
        self._first = min(max(min(self._first, place), place - self._height + 1), last_first)
        self.refresh()

    def render(self) -> RenderableType:
        if not self.rows:
            return Text(f"no table has {text!r}" if (text := self.order.filter) else "no table was read yet")
        name, width = self.rows[self._place].name, self.size.width
        return tables(self.window, self.order, self._now(), width, selected=name)

    def move(self, by: int = 0, pages: int = 0) -> None:
        """Select the table `by` lines and `pages` pages further down."""
        if self.rows:
            self._select(self._place + by + pages * self._height)

    def _select(self, place: int) -> None:
        self.selected = self.rows[min(max(place, 0), len(self.rows) - 1)].name
        self._follow()
        self.post_message(TableList.Selection())

    def on_resize(self) -> None:
        self._follow()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self.move(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self.move(-3)

    def on_click(self, event: events.Click) -> None:
        if 0 < event.y <= len(self.window):
            self._select(self._first + event.y - 1)


class FilterBox(Input):
    """The text that a table's name or state must contain to be shown."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "keep the filter"),
        Binding("escape", "app.drop_filter", "drop it"),
    ]


class Overview(Screen[None]):
    """The screen with all tables. Its keys work without a focused widget, because a terminal may take the focus away."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "app.move(-1)", "up", show=False),
        Binding("down,j", "app.move(1)", "down", show=False),
        Binding("pageup", "app.page(-1)", "page up", show=False),
        Binding("pagedown", "app.page(1)", "page down", show=False),
        Binding("home,g", "app.move(-1000000)", "first", show=False),
        Binding("end,G", "app.move(1000000)", "last", show=False),
        Binding("enter", "app.choose", "table"),
        Binding("slash", "app.filter", "filter"),
        Binding("less_than_sign,left", "app.sort(-1)", "sort", key_display="<"),
        Binding("greater_than_sign,right", "app.sort(1)", "sort", key_display=">"),
        Binding("r", "app.reverse", "reverse"),
        Binding("p", "app.order('pause')", "pause", show=False),
        Binding("u", "app.order('resume')", "resume", show=False),
        Binding("c", "app.order('compact')", "compact", show=False),
    ]

    def __init__(self, tables: TableList) -> None:
        super().__init__()
        self._tables = tables

    def compose(self) -> ComposeResult:
        yield Static(id="head")
        yield self._tables
        yield Static(id="trouble")
        box = FilterBox(placeholder="text in name or state", id="filter", compact=True)
        box.display = False
        yield box
        yield Footer(show_command_palette=False)


class Detail(Screen[None]):
    """The screen with one table: its last epochs, topic partitions and dead letters."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,backspace", "app.pop_screen", "back")]

    def __init__(self, name: str) -> None:
        super().__init__()
        self.table = name
        self.letters: LetterPage | str = "being read ..."

    def compose(self) -> ComposeResult:
        yield Static(id="head")
        with VerticalScroll():
            yield Static(id="body")
        yield Footer(show_command_palette=False)


class Help(ModalScreen[None]):
    """The screen that explains keys and columns."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,question_mark,enter", "app.pop_screen", "back")]

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help"):
            yield Static("\n".join(f"[bold]{key}[/]  {what}" for key, what in (*_KEYS, *MEANINGS)))


class OrderQuestion(ModalScreen[bool]):
    """The screen that asks whether an order is to be given."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "yes"),
        Binding("n,escape", "answer(False)", "no"),
    ]

    def __init__(self, command: str, table: str) -> None:
        super().__init__()
        self._text = Text(f"{command} {table}?  y: yes, n: no")

    def compose(self) -> ComposeResult:
        yield Static(self._text, id="question")

    def action_answer(self, yes: bool) -> None:
        self.dismiss(yes)


class LiveView(App[None]):
    """Shows readings as they arrive. A second thread reads, so a service that does not answer never blocks the view."""

    class NewReading(Message):
        def __init__(self, reading: Reading) -> None:
            super().__init__()
            self.reading = reading

    class OrderNote(Message):
        """Something is known of an order that was given by a key."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class NewLetters(Message):
        """A table's dead letters have arrived."""

        def __init__(self, table: str, letters: "LetterPage | str") -> None:
            super().__init__()
            self.table, self.letters = table, letters

    CSS = _STYLE
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None
    TITLE = "kafka2hive top"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "quit"),
        Binding("ctrl+c", "quit", show=False, priority=True),
        Binding("question_mark", "help", "help"),
    ]

    def __init__(
        self,
        figures: Figures,
        interval: float,
        *,
        hive: bool,
        now: Callable[[], float] = time.time,
        shown: Callable[[str], str] = str,
        give_order: GiveOrder = no_orders,
    ) -> None:
        """`shown` returns a line of text as the view shows it: it fills the blanks in commands."""
        super().__init__(ansi_color=True)
        self._figures = figures
        self._interval = interval
        self._hive = hive
        self._now = now
        self._shown = shown
        self._give_order = give_order
        self._order_note = ""
        self._end = threading.Event()
        self._due = threading.Event()
        self._list = TableList(now)
        self._reading: Reading | None = None
        self.bug: BaseException | None = None

    def get_default_screen(self) -> Screen[None]:
        return Overview(self._list)

    def on_mount(self) -> None:
        self._show_head()
        self.set_interval(1.0, self._show)
        threading.Thread(target=copy_context().run, args=(self._read_on,), name="top", daemon=True).start()
        for number in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, self._terminate)

    def on_unmount(self) -> None:
        self._end.set()
        self._due.set()

    def _terminate(self) -> None:
        self.exit(return_code=int(ExitCode.TERMINATED))

    def _read_on(self) -> None:
        """Read until the view ends. A bug ends the view and is kept as `bug`, because Textual's trace would show secrets."""
        while not self._end.is_set():
            try:
                reading = self._figures.read([row.name for row in self._list.window])
            except BaseException as error:  # noqa: BLE001 (raised again by the command)
                self.call_later(self._fail, error)
                return
            self.post_message(self.NewReading(reading))
            self._due.wait(self._interval)
            self._due.clear()

    def _fail(self, error: BaseException) -> None:
        self.bug = error
        self.exit()

    def on_live_view_new_reading(self, message: NewReading) -> None:
        self._reading = message.reading
        self._list.show(rows=message.reading.rows)
        self._show()

    def on_live_view_new_letters(self, message: NewLetters) -> None:
        if isinstance(screen := self.screen, Detail) and screen.table == message.table:
            screen.letters = message.letters
            self._show_detail(screen)

    def _show(self) -> None:
        """Draw again: ages grow even if no new reading arrives."""
        if self._end.is_set() or not self.screen_stack:  # the view is ending
            return
        self._show_head()
        self._list.refresh()
        self._show_trouble()
        if isinstance(screen := self.screen, Detail):
            self._show_detail(screen)

    def _show_head(self) -> None:
        lines = self._head()
        for screen in self.screen_stack:
            for head in screen.query("#head").results(Static):
                head.update(Group(*lines))

    def _head(self) -> list[Text]:
        now, reading = self._now(), self._reading
        if reading is None:
            return [
                Text(f"kafka2hive top  {utc_text(now)}", "bold"),
                Text("the first reading is under way ..."),
            ]
        age = now - reading.at
        late: list[Text] = []
        is_reported = any(silence.system == "HDFS" for silence in reading.silences)
        if age > max(OLD_SECONDS, 3 * self._interval) and not is_reported:
            late = [Text(f"no answer for {duration(age)}: figures of {utc_text(reading.at)}", "bold yellow")]
        lines = headline(reading, len(self._list.rows), now, self._list.order)
        self._fill_blanks(lines)
        note = [Text(printable(self._shown(self._order_note)), "bold")] if self._order_note else []
        return [*lines, *late, *note, Text("")]

    def _fill_blanks(self, lines: Iterable[RenderableType]) -> None:
        """Fill the blanks in the commands of texts that have one style each."""
        for line in lines:
            if isinstance(line, Text) and (filled := self._shown(line.plain)) != line.plain:
                line.plain = filled

    def _show_trouble(self) -> None:
        lines = trouble(self._list.row, self._now())
        self._fill_blanks(lines)
        for panel in self.screen_stack[0].query("#trouble").results(Static):
            panel.update(Group(*lines))

    def _show_detail(self, screen: Detail) -> None:
        rows = self._reading.rows if self._reading else ()
        row = next((row for row in rows if row.name == screen.table), TopRow(screen.table))
        parts = detail(row, screen.letters, self._now(), hive=self._hive)
        self._fill_blanks(parts)
        screen.query_one("#body", Static).update(Group(*parts))

    def on_table_list_selection(self) -> None:
        self._show_trouble()
        self._due.set()

    def action_move(self, by: int) -> None:
        self._list.move(by)

    def action_page(self, pages: int) -> None:
        self._list.move(pages=pages)

    def action_choose(self) -> None:
        row = self._list.row
        if row is None:
            return
        self.push_screen(Detail(row.name))
        self.call_after_refresh(self._show)
        threading.Thread(target=self._read_letters, args=(row.name,), name="letters", daemon=True).start()

    def _read_letters(self, table: str) -> None:
        letters: LetterPage | str
        try:
            letters = self._figures.letters(table)
        except Kafka2HiveError as error:
            letters = "none" if error.code == "usage.no_dead_letter" else str(error)
        self.post_message(self.NewLetters(table, letters))

    def action_order(self, command: str) -> None:
        """Give the selected table the order of this command if the answer to a question is yes."""
        if (row := self._list.row) is None:
            return
        arguments = command, row.name, lambda text: self.post_message(self.OrderNote(text))

        def answered(yes: bool | None) -> None:
            if yes:
                work = copy_context().run
                threading.Thread(
                    target=work, args=(self._order, *arguments), name="order", daemon=True
                ).start()

        self.push_screen(OrderQuestion(command, row.name), answered)

    def _order(self, command: str, table: str, note: Note) -> None:
        try:
            note(self._give_order(command, table, note))
        except Kafka2HiveError as error:
            note(str(error))

    def on_live_view_order_note(self, message: OrderNote) -> None:
        self._order_note = message.text
        self._show_head()
        self._due.set()

    def action_help(self) -> None:
        if not isinstance(self.screen, Help):
            self.push_screen(Help())

    def action_filter(self) -> None:
        box = self.query_one("#filter", Input)
        box.display = True
        self.screen.set_focus(box)  # at once, because the next key may have been pressed already

    def on_input_changed(self, event: Input.Changed) -> None:
        self._arrange(replace(self._list.order, filter=event.value))

    def on_input_submitted(self) -> None:
        self._close_filter()

    def action_drop_filter(self) -> None:
        self.query_one("#filter", Input).value = ""
        self._close_filter()

    def _close_filter(self) -> None:
        box = self.query_one("#filter", Input)
        box.display = bool(box.value)
        self.set_focus(None)

    def action_sort(self, by: int) -> None:
        column = (self._list.order.column + by) % len(COLUMNS)
        self._arrange(replace(self._list.order, column=column, is_reversed=False))

    def action_reverse(self) -> None:
        self._arrange(replace(self._list.order, is_reversed=not self._list.order.is_reversed))

    def _arrange(self, order: Arrangement) -> None:
        self._list.show(order=order)
        self._show()
        self._due.set()
