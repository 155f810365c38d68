"""The few lines of Java that a service needs besides its jars: `tests/services/java/SERVICE/*.java`.

For another version of a service, as `hive-3.1.3`, those of `hive` and its own.
"""

import subprocess
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from tests.services.jars import CACHE, jars, java

_SOURCES = Path(__file__).with_name("java")


def own_jars(name: str) -> list[Path]:
    """The jar of our own classes for `name`, when there are any.

    Made once for each text of them, by the compiler that every Java brings as a module.
    """
    folders = dict.fromkeys([name.partition("-")[0], name])
    sources = [source for folder in folders for source in sorted((_SOURCES / folder).glob("*.java"))]
    if not sources:
        return []
    text = zlib.crc32(b"".join(source.read_bytes() for source in sources))
    jar = CACHE / "own-jars" / f"{name}-{text:08x}.jar"
    if not jar.exists():
        jar.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=jar.parent) as folder:
            compile_java(name, sources, Path(folder))
            partial = Path(folder, "own.jar")
            with zipfile.ZipFile(partial, "w") as written:
                for file in sorted(Path(folder).rglob("*.class")):
                    written.write(file, file.relative_to(folder))
            partial.replace(jar)
    return [jar]


def compile_java(name: str, sources: Sequence[Path], folder: Path) -> None:
    """Write the classes of these sources, which use the jars of `name`, into a folder."""
    path = ":".join(map(str, Path(jars(name)).parent.glob("*.jar")))
    compiler = [java(), "-m", "jdk.compiler/com.sun.tools.javac.Main", "-cp", path]
    subprocess.run([*compiler, "-d", str(folder), *map(str, sources)], check=True)
