"""Schedules of services whose tables wait until their records are worth a file: everything is dumped and certified all the same.

They have the seeds of `service`, and another map, so that they draw nothing that those do not draw.
"""

from collections import Counter
from collections.abc import Callable

import pytest

from tests.simulation.code import REAL, Production
from tests.simulation.schedule import outcome_of, without_logs
from tests.simulation.service.schedule import ServiceSchedule

SCHEDULES = 30


class WaitingSchedule(ServiceSchedule):
    """A schedule of services with small tables that wait."""

    def __init__(self, seed: int, code: Production, trace: Callable[[str], None] | None) -> None:
        super().__init__(seed, code, trace)
        self.around.waits = True


@pytest.mark.timeout(3600)
def test_every_promise_holds_while_small_tables_wait() -> None:
    count: Counter[str] = Counter()
    with without_logs():
        for seed in range(SCHEDULES):
            outcome = outcome_of(seed, WaitingSchedule(seed, REAL, None))
            assert outcome.violation is None, f"seed {seed}: {outcome.violation}"
            count += outcome.count
    assert count["calm"] > SCHEDULES / 4
    assert count["a table waits for more records"] > SCHEDULES, count
