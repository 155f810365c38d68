"""The JVM that is launched without Spark's launcher: the launcher's own command line, and a session in it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafka2hive.config.keys import SparkOptions
from kafka2hive.spark.archive_maker import make_archive
from kafka2hive.spark.class_archive import spark_home
from kafka2hive.spark.configuration import launch_conf
from kafka2hive.spark.jvm import direct_command
from tests.services.jars import java

OPTIONS = SparkOptions("local[1]")
SESSION = """
import sys
from pathlib import Path
from kafka2hive.config.keys import SparkOptions
from kafka2hive.spark.session import end_jvm, start_session, stop_session
from kafka2hive.spark.jvm import launch

options = SparkOptions("local[1]")
spark = start_session(options, "direct", Path(sys.argv[1]), launch(options, "direct").connect())
print(spark.sparkContext.parallelize([6, 7], 1).map(lambda x: x + 1).collect())
print(spark.sparkContext._jvm.java.lang.System.getProperty("spark.app.name"))
stop_session(spark)
end_jvm(120)
"""


@pytest.fixture(autouse=True)
def nothing_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("SPARK_", "PYSPARK_SUBMIT"))]:
        monkeypatch.delenv(name)


def test_the_command_is_that_of_sparks_launcher() -> None:
    conf = launch_conf(OPTIONS, "flights")
    command = direct_command(OPTIONS, conf, os.environ)
    assert command is not None, "a Spark of another version: are the options still the launcher's?"
    settings = [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
    home = str(spark_home())
    said = subprocess.run(
        [
            *(java(), "-cp", f"{home}/jars/*", "org.apache.spark.launcher.Main"),
            *("org.apache.spark.deploy.SparkSubmit", *settings, "pyspark-shell"),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
        env={**os.environ, "SPARK_HOME": home, "SPARK_SCALA_VERSION": "2.13"},
    ).stdout
    launcher = [word for word in said.strip("\0\n").split("\0") if word]
    until_main = launcher[1 : launcher.index("org.apache.spark.deploy.SparkSubmit")]
    assert [word for word in command.arguments[1:-1] if not word.startswith("-Dspark.")] == until_main


def test_a_session_runs_in_it_and_takes_its_classes_from_the_archive(tmp_path: Path) -> None:
    make_archive()
    printed = subprocess.run(
        [sys.executable, "-c", SESSION, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=600,
        env={**os.environ, "JDK_JAVA_OPTIONS": f"-Xlog:class+load:file={tmp_path}/classes"},
    ).stdout
    assert printed == "[7, 8]\nkafka2hive direct\n"
    classes = (tmp_path / "classes").read_text()
    assert classes.count("source: shared objects file (top)") > 5_000
    assert "org.apache.spark.deploy.SparkSubmit " not in classes
