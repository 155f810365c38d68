"""Schedules of a compacted table whose news go to receivers.

In half of them most maps have `register: complete`. Letters come back, partitions expire and ledgers are lost as in `compaction`.
"""

from collections.abc import Callable

from kafka2hive.model.files import HivePartition
from tests.simulation import waiting
from tests.simulation.code import REAL, Production
from tests.simulation.compaction import CompactionSchedule
from tests.simulation.receivers import LATE, SHAKY, Mailboxes
from tests.simulation.schedule import Outcome, outcome_of


def run_schedule(seed: int, code: Production = REAL, trace: Callable[[str], None] | None = None) -> Outcome:
    """Play and judge one schedule. Failures are in the outcome."""
    return outcome_of(seed, NewsSchedule(seed, code, trace))


class NewsSchedule(CompactionSchedule):
    """A schedule with compaction and an outbox; a receiver dies and comes back, and another one comes into the map."""

    def __init__(self, seed: int, code: Production, trace: Callable[[str], None] | None) -> None:
        super().__init__(seed, code, trace)
        if seed % 2:
            waiting.watch(self.world)
        before = self.world.shows

        def shows(partition: HivePartition) -> None:
            before(partition)
            boxes.shown.add(partition.name)

        self.world.mailboxes = boxes = Mailboxes()
        self.world.shows = shows
        self.comes_at = self.world.below(self.average)

    def _event(self, dice: float) -> None:
        boxes = self.world.mailboxes
        assert boxes is not None
        if self.world.below(4) == 0:
            boxes.dead ^= {SHAKY}
        if self.world.step > self.comes_at:
            boxes.in_map.add(LATE)
        super()._event(dice)
