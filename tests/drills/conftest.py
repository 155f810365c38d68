"""What drills share: their form, the report, and the topic with all flights."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.drills.form import Form, form_asked_for
from tests.drills.report import DrillReport

if TYPE_CHECKING:
    from tests.integration.flights_topic import FlightsTopic
    from tests.services.kafka_broker import KafkaBroker

_REPORT = pytest.StashKey[DrillReport]()


@pytest.fixture(scope="session")
def form() -> Form:
    """How often and how much."""
    return form_asked_for()


@pytest.fixture(scope="session")
def drill_report(request: pytest.FixtureRequest) -> Iterator[DrillReport]:
    """The report of this run; written where `KAFKA2HIVE_DRILL_REPORT` says, when it says so."""
    report = request.config.stash[_REPORT]
    yield report


@pytest.fixture
def figures(request: pytest.FixtureRequest, drill_report: DrillReport) -> "Figures":
    """Notes figures under the name of this very test."""
    return Figures(drill_report, request.node.name)


class Figures:
    """`figures(kills=25, first_rows_s=8.1)`: into the report, under this drill's name."""

    def __init__(self, report: DrillReport, drill: str) -> None:
        self._report = report
        self._drill = drill

    def __call__(self, **figures: int | float | str) -> None:
        self._report.add(self._drill, **figures)


@pytest.fixture(scope="session")
def flights_topic(kafka: "KafkaBroker") -> "FlightsTopic":
    """All 336,776 flights over four partitions. Do not write to it, do not delete from it."""
    from tests.integration.flights_topic import make_flights_topic

    return make_flights_topic(kafka, "drill-flights")


def pytest_configure(config: pytest.Config) -> None:
    """The report is there before the first drill."""
    asked = form_asked_for()
    config.stash[_REPORT] = DrillReport("long" if asked.long else "short")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Note how each drill ended, its set-up left out of its time."""
    result = yield
    if Path(__file__).parent in item.path.parents and (result.when == "call" or result.failed):
        item.config.stash[_REPORT].ended(item.name, result.outcome, result.duration)
    return result


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the report where it was asked for, and show it."""
    report = config.stash[_REPORT]
    if not report.drills:
        return
    if folder := os.environ.get("KAFKA2HIVE_DRILL_REPORT"):
        report.write(Path(folder))
    terminalreporter.write_line(report.markdown())
