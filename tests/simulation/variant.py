"""Production code with one mistake: sources are patched and compiled in memory, and no file is changed."""

import ast
import dataclasses
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType

from tests.simulation.code import Production
from tests.simulation.mutants import Mutant

RELOADED = (
    "kafka2hive.config.route",
    "kafka2hive.kafka.positions",
    "kafka2hive.ledger",
    "kafka2hive.service",
    "tests.simulation.tasks",
    "tests.simulation.ledger_caller",
    "tests.simulation.chore_caller",
    "tests.simulation.order_caller",
    "tests.simulation.compacting_caller",
    "tests.simulation.lost_compacted",
    "tests.simulation.receivers",
    "tests.simulation.replay_command",
    "tests.simulation.replaying_caller",
    "tests.simulation.retaining_caller",
    "tests.simulation.service.driver",
    "tests.simulation.service.repair",
)
"""The packages and modules that may be copied for a variant. It shares the model and the ports with the real code."""

FIELDS = {
    "draft": "kafka2hive.ledger.draft",
    "ledger_caller": "tests.simulation.ledger_caller",
    "compacting_caller": "tests.simulation.compacting_caller",
    "epoch": "kafka2hive.ledger.epoch",
    "cleanup": "kafka2hive.ledger.cleanup",
    "history": "kafka2hive.ledger.history",
    "init": "kafka2hive.ledger.init",
    "look": "kafka2hive.ledger.look",
    "location": "kafka2hive.ledger.location",
    "lost_compacted": "tests.simulation.lost_compacted",
    "older_ledger": "kafka2hive.ledger.repair.older_ledger",
    "rebuild": "kafka2hive.ledger.repair.rebuild",
    "register": "kafka2hive.ledger.register",
    "replaying_caller": "tests.simulation.replaying_caller",
    "retaining_caller": "tests.simulation.retaining_caller",
    "retire": "kafka2hive.ledger.retire",
    "repair": "tests.simulation.service.repair",
    "service": "tests.simulation.service.driver",
    "start": "kafka2hive.ledger.start",
    "tasks": "tests.simulation.tasks",
}


class PatchDoesNotApply(ValueError):
    """The text that a mutant replaces is not in its module exactly once: the mutant must be updated."""


def load(mutant: Mutant) -> Production:
    """Return separate modules with the mutant's patch. Raises PatchDoesNotApply."""
    finder = _Patched(
        mutant
    )  # first, because a patch that does not apply must leave the real modules in place
    copied = _copied(mutant.module)
    real = {name: module for name, module in sys.modules.items() if name in copied}
    parents = {sys.modules[name.rpartition(".")[0]] for name in copied}
    attributes = [(vars(parent), dict(vars(parent))) for parent in parents]
    for name in real:
        del sys.modules[name]
        parent, _, child = name.rpartition(".")
        vars(sys.modules.get(parent) or real[parent]).pop(child, None)
    sys.meta_path.insert(0, finder)
    try:
        with _methods_compiled_once():
            return Production(**{field: importlib.import_module(name) for field, name in FIELDS.items()})
    finally:
        sys.meta_path.remove(finder)
        for name in copied:
            sys.modules.pop(name, None)
        sys.modules.update(real)
        for now, before in attributes:
            now.update(before)


@contextmanager
def _methods_compiled_once() -> Iterator[None]:
    """Let `dataclasses` keep the code of the methods that it generates: compiling them is half of a load."""
    vars(dataclasses)["exec"] = lambda text, *namespaces: exec(_compiled(text), *namespaces)
    try:
        yield
    finally:
        del vars(dataclasses)["exec"]


@cache
def _compiled(text: str) -> CodeType:
    return compile(text, "<string>", "exec")


def patched_source(mutant: Mutant) -> str:
    """Return the module's source with all edits."""
    spec = importlib.util.find_spec(mutant.module)
    assert spec is not None and spec.origin is not None
    source = Path(spec.origin).read_text()
    for old, new in mutant.edits:
        if source.count(old) != 1:
            raise PatchDoesNotApply(f"{mutant.name}: in {mutant.module} {source.count(old)} times: {old!r}")
        source = source.replace(old, new)
    return source


def _copied(module: str) -> set[str]:
    """Return the module, all that import it directly or not, and the packages that they are in: nothing else differs."""
    copied, waiting = set[str](), [module]
    while waiting:
        name = waiting.pop()
        if name not in copied:
            copied.add(name)
            waiting += _importers().get(name, ())
    packages = {".".join(name.split(".")[:n]) for name in copied for n in range(1, name.count(".") + 1)}
    return copied | {name for name in packages if _may_be_copied(name)}


@cache
def _importers() -> dict[str, list[str]]:
    """Return for each module those that import it, or a name that it may hold."""
    importers: dict[str, list[str]] = {}
    for name, module in list(sys.modules.items()):
        if _may_be_copied(name) and module.__file__ is not None:
            for imported in set(_imports(Path(module.__file__).read_text())):
                importers.setdefault(imported, []).append(name)
    return importers


def _imports(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _may_be_copied(name: str) -> bool:
    return any(name == top or name.startswith(top + ".") for top in RELOADED)


class _Patched(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """A finder for the patched module; all others are found as usual."""

    def __init__(self, mutant: Mutant) -> None:
        self._module = mutant.module
        self._source = patched_source(mutant)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(fullname, self) if fullname == self._module else None

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self._source, f"<mutant of {self._module}>", "exec"), vars(module))
