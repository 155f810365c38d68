"""`status`: its text and its document."""

import time
from dataclasses import asdict
from datetime import UTC, datetime

from rich.console import RenderableType
from rich.text import Text

from kafka2hive.cli.render.document import Document, document, error_of, hive_partition, next_offset
from kafka2hive.cli.render.positions_text import resume_lines
from kafka2hive.cli.screen import Screen, grid, render
from kafka2hive.model.layout import Generation
from kafka2hive.model.offsets import Position, TopicPartition
from kafka2hive.model.quantities import counted, duration, size
from kafka2hive.observe.progress import yours_to_register
from kafka2hive.service.conditions.condition import Retrying, Serving, Stopped, Trouble
from kafka2hive.service.conditions.table_state import NotInMap, NotRunning, OwnerLife, Starting, TableState
from kafka2hive.service.shared.process import shown_process
from kafka2hive.service.status import EpochStatus, StatusResult, TableStatus

_STATES: dict[type[TableState], tuple[str, str]] = {
    Serving: ("serving", "green"),
    Retrying: ("retrying", "yellow"),
    Stopped: ("STOP", "bold red"),
    Starting: ("starting", "yellow"),
    NotRunning: ("not running", ""),
    NotInMap: ("not in the map", "yellow"),
}
_LIVES = {OwnerLife.ALIVE: ", live", OwnerLife.DEAD: ", no live run", OwnerLife.NOBODY: ""}
_EPOCHS_SHOWN_UP_TO = 5  # tables: of more only the overview is shown


def render_status(
    service: str, result: StatusResult, screen: Screen, now: float | None = None, *, hive: bool = True
) -> str:
    """An overview of all tables, then each table's owner, position and last epochs.

    `now` in epoch seconds; `hive`: the map names one.
    """
    moment = time.time() if now is None else now
    parts: list[RenderableType] = []
    if result.tables:
        parts.append(_overview(result, moment))
    for table in result.tables:
        if len(result.tables) <= _EPOCHS_SHOWN_UP_TO:
            parts += _details(table, moment, hive)
        elif trouble := _trouble(table.state):
            parts += ["", Text(table.table, style="bold"), *trouble]
    for name, error in result.errors:
        parts += ["", Text(f"{name}: {error}", style="red")]
    if result.kafka_error:
        parts += ["", Text(f"no lag is known: {result.kafka_error}", style="yellow")]
    if result.not_begun:
        parts += ["", Text(f"no ledger yet: {', '.join(result.not_begun)}")]
    if not (result.tables or result.errors or result.not_begun):
        parts.append(f"service {service}: no ledger yet")
    return render(screen, parts)


def _overview(result: StatusResult, now: float) -> RenderableType:
    numbers = ("epoch", "lag", "not in\nHive")
    table = grid("table", "state", "epoch", "lag", "newest record", "pending", "not in\nHive", right=numbers)
    for row in result.tables:
        table.add_row(
            row.table,
            Text(*_STATES[type(row.state)]),
            str(row.epoch),
            _lag(row),
            "-" if row.newest_ms is None else f"{duration(max(now - row.newest_ms / 1000, 0))} old",
            Text(counted(row.pending_files, "file"), style="yellow") if row.pending else "-",
            Text(str(len(row.unregistered)), style="yellow") if row.unregistered else "0",
        )
    return table


def _lag(row: TableStatus) -> str:
    """A table without positions has not begun to read: what waits for it depends on where its map lets it start."""
    if not row.partitions:
        return "not begun"
    return "?" if row.lag is None else f"{row.lag:,}"


def _trouble(state: TableState) -> list[RenderableType]:
    """Why a table does not go on, until when, and what to do."""
    match state:
        case Retrying(trouble, next_try):
            return _lines(f"retrying, next at {next_try}", trouble, "yellow")
        case Stopped(trouble):
            return _lines("manual intervention required", trouble, "red")
        case _:
            return []


def _lines(what: str, trouble: Trouble, style: str) -> list[RenderableType]:
    lines = [f"{what}: [{trouble.code}] {trouble.message}"]
    if trouble.remedy:
        lines.append(f"  what to do: {trouble.remedy}")
    return [Text("  " + line, style=style) for line in lines]


