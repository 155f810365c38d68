"""The process that runs examples: `python -m tests.fuzz.worker TARGET FIRST_SEED EXAMPLES SECONDS`.

It says which example comes next before it runs it, so that whoever reads knows what it died of.
"""

import json
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from time import monotonic

TARGETS = {
    "flights": "records",
    "wide": "records",
    "paths": "records",
    "cases": "records",
    "raw": "records",
    "snapshots": "snapshots",
    "names": "names",
    "maps": "maps",
    "avro": "avro",
    "csv": "csv",
    "rows": "rows",
    "protobuf": "protobuf",
    "broker": "broker",
}
"""Each target's module, imported only by the worker that needs it."""


def run(
    target: Callable[[int, Counter[str]], None],
    first: int,
    examples: int,
    seconds: float,
    tell: Callable[[dict[str, object]], None],
) -> None:
    """Examples `first, first + 1, ..` until there are enough of them or the time is over. Ends at the first finding."""
    until = monotonic() + seconds
    done = 0
    count: Counter[str] = Counter()
    for seed in range(first, first + examples):
        if monotonic() > until:
            break
        tell({"seed": seed})
        try:
            target(seed, count)
        except Exception:  # noqa: BLE001 - every error a target raises is a finding
            tell({"finding": traceback.format_exc(limit=-6)})
            break
        done += 1
    tell({"examples": done, "count": dict(count)})


def _tell(message: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    name, first, examples, seconds = sys.argv[1:]
    target = getattr(import_module(f"tests.fuzz.{TARGETS[name]}"), f"fuzz_{name}")
    run(target, int(first), int(examples), float(seconds), _tell)
