"""Where the jars of the real services are, and what to type when they are not there."""

import os
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache"
COMMAND = "scripts/setup test"


class MissingService(Exception):
    """Java or a directory of jars is not there; the text names the command that fetches it."""


def jars(name: str) -> str:
    """Give the class path entry of all jars of `kafka`, `hdfs` or `hive`. Raises `MissingService`."""
    folder = CACHE / "jars" / name
    if not (folder / "COMPLETE").exists():
        raise MissingService(f"the jars of {name} are not there; run: {COMMAND}")
    return f"{folder}/*"


def java() -> str:
    """Give the path of the Java launcher. Raises `MissingService`."""
    home = os.environ.get("JAVA_HOME")
    path = shutil.which("java", path=f"{home}/bin" if home else None)
    if path is None:
        raise MissingService(f"there is no java{f' in JAVA_HOME={home}' if home else ''}; run: {COMMAND}")
    return path


# For every service JVM: a small heap, the serial collector and only the quick compiler, because they start often,
# live for minutes and share few cores.
def java_options(heap_mb: int) -> list[str]:
    """Give the JVM options that every service is started with."""
    return [
        f"-Xmx{heap_mb}m",
        "-Xms64m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-Djava.net.preferIPv4Stack=true",
        "-Djava.awt.headless=true",
    ]
