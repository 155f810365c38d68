"""How a service's JVM is started: its options, its class path, and the classes that it shares with earlier JVMs.

Class data sharing: a JVM maps the classes that an earlier one loaded and verified, which halves the CPU seconds of a
start. There is one archive for each folder of jars, made by `scripts/setup test` (`class_data`). A JVM that an archive
does not fit (another Java, another class path) ignores it, silently.
"""

import hashlib
import importlib.util
from pathlib import Path

from tests.services.jars import CACHE, MissingService, jars, java

# The serial collector and only the quick compiler: services start often, live for minutes and share few cores.
OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
_PYSPARK = importlib.util.find_spec("pyspark")  # found, not imported: unit tests do without it
SPARK_HOME = Path((_PYSPARK and _PYSPARK.origin) or "pyspark").parent
SPARK_JARS = f"{SPARK_HOME}/jars/*"
_QUIET = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")


def java_command(name: str, heap_mb: int, *options: str) -> list[str]:
    """The JVM with the jars of `name` and the working directory's `conf` as class path; the main class is to follow.

    The jars come first: classes are shared only from what precedes every folder of a class path.
    """
    return [
        java(),
        f"-Xmx{heap_mb}m",
        "-Xms64m",
        *OPTIONS,
        "-Djava.net.preferIPv4Stack=true",
        "-Djava.awt.headless=true",
        *shared_classes(jars(name)),
        *options,
        "-cp",
        f"{jars(name)}:conf",
    ]


def shared_classes(class_path: str) -> list[str]:
    """The options of a JVM that maps the archive of these jars (`folder/*`); none where there is no archive."""
    path = archive(class_path)
    return [f"-XX:SharedArchiveFile={path}", *_QUIET] if path.exists() else []


def spark_environment() -> dict[str, str]:
    """What makes the driver's JVM map the archive of Spark's jars; empty without Java."""
    try:
        return {"SPARK_SUBMIT_OPTS": " ".join(shared_classes(SPARK_JARS))}
    except MissingService:
        return {}


def recording(path: Path) -> list[str]:
    """The options of a JVM that writes an archive of what it has loaded when it ends in order."""
    return [f"-XX:ArchiveClassesAtExit={path}", *_QUIET]


def archive(class_path: str) -> Path:
    """Where the archive of these jars is, or would be; the name changes with them and with Java."""
    folder = Path(class_path).parent
    files = [*sorted(folder.glob("*.jar")), Path(java()).resolve()]
    states = [f"{file} {file.stat().st_size} {file.stat().st_mtime_ns}\n" for file in files]
    fingerprint = hashlib.sha256("".join(states).encode()).hexdigest()[:16]
    return CACHE / "class-data" / f"{folder.parent.name}-{folder.name}-{fingerprint}.jsa"
