"""The text of `status`."""

import time
from collections.abc import Iterable, Sequence
from datetime import datetime

from rich.console import RenderableType
from rich.text import Text

from kafka2hive.cli.render.order import pause_text
from kafka2hive.cli.render.reload import answer_lines
from kafka2hive.cli.terminal.document import (
    resume_lines,
)
from kafka2hive.cli.terminal.screen import Screen, grid, render
from kafka2hive.config.keys.objective import WINDOW_DAYS
from kafka2hive.ledger.staged_files import StagedFiles
from kafka2hive.model.offsets import OffsetAccounting
from kafka2hive.model.paths.ledger import Generation
from kafka2hive.model.text import ago, counted, duration, size, utc_text
from kafka2hive.observe.progress import manual_registration
from kafka2hive.service.inspect.legend import legend
from kafka2hive.service.inspect.state import (
    LastOutcome,
    NotInMap,
    NotRunning,
    OwnerLife,
    Paused,
    Repaired,
    Repairing,
    Runs,
    Starting,
    TableState,
)
from kafka2hive.service.inspect.status import EpochStatus, RetentionStatus, StatusResult, TableStatus
from kafka2hive.service.process import shown_process
from kafka2hive.service.tables.attainment import Attainment
from kafka2hive.service.tables.condition import Retrying, RunConditions, Serving, Stopped, Trouble, since_of
from kafka2hive.storage.port import FileStatus

_STATES: dict[type[TableState], tuple[str, str]] = {
    Serving: ("serving", "green"),
    Paused: ("paused", "bold yellow"),
    Retrying: ("retrying", "yellow"),
    Stopped: ("STOP", "bold red"),
    Starting: ("starting", "yellow"),
    Repairing: ("repairing", "yellow"),
    Repaired: ("repaired", "yellow"),
    NotRunning: ("not running", ""),
    NotInMap: ("not in the map", "yellow"),
}
_LIVES = {OwnerLife.ALIVE: ", live", OwnerLife.DEAD: ", no live run", OwnerLife.NOBODY: ""}
_MOST_LISTED = 10
_TABLES_IN_DETAIL = 5  # if there are more, only the overview and the troubles are shown


def render_status(
    service: str, result: StatusResult, screen: Screen, now: float | None = None, *, hive: bool = True
) -> str:
    """Return an overview of all tables, then each table's owner, position and last epochs.

    `now` in Unix seconds; `hive`: the map has a hive section.
    """
    moment = time.time() if now is None else now
    parts: list[RenderableType] = []
    if result.storage_error is not None:
        parts += [Text(str(result.storage_error), style="red"), *([""] if result.tables else [])]
    if result.tables:
        in_detail = len(result.tables) <= _TABLES_IN_DETAIL
        parts += [_overview(result, moment), *legend_lines(result.tables, in_detail=in_detail)]
    parts += ["", *lines] if (lines := service_warning_lines(result.runs.warnings)) else []
    for table in result.tables:
        if len(result.tables) <= _TABLES_IN_DETAIL:
            parts += table_details(table, moment, hive)
        elif lines := attention_lines(table, moment):
            parts += ["", Text(table.name, style="bold"), *lines]
    for name, error in result.errors:
        parts += ["", Text(f"{name}: {error}", style="red")]
    for order in result.waiting_orders:
        whose = f" for {order.table}" if order.table else ""
        text = f"order {order.instruction.kind}{whose} waits: given by {order.given_by} at {order.given_at}"
        parts += ["", Text(text, style="yellow")]
    if result.most_tasks is not None:
        parts += ["", Text(f"an epoch has at most {counted(result.most_tasks, 'task')} now")]
    if result.kafka_error:
        parts += ["", Text(f"no lag is known: {result.kafka_error}", style="yellow")]
    parts += _without_ledgers(result, moment)
    parts += ["", *lines] if (lines := last_run_lines(result.last_run, moment)) else []
    if result.map_differs:
        text = (
            "the live run has loaded another version of this map: `kafka2hive reload --plan -c MAP` shows the difference,"
            " `kafka2hive reload -c MAP` applies it"
        )
        parts += ["", Text(text, style="yellow")]
    parts += ["", *lines] if (lines := last_reload_lines(result.runs)) else []
    if result.decoder:
        parts += ["", f"decoder: {result.decoder}"]
    shown = (
        result.tables or result.errors or result.not_begun or result.other_services or result.storage_error
    )
    if not shown:
        parts.append(f"service {service}: no ledger yet")
    return render(screen, parts[1:] if parts[:1] == [""] else parts)


