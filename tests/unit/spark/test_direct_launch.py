"""The starts of the driver's JVM that need no launcher of Spark's. An integration test compares the commands."""

from pathlib import Path

import pytest

from kafka2hive.config.keys import SparkOptions
from kafka2hive.spark.internals import KNOWN_SPARK
from kafka2hive.spark.jvm import direct_command

CONF = {
    "spark.app.name": "kafka2hive flights",
    "spark.driver.defaultJavaOptions": '"-XX:SharedArchiveFile=/a cache/x.jsa" -Xshare:auto',
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a Java, and a Spark of the known version."""
    (tmp_path / "jdk/bin").mkdir(parents=True)
    (tmp_path / "jdk/bin/java").touch(mode=0o755)
    home = tmp_path / "spark"
    (home / KNOWN_SPARK).parent.mkdir(parents=True)
    (home / KNOWN_SPARK).touch()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setenv("SPARK_HOME", str(home))
    return home


def test_settings_are_system_properties_and_those_of_java_options(home: Path) -> None:
    command = direct_command(SparkOptions(), CONF, {})
    assert command is not None
    assert "-Dspark.app.name=kafka2hive flights" in command.arguments
    assert {"-XX:SharedArchiveFile=/a cache/x.jsa", "-Xshare:auto", "-XX:+UseSerialGC"} <= set(
        command.arguments
    )
    assert not [argument for argument in command.arguments if "JavaOptions" in argument]
    assert command.environment["SPARK_HOME"] == str(home)


@pytest.mark.parametrize("master", ["local", "local[2,4]", "local[*]"])
def test_local_masters_need_no_launcher(master: str) -> None:
    assert direct_command(SparkOptions(master), CONF, {}) is not None


@pytest.mark.parametrize("master", ["yarn", "spark://here:7077", "local-cluster[2,1,1024]"])
def test_clusters_need_it(master: str) -> None:
    assert direct_command(SparkOptions(master), CONF, {}) is None


def test_a_setting_of_the_map_needs_it() -> None:
    assert direct_command(SparkOptions(conf=(("spark.driver.memory", "4g"),)), CONF, {}) is None


@pytest.mark.parametrize(
    "name", ["SPARK_CONF_DIR", "SPARK_DRIVER_MEMORY", "PYSPARK_SUBMIT_ARGS", "HADOOP_CONF_DIR"]
)
def test_what_the_launcher_reads_in_the_environment_needs_it(name: str) -> None:
    assert direct_command(SparkOptions(), CONF, {name: "something"}) is None
    assert direct_command(SparkOptions(), CONF, {name: ""}) is not None


def test_a_spark_with_configuration_files_or_another_version_needs_it(home: Path) -> None:
    (home / "conf").mkdir()
    assert direct_command(SparkOptions(), CONF, {}) is None
    (home / "conf").rmdir()
    (home / KNOWN_SPARK).rename(home / "jars/spark-launcher_2.13-4.4.0.jar")
    assert direct_command(SparkOptions(), CONF, {}) is None
