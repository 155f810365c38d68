"""The rates of faults. Each schedule draws its own ("swarm testing"): some faults are off, some rare, some frequent.

All rates are chances per port call (mutations, reads) or per step of the scheduler (the others).
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rates:
    """Chances; 0.0 means never. The five faults of a mutation exclude each other, and are tried in this order."""

    unavailable: float = 0.0  # not done, and the answer says so
    lost_request: float = 0.0  # not done, without an answer
    lost_reply: float = 0.0  # done, without an answer
    delayed: float = 0.0  # done at any later time, without an answer
    duplicated: float = 0.0  # done and answered, and done once more at any later time
    read_fails: float = 0.0
    task_fails: float = 0.0  # per task attempt, in addition to the faults of its port calls
    twin: float = 0.0  # per task: a second attempt runs at the same time and outlives its driver
    late: float = 0.0  # a delayed or duplicated RPC arrives
    crash: float = 0.0
    pause: float = 0.0
    start: float = 0.0  # one more driver starts
    trouble: float = 0.0  # a period of Denied or NoRoom begins
    hive_outage: float = 0.0
    retention: float = 0.0  # retention deletes a file of a finished epoch (rule W3)

    @property
    def mutation(self) -> float:
        """Return the chance that a mutation has one of its five faults."""
        return self.unavailable + self.lost_request + self.lost_reply + self.delayed + self.duplicated

    @property
    def events(self) -> float:
        """Return the chance of an event in a step, in addition to the actors' calls."""
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
