"""The codes that messages show, with their explanations; read from the tables next to this module.

A table's first column holds the codes, its last one says what to do. The documents repeat these tables, so that a code has one
explanation.
"""

import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from kafka2hive.model.errors import ConfigError

_DIRECTORY = Path(__file__).parent
KINDS = {
    "errors": "an error",
    "findings": "a finding of `verify`",
    "reasons": "a reason of dead letters",
    "exits": "an exit code",
}
"""The files of tables, and what their codes are."""
_HOME = {
    "errors": "operations.md",
    "findings": "commands.md",
    "reasons": "operations.md",
    "exits": "operations.md",
}
_LINK = re.compile(r"\[([^\]]*)\]\(([^)]*)\)")
CLASSES = "Classes"


@dataclass(frozen=True, slots=True)
class Explanation:
    """One code: what it is, what the program does (`effect`, may be empty), its meaning, and what to do (may be empty)."""

    code: str
    kind: str
    effect: str
    meaning: str
    remedy: str


@cache
def tables(name: str) -> dict[str, str]:
    """Return the tables of a file as Markdown, by their headings."""
    text = (_DIRECTORY / f"{name}.md").read_text("utf-8")
    parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    return {title: body.strip() for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def _rows(table: str) -> list[list[str]]:
    lines = table.splitlines()[2:]
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]


def _plain(cell: str, home: str) -> str:
    """Return a cell without links; a link's target follows its text."""

    def target(link: re.Match[str]) -> str:
        page, _, heading = link[2].partition("#")
        place = f"docs/{page or home}"
        return f"{link[1]} ({place}{'#' if heading else ''}{heading})"

    return _LINK.sub(target, cell)


@cache
def explanations() -> dict[str, Explanation]:
    """Return every explanation by its code. `kafka.*` explains the codes of librdkafka's other errors."""
    classes = dict(_rows(tables("errors")[CLASSES]))
    found: dict[str, Explanation] = {}
    for name, kind in KINDS.items():
        for title, table in tables(name).items():
            if title == CLASSES:
                continue
            for codes, *cells in _rows(table):
                *middle, remedy = (_plain(cell, _HOME[name]) for cell in cells)
                if name == "exits":
                    meaning, effect = middle[0], f"systemd: {middle[1]}" if middle[1] else ""
                else:
                    meaning, effect = middle[-1], _effect(middle[0], classes) if len(middle) > 1 else ""
                names = codes.split(", ") if name == "exits" else re.findall(r"`([^`]+)`", codes)
                for code in names:
                    found[code] = Explanation(
                        code=code, kind=kind, effect=effect, meaning=meaning, remedy=remedy
                    )
    return found


def _effect(cell: str, classes: dict[str, str]) -> str:
    """Return what the program does, such as `aside: the table is set aside ..`."""
    word = re.split(r"[,; ]", cell, maxsplit=1)[0]
    return f"{cell} ({classes[word]})" if word in classes and word != "ends" else cell


def explain(code: str) -> tuple[Explanation, ...]:
    """Return the explanation of a code, as a message shows it (`[hive.login]`), or of all codes that begin with `code.`.

    Raises ConfigError (`usage.no_such_code`) with the most similar codes.
    """
    known, name = explanations(), code.strip("[]`. ")
    if name in known:
        return (known[name],)
    if family := tuple(one for key, one in known.items() if key.startswith(f"{name}.") and key != "kafka.*"):
        return family
    if name.startswith("kafka."):
        return (known["kafka.*"],)
    near = get_close_matches(name, known, 3) or [key for key in known if name and name in key][:3]
    raise ConfigError(
        "usage.no_such_code",
        f"{code} is not a code of this version",
        f"did you mean {', '.join(near)}?"
        if near
        else "`kafka2hive explain hive` explains all codes that begin with hive",
    )
