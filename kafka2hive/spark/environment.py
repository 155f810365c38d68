"""What the environment says about Spark: variables that belong to another installation, and too low a limit of open files.

Spark's own errors for these do not name the cause.
"""

import os
import re
import resource
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from kafka2hive.model.errors import ConfigError
from kafka2hive.spark.internals import is_started_by_launcher
from kafka2hive.spark.java import require_java

FEWEST_OPEN_FILES = 512
"""A JVM of Spark opens nearly 300 jars; connections and the files of tables come in addition."""
ENOUGH_OPEN_FILES = 4_096
_CORE_JAR = re.compile(r"spark-core_[\d.]+-(?P<version>\d+\.\d+\.[\w.-]+)\.jar")


def require_spark() -> str:
    """Return a description of the Java that Spark will use.

    Raises ConfigError (`spark.home`, `spark.submit_args`, `spark.open_files`) and what `require_java` raises.
    """
    if not is_started_by_launcher():
        refuse_foreign(os.environ, version("pyspark"))
        allow_open_files()
    return require_java()


def refuse_foreign(environ: Mapping[str, str], installed: str) -> None:
    """Raise ConfigError if the environment names a Spark or options that do not fit the `installed` version of pyspark."""
    home = environ.get("SPARK_HOME")
    named = spark_version(Path(home)) if home else None
    if named is not None and _line(named) != _line(installed):
        raise ConfigError(
            "spark.home",
            f"SPARK_HOME={home} has Spark {named}, but the installed pyspark is {installed}: they cannot work together",
            "unset SPARK_HOME (`env -u SPARK_HOME kafka2hive ..`), because pyspark has its own Spark; or name a Spark"
            f" {installed}",
        )
    if arguments := environ.get("PYSPARK_SUBMIT_ARGS"):
        raise ConfigError(
            "spark.submit_args",
            f"PYSPARK_SUBMIT_ARGS is set ({arguments}), but the map says how Spark is started",
            "unset it (`env -u PYSPARK_SUBMIT_ARGS kafka2hive ..`); write properties of Spark in spark.conf of the map",
        )


def spark_version(home: Path) -> str | None:
    """Return the version of the Spark in `home`, by the name of its main jar; None if there is none."""
    try:
        names = [jar.name for jar in (home / "jars").iterdir()]
    except OSError:
        return None
    return next((match["version"] for name in names if (match := _CORE_JAR.fullmatch(name))), None)


def _line(number: str) -> list[str]:
    """Return the major and the minor version."""
    return number.split(".")[:2]


def allow_open_files() -> None:
    """Raise this process's limit of open files as far as needed and allowed; its JVM and workers inherit it.

    Raises ConfigError (`spark.open_files`) if the hard limit is too low.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= ENOUGH_OPEN_FILES:
        return
    most = ENOUGH_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, ENOUGH_OPEN_FILES)
    if most < FEWEST_OPEN_FILES:
        raise ConfigError(
            "spark.open_files",
            f"a process may open {most:,} files, but Spark needs at least {FEWEST_OPEN_FILES:,}: it could not open its jars",
            f"raise the limit: LimitNOFILE={ENOUGH_OPEN_FILES} in the systemd unit, or `ulimit -n {ENOUGH_OPEN_FILES}`",
        )
    if most > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
