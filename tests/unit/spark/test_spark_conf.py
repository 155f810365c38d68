"""Spark's configuration, and the directory it works in."""

import errno
import getpass
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kafka2hive.config.keys import SparkOptions
from kafka2hive.model.errors import ConfigError, ExitCode
from kafka2hive.spark.configuration import WORKERS_DAEMON, cores_to_use, is_local, session_conf
from kafka2hive.spark.session import Scratch, unusable, warm_workers

DAEMON = "spark.python.daemon.module"


def test_a_local_master_binds_to_the_loopback_only_and_writes_below_the_scratch_directory(
    tmp_path: Path,
) -> None:
    conf = session_conf(SparkOptions(), "flights", tmp_path)
    assert conf["spark.driver.bindAddress"] == conf["spark.driver.host"] == "127.0.0.1"
    assert conf["spark.local.dir"].startswith(str(tmp_path))
    assert conf["spark.ui.enabled"] == "false"


DYNAMIC = {"spark.dynamicAllocation.enabled": "true"}


@pytest.mark.parametrize(
    ("conf", "cores"),
    [
        ({}, 2),
        ({"spark.dynamicAllocation.enabled": "false", "spark.dynamicAllocation.maxExecutors": "50"}, 2),
        (DYNAMIC, 4),
        (DYNAMIC | {"spark.dynamicAllocation.maxExecutors": "infinity"}, 4),
        (DYNAMIC | {"spark.dynamicAllocation.maxExecutors": "50"}, 50),
        (DYNAMIC | {"spark.dynamicAllocation.maxExecutors": "50", "spark.executor.cores": "4"}, 200),
        (DYNAMIC | {"spark.dynamicAllocation.maxExecutors": "1"}, 2),
        (DYNAMIC | {"spark.default.parallelism": "2"}, 2),
    ],
)
def test_an_epoch_is_planned_for_the_executors_that_may_come(conf: dict[str, str], cores: int) -> None:
    assert cores_to_use(2, conf) == cores


def test_a_remote_master_must_be_able_to_reach_the_driver(tmp_path: Path) -> None:
    conf = session_conf(SparkOptions(master="spark://master.example:7077"), "flights", tmp_path)
    assert "spark.driver.bindAddress" not in conf
    assert "spark.local.dir" not in conf


def test_a_submitted_application_keeps_what_spark_says_of_its_keytab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark has sent a copy, under another name than the map's."""
    conf = (
        ("spark.kerberos.principal", "me@R"),
        ("spark.kerberos.keytab", "my.keytab"),
        ("spark.cores.max", "2"),
    )
    options = SparkOptions(master="yarn", conf=conf)
    assert dict(conf).items() <= session_conf(options, "flights", tmp_path).items()
    monkeypatch.setenv("KAFKA2HIVE_SUBMITTED", "kafka2hive-files")
    sent = session_conf(options, "flights", tmp_path)
    assert [key for key in sent if key.startswith("spark.kerberos")] == []
    assert sent["spark.cores.max"] == "2"


def test_only_local_masters_start_the_daemon_of_workers_from_our_installation(tmp_path: Path) -> None:
    assert session_conf(SparkOptions(), "flights", tmp_path)[DAEMON] == WORKERS_DAEMON
    assert DAEMON not in session_conf(SparkOptions(master="spark://master.example:7077"), "flights", tmp_path)
    options = SparkOptions(conf=((DAEMON, "pyspark.daemon"),))
    assert session_conf(options, "flights", tmp_path)[DAEMON] == "pyspark.daemon"


def test_tasks_on_a_cluster_use_hdfs_as_the_drivers_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, cluster = "spark.executorEnv.HADOOP_USER_NAME", SparkOptions(master="yarn")
    monkeypatch.delenv("HADOOP_USER_NAME", raising=False)
    assert session_conf(cluster, "flights", tmp_path)[key] == getpass.getuser()
    monkeypatch.setenv("HADOOP_USER_NAME", "etl")
    assert session_conf(cluster, "flights", tmp_path)[key] == "etl"
    chosen = SparkOptions(master="yarn", conf=((key, "other"),))
    assert session_conf(chosen, "flights", tmp_path)[key] == "other"
    assert key not in session_conf(SparkOptions(), "flights", tmp_path)


