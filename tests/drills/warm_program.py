"""Commands that are killed, without the price of starting Python: `python -m tests.drills.warm_program` is their parent.

It has the modules of `init` and `recover`; what they print is in the parent's log.
"""

import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kafka2hive.cli.main import main
from tests.drills.failpoint import Failpoint, Trap
from tests.drills.failpoint_program import set_trap
from tests.drills.warm_parent import WarmParent, serve
from tests.harness.program import TRIES

PATIENCE = 900.0


class WarmProgram(WarmParent):
    """One command after another, each with a failpoint. `env` is added to the environment."""

    def __init__(self, log: Path, env: Mapping[str, str] | None = None) -> None:
        super().__init__(__name__, log, env)

    def command_at(
        self, name: str, config: Path, point: Failpoint, *arguments: str, seconds: float = PATIENCE
    ) -> int:
        """A command without Spark to its end: the exit code, or the signal's number with a minus."""
        words = [*name.split(), "-c", str(config), *arguments]
        self.fork({"arguments": words, "failpoint": asdict(point)})
        return self.wait(seconds)

    def kill_at(self, name: str, config: Path, point: Failpoint, *arguments: str) -> None:
        """Let a command be killed at a failpoint; one that meets a slow service before does not count."""
        for _ in range(TRIES):
            code = self.command_at(name, config, point, *arguments)
            if code not in (69, 75):
                break
        assert code == -signal.SIGKILL, f"{name} {point.name}: {code}, {self.tail()}"
        assert point.was_hit(), f"{name} {point.name}: killed by somebody else"


def carry_out(order: dict[str, Any]) -> int:
    """One command, in this process, with stdin and stdout of its own: the parent's carry orders and answers."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    set_trap(Trap(Failpoint(**order["failpoint"])))
    sys.argv[1:] = order["arguments"]
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


if __name__ == "__main__":
    serve(carry_out)
