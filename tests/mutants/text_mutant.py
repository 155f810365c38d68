"""A hand-made mutant as a value."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextMutant:
    """A plausible mistake in product code outside the simulation, and the fast tests that must fail with it."""

    name: str
    module: str  # dotted module of kafka2hive
    edits: tuple[tuple[str, str], ...]  # (old, new); the module has every old text exactly once
    caught_by: str  # pytest node ids or files, separated by spaces


def mistakes(module: str, caught_by: str, *each: tuple[str | tuple[str, str], ...]) -> tuple[TextMutant, ...]:
    """Return the mutants of `module` that the tests `caught_by` notice; each of `each` is a name and its edits."""
    return tuple(
        TextMutant(name, module, tuple(edits), caught_by)  # type: ignore[arg-type]
        for name, *edits in each
    )
