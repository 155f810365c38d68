"""The temporary directory of one driver process, for Spark's checkpoint and shuffle files. No state is kept in it."""

import os
import shutil
import uuid
from pathlib import Path

import psutil

_PREFIX = "driver-"


class Scratch:
    """`<run directory>/driver-<pid>-<start time>-<8 hex>/`, mode 0700, which is removed at exit.

    The next driver removes the directory of a killed one: the name has the pid and the start time of its process, so
    that a reused pid does not protect it.
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
        # the JVM may still write while it ends; the next start removes what is left
        shutil.rmtree(self.path, ignore_errors=True)


def _is_alive(name: str) -> bool:
    """Return whether the process that made the directory still runs; True for names of another form, which are kept."""
    pid, started, _ = name.removeprefix(_PREFIX).split("-", 2)
    if not (pid.isdecimal() and started.isdecimal()):
        return True
    try:
        return bool(abs(psutil.Process(int(pid)).create_time() - int(started)) < 2)
    except psutil.NoSuchProcess:
        return False
