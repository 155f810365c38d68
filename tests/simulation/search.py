"""Search for a schedule that catches a mutant."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from tests.simulation.kinds import play
from tests.simulation.mutants import MUTANTS, Mutant
from tests.simulation.schedule import without_logs
from tests.simulation.variant import load


@dataclass(frozen=True, slots=True)
class Catch:
    """The result of a search; `seed` is None if none of the `tried` schedules caught the mutant."""

    mutant: str
    tried: int
    seed: int | None
    violation: str = ""


def search(mutant: Mutant, first: int, schedules: int) -> Catch:
    """Try seeds from `first` on, up to the first one that catches the mutant."""
    code = load(mutant)
    with without_logs():
        for tried in range(1, schedules + 1):
            violation = play(mutant.kind, first + tried - 1, code).violation
            if violation is not None:
                return Catch(mutant.name, tried, first + tried - 1, violation)
    return Catch(mutant.name, schedules, None)


def search_all(first: int, schedules: int, jobs: int, write: Callable[[str], None]) -> int:
    """Search for all mutants. Return exit code 0 if every one was caught."""
    survived = []
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        tasks = [pool.submit(search, mutant, first, schedules) for mutant in MUTANTS]
        for task in tasks:
            catch = task.result()
            if catch.seed is None:
                survived.append(catch.mutant)
                write(f"SURVIVED {catch.tried} schedules: {catch.mutant}")
            else:
                write(f"seed {catch.seed} ({catch.tried}.): {catch.mutant}: {catch.violation[:160]}")
    write(f"{len(MUTANTS) - len(survived)} of {len(MUTANTS)} mutants caught")
    return int(bool(survived))
