"""Which table kills the workers? A plan that fails twice is halved until the failing table is alone. Pure.

A task that raises, or dies, cannot say whose record it was (a table's own errors come back as values in manifests, and
never come here). One broken table among a thousand must not change the freshness of the others, so the search halves:
one failing table among n is found in about 2 log2(n) epochs, and every other table moves on meanwhile.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class FailureIsolation:
    """The state of the search; each method returns the next state.

    `failed_once`: tables of an epoch that failed once and not since. `groups`: what is still to be tried, one group per
    epoch, the first is next. `failing`: tables to set aside, each failed in an epoch of its own. `suspected`: all tables
    that the present or last search began with.
    """

    failed_once: frozenset[str] = _NONE
    groups: tuple[frozenset[str], ...] = ()
    failing: frozenset[str] = _NONE
    suspected: frozenset[str] = _NONE

    def failed(self, tables: Iterable[str]) -> "FailureIsolation":
        """The job of an epoch with these tables failed (after Spark's own attempts)."""
        tables = frozenset(tables)
        if self.groups:
            current, *rest = self.groups
            # a table of the group that was not even planned did not fail
            return self._narrowed((current & tables) or current, tuple(rest))
        if self.failed_once:
            suspected = self.failed_once | tables
            return replace(self, failed_once=_NONE, suspected=suspected)._narrowed(suspected, ())
        return replace(self, failed_once=tables)

    def succeeded(self, tables: Iterable[str]) -> "FailureIsolation":
        """The job of an epoch with these tables succeeded, or there was nothing to plan for these tables."""
        tables = frozenset(tables)
        groups = tuple(group - tables for group in self.groups if group - tables)
        return replace(self, failed_once=self.failed_once - tables, groups=groups)

    def released(self, tables: Iterable[str]) -> "FailureIsolation":
        """These tables are set aside, their backoff decides when they are planned again."""
        return replace(self, failing=self.failing - frozenset(tables), suspected=_NONE)

    def next_only(self) -> frozenset[str] | None:
        """The only tables the next epoch may hold; None: no search is on."""
        return self.groups[0] if self.groups else None

    def everyone_failed(self) -> bool:
        """A search among several has ended and cleared no table: something they share is broken."""
        return not self.groups and len(self.suspected) > 1 and self.suspected <= self.failing

    def _narrowed(self, failed: frozenset[str], rest: tuple[frozenset[str], ...]) -> "FailureIsolation":
        if len(failed) == 1:
            return replace(self, groups=rest, failing=self.failing | failed)
        names = sorted(failed)
        middle = len(names) // 2
        return replace(self, groups=(frozenset(names[:middle]), frozenset(names[middle:]), *rest))
