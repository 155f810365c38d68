"""Committers without the price of starting Python: `python -m tests.drills.warm_committer` is their warm parent.

It has the ledger's modules; hdfs-native is imported in the child only.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.drills.committer import CommitterOrder, run_committer
from tests.drills.failpoint import Failpoint, read_journal
from tests.drills.warm_parent import WarmParent, serve
from tests.harness.waiting import wait_until


class WarmCommitter(WarmParent):
    """One committer after another."""

    def __init__(self, log: Path) -> None:
        super().__init__(__name__, log)

    def start(self, order: CommitterOrder) -> None:
        """Start a committer; the one before has ended."""
        self.fork(asdict(order))


def carry_out(given: dict[str, Any]) -> int:
    """One committer, in this process."""
    point = given.pop("failpoint")
    return run_committer(CommitterOrder(**given, failpoint=Failpoint(**point) if point else None))


def wait_until_note(journal: Path, event: str, count: int, pid: int, seconds: float = 240) -> None:
    """Wait until process `pid` has noted `event` so many times."""

    def noted() -> int:
        return sum(line["event"] == event and line["pid"] == pid for line in read_journal(journal))

    wait_until(lambda: noted() >= count, f"{count} x {event} noted by {pid}", seconds, 0.02)


if __name__ == "__main__":
    serve(carry_out)