def last_reload_lines(runs: Runs) -> list[Text]:
    """Return what became of the last request to reload the map of a live run."""
    if (answer := runs.last_reload) is None:
        return []
    head = f"map {runs.map[:12]}: the reload for {answer.given_by} at {answer.at} was {answer.outcome}"
    return [Text(head, style="yellow" if answer.trouble else ""), *answer_lines(answer)]


def legend_lines(tables: Iterable[TableStatus], *, in_detail: bool) -> list[Text]:
    """Say what the words for unfinished work mean, if they apply to a table; `early` is a word of the details."""
    return [Text(line, style="dim") for line in legend(tables) if in_detail or not line.startswith("early")]


def _without_ledgers(result: StatusResult, now: float) -> list[RenderableType]:
    """Return the tables of which this service has no ledger."""
    parts: list[RenderableType] = []
    if result.not_begun:
        parts += ["", Text(f"no ledger yet: {', '.join(one.table for one in result.not_begun)}")]
    for table, service in result.other_services:
        text = f"{table}: its ledger is that of service {service}; a run of this service takes it over"
        parts += ["", Text(text, style="yellow")]
    for one in result.not_begun:
        warnings = () if one.condition is None else one.condition.warnings
        details = [*trouble_lines(one.state, one.last, now), *(Text(f"  warning: {w}") for w in warnings)]
        if details:
            parts += ["", Text(one.table, style="bold"), *details]
    return parts


def _overview(result: StatusResult, now: float) -> RenderableType:
    numbers = ("epoch", "lag", "not in\nHive")
    table = grid("table", "state", "epoch", "lag", "newest record", "pending", "not in\nHive", right=numbers)
    for row in result.tables:
        state = row.view.state
        table.add_row(
            row.name,
            state_text(row.state, row),
            str(state.epoch),
            _lag(row),
            "-" if state.newest_ms is None else f"{duration(max(now - state.newest_ms / 1000, 0))} old",
            Text(counted(len(state.files), "file"), style="yellow") if row.view.newest.pending else "-",
            Text(str(len(row.not_in_hive)), style="yellow") if row.not_in_hive else "0",
        )
    return table


def state_text(state: TableState, row: TableStatus | None = None) -> Text:
    """Return the state's name; if no run serves the table, also the exit code that its trouble caused."""
    text = Text(*_STATES[type(state)])
    if row is not None and row.view.state.paused is not None and not isinstance(row.state, Paused):
        text.append(", paused", "bold yellow")
    if row is not None and row.warnings:
        text.append(f", {counted(len(row.warnings), 'warning')}", "yellow")
    if isinstance(state, NotRunning) and row and row.last and row.last.trouble:
        stopped = isinstance(row.last.condition.state, Stopped)
        text.append(" (76)" if stopped else " (75)", "bold red" if stopped else "yellow")
    return text


def _lag(row: TableStatus) -> str:
    """Return the lag in records; a table without positions has not begun, so its lag depends on the map's `start`."""
    if not row.view.state.positions:
        return "not begun"
    return "?" if row.lag is None else f"{row.lag:,}"


def trouble_lines(state: TableState | None, last: LastOutcome | None, now: float) -> list[Text]:
    """Say why a table is not served, or was not when the last run ended, and what to do."""
    is_known = isinstance(state, Stopped) and last is not None and state.trouble == last.trouble
    return [*([] if is_known else _trouble(state, now)), *_outcome(last, now)]


def service_warning_lines(warnings: Sequence[str]) -> list[Text]:
    """Return what concerns all tables, each thing once."""
    return [Text(f"warning: {warning}", "yellow") for warning in warnings]


def attention_lines(table: TableStatus, now: float) -> list[Text]:
    """Say why a table is not served, who has paused it, and what its run warns of; nothing if all is well."""
    lines = trouble_lines(table.state, table.last, now)
    if table.view.state.paused is not None:
        lines.append(Text(f"  {_pause(table)}", style="yellow"))
    if table.attainment is not None and table.attainment.budget_left < 0:
        lines.append(Text(f"  {objective_line(table.attainment)}", style="yellow"))
    return lines + [Text(f"  warning: {warning}", style="yellow") for warning in table.warnings]


def _pause(table: TableStatus) -> str:
    return f"it {pause_text(table.view.state)}; `kafka2hive resume --table {table.name} -c MAP` resumes it"


def _trouble(state: TableState | None, now: float) -> list[Text]:
    """Say why a table is not served, until when, and what to do."""
    match state:
        case Retrying(trouble):
            due_at = state.due_at(now)
            when = f"next at {due_at}" if due_at else "being tried again now"
            return _lines(f"retrying{_since(state)}, {when}", trouble, "yellow")
        case Stopped(trouble):
            return _lines(f"manual intervention required{_since(state)}", trouble, "red")
        case Repairing(by):
            return [Text(f"  process {by} is repairing it", style="yellow")]
        case Repaired(by):
            text = f"  process {by} has repaired it; the live run resumes it within half a minute, or reports why it cannot"
            return [Text(text, style="yellow")]
        case _:
            return []


