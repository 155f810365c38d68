"""The directory of one driver process: Spark's checkpoint and shuffle files. Nothing in it counts."""

import os
import shutil
import uuid
from pathlib import Path

import psutil

_PREFIX = "driver-"


class Scratch:
    """`<run directory>/driver-<pid>-<start time>-<8 hex>/`, mode 0700; removed at exit.

    What a killed driver left is removed by the next one: the name says whose it was (pid and its start time, so that
    a pid in use again does not protect it).
    """

    def __init__(self, run_directory: Path) -> None:
        self._run_directory = run_directory
        started = int(psutil.Process().create_time())
        self.path = (run_directory / f"{_PREFIX}{os.getpid()}-{started}-{uuid.uuid4().hex[:8]}").absolute()

    def __enter__(self) -> Path:
        self._run_directory.mkdir(parents=True, exist_ok=True)
        for left in self._run_directory.glob(f"{_PREFIX}*-*-*"):
            if not _is_alive(left.name):
                shutil.rmtree(left, ignore_errors=True)
        self.path.mkdir(mode=0o700)
        return self.path

    def __exit__(self, *_: object) -> None:
        # the JVM may still be writing while it ends; what stays is removed by the next start
        shutil.rmtree(self.path, ignore_errors=True)


def _is_alive(name: str) -> bool:
    """Whether the process that made the directory still runs; unknown names are left alone."""
    pid, started, _ = name.removeprefix(_PREFIX).split("-", 2)
    if not (pid.isdecimal() and started.isdecimal()):
        return True
    try:
        return bool(abs(psutil.Process(int(pid)).create_time() - int(started)) < 2)
    except psutil.NoSuchProcess:
        return False
