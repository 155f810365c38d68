"""Commands that are killed, without the price of starting Python: `python -m tests.drills.warm_program` is their parent.

It has the modules of `init` and `recover`; what they print is in the parent's log.
"""

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import kafka2hive.service.recover.service
import kafka2hive.service.tables.init  # noqa: F401 - as the one above: so that children need not import it
from kafka2hive.cli.main import main
from tests.drills.failpoint import Failpoint, Trap
from tests.drills.failpoint_program import set_trap
from tests.drills.warm_parent import WarmParent, serve


class WarmProgram(WarmParent):
    """One command after another, each with a failpoint."""

    def __init__(self, log: Path) -> None:
        super().__init__(__name__, log)

    def command_at(self, name: str, config: Path, point: Failpoint, seconds: float) -> int:
        """A command without Spark to its end: the exit code, or the signal's number with a minus."""
        self.fork({"arguments": [name, "-c", str(config)], "failpoint": asdict(point)})
        return self.wait(seconds)


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
