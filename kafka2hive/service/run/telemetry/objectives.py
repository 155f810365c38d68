"""Measures how long each table meets its objective: for metrics, whose burn rate is alerted on, and for `status`."""

from collections.abc import Iterable, Mapping

from kafka2hive.config.keys import Objective
from kafka2hive.observe.metrics import ServiceMetrics
from kafka2hive.service.tables.attainment import Attainment
from kafka2hive.service.tables.condition import RunConditions
from kafka2hive.service.tables.table_state import Table

REPORT_SECONDS = 60.0
"""How often a run's report gets the newest seconds: each time costs a small file on the storage."""
MISSED_SECONDS = 10.0
"""The same while the objective is missed."""
LONGEST_STEP_SECONDS = 120.0
"""A longer time between two looks is not counted: the process was suspended, or its clock was set."""


class ObjectiveWatch:
    """Adds the seconds since the last look to each table's attainment. `earlier` is what earlier runs had seen."""

    def __init__(self, metrics: ServiceMetrics, earlier: Mapping[str, Attainment]) -> None:
        self._metrics = metrics
        self._earlier = dict(earlier)
        self._seen: dict[str, Attainment] = {}
        self._looked_at: dict[str, float] = {}
        self._reported_at: dict[str, float] = {}

    def look(self, table: Table, objective: Objective, freshness: float | None, now: float) -> None:
        """Note a look at `now` (Unix seconds). The time before the first look, and that of a paused table, is not counted."""
        before = self._looked_at.get(table.name)
        self._looked_at[table.name] = now
        seen = self._seen.get(table.name) or self._earlier.pop(table.name, None) or Attainment(objective)
        seen = Attainment(objective, seen.days)
        state = table.last_state
        is_paused = state is not None and state.paused is not None
        if (
            before is not None
            and freshness is not None
            and not is_paused
            and 0 < now - before <= LONGEST_STEP_SECONDS
        ):
            is_met = freshness <= objective.freshness_seconds
            seen = seen.plus(now, now - before, is_met=is_met)
            self._metrics.observe_objective(table.name, now - before, is_met=is_met)
        self._seen[table.name] = seen
        self._metrics.observe_goal(table.name, objective.freshness_seconds, objective.share)
        told = table.attainment
        is_missed = told is not None and seen.missed_seconds > told.missed_seconds + 1
        if now - self._reported_at.get(table.name, 0.0) >= (MISSED_SECONDS if is_missed else REPORT_SECONDS):
            self._reported_at[table.name] = now
            table.attainment = seen.to_whole_seconds()


def newest_attainments(reports: Iterable[RunConditions]) -> dict[str, Attainment]:
    """Return each table's attainment from the newest of the runs' reports that has one."""
    newest: dict[str, Attainment] = {}
    for report in sorted(reports, key=lambda each: each.at):
        newest |= {each.table: each.attainment for each in report.tables if each.attainment is not None}
    return newest
