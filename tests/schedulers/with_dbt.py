"""dbt runs for a day once the Hive partition of that day is complete, and a second run replaces the day's rows."""

import os
import shutil
from datetime import date
from pathlib import Path

import pytest

from tests.schedulers.conftest import Flights, Programs
from tests.schedulers.environments import FILES, environment
from tests.services.hive_server import HiveServer
from tests.services.service_process import ServiceProcess

OTHER, DAY = date(2026, 3, 3), date(2026, 3, 4)
PROJECT = """
name: reports
profile: hive
model-paths: [models]
"""
PROFILES = """
hive:
  target: test
  outputs:
    test: {{type: hive, host: 127.0.0.1, port: {port}, schema: {schema}, threads: 1, auth_type: LDAP, username: dbt,
           password: any, use_ssl: false, use_http_transport: false}}
"""


@pytest.mark.timeout(1800)
def test_dbt_runs_for_a_day_once_its_partition_is_complete(
    flights: Flights, programs: Programs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    (project / "models").mkdir(parents=True)
    shutil.copy(FILES / "dbt_flights_of_day.sql", project / "models" / "flights_of_day.sql")
    (project / "dbt_project.yml").write_text(PROJECT)
    (project / "profiles.yml").write_text(PROFILES.format(port=hive.port, schema=hive_database))
    env = {
        "PATH": f"{programs.folder}:{environment('dbt') / 'bin'}:{os.environ['PATH']}",
        "KAFKA2HIVE_MAP": str(flights.config),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    }
    script = ServiceProcess("dbt", ["sh", str(FILES / "dbt_after_certificate.sh"), str(DAY)], project, env)

    def rows() -> list[tuple[object, ...]]:
        return hive.query(f"select flights, dt from {hive_database}.flights_of_day order by dt")

    script.start()
    try:
        flights.complete(OTHER)
        assert script.is_running and not script.said("Running with dbt"), script.output.read_text()
        flights.complete(DAY, 20)
        assert script.wait(900) == 0, script.output.read_text()
        assert rows() == [(20, str(DAY))]
        script.start()
        assert script.wait(900) == 0, script.output.read_text()
        assert rows() == [(20, str(DAY))]
    finally:
        script.kill()
