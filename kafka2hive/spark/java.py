"""Find the Java that Spark will use, and check that it is new enough."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.spark.internals import is_started_by_launcher

OLDEST = 17
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_RELEASE = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)


def require_java() -> str:
    """Return a description of the Java. Raises ServiceUnavailable (`spark.java`) if there is none or it is too old.

    The check is skipped if Spark's launcher started this process, because its JVM already runs.
    """
    if is_started_by_launcher():
        return "the JVM of spark-submit"
    home = os.environ.get("JAVA_HOME")
    launcher = java_launcher()
    where = f"JAVA_HOME={home}" if home else "the path"
    if launcher is None:
        raise ServiceUnavailable(
            "spark.java",
            f"there is no Java in {where}",
            f"install Java {OLDEST} or newer, or correct JAVA_HOME",
        )
    version = released_version(launcher) or java_version(str(launcher))
    if version < OLDEST:
        present = f"Java {version}" if version else "a Java that does not start"
        raise ServiceUnavailable(
            "spark.java",
            f"Spark needs Java {OLDEST} or newer; {present} is in {where}",
            f"install Java {OLDEST} or newer, or set JAVA_HOME to one",
        )
    return f"Java {version} at {launcher}"


def java_launcher() -> Path | None:
    """Return JAVA_HOME's launcher, or the one on the path if JAVA_HOME is not set."""
    home = os.environ.get("JAVA_HOME")
    launcher = shutil.which("java", path=str(Path(home, "bin")) if home else None)
    return Path(launcher) if launcher else None


def released_version(launcher: Path) -> int:
    """Return the major version from the `release` file of the JDK or JRE, which needs no JVM; 0 if there is no such file."""
    try:
        text = (launcher.resolve().parent.parent / "release").read_text()
    except OSError:
        return 0
    match = _RELEASE.search(text)
    return int(match[1]) if match else 0


def java_version(launcher: str) -> int:
    """Return the major version from `java -version`, 0 if it is unknown."""
    try:
        completed = subprocess.run(
            [launcher, "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = _VERSION.search(completed.stderr + completed.stdout)
    return int(match[1]) if match else 0
