"""What drills share: their form and the report."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.drills.form import Form, form_asked_for
from tests.drills.report import DrillReport, Figure

if TYPE_CHECKING:
    from tests.services.kafka_secure import SecureKafka
    from tests.services.secure.kdc import Kdc

_REPORT = pytest.StashKey[DrillReport]()
_FIGURE = "drill figure "
"""Before the name of a property that carries a figure from the process that runs the drill to the one that reports."""


@pytest.fixture(scope="session")
def form() -> Form:
    """How often and how much."""
    return form_asked_for()


@pytest.fixture
def figures(record_property: Callable[[str, object], None]) -> "Figures":
    """Notes figures under the name of this very test."""
    return Figures(record_property)


class Figures:
    """`figures(kills=25, first_rows_s=8.1)`: into the report, under this drill's name."""

    def __init__(self, record_property: Callable[[str, object], None]) -> None:
        self._record = record_property

    def __call__(self, **figures: Figure) -> None:
        for name, value in figures.items():
            self._record(f"{_FIGURE}{name}", _sendable(value))


@pytest.fixture(scope="session")
def strict_kafka(tmp_path_factory: pytest.TempPathFactory, kdc: "Kdc") -> "Iterator[SecureKafka]":
    """A secured broker that asks each client every 15 s to log in again, shared."""
    from tests.services.kafka_secure import SecureKafka

    with SecureKafka(tmp_path_factory.mktemp("strict-kafka"), kdc, 15_000) as broker:
        yield broker


@pytest.fixture
def processes() -> Iterator[ExitStack]:
    """Every run of the test; at its end nothing of them is left."""
    with ExitStack() as stack:
        yield stack


def _sendable(value: Figure) -> Figure:
    """A worker of `pytest -n` sends plain values only, not those of numpy that derive from them."""
    if isinstance(value, str):
        return str(value)
    return int(value) if isinstance(value, int) else float(value)


class Reporter:
    """Fills the report from what each drill's process sends: with `pytest -n` the drills run in others than this one."""

    def __init__(self, report: DrillReport) -> None:
        self._report = report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note how each drill ended, its set-up left out of its time."""
        place, _, name = report.nodeid.partition("@")[0].partition("::")
        if not place.startswith("tests/drills/") or not (report.when == "call" or report.failed):
            return
        self._report.ended(name, report.outcome, report.duration)
        figures = {
            key.removeprefix(_FIGURE): _sendable(value)
            for key, value in report.user_properties
            if key.startswith(_FIGURE) and isinstance(value, int | float | str)
        }
        self._report.add(name, **figures)


def pytest_configure(config: pytest.Config) -> None:
    """The report is there before the first drill."""
    asked = form_asked_for()
    config.stash[_REPORT] = DrillReport("long" if asked.long else "short")
    config.pluginmanager.register(Reporter(config.stash[_REPORT]))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the report where it was asked for, and show it."""
    report = config.stash[_REPORT]
    if not report.drills:
        return
    if folder := os.environ.get("KAFKA2HIVE_DRILL_REPORT"):
        report.write(Path(folder))
    terminalreporter.write_line(report.markdown())
