"""The start of a Spark executor in a Kubernetes pod.

Spark starts the image of an executor with the argument `executor`, and puts what the executor needs into environment
variables: the same that the entry point of Spark's own images reads.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from kafka2hive.model.errors import ConfigError
from kafka2hive.spark.java import java_launcher, require_java
from kafka2hive.spark.jvm import required_spark_home

_BACKEND = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_HEAP = "SPARK_EXECUTOR_MEMORY"
_OPTIONS = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}
"""The variable that has the value of each option."""
_JAVA_OPTION = re.compile(r"SPARK_JAVA_OPT_(\d+)")


def executor_command(environment: Mapping[str, str]) -> list[str]:
    """Return the command line of the executor's JVM.

    Raises ConfigError (`executor.environment`) if a variable is missing, ServiceUnavailable (`spark.java`, `spark.start`) if the
    image lacks Java or Spark.
    """
    missing = [name for name in (*_OPTIONS.values(), _HEAP) if not environment.get(name)]
    if missing:
        raise ConfigError(
            "executor.environment",
            f"the environment lacks {', '.join(missing)}, which Spark sets in the pods of its executors",
            "do not type this command: run the service with spark.master: k8s://.. and this image as"
            " spark.kubernetes.container.image",
        )
    home = required_spark_home()
    require_java()
    numbered = (
        (int(match[1]), value)
        for name, value in environment.items()
        if (match := _JAVA_OPTION.fullmatch(name))
    )
    java_options = [value for _, value in sorted(numbered)]
    heap = environment[_HEAP]
    options = [part for option, name in _OPTIONS.items() for part in (option, environment[name])]
    class_path = ":".join(_class_path(environment, home))
    return [
        str(java_launcher()),
        *java_options,
        f"-Xms{heap}",
        f"-Xmx{heap}",
        "-cp",
        class_path,
        _BACKEND,
        *options,
    ]


def _class_path(environment: Mapping[str, str], home: Path) -> list[str]:
    """Return the parts of the class path in the order of Spark's own images: settings, what users add, Spark's jars."""
    names = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "SPARK_CLASSPATH")
    before = [environment.get(name, "") for name in names]
    after = [environment.get(name, "") for name in ("SPARK_EXTRA_CLASSPATH", "SPARK_DIST_CLASSPATH")]
    return [part for part in (*before, f"{home}/jars/*", *after) if part]
