"""The examples of the page for schedulers, which are the files of configs/schedulers."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

LANGUAGES = {".py": "python", ".sh": "sh", ".sql": "sql", ".xml": "xml", ".yaml": "yaml", ".yml": "yaml"}


def scheduler_files(folder: Path) -> Mapping[str, Callable[[], str]]:
    """Return a part for each file, by its name."""
    return {file.name: partial(_block, file) for file in sorted(folder.iterdir()) if file.is_file()}


def _block(file: Path) -> str:
    return f"```{LANGUAGES[file.suffix]}\n{file.read_text().strip()}\n```\n"
