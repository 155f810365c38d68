"""Schedules of tables whose partitions Hive gets when they are complete: a compacted one, and one of whole services."""

from collections.abc import Callable

from tests.simulation import waiting
from tests.simulation.code import REAL, Production
from tests.simulation.compaction import CompactionSchedule
from tests.simulation.schedule import Outcome, outcome_of
from tests.simulation.service.schedule import ServiceSchedule


def run_schedule(seed: int, code: Production = REAL, trace: Callable[[str], None] | None = None) -> Outcome:
    """Play and judge one schedule. Failures are in the outcome."""
    return outcome_of(seed, CompleteSchedule(seed, code, trace))


def run_services(seed: int, code: Production = REAL, trace: Callable[[str], None] | None = None) -> Outcome:
    """Play and judge one schedule of whole services. Failures are in the outcome."""
    return outcome_of(seed, CompleteServices(seed, code, trace))


class CompleteSchedule(CompactionSchedule):
    """A schedule with compaction in which most maps have `register: complete`."""

    def __init__(self, seed: int, code: Production, trace: Callable[[str], None] | None) -> None:
        super().__init__(seed, code, trace)
        waiting.watch(self.world)


class CompleteServices(ServiceSchedule):
    """Whole services, one of whose tables has `register: complete` in most maps."""

    def __init__(self, seed: int, code: Production, trace: Callable[[str], None] | None) -> None:
        super().__init__(seed, code, trace)
        waiting.watch(self.world)
        self.around.completes = True
