"""The state of a table as `status` tells it: by the live run that has it, else by what ledger and Kafka show."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import ClassVar

from kafka2hive.model.errors import ExitCode, ManualActionRequired
from kafka2hive.model.paths.ledger import Generation
from kafka2hive.service.conditions.condition import (
    Retrying,
    RunConditions,
    RunState,
    Stopped,
    TableCondition,
    Trouble,
)
from kafka2hive.service.shared.process import process_of, shown_process


class OwnerLife(Enum):
    """What is known of the process in the generation's name."""

    ALIVE = "alive"
    DEAD = "dead"
    NOBODY = "nobody yet"


@dataclass(frozen=True, slots=True)
class Starting:
    """A live run has the table and has not told its condition yet."""

    name: ClassVar = "starting"


@dataclass(frozen=True, slots=True)
class NotRunning:
    """No live run has the table, and nothing is in the way of the next one."""

    name: ClassVar = "not_running"


@dataclass(frozen=True, slots=True)
class NotInMap:
    """The table has a ledger of this service, and the map does not know it (any more)."""

    name: ClassVar = "not_in_map"


TableState = RunState | Starting | NotRunning | NotInMap
"""`name` is the state's stable name, in JSON documents."""


@dataclass(frozen=True, slots=True)
class LastOutcome:
    """What the last run said of a table. `ended` False: the run died without a word, this is its state since `at`."""

    at: str
    ended: bool
    condition: TableCondition

    @property
    def trouble(self) -> Trouble | None:
        state = self.condition.state
        return state.trouble if isinstance(state, Retrying | Stopped) else None


@dataclass(frozen=True, slots=True)
class Runs:
    """Owners that beat, what each of them says, and what those say that are gone: at their end, or before they died."""

    live: frozenset[str]
    said: Mapping[str, RunConditions]

    def of(self, owner: str | None) -> str | None:
        """The live owner that is the same process as the one in a generation's name."""
        if owner is None:
            return None
        return next((live for live in sorted(self.live) if process_of(live) == process_of(owner)), None)

    def condition(self, table: str, owner: str | None) -> TableCondition | None:
        """By the run in the generation's name; else by any live one that has the table (it may still wait for it)."""
        mine = self.of(owner)
        for live in [mine] if mine else sorted(self.live):
            if live in self.said and (condition := self.said[live].of(table)):
                return condition
        return None

    def has_other_map(self, fingerprint: str) -> bool:
        """Whether a live run has loaded another map than this one."""
        maps = {self.said[live].map for live in self.live if live in self.said} - {""}
        return bool(maps - {fingerprint})

    def advice(self, table: str, generation: Generation) -> TableCondition | None:
        """The condition; a stopped table with what to do beside the run, or after its ledger was taken over since."""
        condition = self.condition(table, generation.owner)
        if condition is None or not isinstance(stopped := condition.state, Stopped):
            return condition
        is_taken = (
            self.of(generation.owner) is None
            and stopped.since != ""
            and _digits(stopped.since) < _digits(generation.started or "")
        )
        state = _taken_over(stopped, generation) if is_taken else _beside_run(stopped, table)
        return replace(condition, state=state)

    @property
    def most_tasks(self) -> int | None:
        """How many tasks an epoch of a live run has at most; None: no run is alive, or none has planned one."""
        known = [self.said[live].most_tasks for live in self.live if live in self.said]
        return max((most for most in known if most is not None), default=None)

    @property
    def last(self) -> RunConditions | None:
        """What the run said that was the last to live. None: a run is alive, or none said anything.

        One that was fenced ended after its successor had begun, whose word may be older: it holds since then.
        """
        if self.live:
            return None
        return max(self.said.values(), key=lambda run: (not run.was_fenced, run.at), default=None)

    @property
    def decoder(self) -> str:
        """Of the live run that says one, else of the last one; empty: none has said."""
        said = [run for owner, run in self.said.items() if owner in self.live] or list(self.said.values())
        newest = max(said, key=lambda run: run.at, default=None)
        return "" if newest is None else newest.decoder

    def last_outcome(self, table: str, generation: Generation | None) -> LastOutcome | None:
        """What was said last of the table, unless somebody has taken it over since; `generation` None: there is no ledger."""
        found = [
            LastOutcome(run.at, run.end is not None, condition)
            for owner, run in self.said.items()
            if owner not in self.live
            and (condition := run.of(table)) is not None
            and (generation is None or not _is_outdated(owner, run.at, generation))
        ]
        return max(found, key=lambda outcome: outcome.at, default=None)


def _beside_run(stopped: Stopped, table: str) -> Stopped:
    """The command that works while the run is alive."""
    trouble = stopped.trouble
    beside = f"with --table {table} --takeover beside this run; then start the run again"
    return replace(stopped, trouble=replace(trouble, remedy=f"{trouble.remedy} ({beside})"))


def _taken_over(stopped: Stopped, generation: Generation) -> Stopped:
    """The live run does not take the table back by itself."""
    by = f"process {shown_process(generation.owner or '-')}"
    message = f"{by} has taken the ledger over since; the run that is alive had stopped the table: "
    trouble = stopped.trouble
    remedy = "start the run again: it takes the table back, and the others go on"
    return replace(stopped, trouble=Trouble(trouble.code, message + trouble.message, remedy))


def _is_outdated(owner: str, at: str, generation: Generation) -> bool:
    """By the clocks of two hosts, perhaps: it is only shown."""
    if generation.owner is None or generation.started is None:
        return False
    return process_of(generation.owner) != process_of(owner) and _digits(at) < _digits(generation.started)


def _digits(time: str) -> str:
    """`2026-11-21T08:12:00Z` and `20261121T081200Z` alike."""
    return "".join(filter(str.isdigit, time))


def state_of(
    condition: TableCondition | None, life: OwnerLife, in_map: bool, stop: ManualActionRequired | None
) -> TableState:
    """`condition` is a live run's, `stop` was found without one."""
    if condition is not None:
        return condition.state
    if life is OwnerLife.ALIVE:
        return Starting()
    if stop is not None:
        return Stopped(Trouble.of(stop))
    return NotRunning() if in_map else NotInMap()


def exit_code_of(state: TableState, last: LastOutcome | None = None) -> ExitCode:
    """What the table alone would make of `status`; where no run has it, the last one's outcome counts."""
    match state:
        case Stopped():
            return ExitCode.STOP
        case Retrying():
            return ExitCode.SET_ASIDE
        case NotRunning() if last is not None:
            return exit_code_of(last.condition.state)
        case _:
            return ExitCode.DONE
