"""Run hand-made mutants: the tests that a mutant names must pass without it, and fail with it."""

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
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import monotonic

import pytest

import tests.mutants
from tests.mutants.patched_pytest import ONE_THREAD
from tests.mutants.text_mutant import TextMutant

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 300
"""The limit for the tests of one mutant. A pytest that calls this module needs a longer timeout."""
UNPATCHED_SECONDS = 1200
"""The limit for the tests of all mutants, without a mistake."""
_MACHINERY = (
    "patched_pytest",
    "command",
    "generated",
    "judges",
    "verdict",
    "code_objects",
    "survivors",
    "journal",
)
_QUIET = ("-q", "-x", "-p", "no:cacheprovider", "--no-header", "-rfE", "--hypothesis-profile", "noticed")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (tests/\S+)", re.MULTILINE)


class PatchDoesNotApply(ValueError):
    """The text that a mutant replaces is not in its module exactly once: the mutant must be updated."""


class FailsUnpatched(RuntimeError):
    """The tests that should notice mistakes fail without one."""


class NoVerdict(RuntimeError):
    """The process that runs the tests ended before they did (killed, out of memory), so the mutant is not judged."""


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of pytest: its exit code, or minus the signal that ended it; `timed_out`: it hung and was killed."""

    code: int
    output: str
    timed_out: bool


@dataclass(frozen=True, slots=True)
class TextCatch:
    """`test` is the test that failed first with the mistake; None if the mutant survived."""

    mutant: str
    test: str | None
    seconds: float


@cache
def text_mutants() -> tuple[TextMutant, ...]:
    """Return the mutants of all modules in this package, by module."""
    found: list[TextMutant] = []
    for info in sorted(pkgutil.iter_modules(tests.mutants.__path__), key=lambda info: info.name):
        if info.name in _MACHINERY or info.name.startswith("test_"):
            continue
        module = importlib.import_module(f"tests.mutants.{info.name}")
        for value in vars(module).values():
            if isinstance(value, tuple) and value and isinstance(value[0], TextMutant):
                found += value
    return tuple(found)


def patched(mutant: TextMutant) -> str:
    """Return the module's source with all edits. Raises PatchDoesNotApply."""
    source = (ROOT / (mutant.module.replace(".", "/") + ".py")).read_text()
    for old, new in mutant.edits:
        if source.count(old) != 1:
            raise PatchDoesNotApply(f"{mutant.name}: in {mutant.module} {source.count(old)} times: {old!r}")
        source = source.replace(old, new)
    return source


class WarmPytest:
    """Runs pytest again and again, each time in a fork of one process that has imported what tests need (patched_pytest.py).

    The process starts at the first request. After a failed or interrupted request it is killed, and the next request starts
    another process, so a late answer is never read as the answer to a later request.
    """

    def __init__(self, *, product: bool = False) -> None:
        """With `product`, the process also imports the product's modules, for runs that patch a function."""
        self._product = product
        self._process: subprocess.Popen[str] | None = None
        self._number = 0

    def run(
        self,
        tests: Iterable[str],
        seconds: int,
        *,
        module: str = "",
        source: str = "",
        function: str = "",
        line: int = 0,
        cpu_seconds: int = 0,
    ) -> Ran:
        """Run the tests with `module` patched, or only its `function` that begins at `line`. Raises NoVerdict."""
        self._number += 1
        request = {
            "number": self._number,
            "module": module,
            "source": source,
            "function": function,
            "line": line,
            "cpu_seconds": cpu_seconds,
            "arguments": [*_QUIET, *tests],
            "seconds": seconds,
        }
        process = self._process = self._process or _start(self._product)
        try:
            answer = json.loads(_answer(process, json.dumps(request)))
            if answer["number"] != self._number:
                raise NoVerdict(f"request {self._number} was given the answer to {answer['number']}")
        except BaseException:  # an interruption by pytest-timeout or Ctrl-C as well
            self._kill(process)
            raise
        return Ran(answer["code"], answer["output"], answer["timed_out"])

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()
            self._process = None

    def _kill(self, process: subprocess.Popen[str]) -> None:
        self._process = None
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its fork as well
        process.communicate()


def _start(product: bool) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.mutants.patched_pytest", *(["--product"] if product else [])],
        cwd=ROOT,
        env={**os.environ, **ONE_THREAD},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        process_group=0,
    )


def _answer(process: subprocess.Popen[str], request: str) -> str:
    assert process.stdin is not None and process.stdout is not None
    answer = ""
    with suppress(BrokenPipeError):
        process.stdin.write(request + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
    if not answer:
        raise NoVerdict(
            f"the process that runs the tests ended with exit code {process.wait()} before they did"
        )
    return answer


def check_unpatched(mutants: Iterable[TextMutant], warm: WarmPytest) -> None:
    """Raise FailsUnpatched if the tests of the mutants fail without a mistake."""
    named = sorted({test for mutant in mutants for test in mutant.caught_by.split()})
    if not named:
        return
    ran = warm.run(named, UNPATCHED_SECONDS)
    if ran.code != 0:
        how = f"hung for {UNPATCHED_SECONDS} s" if ran.timed_out else f"exit code {ran.code}"
        raise FailsUnpatched(f"{how}\n{ran.output[-4000:]}")


def run(mutant: TextMutant, warm: WarmPytest) -> TextCatch:
    """Run the mutant's tests with it, in a separate process. Raises PatchDoesNotApply, NoVerdict."""
    began = monotonic()
    ran = warm.run(mutant.caught_by.split(), SECONDS, module=mutant.module, source=patched(mutant))
    seconds = monotonic() - began
    if ran.timed_out:
        return TextCatch(mutant.name, f"hung for {SECONDS} s: {mutant.caught_by}", seconds)
    if ran.code == -signal.SIGKILL:
        raise NoVerdict(f"{mutant.name}: its tests were killed before their {SECONDS} s were over")
    failed = _FAILED.search(ran.output)
    if ran.code == pytest.ExitCode.INTERNAL_ERROR and failed is None:
        raise NoVerdict(f"{mutant.name}: pytest broke\n{ran.output[-4000:]}")
    # 1: a test failed; 2 and 4: a test file could not be imported with the mistake; 3: pytest broke after a test had
    # failed, for example because the test had left a file open
    caught = ran.code in (1, 2, 3, 4)
    test = (failed.group(1) if failed else mutant.caught_by) if caught else None
    return TextCatch(mutant.name, test, seconds)
