"""The screens that tell an operator of an incident: what each shows now, and when it begins or ceases to tell."""

import re
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError

from kafka2hive.observe.scrape import read_metrics
from tests.harness.program import Running, command_as_process

LONGEST = 120.0
"""Seconds after which a screen is said to tell nothing; the figures say how long each took."""
NAMES = ("metric", "log", "/status", "status", "top", "page")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What tells of an incident.

    - `text`: a pattern in `status`, `top`, the page and the document at /status.
    - `log`: a text of the log when it begins, and one when it ends.
    - `sample`: of the metrics, not 0 meanwhile. Empty: no metric tells of it.
    """

    text: str
    log: tuple[str, str]
    sample: str = ""


class Screens:
    """The screens of a run. A look at `status` or `top` takes a process, the page some time, the others nothing."""

    def __init__(self, run: Running, config: Path, port: int) -> None:
        self._run, self._config, self._port = run, config, port

    def is_clean(self, signs: Signs) -> bool:
        """Say whether none of them tells of it now."""
        return not any(self._tells(name, signs) for name in NAMES if name != "log")

    def seconds(self, signs: Signs, act: Callable[[], object], *, begins: bool) -> dict[str, float | None]:
        """`act` and return how long it then takes until each screen tells of the incident, or no longer does.

        None for a screen that does not within LONGEST, and for a metric that there is not.
        """
        line = signs.log[0 if begins else 1]
        lines = self._run.times_said(line)
        began = time.monotonic()
        act()
        if not begins:
            began = time.monotonic()

        def wait(name: str) -> float | None:
            while time.monotonic() - began < LONGEST:
                is_new = self._run.times_said(line) > lines
                if is_new if name == "log" else self._tells(name, signs) is begins:
                    return round(time.monotonic() - began, 1)
                assert self._run.alive, self._run.tail()
                time.sleep(1.0 if name in ("status", "top", "page") else 0.2)
            return None

        names = [name for name in NAMES if name != "metric" or signs.sample]
        with ThreadPoolExecutor(len(names)) as pool:
            return dict(zip(names, pool.map(wait, names), strict=True))

    def _tells(self, name: str, signs: Signs) -> bool:
        if name == "metric":
            return bool(signs.sample) and self._value(signs.sample) > 0
        served = {"page": "", "/status": "status"}
        text = self._served(served[name]) if name in served else self._printed(name)
        return re.search(signs.text, text) is not None

    def _value(self, sample: str) -> float:
        text = read_metrics("127.0.0.1", self._port, "", 10.0) or ""
        values = [line for line in text.splitlines() if line.startswith(sample)]
        return float(values[0].rpartition(" ")[2]) if values else 0.0

    def _served(self, path: str) -> str:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/{path}", timeout=30) as answer:
                return str(answer.read().decode())
        except HTTPError as error:
            return error.read().decode()
        except OSError as error:
            return str(error)

    def _printed(self, name: str) -> str:
        done = command_as_process(name, self._config, *["--once"] * (name == "top"))
        return " ".join((done.out + done.log).split())
