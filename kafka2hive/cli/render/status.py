"""`status`: its text and its document."""

import time
from dataclasses import asdict
from datetime import UTC, datetime

from rich.console import RenderableType
from rich.text import Text

from kafka2hive.cli.render.document import Document, document, error_of, hive_partition, next_offset
from kafka2hive.cli.render.positions_text import resume_lines
from kafka2hive.cli.screen import Screen, grid, render
from kafka2hive.model.completeness import UNKNOWN_TIME
from kafka2hive.model.offsets import Position
from kafka2hive.model.paths.ledger import Generation
from kafka2hive.model.quantities import counted, duration, size
from kafka2hive.model.snapshot import Snapshot
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
            parts += ["", Text(table.name, style="bold"), *trouble]
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
        state = row.view.state
        table.add_row(
            row.name,
            Text(*_STATES[type(row.state)]),
            str(state.epoch),
            _lag(row),
            "-" if state.newest_ms is None else f"{duration(max(now - state.newest_ms / 1000, 0))} old",
            Text(counted(len(state.files), "file"), style="yellow") if row.view.newest.pending else "-",
            Text(str(len(state.unregistered)), style="yellow") if state.unregistered else "0",
        )
    return table


def _lag(row: TableStatus) -> str:
    """A table without positions has not begun to read: what waits for it depends on where its map lets it start."""
    if not row.view.state.positions:
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
    state = table.view.state
    parts: list[RenderableType] = ["", Text(table.name, style="bold"), *_trouble(table.state)]
    lines = [f"owner: {_owner(table.view.generation)}{_LIVES[table.owner_life]}"]
    lines += [f"warning: {warning}" for warning in table.warnings]
    if table.view.newest.pending:
        lines.append(
            f"epoch {state.epoch} is committed and not finalised: a start or `recover` rolls it forward"
        )
    if state.gaps or state.losses:
        gaps, losses = counted(len(state.gaps), "gap"), counted(len(state.losses), "lost file")
        lines.append(f"accepted so far: {gaps}, {losses}")
    lines += [f"resumes at {line}" for line in resume_lines(state.positions)]
    if state.unregistered and not hive:
        lines.append(yours_to_register(len(state.unregistered)))
    if (tracking := state.tracking) is not None:
        lines.append(f"{counted(len(state.open), 'partition')} open; read through {tracking.through}")
    unregistered = "not in Hive yet" if hive else "not registered"
    lines += [f"{unregistered}: {partition.table} {partition.path}" for partition in state.unregistered[:10]]
    if len(state.unregistered) > 10:
        lines.append(f"{unregistered}: {len(state.unregistered) - 10} more (all: --json)")
    parts += [Text("  " + line) for line in lines]
    if table.last_epochs:
        parts.append(_epochs(table.last_epochs, now))
    return parts


def _owner(generation: Generation) -> str:
    """`process 23293 on host vm since 2026-11-21 08:58:46 UTC, generation 1`: the last that took the table over."""
    if generation.owner is None or generation.started is None:
        return "nobody yet"
    host, _, pid = shown_process(generation.owner).rpartition("-")
    since = datetime.strptime(generation.started, "%Y%m%dT%H%M%SZ")
    return f"process {pid} on host {host} since {since} UTC, generation {generation.number}"


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
    view, state = table.view, table.view.state
    return {
        "table": table.name,
        "generation": view.generation.name,
        "owner": view.generation.owner or "init",
        "owner_heartbeat": table.owner_life is OwnerLife.ALIVE,
        "state": table.state.name,
        "next_try": table.state.next_try if isinstance(table.state, Retrying) else None,
        "error": error_of(table.state.trouble) if isinstance(table.state, Retrying | Stopped) else None,
        "warnings": list(table.warnings),
        "epoch": state.epoch,
        "written_at": state.written_at,
        "pending": {"files": len(state.files)} if view.newest.pending else None,
        "lag_records": table.lag,
        "newest_record_ms": state.newest_ms,
        "partitions": [_partition(table, position) for position in state.positions],
        "unregistered": [hive_partition(partition) for partition in state.unregistered],
        "completion": _completion(state),
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
        "gaps": len(state.gaps),
        "losses": len(state.losses),
    }


def _completion(state: Snapshot) -> Document | None:
    """`null`: the map does not ask which partitions are complete."""
    if state.tracking is None:
        return None
    known = None if state.tracking.through == UNKNOWN_TIME else state.tracking.through
    return {
        "since_epoch": state.tracking.since,
        "read_through": known,
        "open": [
            {
                **hive_partition(each.partition),
                "since_epoch": each.since,
                "opened_at": each.opened_at,
                "files": each.files,
                "rows": each.rows,
            }
            for each in state.open
        ],
    }


def _partition(table: TableStatus, position: Position) -> Document:
    tp, end = position.topic_partition, table.ends.get(position.topic_partition)
    line = next_offset(tp.topic, tp.number, position.end)
    return line | {"log_end": end.offset if end else None, "lag_records": table.lag_of(position)}
