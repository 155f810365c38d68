"""Find the class data sharing archive of Spark's driver JVM, and name the JVM options that use it.

The archive is in `$XDG_CACHE_HOME/kafka2hive` or `~/.cache/kafka2hive`, a cache whose files may be deleted at any time.
Its name has a digest of what it depends on, and its length, because Java crashes on a truncated archive. Java itself checks
its own build and the class path with the size and time of each jar, and ignores an archive that does not match
(docs/adr/0011-class-archive.md).
"""

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path

from kafka2hive import __version__
from kafka2hive.spark.java import java_launcher

#: Spark puts these JVM options before those of `spark.driver.extraJavaOptions`.
JAVA_OPTIONS = "spark.driver.defaultJavaOptions"
_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off"
_VERSION = re.compile(r"^__version__.*= *['\"](.+)['\"]", re.MULTILINE)
_RELEASE_FIELD = re.compile(r'^(\w+)="(.*)"$', re.MULTILINE)
# the variables that bin/spark-class and its launcher add to the class path
_ON_THE_CLASS_PATH = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH")


def archive_options() -> dict[str, str]:
    """Return Spark's setting that makes the driver's JVM use the archive, empty if this Java and Spark have no archive."""
    file = installed_archive(os.environ)
    return {} if file is None else {JAVA_OPTIONS: use_option(file)}


def installed_archive(environment: Mapping[str, str]) -> Path | None:
    """Return the archive that fits this Java, this Spark and this class path; None if there is none."""
    stem = archive_stem(environment)
    return None if stem is None else find_archive(stem)


def use_option(file: Path) -> str:
    """Return the JVM options that use the archive if it matches; otherwise the JVM ignores it silently."""
    return f'"-XX:SharedArchiveFile={file}" -Xshare:auto {_QUIET}'


def make_option(file: Path) -> str:
    """Return the JVM options that write the archive at the JVM's end, without a log of the classes that it cannot hold."""
    return f'"-XX:ArchiveClassesAtExit={file}" -Xlog:cds=error -Xlog:cds+dynamic=error'


def archive_stem(environment: Mapping[str, str]) -> Path | None:
    """Return the path of the archive for this Java, this Spark and this class path, without the end of its name.

    The name is `<installation>-spark-<version>-java-<version>-<vendor>-<state>`, and `-<bytes>.jsa` follows.
    `installation` is a digest of the paths of Spark, Java and the other parts of the class path, `state` a digest of
    their contents. None if Java has no `release` file, there is no Spark, or the user has no home directory.
    """
    launcher, cache = java_launcher(), cache_directory(environment)
    if launcher is None or cache is None:
        return None
    java = launcher.resolve().parent.parent
    spark = spark_home()
    if spark is None:
        return None
    try:
        release = (java / "release").read_text()
        version = "".join(_VERSION.findall((_pyspark() / "version.py").read_text()))
        jars = list(_sizes_and_times(spark / "jars"))
    except OSError:
        return None
    field = dict(_RELEASE_FIELD.findall(release))
    places = [str(java), str(spark), *(environment.get(name, "") for name in _ON_THE_CLASS_PATH)]
    name = f"spark-{version}-java-{field.get('JAVA_VERSION', '')}-{field.get('IMPLEMENTOR', '')}"
    plain = re.sub(r"[^A-Za-z0-9.-]", "_", name)
    return cache / f"{_digest(places)}-{plain}-{_digest([__version__, release, *jars])}"


def finished_name(stem: Path, length: int) -> Path:
    """Return the path of an archive of `length` bytes."""
    return stem.with_name(f"{stem.name}-{length}.jsa")


def find_archive(stem: Path) -> Path | None:
    """Return the archive; None if there is no whole archive that only this user or root can have written."""
    return next((file for file in stem.parent.glob(f"{stem.name}-*.jsa") if _is_sound(stem, file)), None)


def cache_directory(environment: Mapping[str, str]) -> Path | None:
    """Return this user's cache directory (XDG base directory specification), None for a user without a home directory."""
    places = (Path(environment.get("XDG_CACHE_HOME", "")), Path(os.path.expanduser("~"), ".cache"))  # noqa: PTH111 (never raises)
    return next((place / "kafka2hive" for place in places if place.is_absolute()), None)


def of_same_installation(file: Path) -> list[Path]:
    """Return the other archives of the same Spark and Java, which are outdated or incomplete."""
    installation = file.name.partition("-")[0]
    return [other for other in file.parent.glob(f"{installation}-*.jsa") if other != file]


def spark_home() -> Path | None:
    """Return what pyspark would use: SPARK_HOME, or the folder of pyspark, in which pip has installed jars and scripts.

    None if there is neither, as in the driver of YARN's cluster mode, whose pyspark has no jars.
    """
    if home := os.environ.get("SPARK_HOME"):
        return Path(home)
    return _pyspark() if (_pyspark() / "bin/spark-submit").is_file() else None


def _pyspark() -> Path:
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None, "pyspark is installed with this package"
    return Path(spec.origin).resolve().parent  # resolves links, as pyspark does


def _is_sound(stem: Path, file: Path) -> bool:
    try:
        status = file.stat()
    except OSError:
        return False
    return (
        stat.S_ISREG(status.st_mode)
        and file == finished_name(stem, status.st_size)
        and status.st_uid in (os.getuid(), 0)
        and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def _sizes_and_times(folder: Path) -> Iterable[str]:
    """Yield each jar's name, size and time in the directory's own order, which is the order of the class path."""
    for entry in os.scandir(folder):
        status = entry.stat()
        yield f"{entry.name} {status.st_size} {int(status.st_mtime)}"


def _digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]