def _outcome(last: LastOutcome | None, now: float) -> list[Text]:
    """Say in what state the last run left a table that had a trouble, and repeat that run's warnings."""
    if last is None:
        return []
    lines: list[Text] = []
    if last.trouble is not None:
        stopped = isinstance(last.condition.state, Stopped)
        what = "manual intervention required" if stopped else "set aside"
        when = (
            f"when the last run ended, {ago(last.at, now)}"
            if last.ended
            else f"(reported {ago(last.at, now)}, by a run that has died since)"
        )
        lines += _lines(
            f"{what}{_since(last.condition.state)} {when}", last.trouble, "red" if stopped else "yellow"
        )
    return lines + [Text(f"  warning of the last run: {text}") for text in last.condition.warnings]


def _since(state: TableState) -> str:
    return f" since {since_of(state)}" if since_of(state) else ""


def last_run_lines(run: RunConditions | None, now: float) -> list[Text]:
    """Say how the service's last run ended; `run` is None while one is alive."""
    if run is None:
        return []
    if run.end is None:
        text = f"no run is alive: the last one was killed or died; its last report is from {ago(run.at, now)}"
        return [Text(text, style="yellow")]
    ended = f"the last run ended {ago(run.at, now)} ({run.at}) with {run.end.exit_code}"
    if run.end.trouble is None:
        return [Text(ended)]
    return _lines(ended, run.end.trouble, "red", indent="")


def _lines(what: str, trouble: Trouble, style: str, indent: str = "  ") -> list[Text]:
    remedy = [f"  what to do: {trouble.remedy}"] if trouble.remedy else []
    lines = [f"{what}: [{trouble.code}] {trouble.message}", *remedy]
    return [Text(indent + line, style=style) for line in lines]


