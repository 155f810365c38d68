"""What `top` shows, made up: rows of tables in any state, a reader of them, and the text on the screen."""

import html
import re
import threading
import time
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kafka2hive.kafka.port import Watermark
from kafka2hive.ledger.look import NewestSnapshot
from kafka2hive.model.errors import ConfigError
from kafka2hive.model.offsets import OffsetAccounting, Position, TopicPartition
from kafka2hive.service.inspect.dead_letters import Letter, LetterPage
from kafka2hive.service.inspect.state import OwnerLife, TableState
from kafka2hive.service.inspect.status import EpochStatus, TableStatus
from kafka2hive.service.inspect.top import Reading, TopRow, rate_of
from kafka2hive.service.inspect.where import OffsetPlace
from kafka2hive.service.tables.condition import Serving
from tests.harness.values import data_file, view_of

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from kafka2hive.cli.render.live_view import LiveView

NOW = 1_357_000_000.0  # 2013-01-01 00:26:40 UTC
GENERATION = "g000007.20130101T000000Z-data-node-3-4711-" + "0" * 32


def iso(seconds: float) -> str:
    """A Unix time as the ledger writes it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def epochs(now: float, every: float, records: int, size: int, newest: int = 42) -> tuple[EpochStatus, ...]:
    """Five epochs up to `now`, each `every` seconds one of so many records and bytes."""
    account = OffsetAccounting(read=records, written=records, bytes=size)
    return tuple(
        EpochStatus(newest - back, iso(now - back * every), 2, records, account) for back in range(5)
    )


def row(
    name: str,
    state: TableState | None = None,
    *,
    lag: int = 0,
    records: int = 1_000,
    newest: float = 10.0,
    pending: int = 0,
    now: float = NOW,
) -> TopRow:
    """A table with one topic partition whose five last epochs had so many records each, every ten seconds."""
    place = TopicPartition(name.rpartition(".")[2], 0)
    view = view_of(
        GENERATION,
        table=name,
        epoch=42,
        positions=(Position(place, 20, 20),),
        newest_ms=int((now - newest) * 1000),
        written_at=iso(now),
        files=(data_file(),) * pending,
    )
    view = replace(view, newest=NewestSnapshot(42, pending=bool(pending)))
    table = TableStatus(
        view,
        state or Serving(),
        OwnerLife.ALIVE,
        (),
        {place: Watermark(20 + lag)},
        epochs(now, 10.0, records, records * 200),
    )
    return TopRow(name, table.state, table, lag=lag, rate=rate_of(table.last_epochs, now), read_at=now)


class MadeUpFigures:
    """Gives `reading` whenever it is asked, and what was visible then in `asked`; `hold` makes it wait."""

    def __init__(self, *rows: TopRow, at: float = NOW) -> None:
        self.reading = Reading("flights", at, rows, is_live=True)
        self.asked: list[tuple[str, ...]] = []
        self.go = threading.Event()
        self.go.set()
        self.letter_count = 1

    def read(self, visible: Collection[str]) -> Reading:
        """The reading as it is now."""
        self.asked.append(tuple(visible))
        self.go.wait(240)
        return self.reading

    def letters(self, table: str) -> LetterPage:
        """One dead letter, or none."""
        if not self.letter_count:
            raise ConfigError("usage.no_dead_letter", "none")
        place = OffsetPlace(TopicPartition("flights", 0), 12)
        letter = Letter(
            table, place, 41, "json.type", "dep_delay: 'NA' is no int", None, None, b"{}", None, "f"
        )
        return LetterPage((letter,))


def text_of(view: "LiveView") -> str:
    """What the screen shows, line by line."""
    picture = view.export_screenshot(simplify=True)
    lines: dict[str, str] = {}
    for line, text in re.findall(r'y="([\d.]+)"[^>]*clip-path="[^"]*line-[^"]*">([^<]*)</text>', picture):
        lines[line] = lines.get(line, "") + html.unescape(text).replace("\xa0", " ")
    return "\n".join(lines.values())


async def seen(view: "LiveView", pilot: "Pilot[None]", *expected: str, but: str = "\0") -> str:
    """Wait until the screen shows all of these, and not `but`; gives its text."""
    deadline = time.monotonic() + 600
    while True:
        text = text_of(view)
        if all(one in text for one in expected) and but not in text:
            return text
        assert time.monotonic() < deadline, f"not {expected}, or {but!r}:\n{text}"
        await pilot.pause(0.02)
