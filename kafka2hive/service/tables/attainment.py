"""How long a table met its objective, by day. A run keeps it in its report, and the next run goes on from there."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kafka2hive.config.keys.objective import WINDOW_DAYS, Objective

_DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Attainment:
    """The seconds of each UTC day (days since 1970) in which a run saw the objective met and missed.

    Only days of the window are kept. Seconds in which no run served the table, or it was paused, are in neither.
    """

    objective: Objective
    days: tuple[tuple[int, float, float], ...] = ()

    @property
    def met_seconds(self) -> float:
        return sum(met for _, met, _ in self.days)

    @property
    def missed_seconds(self) -> float:
        return sum(missed for _, _, missed in self.days)

    @property
    def observed_seconds(self) -> float:
        return self.met_seconds + self.missed_seconds

    @property
    def budget_left(self) -> float:
        """The share of the window's budget that is left, negative if it is overspent."""
        return 1 - self.missed_seconds / self.objective.budget_seconds

    def plus(self, now: float, seconds: float, *, is_met: bool) -> "Attainment":
        """Add `seconds` that end at `now` (Unix seconds), and drop the days that have left the window."""
        today = int(now // _DAY_SECONDS)
        days = {day: (met, missed) for day, met, missed in self.days if today - WINDOW_DAYS < day <= today}
        met, missed = days.get(today, (0.0, 0.0))
        days[today] = (met + seconds, missed) if is_met else (met, missed + seconds)
        return Attainment(self.objective, tuple((day, *days[day]) for day in sorted(days)))

    def to_whole_seconds(self) -> "Attainment":
        """Return the value as it is written."""
        return Attainment(
            self.objective, tuple((day, round(met), round(missed)) for day, met, missed in self.days)
        )


def plain_attainment(attainment: Attainment) -> dict[str, object]:
    """Return the value for JSON; `attainment_of` is the inverse."""
    objective = attainment.objective
    return {
        "freshness": objective.freshness_seconds,
        "share": objective.share,
        "days": [list(day) for day in attainment.days],
    }


def attainment_of(plain: Mapping[str, object]) -> Attainment:
    """Read the value of `plain_attainment`. Raises KeyError, TypeError or ValueError if it is something else."""
    days = plain["days"]
    if not isinstance(days, Iterable):
        raise TypeError("days is no list")
    return Attainment(
        Objective(float(str(plain["freshness"])), float(str(plain["share"]))),
        tuple((int(day), float(met), float(missed)) for day, met, missed in days),
    )
