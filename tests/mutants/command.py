"""`scripts/mutants`: every built-in mistake against what must notice it. Exit code 1: one survived, or a patch is stale."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import replace
from functools import cache
from multiprocessing import get_context

from tests.mutants import text_runner
from tests.mutants.text_mutant import TextMutant
from tests.simulation.mutants import MUTANTS, Mutant
from tests.simulation.search import search

SCHEDULES = 3_000
Row = tuple[str, str, str, str]
HEAD: Row = ("mutant", "of", "caught by", "after")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table as it grows."""
    options = _parser().parse_args(arguments)

    def wanted(name: str) -> bool:
        return options.k.lower() in name.lower()

    simulated = [mutant for mutant in MUTANTS if wanted(mutant.name) and options.only != "text"]
    if options.fresh:
        simulated = [replace(mutant, seed=0) for mutant in simulated]
    texts = [m for m in text_runner.text_mutants() if wanted(m.name) and options.only != "simulation"]
    if not simulated and not texts:
        _say(f"no mutant is called {options.k!r}")
        return 1
    text_runner.check_unpatched(texts, _warm())
    survived = 0
    _say(_line(HEAD))
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        running: dict[Future[Row | None], str] = {}
        for mutant in simulated:
            running[pool.submit(simulate, mutant, options.schedules)] = mutant.name
        for text in texts:
            running[pool.submit(run_text, text)] = text.name
        for done, name in _ended(running):
            row = done.result()
            survived += row is None
            _say(_line(row) if row else _line((name, "", "SURVIVED", "")))
    _say(f"{len(simulated) + len(texts) - survived} of {len(simulated) + len(texts)} mutants caught")
    return int(survived > 0)


def simulate(mutant: Mutant, schedules: int) -> Row | None:
    """From the stored seed on; None: no schedule noticed it."""
    catch = search(mutant, mutant.seed, schedules)
    if catch.seed is None:
        return None
    what = "schedule" if catch.tried == 1 else "schedules"
    return mutant.name, _short(mutant.module), f"simulation, seed {catch.seed}", f"{catch.tried} {what}"


def run_text(mutant: TextMutant) -> Row | None:
    """With its own tests; None: none of them failed."""
    catch = text_runner.run(mutant, _warm())
    return (
        None
        if catch.test is None
        else (mutant.name, _short(mutant.module), catch.test, f"{catch.seconds:.1f} s")
    )


@cache
def _warm() -> text_runner.WarmPytest:
    """One for each process; it ends with it."""
    return text_runner.WarmPytest()


def _ended(running: dict[Future[Row | None], str]) -> Iterator[tuple[Future[Row | None], str]]:
    for done in as_completed(running):
        yield done, running[done]


def _short(module: str) -> str:
    return module.removeprefix("kafka2hive.").removeprefix("tests.")


def _line(row: Row) -> str:
    return f"{row[0]:<78} {row[1]:<26} {row[2]:<60} {row[3]}".rstrip()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/mutants", description=__doc__)
    parser.add_argument("-k", default="", metavar="NAME", help="only mutants whose name holds this text")
    parser.add_argument("--only", choices=("simulation", "text"), help="only those that this notices")
    parser.add_argument(
        "--schedules", type=int, default=SCHEDULES, help=f"of the simulation, at most (default {SCHEDULES})"
    )
    parser.add_argument("--fresh", action="store_true", help="from seed 0 on, without the stored seeds")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    return parser


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
