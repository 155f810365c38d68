"""What each table needs from people, in words, for `report`. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from kafka2hive.model.errors import ExitCode, Kafka2HiveError
from kafka2hive.model.offsets import OffsetAccounting
from kafka2hive.model.text import counted, duration, unix_seconds
from kafka2hive.service.inspect.state import LastOutcome, NotInMap, NotRunning, Paused, Repairing, Starting
from kafka2hive.service.inspect.status import StatusResult, TableStatus, TableWithoutLedger
from kafka2hive.service.tables.condition import Retrying, Stopped, Trouble

LATE_SECONDS = 900.0
"""The age of a table's newest epoch from which its pending registrations are late.

If records wait, the table is behind from this age plus the longest interval that the map gives it.
"""


class Urgency(IntEnum):
    """How urgently a table needs a person; the most urgent has the lowest number."""

    ACT = 0
    """It makes no progress until an operator acts."""
    FAILS = 1
    """It fails and is retried; or no run is alive, because the last one was killed or died."""
    BEHIND = 2
    """Records wait in Kafka, and nothing is committed."""
    NOTE = 3
    """Its records are dumped, but somebody should look at something."""
    FINE = 4


@dataclass(frozen=True, slots=True)
class Attention:
    """What one table needs: its state in a few words, the known details, and what to do (empty if there is nothing to do).

    Commands in `remedy` are in backquotes.
    """

    table: str
    urgency: Urgency
    headline: str
    detail: str = ""
    remedy: str = ""


def attention_of(result: StatusResult, now: float) -> tuple[Attention, ...]:
    """Return what each table of a service needs, the most urgent first. `now` is in Unix seconds."""
    died = result.last_run is not None and result.last_run.end is None
    lags = {table.name: table.lag or 0 for table in result.tables}
    each = [
        *(_of_error(name, error) for name, error in result.errors),
        *(_of_table(table, now, died=died) for table in result.tables),
        *(_of_missing(one, now) for one in result.not_begun),
    ]
    return tuple(sorted(each, key=lambda one: (one.urgency, -lags.get(one.table, 0), one.table)))


def _of_error(table: str, error: Kafka2HiveError) -> Attention:
    stopped = error.exit_code is ExitCode.STOP
    headline = "Stopped: needs you" if stopped else "Unknown: its ledger cannot be read"
    urgency = Urgency.ACT if stopped else Urgency.FAILS
    return Attention(
        table=table,
        urgency=urgency,
        headline=headline,
        detail=f"[{error.code}] {error.message}",
        remedy=error.remedy,
    )


def _of_missing(one: TableWithoutLedger, now: float) -> Attention:
    trouble = _trouble(one.table, one.state, one.last, now)
    return trouble or Attention(one.table, Urgency.FINE, "Not begun: no ledger yet")


def _of_table(table: TableStatus, now: float, *, died: bool) -> Attention:
    """Return the first of these that applies: a trouble, a pause, no run, a backlog, a note."""
    if trouble := _trouble(table.name, table.state, table.last, now):
        return trouble
    state, waiting = table.view.state, _waiting(table)
    if state.paused is not None:
        who = f"paused by {state.paused.by} since {state.paused.since}"
        resume = f"`kafka2hive resume --table {table.name} -c MAP` resumes it"
        urgency = Urgency.NOTE if isinstance(table.state, Paused) else Urgency.BEHIND
        return Attention(
            table=table.name,
            urgency=urgency,
            headline="Paused on purpose",
            detail=f"{who}; {waiting}",
            remedy=resume,
        )
    match table.state:
        case Repairing(by):
            return Attention(table.name, Urgency.NOTE, "Under repair", f"process {by} is repairing it")
        case Starting():
            return Attention(table.name, Urgency.NOTE, "Starting", "a run has just taken it over")
        case NotInMap():
            text = "it has a ledger of this service, but the map does not have it (any more)"
            return Attention(table.name, Urgency.NOTE, "Not in the map", text)
        case NotRunning():
            return _without_run(table, waiting, died=died)
    return _served(table, waiting, now)


def _trouble(table: str, state: object, last: LastOutcome | None, now: float) -> Attention | None:
    """Return the trouble of the live run, otherwise that of the last run; None if there was none."""
    when = ""
    if isinstance(state, NotRunning) and last is not None:
        state, when = last.condition.state, f" (reported by the last run at {last.at}; no run is alive)"
    match state:
        case Stopped(trouble):
            remedy = (
                trouble.remedy or f"`kafka2hive recover --plan --table {table} -c MAP` shows what can be done"
            )
            return Attention(
                table=table,
                urgency=Urgency.ACT,
                headline="Stopped: needs you",
                detail=_text_of(trouble) + when,
                remedy=remedy,
            )
        case Retrying(trouble):
            due_at = state.due_at(now)
            headline = f"Fails: retried at {due_at}" if due_at else "Fails: being tried again now"
            headline = "Fails: the next run tries again" if when else headline
            return Attention(
                table=table,
                urgency=Urgency.FAILS,
                headline=headline,
                detail=_text_of(trouble) + when,
                remedy=trouble.remedy,
            )
    return None


def _text_of(trouble: Trouble) -> str:
    return f"[{trouble.code}] {trouble.message}"


def _waiting(table: TableStatus) -> str:
    """Say how many records wait in Kafka. A table without positions has read nothing yet, so its lag is not known."""
    if not table.view.state.positions:
        return "it has read nothing yet"
    if table.lag is None:
        return "Kafka did not answer, so the lag is unknown"
    return f"{counted(table.lag, 'offset')} wait in Kafka" if table.lag else "nothing waits in Kafka"


def _without_run(table: TableStatus, waiting: str, *, died: bool) -> Attention:
    start = "`kafka2hive run -c MAP` starts one"
    if died:
        text = f"the last run was killed or died; {waiting}"
        return Attention(
            table=table.name, urgency=Urgency.FAILS, headline="No run is alive", detail=text, remedy=start
        )
    urgency = Urgency.FINE if table.lag == 0 else Urgency.BEHIND
    return Attention(
        table=table.name,
        urgency=urgency,
        headline="No run is alive",
        detail=waiting,
        remedy=start if urgency else "",
    )


def _served(table: TableStatus, waiting: str, now: float) -> Attention:
    state = table.view.state
    written = unix_seconds(state.written_at)
    silent = 0.0 if written is None else now - written
    if table.lag and silent > LATE_SECONDS + (table.longest_interval or 0.0):
        text = f"{waiting}, and the newest epoch is {duration(silent)} old"
        remedy = "look at the run's log and its metrics `kafka2hive_lag_records`, `kafka2hive_last_epoch_timestamp_seconds`"
        return Attention(
            table=table.name, urgency=Urgency.BEHIND, headline="Behind", detail=text, remedy=remedy
        )
    if notes := tuple(_notes(table, silent)):
        text = "; ".join(note for note, _ in notes)
        return Attention(
            table=table.name,
            urgency=Urgency.NOTE,
            headline="Dumped, with a note",
            detail=text,
            remedy=next((r for _, r in notes if r), ""),
        )
    return Attention(table.name, Urgency.FINE, "Fine", waiting)


def _notes(table: TableStatus, silent: float) -> Iterable[tuple[str, str]]:
    """Yield what somebody should look at although the table's records are dumped, each with what to do."""
    account = sum((epoch.account for epoch in table.last_epochs), OffsetAccounting())
    if account.dead_lettered:
        yield (
            f"{account.dead_lettered:,} of the last {account.read:,} records became dead letters",
            f"`kafka2hive dead-letters list --table {table.name} -c MAP` shows why",
        )
    if table.not_in_hive and silent > LATE_SECONDS:
        yield (
            f"{counted(len(table.not_in_hive), 'Hive partition')} with data not registered for {duration(silent)}",
            "",
        )
    for warning in table.warnings:
        yield f"warning of the run: {warning}", ""
