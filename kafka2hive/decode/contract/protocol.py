"""What every decoder promises: each message becomes rows, or one dead letter as a whole; never both."""

from collections import Counter

from kafka2hive.plugins import Decoded as Decoded
from kafka2hive.plugins import Decoder as Decoder
from kafka2hive.plugins import Reason as Reason

FRACTION = "fraction"
"""Parts of a microsecond were cut off."""
DEFAULT = "default"
"""Values that were missing or null are the column's default."""
UNKNOWN_ENUM = "unknown_enum"
"""Numbers of enums without a name are their digits, or NULL."""


class Changes:
    """Counts changed values by kind until the caller takes the counts."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._defaults: Counter[str] = Counter()

    def add(self, kind: str, values: int) -> None:
        if values:
            self._counts[kind] += values

    def add_defaults(self, column: str, values: int) -> None:
        """Count `values` values of the column that are its default."""
        self.add(DEFAULT, values)
        self._defaults[column] += values

    def take_defaults(self) -> Counter[str]:
        """Return the defaults since the last call, by column; the counts by kind keep them."""
        defaults, self._defaults = self._defaults, Counter()
        return defaults

    def take(self) -> tuple[tuple[str, int], ...]:
        """Return the counts since the last call."""
        counts, self._counts = self._counts, Counter()
        return tuple(sorted(counts.items()))
