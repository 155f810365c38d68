"""How a service's JVM is started: its options, its class path, and the classes that it shares with earlier JVMs.

Class data sharing: a JVM maps the classes that an earlier one loaded and verified, which halves the CPU seconds of a
start. There is one archive for each folder of jars, made by `scripts/setup test` (`tests/harness/class_data.py`). A JVM
that an archive does not fit (another Java, another class path) ignores it, silently.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from tests.services.jars import CACHE, jars, java
from tests.services.own_jar import own_jars

# The serial collector and only the quick compiler: services start often, live for minutes and share few cores.
OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
QUIET = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")


def java_command(name: str, heap_mb: int, *options: str, beside: Sequence[str] = ()) -> list[str]:
    """The JVM with the jars of `name`, more class path and the working directory's `conf`; the main class is to follow.

    The jars come first: classes are shared only from what precedes every folder of a class path.
    """
    shared = archive(name)
    return [
        java(),
        f"-Xmx{heap_mb}m",
        "-Xms64m",
        *OPTIONS,
        "-Djava.net.preferIPv4Stack=true",
        "-Djava.awt.headless=true",
        *([f"-XX:SharedArchiveFile={shared}", *QUIET] if shared.exists() else []),
        *options,
        "-cp",
        ":".join((jars(name), *map(str, own_jars(name)), *beside, "conf")),
    ]


def archive(name: str) -> Path:
    """Where the archive of these jars is, or would be; its name changes with them and with Java."""
    files = [*sorted(Path(jars(name)).parent.glob("*.jar")), *own_jars(name), Path(java()).resolve()]
    states = [f"{file} {file.stat().st_size} {file.stat().st_mtime_ns}\n" for file in files]
    fingerprint = hashlib.sha256("".join(states).encode()).hexdigest()[:16]
    return CACHE / "class-data" / f"{name}-{fingerprint}.jsa"
