"""Text and JSON document of `size`."""

import math

from rich.text import Text

from kafka2hive.cli.terminal.document import Document, document
from kafka2hive.cli.terminal.screen import Screen, grid, render
from kafka2hive.config.keys import Limits
from kafka2hive.model.errors import ExitCode
from kafka2hive.model.text import counted, duration, size
from kafka2hive.service.sizing.model import HEADROOM, ServiceCost, TableCost


def render_size(service: str, cost: ServiceCost, limits: Limits, screen: Screen) -> str:
    """Return the sums of the service, a line for each entry of the map, and what to do about them."""
    load = f"{cost.records:,.0f} records/s, {size(cost.bytes)}/s"
    sums = grid("what", "it takes", "because")
    busy = f"{cost.busy_cores:.2f} are busy; {HEADROOM:g} times as many for peaks and catching up"
    sums.add_row("cores", f"{cost.cores}", busy)
    sums.add_row("memory", size(cost.memory), "the driver and one task for each core")
    sums.add_row(
        "NameNode", f"{cost.namenode_calls_per_second:,.1f} calls/s", "mostly of files that are created"
    )
    sums.add_row("files", f"{cost.files_per_day:,.0f} a day", "until compaction")
    tables = grid(
        "table", "records/s", "every", "files a day", "rows of a file", right=("records/s", "files a day")
    )
    for each in cost.tables:
        name = each.load.name if each.load.tables == 1 else f"{each.load.name} x {each.load.tables:,}"
        tables.add_row(
            name,
            f"{each.load.records * each.load.tables:,.0f}",
            _interval(each) or "-",
            f"{each.files_per_day:,.0f}",
            f"of {size(each.file_bytes)} in Kafka" if each.file_bytes else "-",
        )
    lines: list[object] = [
        Text(service, style="bold").append(f"  {load}", style="not bold"),
        "",
        sums,
        "",
        tables,
        "",
    ]
    lines += [Text(line) for line in _advice(cost, limits)]
    return render(screen, lines)  # type: ignore[arg-type]


def _interval(each: TableCost) -> str:
    return "" if math.isinf(each.interval) else duration(each.interval)


def _advice(cost: ServiceCost, limits: Limits) -> list[str]:
    due = counted(sum(each.load.tables for each in cost.tables if each.load.records), "table")
    lines = [f"the driver publishes an epoch of {due} in {duration(cost.publishing)}"]
    if cost.services > 1:
        lines.append(
            f"split the map into {counted(cost.services, 'service')}: publishing would take more than half of"
            f" the shortest interval, {duration(cost.shortest_interval)}"
        )
    if cost.epoch_bytes > limits.epoch_bytes:
        lines.append(
            f"set limits.epoch_bytes to {size(cost.epoch_bytes)} or more: so many bytes come between two looks, and epochs"
            " that are full sooner make more files"
        )
    lines.append(
        "not counted: SQL, compaction, replays, Hive's work; docs/sizing.md says how each cost was measured"
    )
    return lines


def size_document(service: str, cost: ServiceCost) -> Document:
    """Return the document of `size`."""
    return document(
        "size",
        ExitCode.DONE,
        service=service,
        records_per_second=cost.records,
        bytes_per_second=cost.bytes,
        busy_cores=round(cost.busy_cores, 3),
        cores=cost.cores,
        memory_bytes=round(cost.memory),
        namenode_calls_per_second=round(cost.namenode_calls_per_second, 2),
        files_per_day=round(cost.files_per_day),
        epoch_bytes=round(cost.epoch_bytes),
        publishing_seconds=round(cost.publishing, 2),
        services=cost.services,
        tables=[
            {
                "table": each.load.name,
                "tables": each.load.tables,
                "records_per_second": each.load.records,
                "record_bytes": each.load.record_bytes,
                "interval_seconds": None if math.isinf(each.interval) else round(each.interval, 1),
                "files_per_day": round(each.files_per_day),
                "file_bytes_in_kafka": round(each.file_bytes),
            }
            for each in cost.tables
        ],
    )
