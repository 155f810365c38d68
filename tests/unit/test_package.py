"""What comes with the package: a module to run, completion for the shell, documents, examples and the schema."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

from typer.testing import CliRunner

from kafka2hive.cli.main import app

ROOT = Path(__file__).parents[2]


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kafka2hive", "--version"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert (done.returncode, done.stdout.split()[0]) == (0, "kafka2hive")


def test_completion_can_be_installed() -> None:
    assert "--install-completion" in CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output


def test_the_wheel_holds_every_document_example_and_the_schema() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["data-files"]
    packed = {path for globs in settings.values() for pattern in globs for path in ROOT.glob(pattern)}
    wanted = {path for folder in ("configs", "docs") for path in (ROOT / folder).rglob("*") if path.is_file()}
    assert wanted | {ROOT / "README.md"} <= packed
