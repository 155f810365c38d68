"""The table of the tests that `scripts/test` runs, and of those that only `--all` runs, in docs/testing.md."""

from tests.gate import ONLY_IN_ALL, STANDARD


def standard_tests() -> str:
    """Return one row for each kind."""
    rows = ["| `scripts/test` runs | tests |", "|---|---|"]
    rows += [f"| {kind} | {_files(names)} |" for kind, names in STANDARD.items()]
    rows += ["", "| only `scripts/test --all` runs | tests, if no row above names them |", "|---|---|"]
    rows += [f"| {kind} | {_files(names)} |" for kind, names in ONLY_IN_ALL.items()]
    return "\n".join(rows) + "\n"


def _files(names: tuple[str, ...]) -> str:
    """Return whole folders with a slash at the end; other names without `test_` and `.py`."""
    return ", ".join(
        f"`{name.removeprefix('tests/').replace('test_', '', 1).replace('.py', '')}`" for name in names
    )