@pytest.mark.parametrize("master", ["yarn", "spark://m:7077", "k8s://https://m"])
def test_executors_lost_over_months_do_not_end_a_service(tmp_path: Path, master: str) -> None:
    key = "spark.executor.failuresValidityInterval"
    assert session_conf(SparkOptions(master=master), "flights", tmp_path)[key] == "1h"
    own = SparkOptions(master=master, conf=((key, "1d"),))
    assert session_conf(own, "flights", tmp_path)[key] == "1d"
    assert key not in session_conf(SparkOptions(), "flights", tmp_path)


def test_what_the_map_says_wins(tmp_path: Path) -> None:
    options = SparkOptions(conf=(("spark.ui.enabled", "true"), ("spark.task.maxFailures", "9")))
    conf = session_conf(options, "flights", tmp_path)
    assert conf["spark.ui.enabled"] == "true"
    assert conf["spark.task.maxFailures"] == "9"


@pytest.mark.parametrize(
    ("master", "local"),
    [
        ("local", True),
        ("local[*,4]", True),
        ("local-cluster[2,1,1024]", False),
        ("spark://127.0.0.1:7077", False),
    ],
)
def test_only_local_masters_share_our_installation(master: str, local: bool) -> None:
    assert is_local(master) is local


def test_the_scratch_directory_is_private_and_goes_away(tmp_path: Path) -> None:
    with Scratch(tmp_path / "run") as scratch:
        assert scratch.stat().st_mode & 0o777 == 0o700
        (scratch / "checkpoint").mkdir()
    assert list((tmp_path / "run").iterdir()) == []


def test_a_run_directory_that_cannot_be_used_is_named_and_is_no_bug(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="Not a directory") as caught, Scratch(tmp_path / "file" / "run"):
        pass
    assert (
        caught.value.code == "spark.run_directory" and str(tmp_path / "file" / "run") in caught.value.message
    )


def test_a_full_disk_under_the_run_directory_keeps_systemd_from_no_restart(tmp_path: Path) -> None:
    assert (
        unusable(tmp_path, OSError(errno.ENOSPC, "No space left on device")).exit_code is ExitCode.UNAVAILABLE
    )
    assert unusable(tmp_path, OSError(errno.EACCES, "Permission denied")).exit_code is ExitCode.CONFIG


def test_what_a_killed_driver_left_is_removed_and_a_live_ones_is_kept(tmp_path: Path) -> None:
    program = (
        "import os, sys, pathlib; from kafka2hive.spark.session import Scratch;"
        "Scratch(pathlib.Path(sys.argv[1])).__enter__(); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False).returncode == 9
    (left,) = tmp_path.iterdir()
    (tmp_path / "driver-notes-of-a-person").mkdir()
    with Scratch(tmp_path) as first, Scratch(tmp_path) as second:
        assert not left.exists()
        assert first.exists()
        assert second.exists()
        assert str(os.getpid()) in first.name
    assert [p.name for p in tmp_path.iterdir()] == ["driver-notes-of-a-person"]


class StoppedContext:
    """A Spark session whose context was stopped before the warm-up."""

    defaultParallelism = 1  # noqa: N815 - pyspark's name, like those below

    @property
    def sparkContext(self) -> "StoppedContext":  # noqa: N802
        return self

    def parallelize(self, _items: object, _slices: int) -> "StoppedContext":
        return self

    def foreachPartition(self, _function: object) -> None:  # noqa: N802
        raise AttributeError("'NoneType' object has no attribute 'setCallSite'")


def test_a_warm_up_that_outlives_spark_is_told_and_does_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kafka2hive")
    warm_workers(StoppedContext())
    for thread in threading.enumerate():
        if thread.name == "warm-workers":
            thread.join()
    assert "the workers were not warmed up" in caplog.text
