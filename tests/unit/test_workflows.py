"""The workflows of hosted CI run scripts that exist, on the Pythons that the package says. They have not run yet."""

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def jobs_of(workflow: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load(workflow.read_text())["jobs"].values())


def test_every_script_that_a_workflow_runs_exists() -> None:
    steps = [step for workflow in WORKFLOWS for job in jobs_of(workflow) for step in job["steps"]]
    scripts = re.findall(r"(?:^|\s)(\.ci/\w+|scripts/\w+)", "\n".join(step.get("run", "") for step in steps))
    assert scripts == [".ci/run", "scripts/setup", "scripts/wheels"]
    assert all(os.access(ROOT / script, os.X_OK) for script in scripts)


def test_the_tests_run_on_every_python_that_setup_takes() -> None:
    (job,) = jobs_of(ROOT / ".github/workflows/tests.yml")
    pythons = job["strategy"]["matrix"]["python"]
    assert f">={pythons[0]}" == PROJECT["requires-python"]
    assert f"Python {pythons[0]} to {pythons[-1]}" in (ROOT / "scripts/setup").read_text()
    assert pythons == [f"3.{minor}" for minor in range(11, 11 + len(pythons))]


def test_each_job_ends_and_may_only_read() -> None:
    for workflow in WORKFLOWS:
        assert yaml.safe_load(workflow.read_text())["permissions"] == {"contents": "read"}
        assert all(0 < job["timeout-minutes"] <= 90 for job in jobs_of(workflow))
