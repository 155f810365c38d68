"""`scripts/release` in a small repository: what is not ready is named, and a release is a tag that stays on this machine."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "release"
CHANGELOG = """\
# Changelog

## 1.2.0 (2026-11-27)

### Dumping

- It dumps faster.

## 1.1.0 (2026-01-01)

The first version.
"""
FAKES = {
    "check": 'echo "checked" >>"$LOG"',
    "wheels": 'mkdir -p "$1" && echo built >"$1/kafka2hive-1.2.0-py3-none-any.whl"',
    "dependencies": 'echo "{}"',
    "try-wheels": 'ls "$1" >>"$LOG"',
}


class Repository:
    """A clone with one commit that is ready for release 1.2.0."""

    def __init__(self, folder: Path) -> None:
        self.origin, self.home, self.log = folder / "origin.git", folder / "clone", folder / "log"
        git("init", "--quiet", "--bare", "--initial-branch=main", str(self.origin), cwd=folder)
        git("clone", "--quiet", str(self.origin), str(self.home), cwd=folder)
        git("checkout", "--quiet", "-B", "main", cwd=self.home)
        scripts = self.home / "scripts"
        scripts.mkdir()
        shutil.copy(SCRIPT, scripts)
        for name, command in FAKES.items():
            (scripts / name).write_text(f"#!/usr/bin/env bash\nset -e\n{command}\n")
            (scripts / name).chmod(0o755)
        (self.home / "kafka2hive").mkdir()
        self.write("kafka2hive/__init__.py", '"""It."""\n\n__version__ = "1.2.0"\n')
        self.write("CHANGELOG.md", CHANGELOG)
        self.write("README.md", "# kafka2hive\n")
        self.write(".gitignore", "/dist/\n")
        self.commit()
        git("push", "--quiet", "origin", "main", cwd=self.home)

    def write(self, name: str, text: str) -> None:
        (self.home / name).write_text(text)

    def commit(self) -> None:
        git("add", "--all", cwd=self.home)
        git("commit", "--quiet", "--message", "Change it", cwd=self.home)

    def release(self, *arguments: str) -> tuple[int, str, str]:
        """The exit code, standard output and standard error of the script."""
        done = subprocess.run(
            [self.home / "scripts" / "release", *arguments],
            env={**os.environ, "LOG": str(self.log)},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def tags(self) -> str:
        return git("tag", cwd=self.home)


def git(*words: str, cwd: Path) -> str:
    identity = ["-c", "user.name=Anna", "-c", "user.email=anna@example.org"]
    return subprocess.run(
        ["git", *identity, *words], cwd=cwd, check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    for variable, value in {"GIT_AUTHOR": "Anna", "GIT_COMMITTER": "Anna"}.items():
        monkeypatch.setenv(f"{variable}_NAME", value)
        monkeypatch.setenv(f"{variable}_EMAIL", "anna@example.org")
    return Repository(tmp_path)


def test_a_dry_run_says_what_would_be_done_and_does_none_of_it(repository: Repository) -> None:
    code, said, _ = repository.release("--dry-run", "1.2.0")
    assert (code, repository.tags()) == (0, "")
    assert "ready: scripts/release 1.2.0 would run scripts/check" in said and "as v1.2.0" in said
    assert not repository.log.exists() and not (repository.home / "dist").exists()


def test_a_release_is_checked_built_tried_and_tagged_but_never_pushed(repository: Repository) -> None:
    code, said, errors = repository.release("1.2.0")
    assert code == 0, errors
    assert repository.log.read_text() == "checked\nkafka2hive-1.2.0-py3-none-any.whl\n"
    out = repository.home / "dist" / "1.2.0"
    summed = {line.partition("  ")[2] for line in (out / "SHA256SUMS").read_text().splitlines()}
    assert summed == {"kafka2hive-1.2.0-py3-none-any.whl", "kafka2hive-1.2.0.cdx.json"}
    message = git(
        "for-each-ref", "--format=%(objecttype) %(contents)", "refs/tags/v1.2.0", cwd=repository.home
    )
    assert message.startswith("tag kafka2hive 1.2.0\n")
    assert "### Dumping" in message and "dumps faster" in message and "first version" not in message
    assert git("ls-remote", "--tags", "origin", cwd=repository.home) == ""
    assert "git push origin main v1.2.0" in said
    code, _, errors = repository.release("1.2.0")
    assert code == 1 and "the tag v1.2.0 exists" in errors and "dist/1.2.0 exists" in errors


def test_everything_that_is_not_ready_is_named_at_once(repository: Repository) -> None:
    git("checkout", "--quiet", "-b", "other", cwd=repository.home)
    repository.write("CHANGELOG.md", CHANGELOG.replace("1.2.0 (2026-11-27)", "1.2.0 (not released)"))
    repository.write("README.md", "Version 1.2.0 is not released yet.\n")
    repository.write("kafka2hive/__init__.py", '__version__ = "1.1.0"\n')
    code, _, errors = repository.release("--dry-run", "1.2.0")
    assert (code, repository.tags()) == (1, "")
    for fault in (
        "this is other; a release is made from main",
        "there are changes that are not committed",
        "kafka2hive/__init__.py says 1.1.0",
        "CHANGELOG.md says '## 1.2.0 (not released)'",
        "README.md says that 1.2.0 is not released",
    ):
        assert f"not ready: {fault}" in errors, errors
    assert len([line for line in errors.splitlines() if line.startswith("not ready: ")]) == 5


def test_a_version_without_changes_in_the_changelog_is_not_released(repository: Repository) -> None:
    repository.write("kafka2hive/__init__.py", '__version__ = "1.3.0"\n')
    repository.commit()
    code, _, errors = repository.release("1.3.0")
    assert (code, repository.tags()) == (1, "")
    assert "CHANGELOG.md has no section '## 1.3.0 (" in errors


@pytest.mark.parametrize("failing", FAKES)
def test_nothing_is_tagged_if_a_step_fails(repository: Repository, failing: str) -> None:
    repository.write(f"scripts/{failing}", "#!/usr/bin/env bash\nexit 3\n")
    repository.commit()
    code, _, _ = repository.release("1.2.0")
    assert (code, repository.tags()) == (3, "")


@pytest.mark.parametrize("arguments", [(), ("1.2",), ("v1.2.0",), ("1.2.0", "1.3.0"), ("--now", "1.2.0")])
def test_a_wrong_command_line_shows_the_right_one(repository: Repository, arguments: tuple[str, ...]) -> None:
    code, _, errors = repository.release(*arguments)
    assert code == 2 and "scripts/release [--dry-run] VERSION" in errors


def test_wheels_are_not_built_in_an_environment_without_the_tools(tmp_path: Path) -> None:
    """That of `scripts/setup demo` has none; without this check setuptools' traceback was the answer."""
    (tmp_path / "scripts").mkdir()
    wheels = tmp_path / "scripts" / "wheels"
    wheels.write_bytes((Path(__file__).parents[2] / "scripts" / "wheels").read_bytes())
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / ".venv")], check=True)
    done = subprocess.run(["bash", str(wheels)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        69,
        "scripts/wheels: .venv has no tools to build with; type: scripts/setup check\n",
    )
    assert not (tmp_path / "dist").exists()
