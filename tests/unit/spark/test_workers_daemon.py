"""The daemon that forks Spark's Python workers imports everything before the fork, and has nothing that a fork breaks."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pyspark.daemon

from kafka2hive.spark.internals import worker_daemon

_LOOK = """
import json, os, sys
import kafka2hive.spark.worker_daemon

def target(number):
    try:
        return os.readlink(f"/proc/self/fd/{number}")
    except FileNotFoundError:  # of the listing itself
        return ""

print(json.dumps({
    "threads": len(os.listdir("/proc/self/task")),
    "files": [target(number) for number in os.listdir("/proc/self/fd")],
    "modules": {name: getattr(module, "__file__", None) for name, module in sys.modules.items()},
}))
"""


def imported(**environment: str) -> Any:
    """Return the threads, open files and modules of a process that has imported the daemon, with Spark's environment alone."""
    kept = {key: value for key, value in os.environ.items() if not key.endswith(("_NUM_THREADS", "_CONF"))}
    done = subprocess.run(
        [sys.executable, "-c", _LOOK], capture_output=True, text=True, check=True, env={**kept, **environment}
    )
    return json.loads(done.stdout)


def test_no_thread_and_no_connection_exists_before_the_fork_and_all_that_a_task_imports_is_there() -> None:
    before = imported()
    assert before["threads"] == 1
    assert [name for name in before["files"] if name.startswith(("socket:", "anon_inode:"))] == []
    needed = {"pyspark.worker", "kafka2hive.task.run", "numpy.ma", "pyarrow", "confluent_kafka"}
    assert needed <= set(before["modules"])
    assert "pandas" not in before["modules"], "a second for each worker"


def test_the_installed_pyspark_is_taken_before_the_sources_in_sparks_zip() -> None:
    library = Path(pyspark.__file__).parent / "python/lib"
    zips = [str(file) for file in library.glob("*.zip")]
    assert zips
    modules = imported(PYTHONPATH=os.pathsep.join(zips))["modules"]
    assert modules["pyspark.worker"] == str(Path(pyspark.__file__).with_name("worker.py"))


def test_the_daemon_is_pysparks() -> None:
    assert worker_daemon() is pyspark.daemon.manager


def test_the_jobs_that_a_worker_imports_need_no_session() -> None:
    code = "import sys, kafka2hive.spark.jobs; print('kafka2hive.spark.session' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True, text=True)
    assert done.stdout.strip() == "False"
