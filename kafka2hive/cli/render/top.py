"""The view of `top` as text: columns, order, filter, the lines above the tables, one table in detail. Pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kafka2hive.cli.render.status import (
    attention_lines,
    last_run_lines,
    legend_lines,
    service_warning_lines,
    state_text,
    table_details,
    trouble_lines,
)
from kafka2hive.cli.terminal.screen import Screen, grid, render
from kafka2hive.model.text import counted, duration, printable, size, unix_seconds, utc_text, with_local_times
from kafka2hive.service.inspect.legend import MEANINGS as LEGEND
from kafka2hive.service.inspect.state import NotRunning
from kafka2hive.service.inspect.top import Reading, Silence, TopRow
from kafka2hive.service.tables.condition import Retrying, Stopped, Trouble

if TYPE_CHECKING:
    from kafka2hive.service.inspect.dead_letters import LetterPage

OLD_SECONDS = 10.0
"""The view says how old its figures are if they are older than this."""
LEAST_TABLE_WIDTH = 18
_GAP = 1
_USUAL_COLUMNS, _WIDE_NAME = 8, 40
"""Further columns are shown only if names of up to 40 characters need not be cut for them."""

Sortable = tuple[float, ...] | str


@dataclass(frozen=True, slots=True)
class FigureColumn:
    """One column: its cells, and the key by which it sorts, the greatest first if `is_descending`.

    `width` 0 means as wide as its cells. If the screen is narrow, the columns with the greatest `rank` are left out first.
    """

    title: str
    width: int
    rank: int
    cell: Callable[[TopRow, float], Text]
    key: Callable[[TopRow, float], Sortable]
    is_right: bool = True
    is_descending: bool = True


def amount(number: float) -> str:
    """Return a count in at most seven characters: `9.5`, `12`, `999,999`, `12.3 M`."""
    if number < 10 and number != int(number):
        return f"{number:.1f}"
    if number < 999_999.5:
        return f"{number:,.0f}"
    for unit in ("M", "G", "T"):
        number /= 1000 if unit != "M" else 1_000_000
        if number < 999.95:
            break
    return f"{number:.1f} {unit}"


def _text_cell(value: Callable[[TopRow, float], str]) -> Callable[[TopRow, float], Text]:
    return lambda row, now: Text(value(row, now))


def _sort_key(value: Callable[[TopRow, float], float | None]) -> Callable[[TopRow, float], Sortable]:
    def key(row: TopRow, now: float) -> Sortable:
        number = value(row, now)
        return (-1.0,) if number is None else (number,)

    return key


def _column(
    title: str,
    width: int,
    rank: int,
    value: Callable[[TopRow, float], float | None],
    text: Callable[[float], str] = amount,
    style: str = "",
) -> FigureColumn:
    """Return a column of numbers; `style` applies to numbers other than 0."""

    def cell(row: TopRow, now: float) -> Text:
        number = value(row, now)
        return Text("-" if number is None else text(number), style if number else "")

    return FigureColumn(title=title, width=width, rank=rank, cell=cell, key=_sort_key(value))


def _freshness(row: TopRow, now: float) -> float | None:
    newest = row.table.view.state.newest_ms if row.table else None
    return None if newest is None else max(now - newest / 1000, 0.0)


def _pending_files(row: TopRow, now: float) -> float | None:
    if row.table is None:
        return None
    return float(len(row.table.view.state.files)) if row.table.view.newest.pending else 0.0


def _early_files(row: TopRow, now: float) -> float | None:
    return None if row.table is None else float(sum(each.files for each in row.table.view.state.early))


def _dead_letters(row: TopRow, now: float) -> float | None:
    return None if row.table is None else float(sum(e.account.dead_lettered for e in row.table.last_epochs))


def _last_epoch_age(row: TopRow, now: float) -> float | None:
    return None if row.table is None else _age(row.table.view.state.written_at, now)


def _age(written_at: str, now: float) -> float | None:
    moment = unix_seconds(written_at)
    return None if moment is None else max(now - moment, 0.0)


def trouble_of(row: TopRow) -> Trouble | None:
    """Return the trouble of the row: that of its state, of its last run, or why its ledger could not be read."""
    if isinstance(row.state, Retrying | Stopped):
        return row.state.trouble
    last = row.table.last if row.table else row.not_begun.last if row.not_begun else None
    if isinstance(row.state, NotRunning) and last is not None and last.trouble is not None:
        return last.trouble
    return Trouble.of(row.error) if row.error is not None else None


def _severity(row: TopRow, now: float) -> Sortable:
    """Return how urgently the table needs a person; descending: STOP, no answer, trouble, no run, warning, others."""
    if isinstance(row.state, Stopped):
        return (4.0,)
    if row.error is not None:
        return (3.0,)
    if trouble_of(row) is not None:
        return (2.0,)
    if row.state is None or isinstance(row.state, NotRunning):
        return (1.0,)
    return (0.5,) if row.table is not None and row.table.warnings else (0.0,)


def _state(row: TopRow, now: float) -> Text:
    if row.error is not None:
        return Text("no answer", "bold red")
    if row.state is None:
        return Text("not read yet", "")
    return state_text(row.state, row.table)


COLUMNS: tuple[FigureColumn, ...] = (
    FigureColumn(
        title="table",
        width=0,
        rank=0,
        cell=_text_cell(lambda row, now: printable(row.name)),
        key=lambda row, now: row.name,
        is_right=False,
        is_descending=False,
    ),
    FigureColumn(title="state", width=0, rank=0, cell=_state, key=_severity, is_right=False),
    _column("lag", 8, 1, lambda row, now: None if row.lag is None else float(row.lag)),
    _column("newest", 7, 2, _freshness, text=duration),
    _column("rec/s", 8, 3, lambda row, now: row.rate.records if row.rate else None),
    _column("bytes/s", 8, 4, lambda row, now: row.rate.bytes if row.rate else None, text=size),
    _column("pending", 7, 5, _pending_files, style="yellow"),
    _column("epoch", 7, 6, lambda row, now: float(row.table.view.state.epoch) if row.table else None),
    _column("written", 7, 7, _last_epoch_age, text=duration),
    _column("dead", 7, 8, _dead_letters, style="yellow"),
    _column(
        "not in Hive",
        11,
        9,
        lambda r, now: len(r.table.not_in_hive) if r.table else None,
        style="yellow",
    ),
    _column("open", 6, 10, lambda row, now: len(row.table.view.state.open) if row.table else None),
    _column("early", 6, 11, _early_files),
    _column("withheld", 8, 12, lambda row, now: len(row.table.view.state.withheld) if row.table else None),
    _column(
        "topic partitions", 16, 13, lambda r, now: len(r.table.view.state.positions) if r.table else None
    ),
    _column("read", 7, 14, lambda r, now: now - r.read_at if r.read_at else None, text=duration),
)
MEANINGS = (
    ("state", "sorted by urgency: a table that needs a person comes first; then tables with warnings"),
    ("lag", "records in Kafka that the table does not have yet"),
    ("newest", "the age of the newest record that readers can see"),
    (
        "rec/s, bytes/s",
        "read from Kafka by the last two epochs, on average since the one before them ended",
    ),
    ("pending", LEGEND["pending"]),
    ("written", "how long ago the last epoch was written"),
    ("dead", "dead letters of the last five epochs"),
    ("open", "Hive partitions without a certificate, if the map asks for completeness"),
    ("not in Hive", LEGEND["not in Hive"]),
    ("early", f"files of {LEGEND['early']}"),
    ("withheld", "partitions that Hive gets with their certificates (`register: complete`)"),
    ("read", "how long ago these figures were read: with many tables, those on the screen are read first"),
)
BY_STATE = 1


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Which tables are shown in which order: the column's index in COLUMNS, and a string that their names or states contain."""

    column: int = BY_STATE
    is_reversed: bool = False
    filter: str = ""

    @property
    def column_title(self) -> str:
        """The title of the column that decides the order, with an arrow."""
        column = COLUMNS[self.column]
        return f"{column.title}{'▼' if column.is_descending != self.is_reversed else '▲'}"

    def of(self, rows: Iterable[TopRow], now: float) -> list[TopRow]:
        """Return the rows whose name or state contains the filter's text, in order; ties are sorted by name."""
        column, text = COLUMNS[self.column], self.filter.lower()
        shown = [
            r for r in rows if not text or text in r.name.lower() or text in _state(r, now).plain.lower()
        ]
        shown.sort(key=lambda row: row.name)
        shown.sort(key=lambda row: column.key(row, now), reverse=column.is_descending != self.is_reversed)
        return shown


