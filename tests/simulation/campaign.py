"""Run many schedules in several processes: seeds `first, first + 1, ..`, with the results added up."""

import gc
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import get_context

from tests.simulation.kinds import play
from tests.simulation.schedule import without_logs

BATCH = 100


@dataclass(slots=True)
class Tally:
    """The results of some schedules; `violations` are by seed."""

    schedules: int = 0
    steps: int = 0
    count: Counter[str] = field(default_factory=Counter)
    violations: dict[int, str] = field(default_factory=dict)

    def add(self, other: "Tally") -> None:
        self.schedules += other.schedules
        self.steps += other.steps
        self.count += other.count
        self.violations.update(other.violations)


def run_batch(kind: str, first: int, schedules: int) -> Tally:
    """Run schedules one after another in this process."""
    tally = Tally()
    with without_logs():
        for seed in range(first, first + schedules):
            outcome = play(kind, seed)
            tally.schedules += 1
            tally.steps += outcome.steps
            tally.count += outcome.count
            if outcome.violation is not None:
                tally.violations[seed] = outcome.violation
    return tally


def run_campaign(
    first: int,
    schedules: int,
    jobs: int,
    progress: Callable[[int], None] = lambda done: None,
    kind: str = "ledger",
    batch: int = BATCH,
) -> Tally:
    """Run all schedules in `jobs` processes, or in this one if `jobs` is 1. No further batch begins after the first violation."""
    tally = Tally()
    batches = iter(
        [(seed, min(batch, first + schedules - seed)) for seed in range(first, first + schedules, batch)]
    )
    if jobs == 1:
        while not tally.violations and (seeds := next(batches, None)):
            tally.add(run_batch(kind, *seeds))
            progress(tally.schedules)
        return tally
    with ProcessPoolExecutor(jobs, get_context("spawn"), _prepare) as pool:
        running = {pool.submit(run_batch, kind, *seeds) for seeds in _take(batches, 2 * jobs)}
        while running:
            done: Future[Tally] = next(as_completed(running))
            running.remove(done)
            tally.add(done.result())
            progress(tally.schedules)
            if not tally.violations:
                running |= {pool.submit(run_batch, kind, *seeds) for seeds in _take(batches, 1)}
    return tally


def _prepare() -> None:
    """Let the cycle collector run seldom, which makes schedules 8 % faster: they create hardly any cycles."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def _take(batches: Iterator[tuple[int, int]], count: int) -> list[tuple[int, int]]:
    return list(islice(batches, count))
