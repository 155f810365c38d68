"""Airflow starts one run for each complete partition that it is told of, and waits for partitions by their certificate."""

import json
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.schedulers.airflow import Airflow
from tests.schedulers.conftest import Flights, Programs
from tests.schedulers.environments import FILES

EARLIER, LATER, LAST = (date(2026, 1, day) for day in (3, 4, 5))
WAITED = date(2026, 1, 6)
EXPIRED = date(2020, 1, 1)
MONTH = "2026-01"


def settings(flights: Flights) -> dict[str, str]:
    """The connection and the variable that the files name."""
    extra = {
        "bootstrap.servers": flights.bootstrap,
        "group.id": "airflow",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    return {
        "AIRFLOW_CONN_KAFKA_DEFAULT": json.dumps({"conn_type": "kafka", "extra": extra}),
        "AIRFLOW_VAR_KAFKA2HIVE_MAP": str(flights.config),
    }


def reports(*days: date) -> list[str]:
    return [str(day) for day in days]


@pytest.mark.timeout(1800)
def test_each_complete_partition_starts_one_run_also_if_it_is_told_twice_and_over_a_kill(
    flights: Flights, programs: Programs, tmp_path: Path
) -> None:
    first = flights.complete(EARLIER)
    home = tmp_path / "airflow"
    with Airflow(home, [FILES / "airflow_news.py"], programs.folder, settings(flights)) as airflow:

        def succeeded(count: int) -> Callable[[], bool]:
            return lambda: [run["state"] for run in airflow.runs("report")].count("success") >= count

        airflow.wait_until(lambda: airflow.knows("kafka2hive_news", "report"), "the DAGs")
        airflow.wait_until(succeeded(1), "the report of what was told before Airflow began")
        assert programs.reports(MONTH) == reports(EARLIER)

        flights.tell_again(first)
        flights.complete(LATER)
        airflow.wait_until(succeeded(2), "the report of the next day")
        assert programs.reports(MONTH) == reports(EARLIER, LATER)

        airflow.process("triggerer").kill()
        flights.complete(LAST)
        airflow.process("triggerer").start()
        airflow.wait_until(succeeded(3), "the report of what was told meanwhile")
        airflow.wait_until(
            lambda: all(run["state"] == "success" for run in airflow.runs("kafka2hive_news")), "at rest"
        )
        assert programs.reports(MONTH) == reports(EARLIER, LATER, LAST)
        ids = {run["run_id"] for run in airflow.runs("report")}
        assert len(ids) == 3 and any(id.endswith(f"+2Fcomplete+2Fdt+3D{LAST}") for id in ids)


@pytest.mark.timeout(1800)
def test_a_sensor_waits_for_the_certificate_and_fails_at_once_if_waiting_does_not_help(
    flights: Flights, programs: Programs, tmp_path: Path
) -> None:
    home = tmp_path / "airflow"
    with Airflow(home, [FILES / "airflow_certificate.py"], programs.folder, settings(flights)) as airflow:

        def trigger(run: str, at: str) -> None:
            airflow.ask("dags", "trigger", "daily_report", "--run-id", run, "--logical-date", at)

        def has(run: str, task: str, state: str) -> Callable[[], bool]:
            return lambda: airflow.states("daily_report", run).get(task) == state

        airflow.wait_until(lambda: airflow.knows("daily_report"), "the DAG")
        trigger("waits", f"{WAITED + timedelta(days=1)}T00:00:00+00:00")
        airflow.wait_until(has("waits", "complete", "up_for_reschedule"), "told to wait")
        flights.complete(WAITED)
        airflow.wait_until(has("waits", "report", "success"), "the report")
        trigger("never", f"{EXPIRED + timedelta(days=1)}T00:00:00+00:00")
        airflow.wait_until(has("never", "complete", "failed"), "told that waiting does not help")
        assert airflow.states("daily_report", "never")["report"] == "upstream_failed"
    assert programs.reports(MONTH) == reports(WAITED)