def columns_for(width: int, rows: Sequence[TopRow], now: float) -> list[tuple[FigureColumn, int]]:
    """Return the columns that fit, with their widths. Columns are left out until the names have room or two are left."""
    longest = max([len(printable(row.name)) for row in rows] + [len("table▼")])
    states = max([len(_state(row, now).plain) for row in rows] + [len("state▼")])
    widths = {column: column.width or (longest if column is COLUMNS[0] else states) for column in COLUMNS}
    shown = list(COLUMNS)

    while True:
        room = width - sum(widths[column] + _GAP for column in shown[1:])
        enough = LEAST_TABLE_WIDTH if len(shown) <= _USUAL_COLUMNS else _WIDE_NAME
        if room >= min(longest, enough) or len(shown) <= 2:
            break
        shown.remove(max(shown, key=lambda column: column.rank))
    widths[COLUMNS[0]] = max(min(room, longest), 5)
    return [(column, widths[column]) for column in shown]


def tables(
    rows: Sequence[TopRow], order: Arrangement, now: float, width: int, selected: str | None = None
) -> Table:
    """Return these rows as a table of at most `width` characters; names that are too long are cut."""
    table = Table(
        box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold", collapse_padding=True
    )
    columns = columns_for(width, rows, now)
    for column, wide in columns:
        title = order.column_title if column is COLUMNS[order.column] else column.title
        table.add_column(
            title if len(title) <= wide else title[: wide - 1] + title[-1],
            width=wide,
            no_wrap=True,
            overflow="ellipsis",
            justify="right" if column.is_right else "left",
        )
    for row in rows:
        cells = [column.cell(row, now) for column, _ in columns]
        table.add_row(*cells, style="reverse" if row.name == selected else "")
    return table


