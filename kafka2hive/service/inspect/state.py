"""The state of a table as `status` tells it: by the live run that has it, else by what ledger and Kafka show."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import ClassVar

from kafka2hive.model.errors import ExitCode, ManualActionRequired
from kafka2hive.model.paths.ledger import Generation
from kafka2hive.service.process import process_of, shown_process
from kafka2hive.service.tables.condition import (
    Retrying,
    RunConditions,
    RunState,
    Stopped,
    TableCondition,
    Trouble,
)
from kafka2hive.service.tables.live_stop import digits_of, is_stop_of


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


@dataclass(frozen=True, slots=True)
class Repairing:
    """A command that is alive has the table: process `by`."""

    by: str
    name: ClassVar = "repairing"


@dataclass(frozen=True, slots=True)
class Repaired:
    """Process `by` has taken the table over since the live run stopped it, and is gone: the run takes the table up."""

    by: str
    name: ClassVar = "repaired"


TableState = RunState | Starting | Repairing | Repaired | NotRunning | NotInMap
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
    """Runs that beat, what each of them says, and what those say that are gone: at their end, or before they died.

    `repairs`: owners of commands that repair tables, and beat.
    """

    live: frozenset[str]
    said: Mapping[str, RunConditions]
    repairs: frozenset[str] = frozenset()

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

    def repair(
        self, generation: Generation, condition: TableCondition | None
    ) -> "Repairing | Repaired | None":
        """Whether a command has the table, or has had it since the live run stopped it (`condition`).

        The latter by the clocks of two hosts, perhaps: it is only shown.
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


def _is_outdated(owner: str, at: str, generation: Generation) -> bool:
    """By the clocks of two hosts, perhaps: it is only shown."""
    if generation.owner is None or generation.started is None:
        return False
    return process_of(generation.owner) != process_of(owner) and digits_of(at) < digits_of(generation.started)


def state_of(
    condition: TableCondition | None,
    life: OwnerLife,
    in_map: bool,
    stop: ManualActionRequired | None,
    table: str,
) -> TableState:
    """`condition` is a live run's, `stop` was found without one."""
    if condition is not None:
        state = condition.state
        return _beside_run(state, table) if isinstance(state, Stopped) else state
    if life is OwnerLife.ALIVE:
        return Starting()
    if stop is not None:
        return Stopped(Trouble.of(stop))
    return NotRunning() if in_map else NotInMap()


def _beside_run(stopped: Stopped, table: str) -> Stopped:
    """The run sees a table's repair by its ledger alone."""
    trouble = stopped.trouble
    after = f"after a repair by hand: `kafka2hive recover --table {table}`; then this run takes the table up by itself"
    return replace(stopped, trouble=replace(trouble, remedy=f"{trouble.remedy} ({after})"))


def exit_code_of(state: TableState, last: LastOutcome | None = None) -> ExitCode:
    """What the table alone would make of `status`; where no run has it, the last one's outcome counts."""
    match state:
        case Stopped():
            return ExitCode.STOP
        case Retrying() | Repairing() | Repaired():
            return ExitCode.SET_ASIDE
        case NotRunning() if last is not None:
            return exit_code_of(last.condition.state)
        case _:
            return ExitCode.DONE
