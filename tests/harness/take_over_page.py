"""The scripts and the commands that docs/taking-over.md tells its readers to run."""

import re
import shlex
import textwrap
from pathlib import Path

_PAGE = Path(__file__).parents[2] / "docs" / "taking-over.md"


def page_script(name: str, folder: Path) -> Path:
    """Write the script of the page whose first line names it."""
    scripts = re.findall(r"```python\n(.*?)```", _PAGE.read_text(), re.DOTALL)
    (code,) = [text for text in map(textwrap.dedent, scripts) if text.startswith(f"# {name}\n")]
    script = folder / name
    script.write_text(code)
    return script


def page_commands(title: str) -> list[list[str]]:
    """Return the words of each command in the section with this title, in the page's order."""
    section = _PAGE.read_text().partition(f"\n## {title}\n")[2].partition("\n##")[0]
    blocks = re.findall(r"```\n(.*?)```", section, re.DOTALL)
    return [shlex.split(line) for block in blocks for line in textwrap.dedent(block).splitlines()]