def _details(table: TableStatus, now: float, hive: bool) -> list[RenderableType]:
    parts: list[RenderableType] = ["", Text(table.table, style="bold"), *_trouble(table.state)]
    lines = [f"owner: {_owner(table.generation)}{_LIVES[table.owner_life]}"]
    lines += [f"warning: {warning}" for warning in table.warnings]
    if table.pending:
        lines.append(
            f"epoch {table.epoch} is committed and not finalised: a start or `recover` rolls it forward"
        )
    if table.gaps or table.losses:
        lines.append(f"accepted so far: {counted(table.gaps, 'gap')}, {counted(table.losses, 'lost file')}")
    positions = [
        Position(TopicPartition(p.topic, p.number), p.position, p.position) for p in table.partitions
    ]
    lines += [f"resumes at {line}" for line in resume_lines(positions)]
    if table.unregistered and not hive:
        lines.append(yours_to_register(len(table.unregistered)))
    unregistered = "not in Hive yet" if hive else "not registered"
    lines += [f"{unregistered}: {partition.table} {partition.path}" for partition in table.unregistered[:10]]
    if len(table.unregistered) > 10:
        lines.append(f"{unregistered}: {len(table.unregistered) - 10} more (all: --json)")
    parts += [Text("  " + line) for line in lines]
    if table.last_epochs:
        parts.append(_epochs(table.last_epochs, now))
    return parts


def _owner(generation: str) -> str:
    """`process 23293 on host vm since 2026-11-21 08:58:46 UTC, generation 1`: the last that took the table over."""
    parsed = Generation.parse(generation)
    if parsed is None or parsed.owner is None or parsed.started is None:
        return "nobody yet"
    host, _, pid = shown_process(parsed.owner).rpartition("-")
    since = datetime.strptime(parsed.started, "%Y%m%dT%H%M%SZ")
    return f"process {pid} on host {host} since {since} UTC, generation {parsed.number}"


def _epochs(epochs: tuple[EpochStatus, ...], now: float) -> RenderableType:
    numbers = ("epoch", "records", "bytes", "files", "dead", "absent")
    table = grid("epoch", "written", "records", "bytes", "files", "dead", "absent", right=numbers)
    for epoch in epochs:
        account = epoch.account
        table.add_row(
            str(epoch.epoch),
            _ago(epoch.written_at, now),
            f"{account.read:,}",
            size(account.bytes),
            str(epoch.files),
            str(account.dead_lettered),
            str(account.absent),
        )
    return table


def _ago(written_at: str, now: float) -> str:
    """ISO 8601 as an age; what is no date (an older writer's) is shown as it is."""
    try:
        moment = datetime.fromisoformat(written_at)
    except ValueError:
        return written_at
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return f"{duration(max(now - aware.timestamp(), 0))} ago"


def status_document(service: str, result: StatusResult) -> Document:
    """`status`; times are ISO 8601 in UTC or epoch milliseconds, as their names say."""
    return document(
        "status",
        result.exit_code,
        service=service,
        kafka_error=result.kafka_error,
        tables=[_status(table) for table in result.tables],
        errors=[{"table": table, **error_of(error)} for table, error in result.errors],
        not_begun=list(result.not_begun),
    )


def _status(table: TableStatus) -> Document:
    return {
        "table": table.table,
        "generation": table.generation,
        "owner": table.owner,
        "owner_heartbeat": table.owner_life is OwnerLife.ALIVE,
        "state": table.state.name,
        "next_try": table.state.next_try if isinstance(table.state, Retrying) else None,
        "error": error_of(table.state.trouble) if isinstance(table.state, Retrying | Stopped) else None,
        "warnings": list(table.warnings),
        "epoch": table.epoch,
        "written_at": table.written_at,
        "pending": {"files": table.pending_files} if table.pending else None,
        "lag_records": table.lag,
        "newest_record_ms": table.newest_ms,
        "partitions": [
            next_offset(p.topic, p.number, p.position) | {"log_end": p.log_end, "lag_records": p.lag}
            for p in table.partitions
        ],
        "unregistered": [hive_partition(partition) for partition in table.unregistered],
        "last_epochs": [
            {
                "epoch": epoch.epoch,
                "written_at": epoch.written_at,
                "files": epoch.files,
                "rows": epoch.rows,
                "records": asdict(epoch.account),
            }
            for epoch in table.last_epochs
        ],
        "gaps": table.gaps,
        "losses": table.losses,
    }