def headline(reading: Reading, shown: int, now: float, order: Arrangement | None = None) -> list[Text]:
    """Return the lines above the tables: service and run, states and order, sums, and which systems do not answer."""
    states: dict[str, int] = {}
    for row in reading.rows:
        name = _state(row, now).plain.split(",")[0]
        states[name] = states.get(name, 0) + 1
    counts = ", ".join(f"{number:,} {name}" for name, number in sorted(states.items(), key=lambda s: -s[1]))
    count = counted(len(reading.rows), "table")
    if shown != len(reading.rows):
        count = f"{shown:,} of {count}"
    by = f"  by {order.column_title}" if order else ""
    lines = [
        _service_line(reading, now),
        Text(count + (f": {counts}" if counts else "") + by),
        _sums_line(reading),
    ]
    lines += last_run_lines(reading.last_run, now)
    lines += [_silence_line(silence, now) for silence in reading.silences]
    lines += service_warning_lines(reading.warnings)
    lines += legend_lines([row.table for row in reading.rows if row.table], in_detail=False)
    unread = sum(1 for row in reading.rows if not row.read_at)
    if unread:
        have = "has" if unread == 1 else "have"
        lines.append(
            Text(f"{counted(unread, 'table')} {have} not been read yet: the figures follow", "yellow")
        )
    if reading.map_differs:
        lines.append(Text("the live run has loaded another version of this map", "yellow"))
    return lines


