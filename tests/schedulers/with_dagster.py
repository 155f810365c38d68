"""Dagster's daemon runs its sensor on the topic of news: one run for each complete partition."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import pytest

from tests.harness.waiting import wait_until
from tests.schedulers.conftest import Flights, Programs
from tests.schedulers.environments import FILES, environment
from tests.services.service_process import ServiceProcess

EARLIER, LATER, LAST = (date(2026, 2, day) for day in (3, 4, 5))
MONTH = "2026-02"


@contextmanager
def daemon(home: Path, flights: Flights, programs: Programs) -> Iterator[ServiceProcess]:
    """`dagster-daemon` with the file, whose sensor is on, and an SQLite database in `home`."""
    folder = environment("dagster") / "bin"
    settings = {
        "PATH": f"{programs.folder}:{folder}:{os.environ['PATH']}",
        "DAGSTER_HOME": str(home),
        "KAFKA_BOOTSTRAP_SERVERS": flights.bootstrap,
    }
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    shutil.copy(FILES / "dagster_news.py", home)
    command = [str(folder / "dagster-daemon"), "run", "-f", "dagster_news.py"]
    process = ServiceProcess("dagster-daemon", command, home, settings)
    process.start()
    try:
        yield process
    finally:
        process.terminate()


def run_keys(home: Path) -> list[str]:
    """The key of each run that Dagster knows and that has succeeded, by its own client."""
    code = (
        "import json; from dagster import DagsterInstance as I, DagsterRunStatus as S; print(json.dumps("
        "[r.tags['dagster/run_key'] for r in I.get().get_runs() if r.status == S.SUCCESS]))"
    )
    env = {**os.environ, "DAGSTER_HOME": str(home)}
    done = subprocess.run(
        [environment("dagster") / "bin/python", "-c", code],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    keys: list[str] = json.loads(done.stdout.splitlines()[-1])
    return keys


@pytest.mark.timeout(1800)
def test_each_complete_partition_is_one_run_also_if_it_is_told_twice_and_over_a_kill(
    flights: Flights, programs: Programs, tmp_path: Path
) -> None:
    home = tmp_path / "dagster"
    days = [EARLIER]
    first = flights.complete(EARLIER)

    def reported() -> bool:
        return len(programs.reports(MONTH)) >= len(days)

    with daemon(home, flights, programs) as process:
        wait_until(reported, "a report of what was told before Dagster began", 600)
        flights.tell_again(first)
        days.append(LATER)
        flights.complete(LATER)
        wait_until(reported, "a report of the next day", 600)
        process.kill()
        days.append(LAST)
        flights.complete(LAST)
        process.start()
        wait_until(reported, "a report of what was told meanwhile", 600)
        wait_until(lambda: first["id"] in run_keys(home), "the first run's end")
    assert programs.reports(MONTH) == [str(day) for day in days]
    keys = run_keys(home)
    assert sorted(set(keys)) == sorted(keys) and first["id"] in keys
