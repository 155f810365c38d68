"""How far a service's ledgers are, and the longest time that nothing moved."""

import time
from collections.abc import Sequence

from tests.harness.program import Running
from tests.oracle.ledger_text import LedgerText

PATIENCE_SECONDS = 900.0  # says nothing about the product: the machine may be busy with much else
PAUSE_SECONDS = 0.2  # ledgers are read whole at each look


class Progress:
    """Waits for a run's ledgers to move on, and remembers the longest wait."""

    def __init__(self, run: Running, ledgers: Sequence[LedgerText]) -> None:
        self.longest_seconds = 0.0
        self._run = run
        self._ledgers = ledgers

    def wait(self, seconds: float = PATIENCE_SECONDS) -> float:
        """Until each ledger stands beyond where it stands now; gives the seconds that took."""
        began = time.monotonic()
        before = [self._total(ledger) for ledger in self._ledgers]
        self._run.wait_until(
            lambda: all(
                self._total(ledger) > total for ledger, total in zip(self._ledgers, before, strict=True)
            ),
            "going on",
            seconds,
            PAUSE_SECONDS,
        )
        took = time.monotonic() - began
        self.longest_seconds = max(self.longest_seconds, took)
        return took

    @staticmethod
    def _total(ledger: LedgerText) -> int:
        return sum(ledger.ends().values())
