"""Who kills the workers? A plan that fails twice is halved until the culprit stands alone. Pure.

A task that raises, or dies, cannot say whose record it was (a table's own errors come back as values in manifests, and
never come here). One broken table among a thousand must not change the freshness of the others, so the search halves:
one culprit among n tables is found in about 2 log2(n) epochs, and every table beside it moves on meanwhile.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

_NOBODY: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class FailureIsolation:
    """The state of the search; each method returns the next state.

    `struck`: tables of an epoch that failed once and not since. `groups`: what is still to be tried, one group per
    epoch, the first is next. `found`: culprits, each failed in an epoch of its own. `accused`: all whom the present
    or last search began with.
    """

    struck: frozenset[str] = _NOBODY
    groups: tuple[frozenset[str], ...] = ()
    found: frozenset[str] = _NOBODY
    accused: frozenset[str] = _NOBODY

    def failed(self, tables: Iterable[str]) -> "FailureIsolation":
        """The job of an epoch with these tables failed (after Spark's own attempts)."""
        tables = frozenset(tables)
        if self.groups:
            current, *rest = self.groups
            # a table of the group that was not even planned did not kill anything
            return self._narrowed((current & tables) or current, tuple(rest))
        if self.struck:
            accused = self.struck | tables
            return replace(self, struck=_NOBODY, accused=accused)._narrowed(accused, ())
        return replace(self, struck=tables)

    def succeeded(self, tables: Iterable[str]) -> "FailureIsolation":
        """The job of an epoch with these tables ended well, or there was nothing to plan for these suspects."""
        tables = frozenset(tables)
        groups = tuple(group - tables for group in self.groups if group - tables)
        return replace(self, struck=self.struck - tables, groups=groups)

    def released(self, tables: Iterable[str]) -> "FailureIsolation":
        """The backoff of these culprits has passed: they may be planned again."""
        return replace(self, found=self.found - frozenset(tables), accused=_NOBODY)

    def next_only(self) -> frozenset[str] | None:
        """The only tables the next epoch may hold; None: no search is on."""
        return self.groups[0] if self.groups else None

    def failing(self) -> frozenset[str]:
        """Tables to set aside."""
        return self.found

    def everyone_failed(self) -> bool:
        """A search among several has ended and cleared nobody: not a table is broken, but something they share."""
        return not self.groups and len(self.accused) > 1 and self.accused <= self.found

    def _narrowed(self, failed: frozenset[str], rest: tuple[frozenset[str], ...]) -> "FailureIsolation":
        if len(failed) == 1:
            return replace(self, groups=rest, found=self.found | failed)
        names = sorted(failed)
        middle = len(names) // 2
        return replace(self, groups=(frozenset(names[:middle]), frozenset(names[middle:]), *rest))
