"""The forms of the project name what is there: hooks run tools of the checkout, owners own files, forms ask for something."""

from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
HOOKS: list[dict[str, Any]] = [
    hook
    for repository in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    for hook in repository["hooks"]
]
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
OWNED = [
    line.split()[0]
    for line in (ROOT / ".github/CODEOWNERS").read_text().splitlines()
    if line and not line.startswith("#")
]


def test_every_hook_runs_a_tool_of_the_checkout_and_downloads_nothing() -> None:
    repositories = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert {repository["repo"] for repository in repositories} == {"local"}
    assert {hook["language"] for hook in HOOKS} == {"system"}
    programs = {hook["entry"].split()[0] for hook in HOOKS} - {"cargo"}
    assert [program for program in programs if not (ROOT / program).exists()] == []


def test_the_hooks_are_checks_of_the_gate() -> None:
    stages = (ROOT / "scripts/stages").read_text()
    for hook in HOOKS:
        tool = hook["entry"].removeprefix(".venv/bin/").split(" --")[0].split(" -m")[0]
        assert tool in stages, hook["id"]


def test_every_owned_path_is_there_and_each_room_that_decides_about_rows_has_owners() -> None:
    assert OWNED[0] == "*"
    assert [path for path in OWNED[1:] if not list(ROOT.glob(path.strip("/")))] == []
    assert {f"/kafka2hive/{room}/" for room in ("ledger", "model", "decode", "task", "formats")} <= set(OWNED)


@pytest.mark.parametrize(
    "form", [form for form in FORMS if form.name != "config.yml"], ids=lambda form: form.name
)
def test_a_form_has_a_name_and_asks_for_something(form: Path) -> None:
    asked = yaml.safe_load(form.read_text())
    assert asked["name"] and asked["description"]
    fields = [field for field in asked["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields) > 0
    assert any(field["validations"]["required"] for field in fields)
