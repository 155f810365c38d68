"""The command line of the driver's JVM as Spark's launcher makes it, without the launcher: a shell script and a JVM of its own,
then `SparkSubmit` in the driver's JVM.

Only where nothing outside this program has a say: a local master of a Spark whose options are known here, no `spark.conf` in the
map, no configuration files of Spark, nothing in the environment that its launcher reads. All else goes through `spark-submit`.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kafka2hive.config.values import SparkOptions
from kafka2hive.pipeline.java import java_launcher
from kafka2hive.pipeline.spark_conf import is_local
from kafka2hive.pipeline.warm.archive import JAVA_OPTIONS, spark_home

#: What tells that the options below are those of this Spark.
KNOWN_SPARK = "jars/spark-launcher_2.13-4.3.0.jar"
_MAIN = "org.apache.spark.api.python.PythonGatewayServer"
_EXTRA_OPTIONS = "spark.driver.extraJavaOptions"
_MEMORY = "-Xmx1g"  # spark.driver.memory by default
_OPENED = (
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.ref",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar",
)
_OF_SPARK = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "--add-modules=jdk.incubator.vector",
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
    "-Dderby.connection.requireAuthentication=false",
)
_READ_BY_LAUNCHER = (
    "HADOOP_CONF_DIR",
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_CONF_DIR",
    "SPARK_DIST_CLASSPATH",
    "SPARK_DRIVER_MEMORY",
    "SPARK_MEM",
    "SPARK_PREPEND_CLASSES",
    "SPARK_SQL_TESTING",
    "SPARK_SUBMIT_OPTS",
    "SPARK_TESTING",
    "YARN_CONF_DIR",
)


@dataclass(frozen=True, slots=True)
class Command:
    """`environment` beside this process's own."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]


def direct_command(
    options: SparkOptions, conf: Mapping[str, str], environment: Mapping[str, str]
) -> Command | None:
    """Starts py4j's server in a JVM with `conf` as system properties, as SparkSubmit sets them; None: `spark-submit` must."""
    home, java = spark_home(), java_launcher()
    if (
        java is None
        or home is None
        or options.conf
        or not is_local(options.master)
        or any(environment.get(name) for name in _READ_BY_LAUNCHER)
        or not (home / KNOWN_SPARK).is_file()
        or (home / "conf").exists()
    ):
        return None
    of_java = {JAVA_OPTIONS, _EXTRA_OPTIONS}
    arguments = (
        str(java),
        "-cp",
        _class_path(home),
        _MEMORY,
        *shlex.split(conf.get(JAVA_OPTIONS, "")),
        *shlex.split(conf.get(_EXTRA_OPTIONS, "")),
        *_OF_SPARK,
        *(f"-D{key}={value}" for key, value in conf.items() if key not in of_java),
        _MAIN,
    )
    return Command(arguments, {"SPARK_HOME": str(home), "PYTHONHASHSEED": "0"})


def _class_path(home: Path) -> str:
    """The very text of the launcher, or the class archive does not fit."""
    jars = home / "jars"
    first = sorted(jars.glob("slf4j-api-*.jar"))
    return ":".join(map(str, (home / "conf", *first, jars / "*")))
