"""The tables of codes in the documents: those that `kafka2hive explain` reads."""

from collections.abc import Callable, Mapping
from functools import partial

from kafka2hive.cli.explain.catalogue import CLASSES, tables


def _table(name: str, title: str) -> str:
    return tables(name)[title] + "\n"


def error_tables() -> Mapping[str, Callable[[], str]]:
    """The parts of operations.md."""
    errors = {
        "classes" if title == CLASSES else f"codes: {title}": partial(_table, "errors", title)
        for title in tables("errors")
    }
    (exits,) = tables("exits")
    (reasons,) = tables("reasons")
    return errors | {
        "exit codes": partial(_table, "exits", exits),
        "reasons": partial(_table, "reasons", reasons),
    }


def finding_table() -> str:
    """The part of commands.md; findings that share what to do are in one table, which says it once."""
    (findings,) = tables("findings")
    head, line, *rows = tables("findings")[findings].splitlines()
    by_remedy: dict[str, list[str]] = {}
    for row in rows:
        rest, _, remedy = row.removesuffix(" |").rpartition(" | ")
        by_remedy.setdefault(remedy, []).append(f"{rest} |")
    shared = {remedy: same for remedy, same in by_remedy.items() if len(same) > 2}
    others = [row for row in rows if row.removesuffix(" |").rpartition(" | ")[2] not in shared]
    parts = ["\n".join([head, line, *others]) + "\n"]
    for remedy, same in shared.items():
        parts.append(f"What to do about these: {remedy}.\n")
        parts.append("\n".join(["| code | what it found |", "|---|---|", *same]) + "\n")
    return "\n".join(parts)
