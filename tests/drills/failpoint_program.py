"""`python -m tests.drills.failpoint_program ...`: the program, with a failpoint from the environment.

KAFKA2HIVE_FAILPOINT: a Failpoint as JSON (none: nothing ever fails); KAFKA2HIVE_JOURNAL: where to keep a Journal. Only the
driver's own operations pass through: tasks run in other processes.
"""

import json
import math
import os
from pathlib import Path

from kafka2hive.cli.main import main
from kafka2hive.config.keys import HiveOptions, StorageOptions
from kafka2hive.hive import metastore as hive_metastore
from kafka2hive.hive.metastore import HiveMetastore
from kafka2hive.service import wiring
from kafka2hive.storage.connect import connect
from kafka2hive.storage.port import FileSystem
from tests.drills.failpoint import Failpoint, Journal, Trap, TrappedFileSystem, TrappedMetastore

FAILPOINT, JOURNAL = "KAFKA2HIVE_FAILPOINT", "KAFKA2HIVE_JOURNAL"


def trap_from_environment() -> Trap:
    """The trap that the environment describes."""
    text, path = os.environ.pop(FAILPOINT, None), os.environ.pop(JOURNAL, None)
    return Trap(Failpoint(**json.loads(text)) if text else None, Journal(Path(path)) if path else None)


def set_trap(trap: Trap) -> None:
    """Put the trap around what the wiring of `run`, `recover` and the others makes from now on."""

    def connect_trapped(options: StorageOptions, patience_seconds: float = math.inf) -> FileSystem:
        return TrappedFileSystem(connect(options, patience_seconds), trap)

    vars(wiring)["connect"] = connect_trapped

    def metastore(options: HiveOptions) -> TrappedMetastore:
        return TrappedMetastore(HiveMetastore(options), trap)

    vars(hive_metastore)["HiveMetastore"] = metastore  # the wiring imports it when it needs it


if __name__ == "__main__":
    set_trap(trap_from_environment())
    main()
