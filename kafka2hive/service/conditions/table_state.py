"""The state of a table as `status` tells it: by the live run that has it, else by what ledger and Kafka show."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from kafka2hive.model.errors import ExitCode, ManualActionRequired
from kafka2hive.service.conditions.condition import Retrying, RunState, Stopped, TableCondition, Trouble
from kafka2hive.service.shared.process import process_of


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
class LiveRuns:
    """Owners that beat, and what each of them says of its tables."""

    owners: frozenset[str]
    said: Mapping[str, tuple[TableCondition, ...]]

    def of(self, owner: str | None) -> str | None:
        """The live owner that is the same process as the one in a generation's name."""
        if owner is None:
            return None
        return next((live for live in sorted(self.owners) if process_of(live) == process_of(owner)), None)

    def condition(self, table: str, owner: str | None) -> TableCondition | None:
        """By the run in the generation's name; else by any live one that has the table (it may still wait for it)."""
        mine = self.of(owner)
        for live in [mine] if mine else sorted(self.owners):
            for condition in self.said.get(live, ()):
                if condition.table == table:
                    return condition
        return None


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


def exit_code_of(state: TableState) -> ExitCode:
    """What the table alone would make of `status`."""
    match state:
        case Stopped():
            return ExitCode.STOP
        case Retrying():
            return ExitCode.SET_ASIDE
        case _:
            return ExitCode.DONE
