"""How long a table met its objective: measured at each look of a run, kept over restarts, told by `status`."""

from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.cli.render.status import objective_line
from kafka2hive.config.keys import Objective
from kafka2hive.observe.metrics import ServiceMetrics
from kafka2hive.service.run.telemetry.metrics import EpochWatcher
from kafka2hive.service.run.telemetry.objectives import REPORT_SECONDS, newest_attainments
from kafka2hive.service.tables.attainment import Attainment
from kafka2hive.service.tables.condition import RunConditions, Serving, TableCondition, decode, encode
from kafka2hive.service.tables.table_state import MapTable, Table
from tests.harness.cli_ledger import wired
from tests.harness.clock import SkippedTime

DAY = 86_400.0
GOAL = Objective(120.0, 0.99)
TABLE = "air.flights"


class Looks:
    """A run's looks at one table, each some seconds after the one before."""

    def __init__(self, folder: Path, earlier: dict[str, Attainment] | None = None) -> None:
        text = "tables: [{table: air.flights, topics: [flights], format: raw, objective: {freshness: 2m}}]"
        wiring = wired(folder, text)
        self.table = Table(MapTable(wiring.map.tables[0], wiring.paths(TABLE), ("flights",)))
        self.clock, self.metrics = SkippedTime(), ServiceMetrics("demo")
        self.watcher = EpochWatcher(self.metrics, self.clock, False, earlier or {})

    def see(self, lag: int | None, seconds: float, times: int = 1) -> None:
        self.table.lag = lag
        for _ in range(times):
            self.clock.seconds += seconds
            self.watcher.objectives([self.table])

    def counted(self, outcome: str) -> float | None:
        labels = {"table": TABLE, "outcome": outcome}
        return self.metrics.registry.get_sample_value("kafka2hive_objective_seconds_total", labels)


def test_records_that_wait_longer_than_they_may_are_missed_seconds(tmp_path: Path) -> None:
    looks = Looks(tmp_path)
    looks.see(0, 10, times=11)  # the first look only begins the time
    looks.see(7, 10, times=12)  # they may have come right after the last look
    assert (looks.counted("met"), looks.counted("missed")) == (220, 0)
    looks.see(7, 10, times=3)
    assert (looks.counted("met"), looks.counted("missed")) == (220, 30)
    looks.see(0, 10)
    assert (looks.counted("met"), looks.counted("missed")) == (230, 30)


def test_time_in_which_nothing_is_known_is_not_counted(tmp_path: Path) -> None:
    looks = Looks(tmp_path)
    looks.see(None, 10, times=5)
    assert looks.counted("met") is None
    looks.see(0, 10)
    looks.see(0, 10)
    looks.see(0, 3_600)  # suspended
    looks.see(0, 10)
    assert (looks.counted("met"), looks.counted("missed")) == (30, 0)


def test_a_run_reports_once_a_minute_and_the_next_goes_on_from_there(tmp_path: Path) -> None:
    looks = Looks(tmp_path)
    looks.see(0, 2)
    assert looks.table.attainment == Attainment(GOAL), "not measured yet"
    looks.see(0, 2, times=int(REPORT_SECONDS // 2))
    first = looks.table.attainment
    assert first is not None and first.met_seconds == REPORT_SECONDS
    looks.see(0, 2)
    assert looks.table.attainment is first, "each report costs a file"
    report = RunConditions((TableCondition(TABLE, Serving(), (), first),), at="2026-11-30T10:00:00Z")
    older = RunConditions(
        (TableCondition(TABLE, Serving(), (), Attainment(GOAL)),), at="2026-11-30T09:00:00Z"
    )
    earlier = newest_attainments([decode(encode(report)), older])
    assert earlier == {TABLE: first}
    after = Looks(tmp_path, earlier)
    after.clock.seconds = looks.clock.seconds
    after.see(0, 2)
    assert after.table.attainment == first
    after.see(0, 60)
    assert after.table.attainment is not None
    assert after.table.attainment.met_seconds == first.met_seconds + 60


def test_a_miss_is_reported_sooner(tmp_path: Path) -> None:
    looks = Looks(tmp_path)
    looks.see(0, 2)
    looks.see(7, 2, times=61)  # 120 seconds after the last look without a lag it is missed
    for _ in range(6):
        before = looks.table.attainment
        assert before is not None
        looks.see(7, 2, times=5)
        assert looks.table.attainment is not None
        assert looks.table.attainment.missed_seconds == before.missed_seconds + 10


def test_days_leave_the_window_and_a_new_goal_keeps_what_was_measured() -> None:
    seen = Attainment(GOAL).plus(10 * DAY + 50, 50, is_met=False).plus(39 * DAY, 10, is_met=True)
    assert (seen.met_seconds, seen.missed_seconds) == (10, 50)
    seen = seen.plus(40 * DAY, 10, is_met=True)
    assert (seen.met_seconds, seen.missed_seconds) == (20, 0)


def test_budget_is_that_of_the_whole_window() -> None:
    assert round(GOAL.budget_seconds) == 25_920
    half = Attainment(GOAL).plus(DAY, 12_960, is_met=False)
    assert half.budget_left == pytest.approx(0.5)
    assert "50 % of the 7.2 h that it may be missed are left" in objective_line(half), objective_line(half)
    spent = half.plus(DAY, 25_920, is_met=False)
    assert spent.budget_left < 0
    assert "more than the 7.2 h that 30 days allow" in objective_line(spent), objective_line(spent)
    assert objective_line(Attainment(GOAL)).endswith("; not measured yet")
    assert "99.9 %" in objective_line(replace(half, objective=Objective(120.0, 0.999)))


def test_reports_of_older_versions_have_no_attainment() -> None:
    report = RunConditions((TableCondition(TABLE, Serving()),), at="2026-11-30T10:00:00Z")
    assert decode(encode(report)).tables[0].attainment is None
    assert newest_attainments([report]) == {}
