"""A release, as a user gets it: what the wheels hold, and the README's quick start in an environment made of them."""

import json
import re
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path
from zipfile import ZipFile

import pytest

from kafka2hive import __version__
from tests.harness import release
from tests.harness.release import ROOT, Environment, Release
from tests.services.hdfs import Hdfs
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

SHELLS = {
    "bash": "share/bash-completion/completions/kafka2hive",
    "zsh": "share/zsh/site-functions/_kafka2hive",
    "fish": "share/fish/vendor_completions.d/kafka2hive.fish",
}
MANUAL = "share/man/man1/kafka2hive.1"
CLICKS = 300
MAP = """\
service: demo
kafka: {bootstrap.servers: "127.0.0.1:9", sasl.password: "${NOBODY_HAS_SET_THIS}"}
storage: {uri: "file:///nowhere"}
tables:
  - {table: air.flights, topics: [flights]}
  - {table: air.delays, topics: [delays]}
  - {table: "air.by_{1}", topics: /by-(.*)/}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """What scripts/wheels builds from this checkout."""
    return release.build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def environment(built: Release, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with nothing but the release installed into it."""
    return Environment.of(built, tmp_path_factory.mktemp("environment") / "kafka2hive")


def tracked(*patterns: str) -> set[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--", *patterns], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    return set(listed.stdout.splitlines())


def test_the_wheel_holds_the_package_and_what_belongs_to_a_program(built: Release) -> None:
    with ZipFile(built.wheel) as wheel:
        names = set(wheel.namelist())
    prefix = f"kafka2hive-{__version__}"
    data = {name.removeprefix(f"{prefix}.data/data/") for name in names if f"{prefix}.data/" in name}
    package = {name for name in names if not name.startswith(prefix)}
    assert package == tracked("kafka2hive") and "kafka2hive/py.typed" in package
    assert "kafka2hive/service/report/assets/report.js" in package
    assert {MANUAL, *SHELLS.values()} <= data
    units = {f"share/kafka2hive/systemd/{Path(path).name}" for path in tracked("configs/systemd")}
    assert len(units) == 3 and units < data
    assert {f"share/kafka2hive/{name}" for name in ("kafka2hive.schema.json", "requirements.lock")} < data
    assert all(name.startswith("share/") for name in data)


def test_the_source_archive_holds_what_the_wheel_was_built_from_and_no_test(built: Release) -> None:
    with tarfile.open(built.archive) as archive:
        members = archive.getmembers()
    names = {member.name.partition("/")[2] for member in members if member.isfile()}
    assert tracked("kafka2hive", "configs") | {"pyproject.toml", "LICENSE", "README.md"} <= names
    assert not [name for name in names if name.startswith(("tests/", "native/", ".venv"))]
    assert {(member.uid, member.uname) for member in members} == {(0, "")}
    assert len({member.mtime for member in members}) == 1


def test_the_same_files_give_the_same_bytes(built: Release, tmp_path: Path) -> None:
    subprocess.run(
        [ROOT / "scripts" / "wheels", "--no-native", tmp_path], check=True, stdout=subprocess.DEVNULL
    )
    for first in (built.wheel, built.archive):
        assert first.read_bytes() == (tmp_path / first.name).read_bytes(), first.name


def test_the_compiled_library_fits_every_python_from_3_11_on(built: Release) -> None:
    if built.library is not None:
        assert re.fullmatch(r"kafka2hive_native-[\d.]+-cp311-abi3-\w+\.whl", built.library.name)


def test_the_locked_packages_are_what_the_wheels_ask_for(environment: Environment, tmp_path: Path) -> None:
    assert environment.check() == "No broken requirements found.\n"
    where = environment.run(
        "python", "-c", "import kafka2hive, sys; print(kafka2hive.__file__); print(sys.path)", cwd=tmp_path
    )
    module, _, path = where.partition("\n")
    assert Path(module).is_relative_to(environment.home)
    assert str(ROOT) not in {entry.strip("'") for entry in path.strip("[]\n").split(", ")}


@pytest.mark.timeout(3600)
def test_the_quick_start_works(
    environment: Environment, built: Release, kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    kafka.create_topic(unique, 2)
    clicks = [
        json.dumps({"id": n, "page": f"/{n % 7}", "at": f"2026-11-{1 + n % 3:02}T10:00:00Z"}).encode()
        for n in range(CLICKS)
    ]
    produce(kafka.bootstrap, unique, clicks, 2)
    text, commands = quick_start()
    for old, new in {
        "127.0.0.1:9092": kafka.bootstrap,
        "file:///var/tmp/kafka2hive-try": f"{hdfs.namenode_url}/{unique}",
        "service: clicks": f"service: {unique}",
        "topics: [clicks]": f"topics: [{unique}]",
    }.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (tmp_path / "clicks.yaml").write_text(text)
    told = environment.run("kafka2hive", "--help", cwd=tmp_path)
    assert str(environment.home / "share" / "kafka2hive") in re.sub(r"[\s│]+", "", told)

    printed = {words[1]: environment.run(*words, cwd=tmp_path) for words in commands}
    assert list(printed) == ["validate", "preview", "run", "verify"]
    assert f"web.clicks: reads {unique}" in printed["validate"] and "0 errors" in printed["validate"]
    assert "dt=2026-11-02" in printed["preview"]
    status = json.loads(environment.run("kafka2hive", "status", "--json", "-c", "clicks.yaml", cwd=tmp_path))
    (table,) = status["tables"]
    assert sum(partition["next_offset"] for partition in table["partitions"]) == CLICKS
    assert table["lag_records"] == 0
    if built.library is not None:
        assert "compiled" in printed["validate"]


def quick_start() -> tuple[str, Sequence[list[str]]]:
    """The map and the commands of README.md; the program is on PATH, not in the checkout's .venv."""
    section = (ROOT / "README.md").read_text().partition("## Quick start")[2].partition("\n## ")[0]
    maps = re.findall(r" *```yaml\n(.*?)```", section, re.DOTALL)
    lines = re.findall(r"^ *\.venv/bin/(kafka2hive [^#\n]*)", section, re.MULTILINE)
    (text,) = maps
    indent = len(text) - len(text.lstrip())
    return "".join(f"{line[indent:]}\n" for line in text.splitlines()), [line.split() for line in lines]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_commands_options_and_the_tables_of_the_map(
    environment: Environment, tmp_path: Path, shell: str
) -> None:
    """Needs zsh and fish (Debian packages of these names)."""
    (tmp_path / "map.yaml").write_text(MAP)

    def offers(line: str) -> set[str]:
        program = tmp_path / f"complete.{shell}"
        program.write_text(COMPLETE[shell].lstrip())
        told = environment.run(
            shell,
            *PLAIN[shell],
            program,
            environment.home / SHELLS[shell],
            line,
            cwd=tmp_path,
            more={"HOME": str(tmp_path)},
        )
        return {word.partition("\t")[0] for word in told.splitlines() if word}

    assert {"pack", "pause"} <= offers("kafka2hive pa")
    assert offers("kafka2hive recover --accept-l") >= {"--accept-loss", "--accept-location"}
    assert offers("kafka2hive pause -c map.yaml --table ") == {"air.flights", "air.delays"}
    assert offers("kafka2hive status --config map.yaml --table air.f") == {"air.flights"}


PLAIN = {"bash": ["--norc", "--noprofile"], "zsh": ["-f"], "fish": ["--no-config"]}
COMPLETE = {
    "bash": r"""
source "$1"
read -r -a COMP_WORDS <<<"$2"
[[ $2 == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_kafka2hive_completion kafka2hive
printf '%s\n' "${COMPREPLY[@]}"
""",
    # The builtin that collects the offers prints them, in an interactive shell behind a pseudo-terminal. The line is
    # typed once the line editor reads keys (before that the terminal itself edits what arrives), and the answer is
    # complete once the widget has returned. "re""ady" is not found in the echo of the line that defines it.
    "zsh": r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1= ; fpath=(${1:h} \$fpath); autoload -Uz compinit; compinit -u -D"
zpty -w shell 'compadd() { builtin compadd -O offered "$@"; print -l -- "offered: "$^offered; builtin compadd "$@" }'
zpty -w shell 'complete-line() { zle complete-word; print -- "comp""leted" }; zle -N complete-line'
zpty -w shell "bindkey '^I' complete-line"
zpty -w shell 'zle-line-init() { print -- "re""ady" }; zle -N zle-line-init'
zpty -r -m shell line '*ready*'
zpty -w -n shell "$2"$'\t'
while zpty -r shell line; do
  [[ $line == *offered:* ]] && print -r -- "${${line##*offered: }%%$'\r'*}"
  [[ $line == *completed* ]] && break
done
zpty -d shell
exit 0
""",
    "fish": r"""
source $argv[1]
complete --do-complete $argv[2]
""",
}


def test_the_manual_has_every_command_and_no_fault(environment: Environment, tmp_path: Path) -> None:
    """Needs man (Debian package man-db) and mandoc."""
    page = environment.home / MANUAL
    linted = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True, check=False
    )
    assert (linted.returncode, linted.stdout + linted.stderr) == (0, "")
    shown = environment.run("man", "kafka2hive", cwd=tmp_path, more={"MANWIDTH": "100", "LC_ALL": "C.UTF-8"})
    for command in ("run", "recover", "dead-letters replay", "offsets export", "submit"):
        assert f"   kafka2hive {command}" in shown, command
    assert "KAFKA2HIVE_CONFIG" in shown.partition("ENVIRONMENT")[2]
    assert f"kafka2hive {__version__}" in shown
