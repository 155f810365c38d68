"""Alerts, metrics and dashboard, judged by promtool on the series of our exporter: each alert fires when it should, and
only then; each panel of the dashboard shows data.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import generate_latest

from kafka2hive.model.files import FileMoves
from kafka2hive.observe.metrics import ServiceMetrics
from kafka2hive.observe.progress import EpochNumbers, TableNumbers
from kafka2hive.service.run.telemetry.metrics import EpochWatcher
from kafka2hive.service.tables.table_state import MapTable, Table
from tests.harness.cli_ledger import wired
from tests.harness.clock import SkippedTime
from tests.harness.promtool import RULES, Minutes, promtool
from tests.pages.dashboard import dashboard, expressions

_ROOT = Path(__file__).parents[2]
TABLE = "air.flights"
WELL = FileMoves(created=1, renamed=1)
Story = Callable[[Minutes, ServiceMetrics], None]


def _epoch(moves: FileMoves = WELL, lag: int = 0, set_aside: int = 0) -> EpochNumbers:
    table = TableNumbers(TABLE, 1, 10, 1_000, moves=moves, lag_records=lag, freshness_seconds=0.0)
    return EpochNumbers(1, 1.0, (table,), {"tasks": 0.5}, set_aside=set_aside)


def _healthy(minutes: Minutes, exporter: ServiceMetrics) -> None:
    """Two hours with an epoch each minute; a rename is retried once."""
    minutes.pass_by(exporter, 60, lambda: exporter.observe_epoch(_epoch()))
    exporter.observe_moves(TABLE, FileMoves(retried=1))
    exporter.observe_outage("kafka", away=False)
    exporter.observe_unregistered(TABLE, 3)
    minutes.pass_by(exporter, 2, lambda: exporter.observe_set_aside(1))
    exporter.observe_set_aside(0)
    exporter.observe_unregistered(TABLE, 0)
    minutes.pass_by(exporter, 20, lambda: exporter.observe_completion(TABLE, 1, 0.0, uncertified=1))
    exporter.observe_completion(TABLE, 1, 0.0)
    minutes.pass_by(exporter, 1, lambda: exporter.observe_held(TABLE, 10, 2.0))
    exporter.observe_held(TABLE, 0, 0.0)
    minutes.pass_by(exporter, 58, lambda: exporter.observe_epoch(_epoch()))
    minutes.pass_by(exporter, 60, lambda: exporter.observe_paused(TABLE, paused=True))
    exporter.observe_paused(TABLE, paused=False)
    minutes.pass_by(exporter, 2, lambda: exporter.observe_epoch(_epoch()))


def _unaccounted(minutes: Minutes, exporter: ServiceMetrics) -> None:
    exporter.observe_epoch(_epoch(FileMoves(created=3, renamed=2)))
    minutes.pass_by(exporter, 2, lambda: None)


def _retried(minutes: Minutes, exporter: ServiceMetrics) -> None:
    minutes.pass_by(
        exporter, 40, lambda: exporter.observe_epoch(_epoch(FileMoves(created=1, renamed=1, retried=2)))
    )


def _set_aside(minutes: Minutes, exporter: ServiceMetrics) -> None:
    minutes.pass_by(exporter, 15, lambda: exporter.observe_set_aside(1))


def _topics_refused(minutes: Minutes, exporter: ServiceMetrics) -> None:
    minutes.pass_by(exporter, 15, lambda: exporter.observe_refused_topics(1))


def _unavailable(minutes: Minutes, exporter: ServiceMetrics) -> None:
    minutes.pass_by(exporter, 10, lambda: exporter.observe_outage("kafka", away=True))


def _hive_behind(minutes: Minutes, exporter: ServiceMetrics) -> None:
    minutes.pass_by(exporter, 40, lambda: exporter.observe_unregistered(TABLE, 2))


def _certificates_unwritten(minutes: Minutes, exporter: ServiceMetrics) -> None:
    minutes.pass_by(exporter, 40, lambda: exporter.observe_completion(TABLE, 3, None, uncertified=1))


def _never_filled(minutes: Minutes, exporter: ServiceMetrics) -> None:
    minutes.pass_by(exporter, 40, lambda: exporter.observe_never_filled(TABLE, (), ("Titel",)))


def _breaks(on_break: str) -> Story:
    def story(minutes: Minutes, exporter: ServiceMetrics) -> None:
        def observe() -> None:
            exporter.observe_broken(TABLE, "dest", rule="values", on_break=on_break, rows=1)

        minutes.pass_by(exporter, 40, observe)

    return story


def _transaction_hangs(minutes: Minutes, exporter: ServiceMetrics) -> None:
    minutes.pass_by(exporter, 5, lambda: exporter.observe_held(TABLE, 10, 1_000.0))


def _hangs(minutes: Minutes, exporter: ServiceMetrics) -> None:
    exporter.observe_epoch(_epoch(lag=5))
    minutes.pass_by(exporter, 20, lambda: None)


def _paused(minutes: Minutes, exporter: ServiceMetrics) -> None:
    minutes.pass_by(exporter, 13 * 60, lambda: exporter.observe_paused(TABLE, paused=True))


def _compaction_fails(minutes: Minutes, exporter: ServiceMetrics) -> None:
    minutes.pass_by(exporter, 150, lambda: exporter.observe_compaction(TABLE, moved=False))


def _objective_missed(minutes: Minutes, exporter: ServiceMetrics) -> None:
    """An hour of which twelve minutes are missed, the last ones among them: 20 % with a budget of 1 %."""
    exporter.observe_goal(TABLE, 120.0, 0.99)
    minutes.pass_by(exporter, 58, lambda: exporter.observe_objective(TABLE, 60.0, is_met=True))
    minutes.pass_by(exporter, 12, lambda: exporter.observe_objective(TABLE, 60.0, is_met=False))


def _objective_often_missed(minutes: Minutes, exporter: ServiceMetrics) -> None:
    """A day in which one minute of twenty is missed: 5 % with a budget of 1 %."""
    exporter.observe_goal(TABLE, 120.0, 0.99)
    minutes.pass_by(
        exporter,
        24 * 60,
        lambda: exporter.observe_objective(TABLE, 60.0, is_met=minutes.minute % 20 != 0),
    )


class _Looks:
    """What a run sees of one table at its looks, a minute apart: through the code that makes metrics of it."""

    def __init__(self, folder: Path, exporter: ServiceMetrics) -> None:
        wiring = wired(folder, "tables: [{table: air.flights, topics: [flights], format: raw}]")
        rule = wiring.map.tables[0]
        self.table = Table(MapTable(rule, wiring.paths(TABLE), ("flights",)))
        self.clock = SkippedTime()
        self._watcher = EpochWatcher(exporter, self.clock, False)

    def see(self, lag: int | None) -> None:
        self.table.lag = lag
        self._watcher.idle([self.table])
        self.clock.seconds += 60


def _news_wait(minutes: Minutes, metrics: ServiceMetrics) -> None:
    minutes.pass_by(metrics, 2, lambda: metrics.news.note_waiting("airflow", 3, 900.0))


FIRES: dict[str, Story] = {
    "FilesUnaccountedFor": _unaccounted,
    "RenamesRetried": _retried,
    "TablesSetAside": _set_aside,
    "TopicsRefused": _topics_refused,
    "ObjectiveBurnsFast": _objective_missed,
    "ObjectiveBurnsSlowly": _objective_often_missed,
    "ServiceUnavailable": _unavailable,
    "TablePaused": _paused,
    "TransactionHangs": _transaction_hangs,
    "HiveBehind": _hive_behind,
    "NewsWait": _news_wait,
    "CertificatesUnwritten": _certificates_unwritten,
    "ColumnsNeverFilled": _never_filled,
    "RulesBroken": _breaks("count"),
    "RulesMakeLetters": _breaks("dead_letter"),
    "NoEpochs": _hangs,
    "CompactionFails": _compaction_fails,
}


@pytest.mark.parametrize("alert", sorted(FIRES))
def test_an_alert_fires_when_it_should(alert: str, tmp_path: Path) -> None:
    minutes = Minutes()
    FIRES[alert](minutes, ServiceMetrics("demo", minutes.now))
    assert minutes.firing(tmp_path, alert)


@pytest.mark.parametrize(
    ("on_break", "alert"), [("count", "RulesBroken"), ("dead_letter", "RulesMakeLetters")]
)
def test_a_single_row_that_breaks_a_rule_fires_for_an_hour(on_break: str, alert: str, tmp_path: Path) -> None:
    minutes = Minutes()
    exporter = ServiceMetrics("demo", minutes.now)
    minutes.pass_by(exporter, 10, lambda: None)
    exporter.observe_broken(TABLE, "dest", rule="values", on_break=on_break, rows=1)
    minutes.pass_by(exporter, 20, lambda: None)
    assert minutes.firing(tmp_path, alert)
    assert not minutes.firing(tmp_path, "RulesMakeLetters" if on_break == "count" else "RulesBroken")
    minutes.pass_by(exporter, 90, lambda: None)
    assert not minutes.firing(tmp_path, "Rules.*")


def test_no_alert_fires_about_a_run_that_is_well(tmp_path: Path) -> None:
    minutes = Minutes()
    _healthy(minutes, ServiceMetrics("demo", minutes.now))
    assert not minutes.firing(tmp_path, ".+")


def test_a_table_that_never_showed_a_row_is_stale_once_records_have_waited_for_an_hour(
    tmp_path: Path,
) -> None:
    minutes = Minutes()
    exporter = ServiceMetrics("demo", minutes.now)
    looks = _Looks(tmp_path, exporter)
    minutes.pass_by(exporter, 5, lambda: looks.see(None))
    assert "kafka2hive_freshness_seconds" not in " ".join(minutes.series), "known before Kafka was asked"
    minutes.pass_by(exporter, 50, lambda: looks.see(10))
    assert not minutes.firing(tmp_path, "TableStale")
    minutes.pass_by(exporter, 30, lambda: looks.see(10))
    assert minutes.firing(tmp_path, "TableStale")


def test_a_record_that_comes_to_a_quiet_topic_does_not_make_its_table_stale(tmp_path: Path) -> None:
    minutes = Minutes()
    exporter = ServiceMetrics("demo", minutes.now)
    looks = _Looks(tmp_path, exporter)
    minutes.pass_by(exporter, 120, lambda: looks.see(0))
    minutes.pass_by(exporter, 50, lambda: looks.see(1))
    assert not minutes.firing(tmp_path, "TableStale")
    minutes.pass_by(exporter, 30, lambda: looks.see(1))
    assert minutes.firing(tmp_path, "TableStale")


def test_an_objective_that_is_missed_as_often_as_it_may_be_is_no_alert(tmp_path: Path) -> None:
    minutes = Minutes()
    exporter = ServiceMetrics("demo", minutes.now)
    exporter.observe_goal(TABLE, 120.0, 0.99)
    minutes.pass_by(
        exporter, 400, lambda: exporter.observe_objective(TABLE, 60.0, is_met=minutes.minute % 100 != 0)
    )
    assert not minutes.firing(tmp_path, "Objective.*")


def test_a_wide_budget_cannot_hide_a_table_that_is_never_fresh(tmp_path: Path) -> None:
    minutes = Minutes()
    exporter = ServiceMetrics("demo", minutes.now)
    exporter.observe_goal(TABLE, 120.0, 0.5)
    minutes.pass_by(exporter, 70, lambda: exporter.observe_objective(TABLE, 60.0, is_met=False))
    assert minutes.firing(tmp_path, "ObjectiveBurnsFast")


def test_the_lag_of_a_paused_table_is_no_alert_and_that_of_the_others_is(tmp_path: Path) -> None:
    minutes = Minutes()
    exporter = ServiceMetrics("demo", minutes.now)
    exporter.observe_paused(TABLE, paused=True)
    exporter.observe_epoch(_epoch())
    minutes.pass_by(exporter, 100, lambda: exporter.observe_lag(TABLE, 10, 7_200.0))
    assert not minutes.firing(tmp_path, "TableStale") and not minutes.firing(tmp_path, "NoEpochs")
    exporter.observe_paused("air.planes", paused=False)
    minutes.pass_by(exporter, 20, lambda: exporter.observe_lag("air.planes", 10, 7_200.0))
    assert minutes.firing(tmp_path, "TableStale") and minutes.firing(tmp_path, "NoEpochs")


def test_a_service_that_is_down_and_one_that_has_just_begun_are_told_apart(tmp_path: Path) -> None:
    gone = Minutes(minute=3, series={'up{job="x"}': [0.0, 0.0, 0.0]})
    assert gone.firing(tmp_path, "NoEpochs")
    begun = Minutes(minute=60)
    exporter = ServiceMetrics("demo", begun.now)
    begun.pass_by(exporter, 5, lambda: exporter.observe_lag(TABLE, 7, None))
    assert not begun.firing(tmp_path, "NoEpochs")


def test_records_that_have_just_come_after_a_quiet_hour_are_no_alert(tmp_path: Path) -> None:
    minutes = Minutes()
    exporter = ServiceMetrics("demo", minutes.now)
    minutes.pass_by(exporter, 60, lambda: exporter.observe_lag(TABLE, 0, 0.0))
    minutes.pass_by(exporter, 12, lambda: exporter.observe_lag(TABLE, 7, 0.0))
    assert not minutes.firing(tmp_path, "NoEpochs")
    minutes.pass_by(exporter, 6, lambda: exporter.observe_lag(TABLE, 7, 0.0))
    assert minutes.firing(tmp_path, "NoEpochs")


def test_a_run_with_epochs_does_not_hide_one_without(tmp_path: Path) -> None:
    well, hanging = Minutes(), Minutes()
    exporter = ServiceMetrics("demo", well.now)
    well.pass_by(exporter, 20, lambda: exporter.observe_epoch(_epoch(lag=5)))
    _hangs(hanging, ServiceMetrics("other", hanging.now))
    both = Minutes(minute=20)
    for instance, minutes in {"a": well, "b": hanging}.items():
        for name, values in minutes.series.items():
            both.series[name.replace("{", f'{{instance="{instance}",').replace(",}", "}")] = values
    assert both.firing(tmp_path, "NoEpochs")
    both.series = {name: values for name, values in both.series.items() if 'instance="a"' in name}
    assert not both.firing(tmp_path, "NoEpochs")


def test_a_table_that_compacts_now_and_then_fails_does_not_alert(tmp_path: Path) -> None:
    minutes = Minutes()
    exporter = ServiceMetrics("demo", minutes.now)
    minutes.pass_by(exporter, 100, lambda: exporter.observe_compaction(TABLE, moved=False))
    minutes.pass_by(exporter, 50, lambda: exporter.observe_compaction(TABLE, moved=True))
    assert not minutes.firing(tmp_path, "CompactionFails")


def _eventful(minutes: Minutes) -> ServiceMetrics:
    """An exporter that has seen everything that it can count, again and again for some minutes."""
    exporter = ServiceMetrics("demo", minutes.now)

    def everything() -> None:
        exporter.observe_epoch(_epoch(FileMoves(created=1, renamed=1), lag=5, set_aside=1))
        exporter.observe_paused(TABLE, paused=True)
        exporter.observe_held(TABLE, 10, 1_000.0)
        exporter.observe_completion(TABLE, 3, 60.0, uncertified=1)
        exporter.observe_location_corrected(TABLE)
        exporter.observe_compaction(TABLE, moved=True)
        exporter.observe_never_filled(TABLE, (), ("Titel",))
        exporter.observe_decoder("0.1.0", is_compiled=True)
        exporter.observe_outage("kafka", away=True)
        exporter.observe_unmapped(TABLE, 2)
        exporter.observe_changed(TABLE, "fraction", 1)
        exporter.observe_broken(TABLE, "id", rule="required", on_break="count", rows=1)
        exporter.observe_marks(TABLE, "watermark", 1)
        exporter.observe_refused_topics(1)
        exporter.observe_goal(TABLE, 120.0, 0.99)
        exporter.observe_objective(TABLE, 60.0, is_met=True)
        exporter.news.note_waiting("airflow", 1, 5.0)
        exporter.observe_map("0" * 64, differs=True)
        exporter.observe_reload("applied")
        exporter.news.note_taken("airflow")
        exporter.news.note_failure("airflow", "news.later")

    minutes.pass_by(exporter, 10, everything)
    return exporter


def test_every_alert_is_judged_and_names_a_section_of_the_runbook() -> None:
    rules = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
    assert {rule["alert"] for rule in rules} == {*FIRES, "TableStale"}
    sections = set(re.findall(r"^## (\w+)$", (_ROOT / "docs" / "runbook.md").read_text(), re.MULTILINE))
    assert sections == {rule["alert"] for rule in rules}
    for rule in rules:
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert rule["annotations"]["runbook"] == f"docs/runbook.md#{rule['alert'].lower()}"
        assert rule["annotations"]["summary"]
    code, output = promtool("check", "rules", str(RULES))
    assert code == 0, output


def test_every_metric_in_rules_and_dashboard_is_exported(eventful: Minutes) -> None:
    exported = _exported(eventful)
    assert _named(re.sub(r"share/\S+", "", RULES.read_text())) <= exported
    assert _named(json.dumps([panel["targets"] for panel in _panels()])) <= exported


def test_every_exported_metric_is_on_the_dashboard(eventful: Minutes) -> None:
    assert _exported(eventful) <= _named(dashboard())


def _exported(minutes: Minutes) -> set[str]:
    return {name.partition("{")[0] for name in minutes.series if "_created{" not in name}


def _named(text: str) -> set[str]:
    return set(re.findall(r"kafka2hive_\w+", text))


def _panels() -> list[dict[str, Any]]:
    return [panel for panel in json.loads(dashboard())["panels"] if panel["type"] != "row"]


@pytest.mark.parametrize("title, expression", [pytest.param(*pair, id=pair[0]) for pair in expressions()])
def test_a_panel_shows_data(title: str, expression: str, eventful: Minutes, tmp_path: Path) -> None:
    for variable, value in {
        "$job": ".*",
        "$instance": ".*",
        "$table": ".+",
        "$__rate_interval": "5m",
    }.items():
        expression = expression.replace(variable, value)
    assert eventful.has_samples(tmp_path, expression), title


@pytest.fixture(scope="module")
def eventful() -> Minutes:
    minutes = Minutes()
    _eventful(minutes)
    return minutes


def test_every_panel_selects_services_and_says_what_it_shows() -> None:
    for title, expression in expressions():
        metrics = re.findall(r"kafka2hive_\w+", expression)
        assert metrics and expression.count('{job=~"$job", instance=~"$instance"') == len(metrics), title
        assert set(re.findall(r"\[(.*?)\]", expression)) <= {"$__rate_interval"}, title
    for panel in _panels():
        assert panel["description"] and panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert {target["datasource"]["uid"] for target in panel["targets"]} == {"$datasource"}


def test_names_and_help_follow_the_rules_of_prometheus() -> None:
    text = generate_latest(_eventful(Minutes()).registry).decode()
    code, output = promtool("check", "metrics", stdin=text)
    assert code == 0, output
