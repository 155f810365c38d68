"""The kinds of schedules, each as a function of a seed."""

from collections.abc import Callable

from tests.simulation import compaction, complete, news, replays, retention, schedule
from tests.simulation.code import REAL, Production
from tests.simulation.schedule import Outcome
from tests.simulation.service import damaged, orders, reloads
from tests.simulation.service import schedule as service

Play = Callable[[int, Production, Callable[[str], None] | None], Outcome]

KINDS: dict[str, Play] = {
    "ledger": schedule.run_schedule,
    "replay": replays.run_schedule,
    "compaction": compaction.run_schedule,
    "retention": retention.run_schedule,
    "complete": complete.run_schedule,
    "news": news.run_schedule,
    "service": service.run_schedule,
    "complete-services": complete.run_services,
    "damage": damaged.run_schedule,
    "orders": orders.run_schedule,
    "reload": reloads.run_schedule,
}
"""`ledger`: the steps of one ledger. `replay`: those of a table whose dead letters come back.

`compaction`: those of a table that is compacted. `retention`: those of a table whose partitions expire.
`complete`: those of a compacted table whose partitions Hive gets when they are complete.
`news`: those of a compacted table whose news go to receivers.
`service`: whole processes of two services. `complete-services`: those, one table of which Hive gets when it is complete.
`damage`: those, damaged and repaired. `orders`: whole processes that take orders of operators.
`reload`: whole processes whose maps change while they are alive.
"""


def play(
    kind: str, seed: int, code: Production = REAL, trace: Callable[[str], None] | None = None
) -> Outcome:
    """Play one schedule of a kind."""
    return KINDS[kind](seed, code, trace)
