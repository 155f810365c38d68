"""The recipes of CONTRIBUTING.md name files that are there, and all modules that know a file format."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
RECIPES = (ROOT / "CONTRIBUTING.md").read_text().partition("## Recipes\n")[2].partition("\n## ")[0]
KEY, METRIC, FORMAT = re.split(
    r"^\*\*A (?:key of the map|metric|file format)\*\*$", RECIPES, flags=re.MULTILINE
)[1:]


def steps(recipe: str) -> list[str]:
    """Return what each numbered line changes."""
    return re.findall(r"^\d\. (.*)$", recipe, re.MULTILINE)


def files(recipe: str) -> set[str]:
    """Return the files and patterns that the numbered lines name."""
    return {match[1] for step in steps(recipe) if (match := re.match(r"`([^`]+)`:", step))}


def test_a_recipe_names_files_that_are_there() -> None:
    for recipe in (KEY, METRIC, FORMAT):
        assert files(recipe)
        assert [name for name in files(recipe) if not list(ROOT.glob(name))] == []


def test_a_key_and_a_format_take_four_steps_and_a_metric_three() -> None:
    assert len(steps(KEY)) == 4
    assert len(steps(METRIC)) == 3
    assert len(steps(FORMAT)) == 4


def test_only_the_modules_of_the_recipe_name_a_file_format() -> None:
    """`orc` stands for all: the other names are also those of input formats, or of the default."""
    naming = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "kafka2hive").rglob("*.py")
        if "orc" in (text := path.read_text())
        and any(isinstance(node, ast.Constant) and node.value == "orc" for node in ast.walk(ast.parse(text)))
    }
    listed = {each.relative_to(ROOT).as_posix() for name in files(FORMAT) for each in ROOT.glob(name)}
    assert naming - listed == set()
