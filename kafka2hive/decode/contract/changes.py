"""Count the values that decoders change because the map allows it."""

from collections import Counter

FRACTION = "fraction"
"""Fractions of a microsecond were cut off."""
DEFAULT = "default"
"""Missing or null values became the column's default."""
UNKNOWN_ENUM = "unknown_enum"
"""Enum numbers without a name became their digits, or NULL."""


class Changes:
    """Counts changed values by kind until the caller takes the counts."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._defaults: Counter[str] = Counter()

    def add(self, kind: str, values: int) -> None:
        if values:
            self._counts[kind] += values

    def add_defaults(self, column: str, values: int) -> None:
        """Count `values` values of the column that became its default."""
        self.add(DEFAULT, values)
        self._defaults[column] += values

    def take(self) -> tuple[tuple[str, int], ...]:
        """Return the counts by kind since the last call, sorted, and reset them."""
        counts, self._counts = self._counts, Counter()
        return tuple(sorted(counts.items()))

    def take_defaults(self) -> Counter[str]:
        """Return the defaults by column since the last call, and reset them; `take` counts them too."""
        defaults, self._defaults = self._defaults, Counter()
        return defaults
