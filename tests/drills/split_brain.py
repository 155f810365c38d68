"""What a split-brain drill needs: processes stopped for certain, and what one did after it was woken."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import psutil

from tests.drills.failpoint import read_journal

# a fenced process may still write what nobody reads: staged files, its beat, an empty directory for its archive
_HARMLESS = ("/_tmp/", "/alive/")


def wait_until_stopped(pid: int, seconds: float = 240) -> None:
    """Wait until the kernel says that the process is stopped."""
    deadline = time.monotonic() + seconds
    while psutil.Process(pid).status() != psutil.STATUS_STOPPED:
        assert time.monotonic() < deadline, f"{pid} was not stopped within {seconds} s"
        time.sleep(0.005)


def changes_since(journal: Path, pid: int, moment: float) -> list[str]:
    """What process `pid` began after `moment` (monotonic) and got done, though it could have done harm."""
    lines = [line for line in read_journal(journal) if line["pid"] == pid]
    begun = {line["number"] for line in lines if line["event"] == "begin" and line["at"] >= moment}
    return [
        f"{line['operation']} {line['what']}"
        for line in lines
        if line["event"] == "end" and line["number"] in begun and _did_harm(line)
    ]


def tried_since(journal: Path, pid: int, moment: float) -> int:
    """How many changes process `pid` asked for after `moment`."""
    return sum(
        line["pid"] == pid and line["event"] == "begin" and line["at"] >= moment
        for line in read_journal(journal)
    )


def _did_harm(line: dict[str, Any]) -> bool:
    if line["outcome"] != "ok" or line["operation"] in ("mkdirs", "write"):
        return False
    return not all(any(place in path for place in _HARMLESS) for path in line["what"].split(" -> "))


def processes_of_session(session: int) -> list[psutil.Process]:
    """The driver, its JVM, Spark's Python processes (whose daemon leaves the process group)."""
    return [process for process in psutil.process_iter() if _session(process.pid) == session]


def send_all(processes: list[psutil.Process], number: signal.Signals) -> None:
    """Send a signal to each; one that has ended meanwhile is fine."""
    for process in processes:
        try:
            process.send_signal(number)
        except psutil.NoSuchProcess:
            continue


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None
