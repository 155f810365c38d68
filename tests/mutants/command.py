"""`scripts/mutants`: every mistake against what must notice it. Exit code 1: one survived, or a patch is stale."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import replace
from functools import cache
from multiprocessing import get_context

from tests.mutants import generated, text_runner
from tests.mutants.journal import Journal
from tests.mutants.judges import judged_modules
from tests.mutants.survivors import SURVIVORS
from tests.mutants.text_mutant import TextMutant
from tests.mutants.verdict import Court
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

    simulated = [m for m in MUTANTS if wanted(m.name) and options.only in (None, "simulation")]
    if options.fresh:
        simulated = [replace(mutant, seed=0) for mutant in simulated]
    texts = [m for m in text_runner.text_mutants() if wanted(m.name) and options.only in (None, "text")]
    functions = _functions(options)
    if not simulated and not texts and not functions:
        _say(f"no mutant is called {options.k!r}")
        return 1
    if texts:
        text_runner.check_unpatched(texts, _warm())
    survived = 0
    if simulated or texts:
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
    if simulated or texts:
        _say(f"{len(simulated) + len(texts) - survived} of {len(simulated) + len(texts)} mutants caught")
    return int(survived > 0) | _generated(functions, options)


def _functions(options: argparse.Namespace) -> list[int]:
    """Numbers of the functions whose generated mutants are wanted: by rank, so that a part of them is a sample."""
    if options.only not in (None, "generated"):
        return []
    judged = judged_modules()
    return [
        number
        for number, function in enumerate(generated.functions())
        if function.module in judged and options.k.lower() in f"{function.module}.{function.name}".lower()
    ][: options.functions]


def _generated(numbers: list[int], options: argparse.Namespace) -> int:
    """Every mutant of these functions; what an interrupted run of the same code has judged is not judged again."""
    if not numbers:
        return 0
    journal = Journal(anew=options.fresh)
    known = journal.verdicts()
    verdicts: dict[str, str] = {}
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        for done in as_completed(pool.submit(judge_function, n, options.one, known) for n in numbers):
            for place, key, text, by in done.result():
                if place not in known:
                    journal.write(place, by)
                if not by and key not in SURVIVORS:
                    _say(f"SURVIVED {text}")
                verdicts[key] = verdicts.get(key, by) and by
    survivors = {key for key, by in verdicts.items() if not by}
    unknown = survivors - SURVIVORS.keys()
    _say(
        f"{len(verdicts) - len(survivors)} of {len(verdicts)} generated mutants of {len(numbers)} functions caught;"
    )
    _say(
        f"{len(survivors - unknown)} survivors are known (tests/mutants/survivors.py), {len(unknown)} are not"
    )
    for key in sorted(SURVIVORS.keys() & verdicts.keys() - survivors):
        _say(f"{key}: is caught now, take it out of tests/mutants/survivors.py")
    return int(bool(unknown))


def judge_function(number: int, one: bool, known: Mapping[str, str]) -> list[tuple[str, str, str, str]]:
    """Place, key, text and what caught it, of the mutants of one function; only those whose place is not known are run."""
    every = generated.mutants(generated.functions()[number])[: 1 if one else None]
    places = [(f"{mutant.function.module} {mutant.key}", mutant) for mutant in every]
    return [
        (place, m.key, str(m), known[place] if place in known else _court().noticed_by(m))
        for place, m in places
    ]


@cache
def _court() -> Court:
    """One for each process; it ends with it."""
    return Court()


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
    parser.add_argument("-k", default="", metavar="NAME", help="only mutants whose name contains NAME")
    parser.add_argument(
        "--only", choices=("simulation", "text", "generated"), help="only mutants of this kind"
    )
    parser.add_argument(
        "--functions",
        type=int,
        metavar="N",
        help="only generated mutants of the first N functions by rank (default all)",
    )
    parser.add_argument("--one", action="store_true", help="only one generated mutant of each function")
    parser.add_argument(
        "--schedules",
        type=int,
        default=SCHEDULES,
        help=f"most schedules of the simulation (default {SCHEDULES})",
    )
    parser.add_argument(
        "--fresh", action="store_true", help="begin at seed 0, and ignore verdicts of earlier runs"
    )
    parser.add_argument("--jobs", type=int, default=2, help="number of processes (default 2)")
    return parser


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