def _service_line(reading: Reading, now: float) -> Text:
    line = Text.assemble(
        ("kafka2hive top", "bold"), f"  {with_local_times(utc_text(now))}  ", (reading.service, "bold"), "  "
    )
    if reading.is_live:
        return line.append("a run is alive", "green")
    return line.append("no run is alive", "bold yellow")


def _sums_line(reading: Reading) -> Text:
    rates = [row.rate for row in reading.rows if row.rate is not None]
    lags = [row.lag for row in reading.rows if row.lag is not None]
    parts = [
        f"lag {amount(sum(lags))}" if lags else "lag unknown",
        f"{amount(sum(rate.records for rate in rates))} records/s",
        f"{size(sum(rate.bytes for rate in rates))}/s",
    ]
    if reading.phases:
        parts.append("epoch: " + ", ".join(f"{name} {duration(s)}" for name, s in reading.phases.items()))
    if reading.waiting_orders:
        parts.append(f"{counted(reading.waiting_orders, 'order')} waiting")
    return Text("  ".join(parts))


def _silence_line(silence: Silence, now: float) -> Text:
    since = (
        f"figures of {utc_text(silence.since)}, {duration(now - silence.since)} old"
        if silence.since
        else "no figures"
    )
    which = "lag" if silence.system == "Kafka" else "all"
    return Text(f"{silence.system} does not answer ({which}: {since}): {printable(silence.why)}", "bold red")


def trouble(row: TopRow | None, now: float) -> list[Text]:
    """Return the selected table's trouble and warnings, and what to type; nothing if all is well."""
    if row is None:
        return []
    if row.error is not None:
        return [Text(printable(f"{row.name}: {row.error}"), "red")]
    if row.table is not None:
        lines = attention_lines(row.table, now)
    else:
        lines = trouble_lines(row.state, row.not_begun.last if row.not_begun else None, now)
    return [Text(printable(row.name), "bold"), *lines] if lines else []


def detail(row: TopRow, letters: "LetterPage | str", now: float, *, hive: bool) -> list[RenderableType]:
    """Return one table: its trouble, owner, last epochs, topic partitions, and `letters`, its newest dead letters.

    If they cannot be shown, `letters` is the reason.
    """
    parts: list[RenderableType] = []
    if row.error is not None:
        parts.append(Text(printable(str(row.error)), "red"))
    if row.table is None:
        return [
            *parts,
            Text(printable(row.name), "bold"),
            *trouble(row, now),
            Text("no ledger has been read yet"),
        ]
    parts += table_details(row.table, now, hive)[1:]
    parts += ["", _topic_partitions(row)]
    parts += ["", Text("newest dead letters", "bold")]
    if isinstance(letters, str):
        return [*parts, Text("  " + printable(letters))]
    table = grid("place", "epoch", "reason", "detail", right=("epoch",))
    for one in letters.letters:
        table.add_row(printable(str(one.place)), str(one.epoch), one.reason, printable(one.detail))
    return [*parts, table]


def _topic_partitions(row: TopRow) -> Table:
    assert row.table is not None
    table = grid("topic partition", "next offset", "log end", "lag", right=("next offset", "log end", "lag"))
    for position in sorted(row.table.view.state.positions, key=lambda p: p.topic_partition):
        end, lag = row.table.ends.get(position.topic_partition), row.table.lag_of(position)
        table.add_row(
            str(position.topic_partition),
            f"{position.end:,}",
            f"{end.offset:,}" if end else "?",
            "?" if lag is None else f"{lag:,}",
        )
    return table


def render_frame(reading: Reading, screen: Screen, now: float) -> str:
    """Return one frame as text: the headline, every table with the columns that fit, then each table's trouble."""
    order = Arrangement()
    rows = order.of(reading.rows, now)
    parts: list[RenderableType] = [
        *headline(reading, len(rows), now),
        "",
        tables(rows, order, now, screen.width),
    ]
    for row in rows:
        parts += trouble(row, now)
    return render(screen, parts)
