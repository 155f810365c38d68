"""`python -m tests.mutants.patched_pytest MODULE FILE ARGUMENT...`: pytest with one module's source taken from FILE.

Nothing of the product may be imported here: the module must not be loaded before the hook is in place.
"""

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest

NOT_LOADED = 90
"""Exit code: the tests ended without ever importing the module, so they say nothing of it."""


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


def main(arguments: Sequence[str]) -> int:
    """Pytest's exit code, or NOT_LOADED."""
    name, file, *rest = arguments
    patched = PatchedModule(name, Path(file).read_text())
    sys.meta_path.insert(0, patched)
    code = int(pytest.main(list(rest)))
    return code if patched.loaded else NOT_LOADED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
