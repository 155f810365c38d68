"""`scripts/simulate`: run schedules, replay one with its trace, or search for schedules that catch the mutants."""

import argparse
import sys
from collections.abc import Sequence
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.simulation.campaign import Tally, run_campaign
from tests.simulation.coverage import CASES, never_happened
from tests.simulation.explore import explore
from tests.simulation.kinds import KINDS
from tests.simulation.search import search_all
from tests.simulation.trace import run_traced


def say(line: str) -> None:
    """Print one line."""
    sys.stdout.write(line + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Return exit code 0 if every promise held (with --mutants: if every mutant was caught), else 1."""
    options = _parser().parse_args(arguments)
    if options.mutants:
        return search_all(options.seed, options.schedules, options.jobs, say)
    if options.exhaustive:
        return _explore(options.drivers, options.epochs, options.faults, options.states)
    if options.trace:
        outcomes = [run_traced(options.seed + i, say, kind=options.kind) for i in range(options.schedules)]
        return int(any(outcome.violation for outcome in outcomes))
    return _campaign(options.kind, options.seed, options.schedules, options.jobs)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/simulate", description=__doc__)
    parser.add_argument("--schedules", type=int, default=20_000, help="number of schedules (default 20000)")
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the first schedule; each next one adds 1 (default 0)"
    )
    parser.add_argument("--jobs", type=int, default=2, help="number of processes (default 2)")
    parser.add_argument("--kind", choices=KINDS, default="ledger", help="kind of schedules (default ledger)")
    parser.add_argument("--trace", action="store_true", help="print every call; use it with --schedules 1")
    parser.add_argument("--mutants", action="store_true", help="search for a seed that catches each mutant")
    parser.add_argument(
        "--exhaustive", action="store_true", help="search every interleaving of a small model instead"
    )
    parser.add_argument(
        "--drivers", type=int, default=2, help="with --exhaustive: number of drivers (default 2)"
    )
    parser.add_argument(
        "--epochs", type=int, default=1, help="with --exhaustive: epochs of each driver (default 1)"
    )
    parser.add_argument(
        "--faults",
        type=int,
        default=1,
        help="with --exhaustive: most faults on a path, each of another kind (default 1)",
    )
    parser.add_argument(
        "--states",
        type=int,
        default=30_000_000,
        help="with --exhaustive: most states, about 0.2 kB each (default 30000000)",
    )
    return parser


def _explore(drivers: int, epochs: int, faults: int, limit: int) -> int:
    began = monotonic()
    with Progress(
        TextColumn("{task.completed} states"), TimeElapsedColumn(), console=Console(stderr=True)
    ) as bar:
        task = bar.add_task("exploring", total=None)
        found = explore(
            drivers, epochs, faults, limit, progress=lambda states: bar.update(task, completed=states)
        )
    say(
        f"{found.states} states over {found.steps} choices, {found.ends} ends judged, {found.histories} histories of"
        f" drivers, in {monotonic() - began:.0f} s: {'every one' if found.complete else 'NOT COMPLETE'}"
    )
    if found.violation is not None:
        say(f"{found.violation}\n  after: {', '.join(found.choices)}")
    return int(not found.complete)


def _campaign(kind: str, seed: int, schedules: int, jobs: int) -> int:
    console = Console(stderr=True)
    columns = (
        TextColumn("simulating"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]:.0f} schedules/s"),
        TimeElapsedColumn(),
    )
    began = monotonic()
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("simulating", total=schedules, rate=0.0)
        tally = run_campaign(
            seed,
            schedules,
            jobs,
            lambda done: bar.update(task, completed=done, rate=done / (monotonic() - began)),
            kind,
        )
    _print(kind, tally, monotonic() - began)
    for failed, violation in sorted(tally.violations.items()):
        say(
            f"seed {failed}: {violation}\n  replay: scripts/simulate --kind {kind} --seed {failed} --schedules 1 --trace"
        )
    return int(bool(tally.violations))


def _print(kind: str, tally: Tally, seconds: float) -> None:
    say(
        f"{tally.schedules} schedules, {tally.steps} calls in {seconds:.1f} s: "
        f"{tally.schedules / seconds:.0f} schedules/s, {tally.steps / seconds:.0f} calls/s"
    )
    for case in sorted({*CASES[kind], *tally.count}):
        say(f"  {case:<36} {tally.count[case]}")
    if missed := never_happened(tally.count, kind):
        say(f"never happened, so not tried: {', '.join(missed)}")


if __name__ == "__main__":
    sys.exit(main())
