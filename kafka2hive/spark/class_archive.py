"""The class data sharing archive of Spark's driver JVM: where it lies, what it is called, how the JVM is told of it.

It lies in `$XDG_CACHE_HOME/kafka2hive`, or `~/.cache/kafka2hive`; nothing in there counts, all of it may be deleted.
Its name holds what it depends on, and its length: Java dies of an archive that was cut short. The rest Java compares itself
(its own build, the class path with size and time of each jar); it goes on without an archive that does not fit
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
# what bin/spark-class and the launcher behind it take into the class path
_ON_THE_CLASS_PATH = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH")


def archive_options() -> dict[str, str]:
    """Spark's setting that makes the driver's JVM use the archive; empty when there is none of this Java and this Spark."""
    stem = archive_stem(os.environ)
    file = find_archive(stem) if stem is not None else None
    return {} if file is None else {JAVA_OPTIONS: use_option(file)}


def use_option(file: Path) -> str:
    """JVM options: take classes from the archive when it fits, and say nothing when it does not."""
    return f'"-XX:SharedArchiveFile={file}" -Xshare:auto {_QUIET}'


def make_option(file: Path) -> str:
    """JVM options: write the archive when the JVM ends, and do not list the classes that cannot be in one."""
    return f'"-XX:ArchiveClassesAtExit={file}" -Xlog:cds=error -Xlog:cds+dynamic=error'


def archive_stem(environment: Mapping[str, str]) -> Path | None:
    """How the archives of this Java, this Spark and this class path begin; None where no Java tells its version, there is
    no Spark beside pyspark, or for a user without a home directory.

    `<installation>-spark-<version>-java-<version>-<vendor>-<state>`, and `-<bytes>.jsa` follows: `installation` is a digest of
    the places of Spark, Java and what else is on the class path, `state` one of their contents.
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
    """What an archive of `length` bytes is called."""
    return stem.with_name(f"{stem.name}-{length}.jsa")


def find_archive(stem: Path) -> Path | None:
    """The archive, when there is one, whole, that nobody but this user and root may have written."""
    return next((file for file in stem.parent.glob(f"{stem.name}-*.jsa") if _is_sound(stem, file)), None)


def cache_directory(environment: Mapping[str, str]) -> Path | None:
    """Of this user, by the XDG base directory specification; None for one without a home directory."""
    places = (Path(environment.get("XDG_CACHE_HOME", "")), Path(os.path.expanduser("~"), ".cache"))  # noqa: PTH111 (never raises)
    return next((place / "kafka2hive" for place in places if place.is_absolute()), None)


def of_same_installation(file: Path) -> list[Path]:
    """Archives beside `file` that were made of another state of the same Spark and Java, or are not whole: of no use."""
    installation = file.name.partition("-")[0]
    return [other for other in file.parent.glob(f"{installation}-*.jsa") if other != file]


def spark_home() -> Path | None:
    """What pyspark takes for it: SPARK_HOME, or the folder of pyspark, where pip has put the jars and scripts.

    None: there is neither, as in the driver of YARN's cluster mode, whose pyspark comes without jars.
    """
    if home := os.environ.get("SPARK_HOME"):
        return Path(home)
    return _pyspark() if (_pyspark() / "bin/spark-submit").is_file() else None


def _pyspark() -> Path:
    found = find_spec("pyspark")
    assert found is not None and found.origin is not None, "pyspark is installed with this package"
    return Path(found.origin).resolve().parent  # as pyspark itself: through links it is the same installation


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
    """In the directory's own order, which is that of the class path."""
    for entry in os.scandir(folder):
        status = entry.stat()
        yield f"{entry.name} {status.st_size} {int(status.st_mtime)}"


def _digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]
