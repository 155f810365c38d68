"""What must hold between tables: each name once, no directory within another's."""

from collections.abc import Iterable

from kafka2hive.config.problems import Path, Problems


def check_names(
    tables: Iterable[tuple[int, str, str]],
    dead_letters: tuple[str, str],
    ledger_root: str,
    problems: Problems,
) -> None:
    """Tables with literal names (index, name, location): none twice, no directory within another's."""
    places: list[tuple[str, str, Path]] = [
        ("the ledgers", ledger_root, ("storage", "ledger_root")),
        (dead_letters[0], dead_letters[1], ("dead_letters", "location")),
    ]
    names = {dead_letters[0]: "the dead-letter table"}
    for index, name, location in tables:
        if name in names:
            problems.add(("tables", index, "table"), f"{name} is {names[name]} already: one table, one rule")
            continue
        names[name] = f"the table of tables[{index}]"
        places.append((name, location, ("tables", index, "location")))
    _check_nesting(places, problems)


def _check_nesting(places: list[tuple[str, str, Path]], problems: Problems) -> None:
    """`places`: (what, directory, path in the map). Directories in order of their steps: an outer one comes first."""
    open_places: list[tuple[str, str]] = []
    for what, directory, path in sorted(places, key=lambda place: place[1].split("/")):
        while open_places and not f"{directory}/".startswith(f"{open_places[-1][1]}/"):
            open_places.pop()
        if open_places:
            outer, above = open_places[-1]
            problems.add(path, f"the directory of {what} lies within that of {outer}: {above}")
        open_places.append((what, directory))
