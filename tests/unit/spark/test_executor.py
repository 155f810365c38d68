"""The command line of an executor from the environment of its pod."""

from pathlib import Path

import pytest

from kafka2hive.model.errors import ConfigError, ServiceUnavailable
from kafka2hive.spark import executor, jvm
from kafka2hive.spark.executor import executor_command

POD = {
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@10.0.0.7:7078",
    "SPARK_EXECUTOR_ID": "3",
    "SPARK_EXECUTOR_CORES": "2",
    "SPARK_EXECUTOR_MEMORY": "512m",
    "SPARK_APPLICATION_ID": "spark-7",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.8",
    "SPARK_EXECUTOR_POD_NAME": "flights-exec-3",
}


@pytest.fixture(autouse=True)
def _spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    monkeypatch.setattr(executor, "require_java", lambda: "Java 17")
    monkeypatch.setattr(executor, "java_launcher", lambda: Path("/opt/java/bin/java"))


def test_it_is_what_spark_says_in_its_order_and_nothing_of_a_shell_is_done_to_it() -> None:
    options = {f"SPARK_JAVA_OPT_{number}": f"-Dn={number} $HOME" for number in (10, 9, 0)}
    paths = {"SPARK_CONF_DIR": "/opt/spark/conf", "SPARK_EXTRA_CLASSPATH": "/more/*"}
    assert executor_command({**POD, **options, **paths, "SPARK_JAVA_OPTIONS": "-Dno"}) == [
        "/opt/java/bin/java", "-Dn=0 $HOME", "-Dn=9 $HOME", "-Dn=10 $HOME", "-Xms512m", "-Xmx512m",
        "-cp", "/opt/spark/conf:/opt/spark/jars/*:/more/*",
        "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
        "--driver-url", "spark://CoarseGrainedScheduler@10.0.0.7:7078", "--executor-id", "3", "--cores", "2",
        "--app-id", "spark-7", "--hostname", "10.0.0.8", "--resourceProfileId", "0", "--podName", "flights-exec-3",
    ]  # fmt: skip


@pytest.mark.parametrize("name", POD)
def test_who_types_it_outside_of_a_pod_is_told_what_it_is_for(name: str) -> None:
    with pytest.raises(ConfigError, match=f"lacks {name}, which Spark sets") as raised:
        executor_command({**POD, name: ""})
    assert raised.value.code == "executor.environment" and "k8s://" in raised.value.remedy


def test_an_image_without_spark_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jvm, "spark_home", lambda: None)
    with pytest.raises(ServiceUnavailable, match="without jars") as raised:
        executor_command(POD)
    assert raised.value.code == "spark.start"
