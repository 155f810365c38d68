"""The state of a table in `status`: as its live run reports it, otherwise as the ledger and Kafka show it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import ClassVar

from kafka2hive.ledger.look import View
from kafka2hive.model.errors import ExitCode, ManualActionRequired
from kafka2hive.model.paths.ledger import Generation
from kafka2hive.service.process import process_of, shown_process
from kafka2hive.service.tables.condition import (
    ReloadAnswer,
    Retrying,
    RunConditions,
    RunState,
    Serving,
    Stopped,
    TableCondition,
    Trouble,
)
from kafka2hive.service.tables.live_stop import digits_of, is_released, is_stop_of


class OwnerLife(Enum):
    """Whether the process in the generation's name is alive."""

    ALIVE = "alive"
    DEAD = "dead"
    NOBODY = "nobody yet"


@dataclass(frozen=True, slots=True)
class Starting:
    """A live run owns the table and has not reported the table's condition yet."""

    name: ClassVar = "starting"


@dataclass(frozen=True, slots=True)
class NotRunning:
    """No live run owns the table, and nothing would stop the next run."""

    name: ClassVar = "not_running"


@dataclass(frozen=True, slots=True)
class Paused:
    """A live run serves the table, which an operator has paused."""

    name: ClassVar = "paused"


@dataclass(frozen=True, slots=True)
class NotInMap:
    """The table has a ledger of this service, but is not in the map (any more)."""

    name: ClassVar = "not_in_map"


@dataclass(frozen=True, slots=True)
class Repairing:
    """A repair command (process `by`) is running and owns the table."""

    by: str
    name: ClassVar = "repairing"


@dataclass(frozen=True, slots=True)
class Repaired:
    """Process `by` took the table over after the live run stopped it, and has ended: the run will take it over again."""

    by: str
    name: ClassVar = "repaired"


TableState = RunState | Starting | Paused | Repairing | Repaired | NotRunning | NotInMap
"""`name` is the state's stable name in JSON documents."""


@dataclass(frozen=True, slots=True)
class LastOutcome:
    """The last run's report on a table, of time `at`. `ended` is False if the run died without reporting its end."""

    at: str
    ended: bool
    condition: TableCondition

    @property
    def trouble(self) -> Trouble | None:
        state = self.condition.state
        return state.trouble if isinstance(state, Retrying | Stopped) else None


