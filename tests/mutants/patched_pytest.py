"""`python -m tests.mutants.patched_pytest [--product]`: pytest in a fork of this process for each line that is read.

A fork has what tests import from others in memory, which is most of a short run. It patches either a whole module, by an
import hook: then no module of the product may have been imported before. Or, with --product, which has imported all of them, the
code of one function: then a run takes a third of the time, but what was computed at import is as it was.
"""

import gc
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import pkgutil
import resource
import signal
import sys
import tempfile
import traceback
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType, FunctionType, ModuleType
from typing import Any, NoReturn

import pytest

from tests.mutants.code_objects import find_code

PRODUCT = "kafka2hive"
NOT_LOADED = 90
"""Exit code: the tests ended without ever importing the module, so they say nothing of it."""
WARM = (
    "confluent_kafka.admin",
    "hdfs_native",
    "hypothesis.strategies",
    "orjson",
    "pyarrow.compute",
    "pyarrow.json",
    "pyarrow.parquet",
    "rich.console",
    "typer.testing",
    "yaml",
)
"""What tests import from others."""
ONE_THREAD = {"JE_ARROW_MALLOC_CONF": "background_thread:false", "OPENBLAS_NUM_THREADS": "1"}
"""The environment this process needs: pyarrow and numpy would start a thread each, and a fork copies one alone."""

ALREADY_THERE = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"
"""Assertions of Hypothesis itself are not rewritten."""


class PatchedModule(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the one patched module; everything else is found as ever."""

    def __init__(self, name: str, source: str) -> None:
        self._name = name
        self._source = source
        self.loaded = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(fullname, self) if fullname == self._name else None

    def exec_module(self, module: ModuleType) -> None:
        self.loaded = True
        exec(compile(self._source, f"<mutant of {self._name}>", "exec"), vars(module))


def main() -> None:
    """Answers each request (`number`, `module`, or "" for none, `source`, `function`, `line`, `arguments`, `seconds`,
    `cpu_seconds`) with its `number` and `code`, `output`, `timed_out`.

    `code` is pytest's, or NOT_LOADED, or minus the signal that ended it; `timed_out`: killed, its seconds were over.
    `cpu_seconds` 0: any number of them.
    """
    for name in WARM:
        importlib.import_module(name)
    if "--product" in sys.argv:
        product = importlib.import_module(PRODUCT)
        for info in pkgutil.walk_packages(product.__path__, f"{PRODUCT}."):
            if not info.name.endswith(".__main__"):
                importlib.import_module(info.name)
    for line in sys.stdin:
        request = json.loads(line)
        with tempfile.TemporaryFile() as output:
            child = os.fork()
            if child == 0:
                _run(request, output.fileno())
            code, timed_out = _ended(child, request["seconds"])
            output.seek(0)
            answer = {
                "number": request["number"],
                "code": code,
                "output": output.read().decode(errors="replace"),
                "timed_out": timed_out,
            }
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def replace_code(module: str, source: str, function: str, line: int) -> bool:
    """Give every function object that was made of this function the code it has in `source`; False: none can take it."""
    file = sys.modules[module].__file__ or ""
    new = find_code(compile(source, file, "exec"), function, line)
    taken = False
    for live in gc.get_objects():
        if isinstance(live, FunctionType):
            old = live.__code__
            if (old.co_qualname, old.co_firstlineno, old.co_filename) == (function, line, file):
                if len(old.co_freevars) != len(new.co_freevars):
                    return False
                live.__code__ = new
                taken = True
    return taken


def _ended(child: int, seconds: int) -> tuple[int, bool]:
    timed_out = False

    def kill(number: int, frame: FrameType | None) -> None:
        nonlocal timed_out
        with suppress(ProcessLookupError):  # it has just ended by itself
            os.kill(child, signal.SIGKILL)
            timed_out = True

    signal.signal(signal.SIGALRM, kill)
    signal.alarm(seconds)
    _, status = os.waitpid(child, 0)
    signal.alarm(0)
    return os.waitstatus_to_exitcode(status), timed_out


def _run(request: dict[str, Any], output: int) -> NoReturn:
    name, source = request["module"], request["source"]
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    if cpu_seconds := request["cpu_seconds"]:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, file in enumerate((nothing, output, output)):
        os.dup2(file, number)
    code = int(pytest.ExitCode.INTERNAL_ERROR)
    try:
        patched = PatchedModule(name, source)
        if request["function"]:
            patched.loaded = replace_code(name, source, request["function"], request["line"])
        else:
            sys.meta_path.insert(0, patched)
        if patched.loaded or not request["function"]:
            code = int(pytest.main([*request["arguments"], "-W", ALREADY_THERE]))
        if name and not patched.loaded:
            code = NOT_LOADED
    except BaseException:  # noqa: BLE001 - whatever it is, this fork must not go on as its parent does
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
