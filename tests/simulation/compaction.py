"""Schedules of a table that is compacted: its processes, and statements of others that put locations back in Hive.

In a third of them letters come back, and in another third the ledger is lost once and rebuilt from the footers.
In a quarter of all, other threads write the units while their drivers commit epochs.
"""

from collections.abc import Callable

from tests.simulation.actor import Actor
from tests.simulation.code import REAL, Production
from tests.simulation.compacting_caller import KEEP_SECONDS, SHORT_SECONDS, CompactingCaller
from tests.simulation.compaction_oracle import judge
from tests.simulation.filesystem import SimulatedFileSystem
from tests.simulation.ledger_caller import LedgerCaller
from tests.simulation.places import LOCATION
from tests.simulation.rebuilt_ledger import Footers, rebuild_ledger
from tests.simulation.schedule import Outcome, Schedule, outcome_of


def run_schedule(seed: int, code: Production = REAL, trace: Callable[[str], None] | None = None) -> Outcome:
    """Play and judge one schedule. Failures are in the outcome."""
    return outcome_of(seed, CompactionSchedule(seed, code, trace))


class CompactionSchedule(Schedule):
    """A schedule of the ledger with compaction; instead of retention, other users of Hive act."""

    def __init__(self, seed: int, code: Production, trace: Callable[[str], None] | None) -> None:
        super().__init__(seed, code, trace)
        kind = self.world.below(3)
        self.world.replays = kind == 0
        self.has_background = seed % 4 == 2
        self.moment, self.patience = "", -1
        """The state of an epoch in which the ledger is lost, after so many steps in such states; -1: it is not lost then."""
        self.footers = Footers() if kind == 1 else None
        self.is_long = (
            kind == 1 and self.world.below(2) == 1
        )  # the ledger is lost after early files were retired
        self.world.keep_seconds = SHORT_SECONDS if self.is_long else KEEP_SECONDS
        self.average = 600 * (1 + self.is_long) * (1 + self.has_background)
        if self.footers is not None:
            self.world.seal = self.footers.seal

    def run(self) -> None:
        """Run to the last step, perhaps lose the ledger and go on with a rebuilt one, then end all actors."""
        if self.footers is not None:
            self.patience = self.world.below(12) + 60 * self.is_long
            self.moment = ("some", "all")[self.world.below(2)]
        self.chaos()
        self.patience = -1
        self.end()
        if self.footers is not None and rebuild_ledger(self.world, self.code, self.footers):
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
        judge(self.world, self.hive, self.code, self.footers)

    def _retire(self) -> None:
        if not self.hive.down:
            self.hive.others_statement(self.world, LOCATION)

    def _caller(self, name: str, actor: Actor) -> LedgerCaller:
        spawn = self._spawn_unit if self.has_background else None
        caller: CompactingCaller = self.code.compacting_caller.CompactingCaller(
            self.world, self.hive, self.code, name, actor.hand_over, self._spawn_twin, spawn_unit=spawn
        )
        caller.footers = self.footers
        return caller

    def _spawn_unit(self, name: str, write: Callable[[SimulatedFileSystem], None]) -> None:
        """Start a thread beside a driver. It may outlive the driver, as a task of Spark does."""

        def run(actor: Actor) -> None:
            write(SimulatedFileSystem(self.world, name, actor.hand_over))

        self.running.append(Actor(name, run, self._stays, self.hub))
