"""Text, CSV and JSON documents of `offsets` and `init`."""

import csv
from collections.abc import Iterable
from io import StringIO

from rich.console import RenderableType
from rich.text import Text

from kafka2hive.cli.terminal.document import Document, document, error_of
from kafka2hive.cli.terminal.screen import Screen, grid, render
from kafka2hive.model.errors import ConfigError
from kafka2hive.service.init.init import InitOutcome, InitResult
from kafka2hive.service.init.offset_sources import CSV_HEADER, PlacedOffset
from kafka2hive.service.inspect.offsets import OffsetsResult

_COLUMNS = ("topic partition", "position", "log begins", "log ends", "waiting")


def offsets_table(offsets: Iterable[PlacedOffset]) -> RenderableType:
    """Return a table of positions; `?` means a number that Kafka did not report."""
    rows = grid(*_COLUMNS, right=_COLUMNS[1:])
    for position in offsets:
        bounds = (position.earliest, position.latest, position.waiting)
        numbers = ("?" if number is None else f"{number:,}" for number in bounds)
        rows.add_row(str(position.topic_partition), f"{position.offset:,}", *numbers)
    return rows


def offsets_list(offsets: Iterable[PlacedOffset]) -> list[Document]:
    """Return positions for a JSON document; null means a number that Kafka did not report."""
    return [
        {
            "topic": position.topic_partition.topic,
            "partition": position.topic_partition.number,
            "next_offset": position.offset,
            "log_start": position.earliest,
            "log_end": position.latest,
        }
        for position in offsets
    ]


def render_offsets(result: OffsetsResult, screen: Screen) -> str:
    """Return a table of positions for each owner, then the errors."""
    parts: list[RenderableType] = []
    for group in result.owners:
        parts.append(Text(group.owner, style="bold"))
        parts.append(offsets_table(group.offsets) if group.offsets else "  no position yet")
    parts += [Text(f"{table}: {error}", style="red") for table, error in result.errors]
    return render(screen, parts or ["no table has a ledger yet"])


def offsets_csv(result: OffsetsResult) -> str:
    """Return one line for each topic partition.

    Raises ConfigError if two tables have different positions in one topic partition: its line can hold only one offset.
    """
    lines: dict[tuple[str, int], tuple[int, str]] = {}
    for group in result.owners:
        for position in group.offsets:
            key = (position.topic_partition.topic, position.topic_partition.number)
            offset, owner = lines.setdefault(key, (position.offset, group.owner))
            if offset != position.offset:
                raise ConfigError(
                    "offsets.differ",
                    f"{position.topic_partition}: {owner} has position {offset}, {group.owner} has {position.offset}",
                    "export one table: --table DB.TABLE",
                )
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_HEADER)
    writer.writerows((topic, number, offset) for (topic, number), (offset, _) in sorted(lines.items()))
    return text.getvalue().rstrip("\n")


def offsets_document(service: str, result: OffsetsResult) -> Document:
    """Return the document of `offsets show`."""
    return document(
        "offsets show",
        result.exit_code,
        service=service,
        owners=[{"owner": group.owner, "offsets": offsets_list(group.offsets)} for group in result.owners],
        errors=[{"table": table, "error": error_of(error)} for table, error in result.errors],
    )


def render_init(result: InitResult, screen: Screen) -> str:
    """Return each table's outcome, with its ledger or its error below."""
    parts: list[RenderableType] = []
    for table in result.tables:
        style = "red" if table.outcome is InitOutcome.FAILED else "green"
        parts.append(Text(f"{table.table}  ").append(table.outcome.value, style=style))
        if table.error is not None:
            parts += [f"  {line}" for line in str(table.error).splitlines()]
        else:
            parts.append(f"  {table.directory}")
        if table.positions:
            parts.append(offsets_table(table.positions))
    return render(screen, parts or ["no table: no topic matches the map's patterns yet"])


def init_document(service: str, result: InitResult) -> Document:
    """Return the document of `init`."""
    tables = [
        {
            "table": table.table,
            "ledger": table.directory,
            "result": table.outcome.value.replace(" ", "_"),
            "error": error_of(table.error) if table.error else None,
            "positions": offsets_list(table.positions),
        }
        for table in result.tables
    ]
    return document("init", result.exit_code, service=service, tables=tables)
