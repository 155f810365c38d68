"""The product's short commands, timed as a user would: from the start of the process to its end."""

import os
import subprocess
import sys
import time
from pathlib import Path

from tests.benchmarks.contestants import environment
from tests.benchmarks.process_tree import ProgramFailed


def timed(*arguments: str, config: Path) -> float:
    """Seconds of `kafka2hive ARGUMENTS -c CONFIG`. Raises ProgramFailed when it does not end with 0."""
    command = [sys.executable, "-m", "kafka2hive.cli.main", *arguments, "-c", str(config)]
    began = time.perf_counter()
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )
    seconds = time.perf_counter() - began
    if done.returncode != 0:
        raise ProgramFailed(
            f"{' '.join(arguments)} ended with {done.returncode}: {done.stdout}{done.stderr[-2000:]}"
        )
    return seconds
