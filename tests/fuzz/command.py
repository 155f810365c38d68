"""`scripts/fuzz`: all targets for as long as wanted, or one example again."""

import argparse
import random
import sys
from collections.abc import Sequence

from tests.fuzz.watch import Report, fuzz
from tests.fuzz.worker import TARGETS

MANY = 10**12


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0: nothing found; 1: something."""
    parser = argparse.ArgumentParser(prog="scripts/fuzz", description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="time for all targets together (default 60)"
    )
    parser.add_argument("--target", choices=TARGETS, help="only this target")
    parser.add_argument("--seed", type=int, help="seed of the first example (default: random)")
    parser.add_argument("--examples", type=int, default=MANY, help="most examples of each target")
    options = parser.parse_args(arguments)
    targets = [options.target] if options.target else list(TARGETS)
    first = random.SystemRandom().randrange(10**9) if options.seed is None else options.seed
    found = 0
    for target in targets:
        report = fuzz(target, first, options.examples, options.seconds / len(targets))
        _print(report, first)
        found += report.finding is not None
    return int(found > 0)


def _print(report: Report, first: int) -> None:
    counts = ", ".join(f"{count} {what}" for what, count in sorted(report.count.items()))
    sys.stdout.write(f"{report.target}: {report.examples} examples from seed {first}: {counts}\n")
    if report.finding is not None:
        again = f"scripts/fuzz --target {report.target} --seed {report.seed} --examples 1"
        sys.stdout.write(f"FOUND at seed {report.seed}: {report.finding}\n  again: {again}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
