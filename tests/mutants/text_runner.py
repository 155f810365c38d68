"""Runs text mutants: the named tests must pass as the code is, and fail with the mistake in it."""

import importlib
import importlib.util
import json
import os
import pkgutil
import re
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import monotonic

import tests.mutants
from tests.mutants.patched_pytest import ONE_THREAD
from tests.mutants.text_mutant import TextMutant

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 300
_QUIET = ("-q", "-x", "-p", "no:cacheprovider", "--no-header", "-rfE")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


class PatchDoesNotApply(ValueError):
    """The text a mutant replaces is not in its module exactly once: bring the mutant up to date."""


class FailsUnpatched(RuntimeError):
    """The tests that should notice mistakes fail without one."""


@dataclass(frozen=True, slots=True)
class TextCatch:
    """`test` is what failed first with the mistake in place; None: the mutant survived."""

    mutant: str
    test: str | None
    seconds: float


@cache
def text_mutants() -> tuple[TextMutant, ...]:
    """Those of every module beside this one, by module."""
    found: list[TextMutant] = []
    for info in sorted(pkgutil.iter_modules(tests.mutants.__path__), key=lambda info: info.name):
        if info.name in ("patched_pytest", "command") or info.name.startswith("test_"):
            continue
        module = importlib.import_module(f"tests.mutants.{info.name}")
        for value in vars(module).values():
            if isinstance(value, tuple) and value and isinstance(value[0], TextMutant):
                found += value
    return tuple(found)


def patched(mutant: TextMutant) -> str:
    """The module's source with every edit made. Raises PatchDoesNotApply."""
    source = (ROOT / (mutant.module.replace(".", "/") + ".py")).read_text()
    for old, new in mutant.edits:
        if source.count(old) != 1:
            raise PatchDoesNotApply(f"{mutant.name}: in {mutant.module} {source.count(old)} times: {old!r}")
        source = source.replace(old, new)
    return source


class WarmPytest:
    """Runs pytest again and again, each time in a fork of one process that has imported what tests need (patched_pytest.py)."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.mutants.patched_pytest"],
            cwd=ROOT,
            env={**os.environ, **ONE_THREAD},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(
        self, tests: Iterable[str], seconds: int, *, module: str = "", source: str = ""
    ) -> tuple[int, str]:
        """The exit code and what was printed."""
        assert self._process.stdin is not None and self._process.stdout is not None
        request = {
            "module": module,
            "source": source,
            "arguments": [*_QUIET, *tests],
            "seconds": seconds,
        }
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return answer["code"], answer["output"]

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()


def check_unpatched(mutants: Iterable[TextMutant], warm: WarmPytest) -> None:
    """Raises FailsUnpatched."""
    named = sorted({test for mutant in mutants for test in mutant.caught_by.split()})
    if not named:
        return
    code, output = warm.run(named, SECONDS * 4)
    if code != 0:
        raise FailsUnpatched(output[-4000:])


def run(mutant: TextMutant, warm: WarmPytest) -> TextCatch:
    """One mutant against its tests, in a process of its own. Raises PatchDoesNotApply."""
    began = monotonic()
    code, output = warm.run(mutant.caught_by.split(), SECONDS, module=mutant.module, source=patched(mutant))
    seconds = monotonic() - began
    if code == -signal.SIGKILL:
        return TextCatch(mutant.name, f"hung for {SECONDS} s: {mutant.caught_by}", seconds)
    failed = _FAILED.search(output)
    # 1: a test failed; 2 and 4: a test file could not even be imported with the mistake in place
    caught = code in (1, 2, 4)
    test = (failed.group(1) if failed else mutant.caught_by) if caught else None
    return TextCatch(mutant.name, test, seconds)
