"""How many values the map's leeway changed: the only thing that decoders remember from batch to batch."""

from collections import Counter

FRACTION = "fraction"
"""Parts of a microsecond were cut off."""
DEFAULT = "default"
"""Values that were missing or null are the column's default."""
UNKNOWN_ENUM = "unknown_enum"
"""Numbers of enums without a name are their digits, or NULL."""


class Changes:
    """Counts by kind, until they are taken."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, kind: str, values: int) -> None:
        if values:
            self._counts[kind] += values

    def take(self) -> tuple[tuple[str, int], ...]:
        """What was counted since the last time."""
        counts, self._counts = self._counts, Counter()
        return tuple(sorted(counts.items()))
