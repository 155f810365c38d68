"""Runs text mutants: the named tests must pass as the code is, and fail with the mistake in it."""

import importlib
import importlib.util
import pkgutil
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import monotonic

import tests.mutants
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


def check_unpatched(mutants: Iterable[TextMutant]) -> None:
    """Raises FailsUnpatched."""
    named = sorted({test for mutant in mutants for test in mutant.caught_by.split()})
    if not named:
        return
    done = _pytest(["-m", "pytest", *_QUIET, *named], SECONDS * 4)
    if done.returncode != 0:
        raise FailsUnpatched(done.stdout[-3000:] + done.stderr[-1000:])


def run(mutant: TextMutant) -> TextCatch:
    """One mutant against its tests, in a process of its own. Raises PatchDoesNotApply."""
    began = monotonic()
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(patched(mutant))
        file.flush()
        command = ["-m", "tests.mutants.patched_pytest", mutant.module, file.name]
        try:
            done = _pytest([*command, *_QUIET, *mutant.caught_by.split()], SECONDS)
        except subprocess.TimeoutExpired:
            return TextCatch(mutant.name, f"hung for {SECONDS} s: {mutant.caught_by}", monotonic() - began)
    failed = _FAILED.search(done.stdout)
    # 1: a test failed; 2 and 4: a test file could not even be imported with the mistake in place
    caught = done.returncode in (1, 2, 4)
    test = (failed.group(1) if failed else mutant.caught_by) if caught else None
    return TextCatch(mutant.name, test, monotonic() - began)


def _pytest(arguments: list[str], seconds: float) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False
    )
