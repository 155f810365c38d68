"""Schedules of whole services whose maps change while runs are alive: tables come, change and go between two epochs.

Operators change the file of the map and ask a run to take it; the run may be killed at any call of the reload. In the calm,
the runs that are alive must take the newest map by themselves, and at the end each record must be in each table once.
"""

from collections.abc import Callable

from tests.simulation.code import REAL, Production
from tests.simulation.schedule import Outcome, outcome_of
from tests.simulation.service.schedule import ServiceSchedule


def run_schedule(seed: int, code: Production = REAL, trace: Callable[[str], None] | None = None) -> Outcome:
    """Play and judge one schedule. Failures are in the outcome."""
    return outcome_of(seed, ReloadSchedule(seed, code, trace))


class ReloadSchedule(ServiceSchedule):
    """A schedule of services whose runs reload their maps."""

    def __init__(self, seed: int, code: Production, trace: Callable[[str], None] | None) -> None:
        super().__init__(seed, code, trace)
        self.around.reloads = self.around.edits = True

    def calm(self) -> None:
        self._install_whole_map()
        super().calm()

    def judge(self) -> None:
        count = self.world.count
        count["reloads cut short"] += count["reloads begun"] - count["reloads answered"]
        self._install_whole_map()
        super().judge()

    def _install_whole_map(self) -> None:
        """Let the newest map have all tables, and let no operator change it any more."""
        self.around.edits = False
        self.around.absent = frozenset()