def table_details(table: TableStatus, now: float, hive: bool) -> list[RenderableType]:
    """Return a table's name, trouble, owner, position and last epochs; the first part is an empty line."""
    state = table.view.state
    parts: list[RenderableType] = ["", Text(table.name, style="bold")]
    parts += attention_lines(table, now)
    lines = [f"owner: {_owner(table.view.generation)}{_LIVES[table.owner_life]}"]
    if table.view.newest.pending:
        lines.append(
            f"epoch {state.epoch} is committed, but not finalised: the next start or `recover` rolls it forward"
        )
    lines += staged_lines(table.staged)
    if state.gaps or state.losses:
        gaps, losses = counted(len(state.gaps), "gap"), counted(len(state.given_up), "lost file")
        refetched = len(state.losses) - len(state.given_up)
        again = f"; {counted(refetched, 'lost file')} fetched again" if refetched else ""
        lines.append(f"accepted so far: {gaps}, {losses}{again}")
    lines += [f"resumes at {line}" for line in resume_lines(state.positions)]
    if state.unregistered and not hive:
        lines.append(manual_registration(len(state.unregistered)))
    if (tracking := state.tracking) is not None:
        lines.append(f"{counted(len(state.open), 'partition')} open; read through {tracking.through}")
    lines += _first_lines(
        "not in Hive before its certificate", [f"{each.table} {each.path}" for each in state.withheld]
    )
    if state.early:
        files = counted(sum(each.files for each in state.early), "file")
        complete = sum(each.certified > 0 for each in state.early)
        places = counted(len(state.early), "partition")
        lines.append(f"early: {places} with {files}, of which {complete} complete")
    if state.bounds is not None and state.bounds.late_before_ms is not None:
        closed = utc_text(state.bounds.late_before_ms // 1000)
        lines.append(f"records of periods that ended by {closed} are late: they become dead letters")
    if table.attainment is not None and table.attainment.budget_left >= 0:
        lines.append(objective_line(table.attainment))
    lines += retention_lines(table.retention)
    unregistered = "not in Hive yet" if hive else "not registered"
    lines += _first_lines(unregistered, [f"{each.table} {each.path}" for each in table.not_in_hive])
    parts += [Text("  " + line) for line in lines]
    if table.last_epochs:
        parts.append(_epochs(table.last_epochs, now))
    return parts


def objective_line(attainment: Attainment) -> str:
    """Return `objective: fresher than 2 min for 99 % of 30 days; met for 99.8 % of 29 d, 80 % of the 7.2 h for misses left`."""
    objective = attainment.objective
    wait, share = duration(objective.freshness_seconds), f"{100 * objective.share:.4g} %"
    text = f"objective: fresher than {wait} for {share} of {WINDOW_DAYS} days"
    observed = attainment.observed_seconds
    if not observed:
        return f"{text}; not measured yet"
    text += f"; met for {100 * attainment.met_seconds / observed:.4g} % of {duration(observed)}"
    budget = duration(objective.budget_seconds)
    if attainment.budget_left < 0:
        return f"{text}: missed for {duration(attainment.missed_seconds)}, more than the {budget} that 30 days allow"
    return f"{text}; {100 * attainment.budget_left:.0f} % of the {budget} that it may be missed are left"


def staged_lines(staged: StagedFiles | None) -> list[str]:
    """Say what is in the staging directory; nothing if it is empty or was not listed."""
    if staged is None:
        return []
    lines = []
    if staged.committed:
        text = (
            f"{_files(staged.committed)} of the committed epoch wait in {staged.directory} to be made visible"
        )
        lines.append(text)
    if staged.others:
        text = f"{_files(staged.others)} of no committed epoch in {staged.directory}: being written, or left by a failed try"
        lines.append(f"{text}; a run deletes what is left")
    return lines


def _files(files: Sequence[FileStatus]) -> str:
    return f"{counted(len(files), 'file')} ({size(sum(file.length for file in files))})"


def _first_lines(what: str, texts: Sequence[str]) -> list[str]:
    more = [f"{len(texts) - _MOST_LISTED} more (all: --json)"] if len(texts) > _MOST_LISTED else []
    return [f"{what}: {text}" for text in [*texts[:_MOST_LISTED], *more]]


def retention_lines(retention: RetentionStatus | None) -> list[str]:
    """Say what has expired, which files wait for their deletion, and which partitions stay and why."""
    if retention is None:
        return []
    kept = (
        "no `retain` in the map"
        if retention.retain_seconds is None
        else f"retain {duration(retention.retain_seconds)}"
    )
    if not retention.expired_before:
        return [f"{kept}: nothing has expired yet"]
    lines = [
        f"periods that ended by {retention.expired_before} have expired ({kept}): their records become dead letters"
    ]
    if retention.dropped:
        lines.append(_dropped_line(retention))
    return lines + _first_lines(
        "expired, not dropped yet", [f"{path}, {why}" for path, why in retention.waits]
    )


def _dropped_line(retention: RetentionStatus) -> str:
    """Return `dropped: 3 partitions, 120 files with 2.4 GB; the next can be deleted from 2026-11-29T08:00:00Z`."""
    dropped = retention.dropped
    parts = [f"dropped: {counted(len(dropped), 'partition')}"]
    counts = [
        (each.files, each.length) for each in dropped if each.files is not None and each.length is not None
    ]
    if len(counts) == len(dropped):
        files, length = (sum(column) for column in zip(*counts, strict=True))
        parts.append(f"{counted(files, 'file')} with {size(length)}")
    text = ", ".join(parts)
    times = [each.drop.deletable_from for each in dropped if each.drop.deletable_from]
    if times:
        text += f"; the next can be deleted from {min(times)}"
    if len(times) < len(dropped):
        first = next(each.partition.path for each in dropped if not each.drop.deletable_from)
        text += f"; Hive may still have {len(dropped) - len(times)} of them, for example {first}"
    return text


def _owner(generation: Generation) -> str:
    """Return the owner as `process 23293 on host vm since 2026-11-21T08:58:46Z, generation 1`."""
    if generation.owner is None or generation.started is None:
        return "nobody yet"
    host, _, pid = shown_process(generation.owner).rpartition("-")
    since = datetime.strptime(generation.started, "%Y%m%dT%H%M%SZ").isoformat()
    return f"process {pid} on host {host} since {since}Z, generation {generation.number}"


def _epochs(epochs: tuple[EpochStatus, ...], now: float) -> RenderableType:
    numbers = ("epoch", "records", "bytes", "files", "dead", "absent")
    table = grid("epoch", "written", "records", "bytes", "files", "dead", "absent", right=numbers)
    for epoch in epochs:
        account = epoch.account
        table.add_row(
            str(epoch.epoch),
            ago(epoch.written_at, now),
            f"{account.read:,}",
            size(account.bytes),
            str(epoch.files),
            _dead_letters(account),
            str(account.absent),
        )
    return table


def _dead_letters(account: OffsetAccounting) -> str:
    """Return `7`, or `7 (4 late, 2 out of range)` if bounds of event time refuse some of them."""
    parts = [
        f"{count:,} {what}"
        for count, what in ((account.late, "late"), (account.out_of_range, "out of range"))
        if count
    ]
    return f"{account.dead_lettered:,}" + (f" ({', '.join(parts)})" if parts else "")
