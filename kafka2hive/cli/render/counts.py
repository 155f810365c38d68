"""Text and JSON document of `counts`."""

from rich.console import RenderableType
from rich.text import Text

from kafka2hive.cli.terminal.document import Document, document
from kafka2hive.cli.terminal.screen import Screen, grid, render
from kafka2hive.model.errors import ExitCode
from kafka2hive.model.text import counted, duration, size, utc_text
from kafka2hive.service.inspect.counts import ALL, TableCounts, WindowKey

_COLUMNS = ("topic", "window", "length", "records", "dead letters", "bytes", "offsets", "")
_NUMBERS = ("records", "dead letters", "bytes", "offsets")


def render_counts(counts: TableCounts, screen: Screen) -> str:
    """Return one line for each window, then what is not counted by time."""
    parts: list[RenderableType] = [Text(counts.table, style="bold")]
    rows = grid(*_COLUMNS, right=_NUMBERS)
    for key, each in sorted(counts.windows.items()):
        rows.add_row(
            _topic(key),
            key.start or "without a window",
            duration(key.seconds),
            f"{each.records:,}",
            f"{each.dead_lettered:,}",
            size(each.bytes),
            "" if key.number == ALL else f"{each.first:,} to {each.last:,}",
            "" if counts.is_whole(key) or not key.start else "incomplete",
        )
    parts.append(rows if counts.windows else "  no record is counted by time: `counts` in the map begins it")
    if counts.uncounted:
        through = counts.uncounted_through_ms
        until = "" if through is None else f", of timestamps up to {utc_text(through / 1000)}"
        parts.append(
            f"  {counted(counts.uncounted, 'record')} of epochs without counts{until}: windows of that time are incomplete"
        )
    return render(screen, parts)


def _topic(key: WindowKey) -> str:
    return key.topic if key.number == ALL else f"{key.topic}-{key.number}"


def counts_document(service: str, counts: TableCounts) -> Document:
    """Return the document of `counts`; `start` is null for records without a window, offsets are null in a sum."""
    through = counts.uncounted_through_ms
    return document(
        "counts",
        ExitCode.DONE,
        service=service,
        table=counts.table,
        windows=[
            {
                "topic": key.topic,
                "partition": None if key.number == ALL else key.number,
                "start": key.start or None,
                "seconds": key.seconds,
                "records": each.records,
                "dead_lettered": each.dead_lettered,
                "bytes": each.bytes,
                "first_offset": None if key.number == ALL else each.first,
                "last_offset": None if key.number == ALL else each.last,
                "whole": counts.is_whole(key),
            }
            for key, each in sorted(counts.windows.items())
        ],
        uncounted={
            "records": counts.uncounted,
            "newest": None if through is None else utc_text(through / 1000),
        },
    )
