"""Schedules of a table that is compacted: its processes, and statements of others that put locations back in Hive.

In a third of them letters come back, and in another third the ledger is lost once and rebuilt from the footers.
In half of the others partitions expire, too. In a quarter of all, other threads write the units while epochs go on.
"""

from collections.abc import Callable

from tests.simulation.actor import Actor
from tests.simulation.chore_caller import night_passes
from tests.simulation.code import REAL, Production
from tests.simulation.compacting_caller import KEEP_SECONDS, SHORT_SECONDS, CompactingCaller
from tests.simulation.compaction_oracle import judge
from tests.simulation.filesystem import SimulatedFileSystem
from tests.simulation.ledger_caller import LedgerCaller
from tests.simulation.places import LOCATION
from tests.simulation.rebuilt_ledger import rebuild_ledger
from tests.simulation.schedule import Outcome, Schedule, outcome_of
from tests.simulation.service.footers import seal

RARE_UNITS_EVERY, SLOW_UNITS_AT, SHORT_UNITS_AT = 24, 6, 10
"""Of so many schedules one has units that are written during many epochs, and one has units that often leave sources out.

Both are among those in which other threads write the units.
"""
LATE_EVERY, LATE_AT = 8, 2
"""In one of so many schedules epochs are so small that partitions get more data while their units are written."""
ORDERS_EVERY = 3
"""Operators order compactions in one of so many schedules, unless the ledger is lost."""
COMMANDS = 6
"""One of so many processes is `compact`; if letters are replayed, one is `dead-letters replay`."""


def run_schedule(seed: int, code: Production = REAL, trace: Callable[[str], None] | None = None) -> Outcome:
    """Play and judge one schedule. Failures are in the outcome."""
    return outcome_of(seed, CompactionSchedule(seed, code, trace))


class CompactionSchedule(Schedule):
    """A schedule of the ledger with compaction; instead of another tool that deletes files, other users of Hive act."""

    def __init__(self, seed: int, code: Production, trace: Callable[[str], None] | None) -> None:
        super().__init__(seed, code, trace)
        kind = self.world.below(3)
        self.world.step_seconds = 1.0
        self.world.replays = kind == 0
        self.world.retains = kind == 2 and self.world.below(2) == 0
        self.world.compacts_by_order = kind != 1 and seed % ORDERS_EVERY == 0
        self.has_background = seed % 4 == 2
        self.moment, self.patience = "", -1
        """The state of an epoch in which the ledger is lost, after so many steps in such states; -1: it is not lost then."""
        self.loses_ledger = kind == 1
        self.is_long = (
            kind == 1 and self.world.below(2) == 1
        )  # the ledger is lost after early files were retired
        self.world.keep_seconds = SHORT_SECONDS if self.is_long else KEEP_SECONDS
        self.average = 600 * (1 + self.is_long) * (1 + self.has_background)
        if self.loses_ledger:
            self.world.seal = seal

    def run(self) -> None:
        """Run to the last step, perhaps lose the ledger and go on with a rebuilt one, then end all actors."""
        if self.loses_ledger:
            self.patience = self.world.below(12) + 60 * self.is_long
            self.moment = ("some", "all")[self.world.below(2)]
        self.chaos()
        self.patience = -1
        self.end()
        if self.loses_ledger and rebuild_ledger(self.world, self.code):
            if self.world.below(3) == 0:
                return
            self.world.later += self.world.step
            self.world.step = 0
            self.chaos()
            self.end()

    def _stays(self, actor: Actor) -> bool:
        """End the first part in the middle of an epoch, if the ledger is then lost."""
        if self.patience >= 0 and self.world.namenode.shown == self.moment:
            self.patience -= 1
            if self.patience < 0:
                self.steps = min(self.steps, self.world.step)
        return super()._stays(actor)

    def judge(self) -> None:
        """Let the oracle judge. Raises Violation."""
        judge(self.world, self.hive, self.code)

    def _pause(self) -> None:
        if self.world.retains and self.world.below(2):
            night_passes(self.world)
        super()._pause()

    def _retire(self) -> None:
        if not self.hive.down:
            self.hive.others_statement(self.world, LOCATION)

    def _caller(self, name: str, actor: Actor) -> LedgerCaller:
        spawn = self._spawn_unit if self.has_background else None
        callers = self.code.compacting_caller
        number = self.world.below(COMMANDS)
        is_command = number == 0
        kind = callers.CompactCommand if is_command else callers.CompactingCaller
        if self.world.replays and number == 1:
            kind = callers.CompactingReplayCommand
        arguments = (self.world, self.hive, self.code, name, actor.hand_over, self._spawn_twin)
        caller: CompactingCaller = kind(*arguments, spawn_unit=None if is_command else spawn)
        if self.world.seed % LATE_EVERY == LATE_AT:
            caller.most_offsets = 1
        if self.world.seed % RARE_UNITS_EVERY == SLOW_UNITS_AT:
            caller.units.pace = 5
        if self.world.seed % RARE_UNITS_EVERY == SHORT_UNITS_AT:
            caller.units.gaps = 2
        return caller

    def _spawn_unit(self, name: str, write: Callable[[SimulatedFileSystem], None]) -> None:
        """Start a thread beside a driver. It may outlive the driver, as a task of Spark does."""

        def run(actor: Actor) -> None:
            write(SimulatedFileSystem(self.world, name, actor.hand_over))

        self.running.append(Actor(name, run, self._stays, self.hub))
