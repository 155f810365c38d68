"""Whose turn it is among items that may fail, so that one that always fails keeps no other from its turn."""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

Item = TypeVar("Item", bound=Hashable)

_DOUBLINGS = 10


class Turns(Generic[Item]):
    """Remembers the failures of items. Each has its own waits, which double from `first` to `longest` seconds."""

    def __init__(self, first: float = 60.0, longest: float = 3600.0) -> None:
        self._first = first
        self._longest = longest
        self._failures: dict[Item, tuple[int, float]] = {}

    def due(self, items: Iterable[Item], now: float) -> list[Item]:
        """Return the items that need not wait after a failure. Those that have failed less often come first."""
        ready = [item for item in items if self.is_due(item, now)]
        return sorted(ready, key=lambda item: self._failures.get(item, (0, 0.0))[0])

    def is_due(self, item: Item, now: float) -> bool:
        """Return whether the item need not wait. A clock that was set back does not make it wait longer."""
        times, failed_at = self._failures.get(item, (0, 0.0))
        return not times or not 0 <= now - failed_at < self._wait(times)

    def fail(self, item: Item, now: float) -> None:
        times, _ = self._failures.get(item, (0, 0.0))
        self._failures[item] = times + 1, now

    def succeed(self, item: Item) -> None:
        self._failures.pop(item, None)

    def _wait(self, times: int) -> float:
        return float(min(self._first * 2 ** min(times - 1, _DOUBLINGS), self._longest))
