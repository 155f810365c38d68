"""Schedules of whole services whose maps change while runs are alive: tables come, change and go between two epochs.

Operators change the file of the map and ask a run to take it; the run may be killed at any call of the reload. In the calm,
the runs that are alive must take the newest map by themselves, and at the end each record must be in each table once.
"""

from collections.abc import Callable

from tests.simulation.code import REAL, Production
from tests.simulation.schedule import Outcome, outcome_of
from tests.simulation.service.schedule import ServiceSchedule

EDITED_STEPS = 2_000
"""So many calls after the last fault operators go on changing the map."""
HIVE_CHANGES = 0.003
"""How often, in a call of these, Hive goes or comes back."""


def run_schedule(seed: int, code: Production = REAL, trace: Callable[[str], None] | None = None) -> Outcome:
    """Play and judge one schedule. Failures are in the outcome."""
    return outcome_of(seed, ReloadSchedule(seed, code, trace))


class ReloadSchedule(ServiceSchedule):
    """A schedule of services whose runs reload their maps."""

    def __init__(self, seed: int, code: Production, trace: Callable[[str], None] | None) -> None:
        super().__init__(seed, code, trace)
        self.around.reloads = self.around.edits = True

    def _settle(self) -> None:
        """Let operators go on while only Hive comes and goes, so that tables leave in good order; then the map has all tables."""
        self.steps = self.world.step + EDITED_STEPS
        while self.around.edits and self.world.step < self.steps:
            self._settled()
            self._let_one_act()
            if self._others.random() < HIVE_CHANGES:
                self.hive.down = not self.hive.down
        self.hive.down = False
        self._install_whole_map()
        for process in self.processes.values():
            process.settled = False
        super()._settle()

    def judge(self) -> None:
        count = self.world.count
        count["reloads cut short"] += count["reloads begun"] - count["reloads answered"]
        self._install_whole_map()
        super().judge()

    def _install_whole_map(self) -> None:
        """Let the newest map have all tables, and let no operator change it any more."""
        self.around.edits = False
        self.around.absent = frozenset()
