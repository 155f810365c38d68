"""The driver's JVM before Spark uses it: it dies, is not needed, or a signal arrives. A script takes its place."""

import os
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from kafka2hive.config.keys import SparkOptions
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.spark.jvm import PresentJvm, StartingJvm, launch, launched
from tests.harness.cli_ledger import write_map
from tests.harness.program import command_as_process

LIVES = 'echo $$ > "$SPARK_HOME/pid"; exec sleep 1000'


def make_spark(home: Path, script: str) -> None:
    """Create a `spark-submit` that runs the script."""
    (home / "bin").mkdir(parents=True)
    (home / "bin/spark-submit").write_text(f"#!/bin/sh\n{script}\n")
    (home / "bin/spark-submit").chmod(0o755)


@pytest.fixture(autouse=True)
def installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a Java that is new enough and a Spark without a script; restore the environment that a launch changes."""
    (tmp_path / "jdk/bin").mkdir(parents=True)
    (tmp_path / "jdk/bin/java").touch(mode=0o755)
    (tmp_path / "jdk/release").write_text('JAVA_VERSION="17.0.15"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.setenv(name, sys.executable)
    monkeypatch.setenv("SPARK_LAUNCHER_OPTS", "")
    if pyspark := sys.modules.get("pyspark"):
        monkeypatch.setattr(pyspark.SparkContext, "_gateway", None)
    return tmp_path


@pytest.mark.parametrize("code", [0, 3])
def test_a_java_that_ends_while_it_starts_is_told(installation: Path, code: int) -> None:
    make_spark(installation / "spark", f"exit {code}")
    with launched(SparkOptions(), "flights") as jvm, pytest.raises(ServiceUnavailable) as ended:
        jvm.connect()
    assert ended.value.code == "spark.start"
    assert f"Java ended with exit code {code}" in ended.value.message


def test_a_java_that_does_not_speak_to_us_is_told(installation: Path) -> None:
    make_spark(
        installation / "spark",
        'at="$_PYSPARK_DRIVER_CONN_INFO_PATH"\n'
        'printf "\\0\\0\\0\\1\\0\\0\\0\\1x" > "$at.new"; mv "$at.new" "$at"\nexec sleep 1000',
    )
    with launched(SparkOptions(), "flights") as jvm:
        assert isinstance(jvm, StartingJvm)
        with pytest.raises(ServiceUnavailable, match="Java does not answer"):
            jvm.connect()
    assert jvm.process.returncode == -signal.SIGKILL
    assert "PYSPARK_GATEWAY_PORT" not in os.environ


def test_a_spark_that_is_not_there_is_told(installation: Path) -> None:
    with pytest.raises(ServiceUnavailable, match=r"Spark did not start: .*spark-submit"):
        launch(SparkOptions(), "flights")


def test_a_driver_in_a_container_uses_the_jvm_of_spark_as_the_user_who_submitted(tmp_path: Path) -> None:
    """In YARN's cluster mode pyspark has no jars and scripts, and SPARK_HOME is not set."""
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    shutil.copytree(Path(spec.origin).parent, tmp_path / "pyspark", ignore=lambda *_: ("jars", "bin", "sbin"))
    program = (
        "import os\nfrom pathlib import Path\nfrom kafka2hive.config.keys import SparkOptions\n"
        "from kafka2hive.spark.configuration import session_conf\n"
        "from kafka2hive.spark.jvm import PresentJvm, launch\n"
        "options = SparkOptions(master='yarn')\n"
        "assert launch(options, 'flights') == PresentJvm()\n"
        "print(session_conf(options, 'flights', Path('/scratch'))['spark.executorEnv.HADOOP_USER_NAME'])\n"
    )
    unset = ("SPARK_HOME", "HADOOP_USER_NAME")
    env = {name: value for name, value in os.environ.items() if name not in unset}
    env |= {"PYTHONPATH": str(tmp_path), "PYSPARK_GATEWAY_PORT": "1", "SPARK_USER": "etl"}
    ended = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "etl\n"), ended.stderr


def test_a_jvm_that_nobody_connected_to_is_killed(installation: Path) -> None:
    make_spark(installation / "spark", LIVES)
    with launched(SparkOptions(), "flights") as jvm:
        assert isinstance(jvm, StartingJvm)
        assert jvm.process.poll() is None
    assert jvm.process.returncode == -signal.SIGKILL
    assert not jvm.address_file.parent.exists()


def test_without_a_java_only_connecting_fails(installation: Path) -> None:
    (installation / "jdk/bin/java").unlink()
    with launched(SparkOptions(), "flights") as jvm, pytest.raises(ServiceUnavailable) as ended:
        jvm.connect()
    assert ended.value.code == "spark.java"


def test_under_spark_submit_no_second_jvm_is_launched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert launch(SparkOptions(), "flights") == PresentJvm()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_java_starts_ends_the_run_with_its_code_and_kills_the_jvm(
    installation: Path, number: signal.Signals
) -> None:
    """The launched script sends the signal, so the run cannot have got further than its imports."""
    make_spark(
        installation / "spark", f'echo $$ > "$SPARK_HOME/pid"; kill -{number.value} $PPID; exec sleep 1000'
    )
    ended = command_as_process("run", write_map(installation))
    assert ended.code == 128 + number
    assert "interrupted while Spark started: nothing was changed" in ended.log
    assert "Traceback" not in ended.log
    assert not psutil.pid_exists(int((installation / "spark/pid").read_text()))
