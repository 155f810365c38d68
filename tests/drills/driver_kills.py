"""Killing the whole program: at a failpoint of `run`, `recover` or `init`, within a commit, at any moment."""

import json
import os
import random
import re
import signal
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tests.drills.failpoint import Failpoint
from tests.drills.failpoint_program import FAILPOINT, JOURNAL
from tests.drills.spark_workers import Fed
from tests.drills.warm_program import WarmProgram
from tests.harness.program import Running
from tests.oracle.ledger_text import LedgerText

PROGRAM = [sys.executable, "-m", "tests.drills.failpoint_program"]
ROOT = Path(__file__).parents[2]
_FIRST_ROWS = re.compile(r"first rows visible ([\d.]+) s after the start")
# a busy machine is no failure
PATIENCE = 900.0
ORPHAN_SECONDS = 300.0


def environment(failpoint: Failpoint | None = None, journal: Path | None = None) -> dict[str, str]:
    """What `failpoint_program` reads, and where it finds this package."""
    folders = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    found = {"PYTHONPATH": os.pathsep.join(folders)}
    if failpoint is not None:
        found[FAILPOINT] = json.dumps(asdict(failpoint))
    if journal is not None:
        found[JOURNAL] = str(journal)
    return found


@dataclass(frozen=True, slots=True)
class Kill:
    """One kill: what it hit, whether an epoch was committed and not final then, whether the run was at work.

    `first_rows` is how long after its start the killed run had made rows visible (seconds; None: it had not).
    """

    what: str
    unfinished: bool
    at_work: bool
    first_rows: float | None = None


class Supply:
    """What the ledgers have still to read of a topic, which `send` gives as many more records as it is told.

    `share`: what a run needs at most before it is killed.
    """

    def __init__(self, ledgers: list[LedgerText], send: Callable[[int], None], share: int) -> None:
        self._ledgers = ledgers
        self._send = send
        self._share = share
        self._total = 0

    def add(self, records: int) -> None:
        """Send so many more."""
        self._send(records)
        self._total += records

    def left(self) -> int:
        """How many records are still to be read, each counted once for each table."""
        return len(self._ledgers) * self._total - sum(sum(ledger.ends().values()) for ledger in self._ledgers)

    def renew(self) -> None:
        """Send a share more: the run has used up what there was."""
        self.add(self._share)

    def suffice(self) -> None:
        """Send more, unless a run has enough: on a busy machine the runs before it took more than theirs."""
        if self.left() < len(self._ledgers) * self._share:
            self.renew()


class Killer:
    """Starts the program on one map and kills it; what it leaves of Spark lives on while the next one starts."""

    def __init__(
        self,
        config: Path,
        ledgers: list[LedgerText],
        supply: Supply,
        chance: random.Random,
        processes: ExitStack,
    ) -> None:
        self.config = config
        self._ledgers = ledgers
        self._supply = supply
        self._chance = chance
        self._processes = processes
        self._commands = processes.enter_context(WarmProgram(config.with_suffix(".commands.log")))
        self._last: Running | None = None
        self.kills: list[Kill] = []

    def command_at(self, name: str, point: Failpoint) -> None:
        """Kill `recover` or `init` at a failpoint."""
        point = self._marked(point)
        self._commands.kill_at(name, self.config, point)
        self._note(f"{name} {point.name}")

    def run_at(self, point: Failpoint) -> None:
        """Kill `run` at a failpoint."""
        point = self._marked(point)
        run = self._start(environment(point))
        code = run.wait(PATIENCE)
        assert code == -signal.SIGKILL, f"{point.name}: {code}\n{run.tail()}"
        assert point.was_hit(), f"{point.name}: killed by somebody else"
        self._note(f"run {point.name}", run)

    def run_while_it_starts(self) -> None:
        """Kill `run` within its first seconds."""
        run = self._start()
        time.sleep(self._chance.uniform(0, 8))
        run.kill_driver()
        self._note("run while it starts", run)

    def run_at_any_moment(self) -> None:
        """Kill `run` after its first epoch."""
        run = self._start()
        run.wait_for_epoch(PATIENCE)
        end = time.monotonic() + self._chance.uniform(0, 2.5)
        while time.monotonic() < end and run.epochs() < 3:  # on a fast machine the data must last
            time.sleep(0.01)
        run.kill_driver()
        self._note("run at any moment", run)

    def run_within_a_commit(self) -> None:
        """Kill `run` when a pending snapshot is seen, which lasts some milliseconds."""
        run = self._start()
        run.wait_for_epoch(PATIENCE)
        run.wait_until(Fed(self._is_committing, self._supply.renew), "a commit", PATIENCE, pause=0.0005)
        run.kill_driver()
        self._note("run within a commit", run)

    def run_until_killed_at_the_end(self) -> None:
        """Kill `run` at the moment of its last commit."""
        run = self._start()
        run.wait_for_epoch(PATIENCE)
        run.wait_until(lambda: self._supply.left() == 0, "at the end", PATIENCE)
        run.kill_driver()
        self._note("run at its last commit", run)

    def _start(self, env: dict[str, str] | None = None) -> Running:
        self._supply.suffice()
        run = self._processes.enter_context(Running(self.config, program=PROGRAM, env=env or environment()))
        if self._last is not None:
            self._last.wait_for_orphans(ORPHAN_SECONDS)
        self._last = run
        return run

    def _marked(self, point: Failpoint) -> Failpoint:
        return replace(point, mark=str(self.config.with_suffix(f".{len(self.kills)}.mark")))

    def _note(self, what: str, run: Running | None = None) -> None:
        rows = [float(f[1]) for m in run.messages() if (f := _FIRST_ROWS.search(m))] if run else []
        self.kills.append(
            Kill(
                what,
                any(ledger.pending_epoch() is not None for ledger in self._ledgers if ledger.exists()),
                run is not None and run.epochs() > 0,
                rows[0] if rows else None,
            )
        )

    def _is_committing(self) -> bool:
        return any(name.endswith(".pending") for ledger in self._ledgers for name in ledger.names())
