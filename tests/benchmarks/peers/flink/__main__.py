"""Flink SQL in one JVM (mini cluster): this process becomes that JVM, so that its id is the peer's."""

import os
import shutil
import subprocess
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.benchmarks.peers.assignment import Assignment, read_assignment
from tests.benchmarks.peers.flink import __doc__ as description
from tests.benchmarks.peers.flink.statements import statements
from tests.services.jars import CACHE, MissingService, jars, java

_PROGRAM = Path(__file__).with_name("Peer.java")
_CHECKPOINT_SECONDS = 60.0  # of a bounded run: it takes one at its end, more would only cost


def compiled() -> Path:
    """The directory with the program's class; compiled once for each text of the program."""
    return _once("flink-peer", _PROGRAM.read_bytes(), lambda folder: _javac(folder, [_PROGRAM]))


def messages(proto: str) -> Path:
    """The directory with the classes of a Protobuf schema, as Flink's format wants them."""

    def generate(folder: Path) -> None:
        sources = folder / "sources"
        sources.mkdir(parents=True)
        (sources / "record.proto").write_text(proto)
        (protoc,) = (CACHE / "jars" / "flink").glob("protoc-*.exe")
        protoc.chmod(0o755)
        subprocess.run(
            [protoc, f"-I{sources}", f"--java_out={sources}", str(sources / "record.proto")], check=True
        )
        _javac(folder, sorted(sources.rglob("*.java")))

    return _once("flink-protobuf", proto.encode(), generate)


def _once(name: str, text: bytes, make: Callable[[Path], None]) -> Path:
    """What `make` puts into a directory, made once for each text."""
    folder = CACHE / f"{name}-{zlib.crc32(text):08x}"
    if not folder.exists():
        partial = folder.with_suffix(f".{os.getpid()}")
        make(partial)
        partial.rename(folder)
    return folder


def _javac(folder: Path, sources: Sequence[Path]) -> None:
    javac = shutil.which(
        "javac", path=f"{os.environ['JAVA_HOME']}/bin" if "JAVA_HOME" in os.environ else None
    )
    if javac is None:
        raise MissingService("there is no javac (a JDK, not a JRE); run: scripts/setup bench")
    subprocess.run([javac, "-cp", jars("flink"), "-d", str(folder), *map(str, sources)], check=True)


def configuration(assignment: Assignment) -> dict[str, str]:
    """Flink's strongest setting that we found: object reuse, little managed memory, few checkpoints when bounded."""
    seconds = assignment.interval_seconds or _CHECKPOINT_SECONDS
    chosen = {
        "execution.runtime-mode": "STREAMING",
        "execution.checkpointing.interval": f"{round(seconds * 1000)} ms",
        "execution.checkpointing.dir": (assignment.checkpoint / "checkpoints").as_uri(),
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "parallelism.default": str(assignment.parallelism),
        "taskmanager.numberOfTaskSlots": str(assignment.parallelism),
        "taskmanager.memory.managed.size": "64m",
        "taskmanager.memory.network.min": "64m",
        "taskmanager.memory.network.max": "64m",
        "pipeline.object-reuse": "true",
        "io.tmp.dirs": str(assignment.checkpoint / "tmp"),
    }
    metadata = assignment.checkpoint.glob("checkpoints/*/chk-*/_metadata")
    if newest := max(metadata, key=lambda file: file.stat().st_mtime_ns, default=None):
        chosen["execution.state-recovery.path"] = newest.parent.as_uri()
    return chosen


def main() -> None:
    """Become the JVM."""
    assignment = read_assignment(description)
    (assignment.checkpoint / "tmp").mkdir(parents=True, exist_ok=True)
    script = assignment.checkpoint / "job.sql"
    script.write_text("\n;\n".join(statements(assignment)))
    opened = [f"--add-opens=java.base/java.{p}=ALL-UNNAMED" for p in ("lang", "util", "net", "nio", "time")]
    options = ["-Xmx2g", "-XX:+UseParallelGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", *opened]
    options.append(f"-Djava.io.tmpdir={assignment.checkpoint / 'tmp'}")
    settings = [f"{key}={value}" for key, value in configuration(assignment).items()]
    classes = [str(compiled()), jars("flink")]
    if assignment.shape.encoding == "protobuf":
        classes.insert(0, str(messages(assignment.shape.proto)))
    command = [java(), *options, "-cp", ":".join(classes), "Peer", str(script), *settings]
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
