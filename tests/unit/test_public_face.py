"""What packages with plug-ins import of kafka2hive is one documented module."""

import ast
import re
from pathlib import Path

from kafka2hive import plugins

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/plugins.md").read_text()
TAKES_A_CONTEXT = "def __init__(self, context"
IMPORTED = re.compile(r"^(?:from|import) (kafka2hive[\w.]*)", re.MULTILINE)


def packages_of_tests() -> list[str]:
    """The sources of plug-ins that tests write into packages: texts with a class that takes a context."""
    texts = [
        node.value
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if TAKES_A_CONTEXT in (source := path.read_text())  # parsing all tests takes two CPU-seconds
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return [text for text in texts if re.search(rf"^ +{re.escape(TAKES_A_CONTEXT)}", text, re.MULTILINE)]


def test_every_example_package_imports_the_public_module_alone() -> None:
    examples = [*re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL), *packages_of_tests()]
    assert len(examples) >= 3
    assert {module for text in examples for module in IMPORTED.findall(text)} == {"kafka2hive.plugins"}


def test_the_page_names_everything_that_the_public_module_holds() -> None:
    classes = {
        name for name, value in vars(plugins).items() if getattr(value, "__module__", "") == plugins.__name__
    }
    assert set(plugins.__all__) == classes
    assert [name for name in sorted(classes) if f"`{name}`" not in PAGE] == []
