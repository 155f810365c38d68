"""How often what goes wrong. Every schedule draws rates of its own ("swarm"): some faults off, some rare, some frequent.

All rates are chances per port call (mutations, reads) or per step of the scheduler (the rest).
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rates:
    """`0.0` = never. The five faults of a mutation exclude each other; their order in `client.py` is the order here."""

    unavailable: float = 0.0  # did not happen, said so
    lost_request: float = 0.0  # did not happen, nobody knows
    lost_reply: float = 0.0  # did happen, nobody knows
    delayed: float = 0.0  # nobody knows, happens at any later time
    duplicated: float = 0.0  # did happen, OK, and is executed once more at any later time
    read_fails: float = 0.0
    task_fails: float = 0.0  # per task attempt, beside what its port calls do
    twin: float = 0.0  # per task: a second attempt runs beside it and outlives its driver
    late: float = 0.0  # a delayed or duplicated RPC is executed now
    crash: float = 0.0
    pause: float = 0.0
    start: float = 0.0  # one more driver is started
    trouble: float = 0.0  # a time of Denied or NoRoom begins
    hive_outage: float = 0.0
    retention: float = 0.0  # a finished epoch's file is taken away (rule W3)

    @property
    def mutation(self) -> float:
        """Chance that a mutation meets one of its five faults."""
        return self.unavailable + self.lost_request + self.lost_reply + self.delayed + self.duplicated

    @property
    def events(self) -> float:
        """Chance that something happens in a step beside the actors' own calls."""
        return (
            self.late
            + self.crash
            + self.pause
            + self.start
            + self.trouble
            + self.hive_outage
            + self.retention
        )


NO_FAULTS = Rates()

LEVELS = {
    "unavailable": (0.0, 0.005, 0.03),
    "lost_request": (0.0, 0.005, 0.03),
    "lost_reply": (0.005, 0.02, 0.06),
    "delayed": (0.0, 0.01, 0.04),
    "duplicated": (0.0, 0.02, 0.10),
    "read_fails": (0.0, 0.005, 0.02),
    "task_fails": (0.0, 0.03, 0.15),
    "twin": (0.0, 0.03, 0.15),
    "late": (0.01, 0.05, 0.2),
    "crash": (0.003, 0.01, 0.04),
    "pause": (0.0, 0.01, 0.04),
    "start": (0.002, 0.01, 0.03),
    "trouble": (0.0, 0.0, 0.005),
    "hive_outage": (0.0, 0.005, 0.02),
    "retention": (0.0, 0.0, 0.02),
}
"""Off (or rarest), rare, frequent."""


def draw_rates(random: Callable[[], float]) -> Rates:
    return Rates(**{name: levels[int(random() * 3)] for name, levels in LEVELS.items()})
