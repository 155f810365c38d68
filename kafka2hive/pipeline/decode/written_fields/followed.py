"""How far the types of a writer's schema are followed: a short text can say more of them than any memory holds. Pure."""

from collections.abc import Iterator
from contextlib import contextmanager

from kafka2hive.model.hive.type_parser import MAX_NESTING, may_name_a_field

MOST_TYPES = 50_000
"""Of one schema, each counted at every place that it fills."""
DEEPEST = 4 * MAX_NESTING
"""Types within each other; those that Hive has no need of, such as unions with null, are counted, too."""

_LETTERS = 100
"""Of a field's name, that count as a type."""


class TooLarge(ValueError):
    """The schema says more than MOST_TYPES, or types deeper than DEEPEST."""


class Followed:
    """`notes` grow by what Hive has no type for."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._left = MOST_TYPES
        self._depth = 0

    @contextmanager
    def one(self) -> Iterator[None]:
        """Around what is done with a type and those within it. Raises TooLarge."""
        self._count(1)
        if self._depth >= DEEPEST:
            raise TooLarge(f"types nest {DEEPEST} deep")
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def struct(self, place: str, fields: Iterator[tuple[str, str | None]]) -> str | None:
        """Of names and types, None for those that are left out; None where no field remains."""
        members, before = [], len(self.notes)
        for name, kind in fields:
            self._count(len(name) // _LETTERS)
            if kind is None:
                continue
            if all(map(may_name_a_field, name)):
                members.append(f"{name}:{kind}")
            else:
                self.left_out(f"{place}.{name[:80]!r}", "is no name of a field in Hive")
        if not members and len(self.notes) == before:
            self.left_out(place, "is a record without fields")
        return f"struct<{','.join(members)}>" if members else None

    def left_out(self, place: str, why: str) -> str | None:
        """Always None: it has no type."""
        self.notes.append(f"{place[:200]} {why}: left out")
        return None

    def _count(self, types: int) -> None:
        self._left -= types
        if self._left < 0:
            raise TooLarge(f"with it the schema says more than {MOST_TYPES:,} types")
