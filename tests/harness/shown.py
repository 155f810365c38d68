"""Where a secret could be seen of a run under way: the command lines of its processes, and the pages of Spark's UI."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import psutil

from tests.harness.sessions import processes_of_session

_PAGES = ("environment", "jobs", "stages", "allexecutors")


def event_log(folder: Path) -> dict[str, Any]:
    """Of `spark.conf`: an event log that can be read."""
    return {
        "spark.eventLog.enabled": True,
        "spark.eventLog.compress": False,
        "spark.eventLog.dir": folder.as_uri(),
    }


def ui(port: int) -> dict[str, Any]:
    """Of `spark.conf`: the UI at this port."""
    return {"spark.ui.enabled": True, "spark.ui.port": port}


def in_ps(session: int) -> str:
    """The command lines of a run, its JVM and its workers."""
    lines = []
    for process in processes_of_session(session):
        with suppress(psutil.Error):
            lines.append(" ".join(process.cmdline()))
    return "\n".join(lines)


def in_the_ui(port: int) -> str:
    """The page of the environment, and what the UI answers to programs."""
    at = f"http://127.0.0.1:{port}"
    (application,) = json.loads(page(f"{at}/api/v1/applications"))
    asked = (f"{at}/api/v1/applications/{application['id']}/{name}" for name in _PAGES)
    return page(f"{at}/environment/") + "".join(map(page, asked))


def page(address: str) -> str:
    """What is there."""
    with urlopen(address, timeout=60) as answer:
        return str(answer.read().decode())
