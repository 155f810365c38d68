"""Texts and JSON documents of `counts`."""

from collections import Counter

from rich.console import RenderableType
from rich.text import Text

from kafka2hive.cli.terminal.document import Document, document
from kafka2hive.cli.terminal.screen import Screen, grid, render
from kafka2hive.model.errors import ExitCode
from kafka2hive.model.text import counted, duration, size, utc_text
from kafka2hive.service.inspect.counts import ALL, TableCounts, WindowKey
from kafka2hive.service.inspect.producer_counts import Comparison, CountVerdict

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


_VERDICTS = {
    CountVerdict.AGREE: "agree",
    CountVerdict.FEWER: "the table has fewer, and Kafka holds no more",
    CountVerdict.MORE: "the table has more",
    CountVerdict.BEHIND: "the table has not read all that Kafka holds",
    CountVerdict.INCOMPLETE: "the table's counts are not whole, or its windows do not fit",
    CountVerdict.UNTOLD: "no producer has counted it",
}
_STYLES = {CountVerdict.FEWER: "bold red", CountVerdict.MORE: "bold red"}


def render_comparison(result: Comparison, screen: Screen) -> str:
    """Return the windows that do not agree, how many do, and the messages that are no counts."""
    parts: list[RenderableType] = [Text(f"{result.table} against {result.against}", style="bold")]
    rows = grid("topic", "window", "length", "sent", "in the table", "", right=("sent", "in the table"))
    others = [window for window in result.windows if window.verdict is not CountVerdict.AGREE]
    for window in others:
        rows.add_row(
            window.topic,
            window.start,
            duration(window.seconds),
            "" if window.sent is None else f"{window.sent:,}",
            f"{window.read:,}",
            Text(_VERDICTS[window.verdict], style=_STYLES.get(window.verdict, "yellow")),
        )
    if others:
        parts.append(rows)
    numbers = Counter(window.verdict for window in result.windows)
    parts.append(f"  {counted(numbers[CountVerdict.AGREE], 'window')} agree, {len(others):,} do not")
    if result.without_window:
        parts.append(f"  {counted(result.without_window, 'record')} of the table are in no window")
    if result.malformed_count:
        parts.append(Text(f"  {counted(result.malformed_count, 'message')} are no counts:", style="bold red"))
        parts += [f"    {place}: {why}" for place, why in result.malformed]
    return render(screen, parts)


def comparison_document(service: str, result: Comparison) -> Document:
    """Return the document of `counts --against`; `sent` is null for a window that no producer has counted."""
    return document(
        "counts",
        result.exit_code,
        service=service,
        table=result.table,
        against=result.against,
        windows=[
            {
                "topic": window.topic,
                "start": window.start,
                "seconds": window.seconds,
                "sent": window.sent,
                "records": window.read,
                "verdict": window.verdict.value,
            }
            for window in result.windows
        ],
        without_window=result.without_window,
        malformed={
            "messages": result.malformed_count,
            "first": [{"place": place, "reason": why} for place, why in result.malformed],
        },
    )
