"""The search for the table that crashes workers, as pure functions: two failed epochs begin a bisection of their tables.

A task that raises or dies cannot say which table's record caused it. A table's own errors are values in manifests and do
not reach this module. One broken table among a thousand must not make the others less fresh, so the search bisects:
one failing table among n is found in about 2 log2(n) epochs, and the other tables make progress meanwhile.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class FailureIsolation:
    """The immutable state of the search; `failed`, `succeeded` and `released` return the next state.

    - `failed_once`: tables of a first failed epoch; a table leaves it when it succeeds.
    - `groups`: sets of tables still to be tried, one set per epoch, in this order.
    - `failing`: tables that failed alone in an epoch, so that the caller must set them aside.
    - `suspected`: all tables with which the current or last search began.
    """

    failed_once: frozenset[str] = _NONE
    groups: tuple[frozenset[str], ...] = ()
    failing: frozenset[str] = _NONE
    suspected: frozenset[str] = _NONE

    def failed(self, tables: Iterable[str]) -> "FailureIsolation":
        """Return the state after the job of an epoch with these tables failed (after Spark's own attempts)."""
        tables = frozenset(tables)
        if self.groups:
            current, *others = self.groups
            # a table of the group that was not planned cannot be the cause
            return self._narrow((current & tables) or current, tuple(others))
        if self.failed_once:
            suspected = self.failed_once | tables
            return replace(self, failed_once=_NONE, suspected=suspected)._narrow(suspected, ())
        return replace(self, failed_once=tables)

    def succeeded(self, tables: Iterable[str]) -> "FailureIsolation":
        """Return the state after an epoch with these tables succeeded, or after a plan found nothing to read for them."""
        tables = frozenset(tables)
        groups = tuple(group - tables for group in self.groups if group - tables)
        return replace(self, failed_once=self.failed_once - tables, groups=groups)

    def released(self, tables: Iterable[str]) -> "FailureIsolation":
        """Return the state after these tables were set aside; their backoff decides when they are planned again."""
        return replace(self, failing=self.failing - frozenset(tables), suspected=_NONE)

    def next_only(self) -> frozenset[str] | None:
        """Return the only tables that the next epoch may hold, None if no search is in progress."""
        return self.groups[0] if self.groups else None

    def everyone_failed(self) -> bool:
        """Return whether a search among several tables found all of them failing: the cause is then not a table."""
        return not self.groups and len(self.suspected) > 1 and self.suspected <= self.failing

    def _narrow(self, failed: frozenset[str], others: tuple[frozenset[str], ...]) -> "FailureIsolation":
        if len(failed) == 1:
            return replace(self, groups=others, failing=self.failing | failed)
        names = sorted(failed)
        middle = len(names) // 2
        return replace(self, groups=(frozenset(names[:middle]), frozenset(names[middle:]), *others))