@dataclass(frozen=True, slots=True)
class Runs:
    """The owners of live runs and live repair commands, and the newest report of each run by its owner.

    `reports` includes runs that are gone: their report at the end, or the last one before they died.
    """

    live: frozenset[str]
    reports: Mapping[str, RunConditions]
    repairs: frozenset[str] = frozenset()

    def of(self, owner: str | None) -> str | None:
        """Return the live owner that is the same process as `owner`, a name from a generation."""
        if owner is None:
            return None
        return next((live for live in sorted(self.live) if process_of(live) == process_of(owner)), None)

    def condition(self, table: str, owner: str | None) -> TableCondition | None:
        """Return what the live run `owner` reports about the table.

        If `owner` is not alive, return the report of any live run that lists the table, and may still be waiting for it.
        """
        live_owner = self.of(owner)
        for live in [live_owner] if live_owner else sorted(self.live):
            if live in self.reports and (condition := self.reports[live].of(table)):
                return condition
        return None

    def has_other_map(self, fingerprint: str) -> bool:
        """Return whether a live run has loaded a map with another fingerprint."""
        maps = {self.reports[live].map for live in self.live if live in self.reports} - {""}
        return bool(maps - {fingerprint})

    @property
    def map(self) -> str:
        """The fingerprint of the map that a live run has, "" if none reports it."""
        return next((self.reports[live].map for live in sorted(self.live) if live in self.reports), "")

    @property
    def last_reload(self) -> ReloadAnswer | None:
        """The newest answer of a live run to a request to reload its map."""
        answers = [a for live in self.live if live in self.reports for a in self.reports[live].reloads]
        return max(answers, key=lambda answer: answer.at, default=None)

    def has_released(self, view: View) -> bool:
        """Return whether the live run that owns this generation has released the table, whose map it has left."""
        owner = self.of(view.generation.owner)
        return owner is not None and owner in self.reports and is_released(self.reports[owner], view)

    def repair(
        self, generation: Generation, condition: TableCondition | None
    ) -> "Repairing | Repaired | None":
        """Return Repairing if a repair command owns the table, Repaired if one took it over after the live run stopped it.

        `condition` is the live run's report on the table. The compared times may come from the clocks of two hosts, which is
        good enough for display.
        """
        owner = generation.owner
        if owner is None:
            return None
        by = shown_process(owner)
        if any(process_of(repair) == process_of(owner) for repair in self.repairs):
            return Repairing(by)
        if (
            condition is None
            or not isinstance(stopped := condition.state, Stopped)
            or self.of(owner) is not None
        ):
            return None
        is_newer = stopped.since != "" and not is_stop_of(stopped, generation)
        return Repaired(by) if is_newer else None

    @property
    def most_tasks(self) -> int | None:
        """The maximum number of tasks in an epoch of a live run; None if no run is alive, or none has planned an epoch."""
        limits = [self.reports[live].most_tasks for live in self.live if live in self.reports]
        return max((limit for limit in limits if limit is not None), default=None)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the live runs warn of that concerns all tables."""
        texts = (
            text for live in sorted(self.live) if live in self.reports for text in self.reports[live].warnings
        )
        return tuple(dict.fromkeys(texts))

    @property
    def last(self) -> RunConditions | None:
        """The report of the last run; None if a run is alive, or if there is no report.

        A fenced run may report later than its successor, so its report counts only if there is no other.
        """
        if self.live:
            return None
        return max(self.reports.values(), key=lambda run: (not run.was_fenced, run.at), default=None)

    @property
    def decoder(self) -> str:
        """The decoder in the newest report of a live run, or of any run if none is alive; empty if not reported."""
        reports = [run for owner, run in self.reports.items() if owner in self.live]
        newest = max(reports or self.reports.values(), key=lambda run: run.at, default=None)
        return "" if newest is None else newest.decoder

    def last_outcome(self, table: str, generation: Generation | None) -> LastOutcome | None:
        """Return the last report on the table by a run that is gone, unless another process has since taken the table over.

        `generation` is None if the table has no ledger.
        """
        outcomes = [
            LastOutcome(run.at, run.end is not None, condition)
            for owner, run in self.reports.items()
            if owner not in self.live
            and (condition := run.of(table)) is not None
            and (generation is None or not _is_outdated(owner, run.at, generation))
        ]
        return max(outcomes, key=lambda outcome: outcome.at, default=None)


def _is_outdated(owner: str, at: str, generation: Generation) -> bool:
    """Return whether another process took the table over after `at`; the two clocks may belong to different hosts."""
    if generation.owner is None or generation.started is None:
        return False
    return process_of(generation.owner) != process_of(owner) and digits_of(at) < digits_of(generation.started)


def state_of(
    condition: TableCondition | None,
    life: OwnerLife,
    in_map: bool,
    stop: ManualActionRequired | None,
    table: str,
    is_paused: bool = False,
) -> TableState:
    """Combine what a live run reports (`condition`) with the STOP that a start would meet (`stop`).

    `is_paused` is true if the table's ledger says so; a trouble of the run takes precedence.
    """
    if condition is not None:
        state = condition.state
        if is_paused and isinstance(state, Serving):
            return Paused()
        return _with_recover_hint(state, table) if isinstance(state, Stopped) else state
    if life is OwnerLife.ALIVE:
        return Starting()
    if stop is not None:
        return Stopped(Trouble.of(stop))
    return NotRunning() if in_map else NotInMap()


def _with_recover_hint(stopped: Stopped, table: str) -> Stopped:
    """Add `recover` to the remedy: the live run notices a repair only by a new generation of the table's ledger."""
    trouble = stopped.trouble
    hint = f"after a repair by hand: `kafka2hive recover --table {table} -c MAP`; then this run takes the table up by itself"
    return replace(stopped, trouble=replace(trouble, remedy=f"{trouble.remedy} ({hint})"))


def exit_code_of(state: TableState, last: LastOutcome | None = None) -> ExitCode:
    """Return the exit code of `status` for this table alone; if no run owns it, the last run's outcome counts."""
    match state:
        case Stopped():
            return ExitCode.STOP
        case Retrying() | Repairing() | Repaired():
            return ExitCode.SET_ASIDE
        case NotRunning() if last is not None:
            return exit_code_of(last.condition.state)
        case _:
            return ExitCode.DONE
