"""Fetch the jars of the real services that the integration tests start.

Each `NAME.gav` beside this file lists a whole class path, which is copied to `.cache/jars/NAME`: from Maven's local
repository if an earlier checkout has left all of it there, otherwise by Maven. A stamp with the list's checksum makes a
second call cost nothing; a changed list replaces the directory. Only the standard library is used, so that any Python
runs it.

    python tests/jars/fetch.py           fetch what is missing
    python tests/jars/fetch.py --check   exit 1 when something is missing, fetch nothing
    ... --bench                          and what the benchmarks' peers need (`bench/NAME.gav`)
    ... --hive                           and other versions of Hive (`hive/NAME.gav`)
    ... --engines                        and servers of other engines (`engines/NAME.gav`), which keep their folders
"""

# ruff: noqa: T201 - a command talks to its user by printing
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from xml.sax.saxutils import escape

LISTS = Path(__file__).resolve().parent
CACHE = LISTS.parent.parent / ".cache" / "jars"
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
LOCAL_REPOSITORY = Path.home() / ".m2" / "repository"
PLUGINS = ("hive",)
"""What is kept of the plugins of a server."""
ATTEMPTS = 4
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # halves the CPU seconds of a run of seconds


def coordinates(gav: Path, kind: str = "") -> list[tuple[str, str, str]]:
    """Read `group version artifact...` lines into (group, artifact, version); `#` begins a comment line.

    `artifact:type` and `artifact:type:classifier` are other files than the jar.
    Lines that begin with a `kind` (`stub`) are those alone.
    """
    lines = (
        line.split() for line in gav.read_text().splitlines() if line.strip() and not line.startswith("#")
    )
    chosen = (parts[bool(kind) :] for parts in lines if (parts[0] == "stub") == (kind == "stub"))
    return [(group, artifact, version) for group, version, *artifacts in chosen for artifact in artifacts]


def pom(name: str, wanted: list[tuple[str, str, str]], modules: str = "") -> str:
    """Build a Maven project that depends on exactly these artifacts and on nothing they ask for."""
    exclusion = (
        "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
    )
    dependencies = "\n".join(
        f"<dependency><groupId>{escape(group)}</groupId><artifactId>{escape(artifact.split(':')[0])}</artifactId>"
        f"<version>{escape(version)}</version>{_file(artifact)}{exclusion}</dependency>"
        for group, artifact, version in wanted
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>\n'
        f"<groupId>kafka2hive.tests</groupId><artifactId>{name}</artifactId><version>1</version>"
        f"<packaging>pom</packaging>{modules}\n<dependencies>\n{dependencies}\n</dependencies></project>\n"
    )


def _file(artifact: str) -> str:
    """Which file of the artifact; its jar unless it is named with type and classifier."""
    _, *file = artifact.split(":")
    tags = zip(("type", "classifier"), file, strict=False)
    return "".join(f"<{tag}>{value}</{tag}>" for tag, value in tags)


def stubs(gav: Path, work: Path) -> str:
    """Write an empty module for each `stub`: a parent that Maven asks for, though nothing of it is wanted."""
    names = []
    for group, artifact, version in coordinates(gav, "stub"):
        (work / artifact).mkdir(exist_ok=True)
        text = (
            '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
            f"<groupId>{escape(group)}</groupId><artifactId>{escape(artifact)}</artifactId>"
            f"<version>{escape(version)}</version><packaging>pom</packaging></project>\n"
        )
        (work / artifact / "pom.xml").write_text(text)
        names.append(f"<module>{escape(artifact)}</module>")
    return f"<modules>{''.join(names)}</modules>" if names else ""


def local_file(group: str, artifact: str, version: str) -> Path:
    """Where Maven keeps this file once it has fetched it."""
    name, *file = artifact.split(":")
    kind, classifier = file[0] if file else "jar", "".join(f"-{each}" for each in file[1:])
    folder = LOCAL_REPOSITORY / group.replace(".", "/") / name / version
    return folder / f"{name}-{version}{classifier}.{kind}"


def copy_local(wanted: list[tuple[str, str, str]], lib: Path) -> bool:
    """Copy the artifacts that Maven has kept, without a JVM; say whether all were there."""
    files = [local_file(*one) for one in wanted]
    if not all(file.is_file() for file in files):
        return False
    shutil.rmtree(lib, ignore_errors=True)
    lib.mkdir()
    for file in files:
        shutil.copyfile(file, lib / file.name)
    return True


