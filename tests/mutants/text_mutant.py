"""One mistake as a value."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextMutant:
    """A plausible mistake in product code outside the simulation, and the fast tests that must fail with it."""

    name: str
    module: str  # dotted module of kafka2hive
    edits: tuple[tuple[str, str], ...]  # (old, new); every old text stands there exactly once
    caught_by: str  # pytest node ids or files, separated by spaces
