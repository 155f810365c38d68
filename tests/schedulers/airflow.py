"""A real Airflow: scheduler, DAG processor, triggerer and API server over an SQLite database, on the loopback."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.harness.waiting import wait_until
from tests.schedulers.environments import environment
from tests.services.ports import accepts, free_ports
from tests.services.service_process import ServiceProcess

PROCESSES = {
    "api-server": ("--workers", "1"),
    "dag-processor": (),
    "triggerer": ("--skip-serve-logs",),
    "scheduler": ("--skip-serve-logs",),
}


class Airflow:
    """Use as a context. `dags` are files of configs/schedulers; tasks find programs in `programs` first."""

    def __init__(self, home: Path, dags: list[Path], programs: Path, settings: Mapping[str, str]) -> None:
        self._bin = environment("airflow") / "bin"
        [port] = free_ports(1)
        self._port = port
        (home / "dags").mkdir(parents=True)
        for file in dags:
            shutil.copy(file, home / "dags")
        self._env = {
            "PATH": f"{programs}:{self._bin}:{os.environ['PATH']}",
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            "AIRFLOW__CORE__PARALLELISM": "2",
            "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": str(port),
            "AIRFLOW__API__SECRET_KEY": "of-a-test",
            "AIRFLOW__API_AUTH__JWT_SECRET": "of-a-test" * 8,
            **settings,
        }
        self._processes = {
            name: ServiceProcess(
                f"airflow-{name}", [str(self._bin / "airflow"), name, *options], home, self._env
            )
            for name, options in PROCESSES.items()
        }

    def __enter__(self) -> "Airflow":
        self.ask("db", "migrate")
        try:
            for name, process in self._processes.items():  # tasks fail while nothing answers them
                process.start()
                if name == "api-server":
                    process.wait_until(lambda: accepts(self._port))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            process.kill()

    def process(self, name: str) -> ServiceProcess:
        return self._processes[name]

    def ask(self, *arguments: str) -> str:
        """What the command `airflow` prints."""
        done = subprocess.run(
            [self._bin / "airflow", *arguments],
            env={**os.environ, **self._env},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        return done.stdout

    def runs(self, dag: str) -> list[dict[str, Any]]:
        """The runs of a DAG, the newest first."""
        return self._list("dags", "list-runs", dag)

    def knows(self, *dags: str) -> bool:
        """Say whether the DAG processor has read these DAGs."""
        return {dag["dag_id"] for dag in self._list("dags", "list")} >= set(dags)

    def states(self, dag: str, run: str) -> dict[str, str | None]:
        """The state of each task of a run."""
        tasks = self._list("tasks", "states-for-dag-run", dag, run)
        return {task["task_id"]: task["state"] for task in tasks}

    def _list(self, *arguments: str) -> list[dict[str, Any]]:
        printed = self.ask(*arguments, "-o", "json")
        begin = printed.find("[{")  # warnings may stand before it
        rows: list[dict[str, Any]] = json.loads(printed[begin:]) if begin >= 0 else []
        return rows

    def wait_until(self, ready: Any, what: str, seconds: float = 600) -> None:
        """Fails with the end of each process's output."""
        try:
            wait_until(ready, what, seconds, pause=1)
        except AssertionError as error:
            ends = [f"{p.name}:\n{p.output.read_text()[-3000:]}" for p in self._processes.values()]
            raise AssertionError("\n".join([str(error), *ends])) from None