def unpack(lib: Path) -> None:
    """Put the jars of each tar.gz beside the others, without its folders."""
    for packed in lib.glob("*.tar.gz"):
        with tarfile.open(packed) as archive:
            for member in archive:
                content = archive.extractfile(member) if member.name.endswith(".jar") else None
                if content is not None:
                    with (lib / Path(member.name).name).open("wb") as jar:
                        shutil.copyfileobj(content, jar)
        packed.unlink()


def unpack_server(lib: Path) -> None:
    """Replace the one tar.gz by what it has below its first folder, with the plugins that are listed in PLUGINS."""
    (packed,) = lib.glob("*.tar.gz")
    with tarfile.open(packed) as archive:
        archive.extractall(lib, filter="data")
    packed.unlink()
    (folder,) = lib.iterdir()
    for content in folder.iterdir():
        content.rename(lib / content.name)
    folder.rmdir()
    for plugin in (lib / "plugin").iterdir():  # only now: files of some are links to those of others
        if plugin.name not in PLUGINS:
            shutil.rmtree(plugin)


def is_complete(gav: Path) -> bool:
    """Say whether the directory of this list was filled from this very list."""
    stamp = CACHE / gav.stem / "COMPLETE"
    return stamp.exists() and stamp.read_text() == _checksum(gav)


def fetch(gav: Path) -> None:
    """Fill `.cache/jars/NAME`; a directory becomes visible only when it is whole. Raises SystemExit(69)."""
    wanted = coordinates(gav)
    started = time.monotonic()
    work = CACHE / f"{gav.stem}.partial"
    work.mkdir(parents=True, exist_ok=True)
    if not copy_local(wanted, work / "lib"):
        fetch_with_maven(gav, wanted, work)
    (unpack_server if gav.parent.name == "engines" else unpack)(work / "lib")
    shutil.rmtree(CACHE / gav.stem, ignore_errors=True)
    (work / "lib" / "COMPLETE").write_text(_checksum(gav))
    (work / "lib").rename(CACHE / gav.stem)
    shutil.rmtree(work)
    size = sum(jar.stat().st_size for jar in (CACHE / gav.stem).rglob("*.jar")) / 1e6
    print(
        f"setup: {gav.stem}: {len(wanted)} jars, {size:.0f} MB, in {time.monotonic() - started:.0f} s",
        flush=True,
    )


def fetch_with_maven(gav: Path, wanted: list[tuple[str, str, str]], work: Path) -> None:
    """Have Maven copy the artifacts to `lib` in the working directory. Raises SystemExit(69)."""
    (work / "pom.xml").write_text(pom(gav.stem, wanted, stubs(gav, work)))
    print(f"setup: fetching {len(wanted)} jars of {gav.stem} with Maven", flush=True)
    command = ["mvn", "-q", "-B", "-f", str(work / "pom.xml"), PLUGIN, f"-DoutputDirectory={work / 'lib'}"]
    environment = {**os.environ, "MAVEN_OPTS": f"{QUICK_JVM} {os.environ.get('MAVEN_OPTS', '')}"}
    for attempt in range(1, ATTEMPTS + 1):
        answer = subprocess.run(command, capture_output=True, text=True, env=environment)
        if answer.returncode == 0 and len(list((work / "lib").iterdir())) == len(wanted):
            return
        reason = next(
            (line for line in answer.stdout.splitlines() if "ERROR" in line), "not every jar arrived"
        )
        print(f"setup: Maven failed (attempt {attempt} of {ATTEMPTS}): {reason}", flush=True)
        command = [part for part in command if part != "-U"] + ["-U"]  # ask again for what was not found
        time.sleep(3 * attempt)
    print(answer.stdout[-4000:] + answer.stderr[-4000:], file=sys.stderr)
    raise SystemExit(69)


def _checksum(gav: Path) -> str:
    return hashlib.sha256(gav.read_bytes()).hexdigest()


def main(arguments: list[str]) -> int:
    """Run the command; returns the exit code."""
    lists = [
        *sorted(LISTS.glob("*.gav")),
        *(
            gav
            for kind in ("bench", "hive", "engines")
            if f"--{kind}" in arguments
            for gav in sorted(LISTS.glob(f"{kind}/*.gav"))
        ),
    ]
    missing = [gav for gav in lists if not is_complete(gav)]
    if "--check" in arguments:
        return 1 if missing else 0
    for gav in missing:
        fetch(gav)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
