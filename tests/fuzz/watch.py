"""Runs a worker and tells what it came to, also when native code took the whole process with it."""

import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field

COMMAND = (sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.worker")


@dataclass(slots=True)
class Report:
    """`seed` is the last example's; `finding` says what was wrong with it, None when nothing was."""

    target: str
    examples: int = 0
    seed: int = -1
    finding: str | None = None
    count: Counter[str] = field(default_factory=Counter)


def fuzz(
    target: str, first: int, examples: int, seconds: float = 1e9, command: tuple[str, ...] = COMMAND
) -> Report:
    """Run examples of a target in a process of their own, until the first finding."""
    report = Report(target)
    arguments = [*command, target, str(first), str(examples), str(seconds)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None and worker.stderr is not None
        for line in worker.stdout:
            message = json.loads(line)
            report.seed = message.get("seed", report.seed)
            report.finding = message.get("finding", report.finding)
            report.examples = message.get("examples", report.examples)
            report.count.update(message.get("count", {}))
        last_words = worker.stderr.read()
    if worker.returncode != 0 and report.finding is None:
        report.finding = f"the process ended with {worker.returncode}:\n{last_words[-3000:]}"
    return report
