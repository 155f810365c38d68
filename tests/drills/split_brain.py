"""What a split-brain drill needs: processes stopped for certain, and what one did after it was woken."""

from pathlib import Path
from typing import Any

from tests.drills.failpoint import read_journal
from tests.harness.waiting import wait_until
from tests.services.service_process import has_stopped

# a fenced process may still write what nobody reads: staged files, its beat, an empty directory for its archive
_HARMLESS = ("/_tmp/", "/alive/")


def wait_until_stopped(pid: int, seconds: float = 240) -> None:
    """Wait until the kernel says that all threads of the process are stopped."""
    wait_until(lambda: has_stopped(pid), f"stopped: {pid}", seconds, 0.005)


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
