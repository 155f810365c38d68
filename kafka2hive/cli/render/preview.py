"""Texts and JSON documents of `plan` and `preview`."""

import datetime
import json
import math
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from kafka2hive.cli.terminal.document import Document, document, error_of
from kafka2hive.cli.terminal.screen import Screen, render
from kafka2hive.model.text import counted
from kafka2hive.service.inspect.plan import PlanResult, TablePlan
from kafka2hive.service.inspect.preview import PreviewLetter, PreviewResult, PreviewRow, TablePreview


def render_plan(result: PlanResult, screen: Screen) -> str:
    """Return one line per table, with the statements below it exactly as the run would send them."""
    parts: list[RenderableType] = []
    for table in result.tables:
        parts.append(Text(f"{table.table}: {_plan_summary(table)}", style="bold"))
        parts += [Text(f"  {statement};") for statement in table.statements]
        if table.error is not None:
            parts.append(Text(str(table.error), style="red"))
    return render(screen, parts)


def _plan_summary(table: TablePlan) -> str:
    if table.error is not None:
        return "would be set aside"
    if not table.statements:
        return "matches the map"
    return f"{counted(len(table.statements), 'statement')} before its first file"


def plan_document(service: str, result: PlanResult) -> Document:
    """Return the document of `plan`."""
    return document(
        "plan",
        result.exit_code,
        service=service,
        tables=[
            {
                "table": table.table,
                "statements": list(table.statements),
                "error": None if table.error is None else error_of(table.error),
            }
            for table in result.tables
        ],
    )


def render_preview(result: PreviewResult, screen: Screen) -> str:
    """Return one line per record with its place and bucket, and its values as JSON below."""
    parts: list[RenderableType] = []
    for table in result.tables:
        parts.append(Text(f"{table.table}: {_preview_summary(table)}", style="bold"))
        if table.error is not None:
            parts.append(Text(str(table.error), style="red"))
        if table.misspelled:
            columns = ", ".join(map(str, table.misspelled))
            parts.append(Text(f"no value in any of these records: {columns}", style="yellow"))
        records: list[PreviewRow | PreviewLetter] = [*table.rows, *table.letters]
        for record in sorted(records, key=lambda record: record.place):
            parts += map(Text, _lines(record))
    return render(screen, parts)


def _preview_summary(table: TablePreview) -> str:
    if table.error is not None:
        return "nothing can be shown"
    if not table.ranges:
        return "its topics are empty"
    counts = [counted(len(table.rows), "row"), counted(len(table.letters), "dead letter")]
    if table.tombstones:
        counts.append(counted(table.tombstones, "tombstone"))
    if table.filtered:
        counts.append(f"{counted(table.filtered, 'record')} without a row")
    return f"{', '.join(counts)} of {', '.join(map(str, table.ranges))}"


def _lines(record: PreviewRow | PreviewLetter) -> tuple[str, str]:
    match record:
        case PreviewRow(place, bucket, values):
            return f"{place}  {bucket}", f"  {json.dumps(_plain(values), ensure_ascii=False)}"
        case PreviewLetter(place, reason, detail):
            return f"{place}  dead letter", f"  {reason}: {detail}"


def preview_document(service: str, result: PreviewResult) -> Document:
    """Return the document of `preview`: bytes in base64; decimals, times and non-finite numbers as text; maps as objects."""
    tables = [
        {
            "table": table.table,
            "ranges": [
                {
                    "topic": r.topic_partition.topic,
                    "partition": r.topic_partition.number,
                    "start": r.start,
                    "end": r.end,
                }
                for r in table.ranges
            ],
            "rows": [
                {"place": str(row.place), "bucket": row.bucket, "values": _plain(row.values)}
                for row in table.rows
            ],
            "dead_letters": [
                {"place": str(letter.place), "reason": letter.reason, "detail": letter.detail}
                for letter in table.letters
            ],
            "tombstones": table.tombstones,
            "filtered": table.filtered,
            "misspelled": [{"column": one.column, "nearest": one.nearest} for one in table.misspelled],
            "error": None if table.error is None else error_of(table.error),
        }
        for table in result.tables
    ]
    return document("preview", result.exit_code, service=service, tables=tables)


def _plain(value: Any) -> Any:
    """Return an Arrow value as a value of JSON."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case bytes():
            return b64encode(value).decode()
        case datetime.date():
            return value.isoformat()
        case Mapping():
            return {name: _plain(inner) for name, inner in value.items()}
        case list():
            return [_plain(inner) for inner in value]
        case _:
            return str(value)
