"""The fast tests that judge a module: those that import it, the nearest first. Derived, so it follows when modules move."""

import re
from functools import cache

import grimp

from tests.mutants.generated import ROOT
from tests.mutants.patched_pytest import PRODUCT

_JUDGE = re.compile(r"tests\.(unit\..+|contract)\.test_\w+$")
"""Those at the top of tests.unit are about files and packages."""
SERVICES = "tests.services"
MOST = 16
"""Files that judge one module."""


@cache
def judges(module: str) -> tuple[str, ...]:
    """Test files that reach a module by imports: by distance, then those named like it, then the short ones."""
    words = set(re.split(r"[._]", module)[1:])
    reached = []
    for test, distances in _distances().items():
        if module in distances:
            file = test.replace(".", "/") + ".py"
            named = test.rpartition(".test_")[2] == module.rpartition(".")[2]
            alike = len(words & set(re.split(r"[._]", test)))
            reached.append((distances[module] - named, -alike, (ROOT / file).stat().st_size, file))
    return tuple(file for *_, file in sorted(reached)[:MOST])


def judged_modules() -> set[str]:
    """Those that any fast test reaches."""
    return {
        module for distances in _distances().values() for module in distances if module.startswith(PRODUCT)
    }


@cache
def _distances() -> dict[str, dict[str, int]]:
    """For each fast test file: how many imports lead from it to each module."""
    graph = grimp.build_graph(PRODUCT, "tests", cache_dir=None)
    edges = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    return {
        module: _from(module, edges)
        for module in sorted(graph.modules)
        if _JUDGE.match(module) and not _starts_services(module, edges)
    }


def _starts_services(test: str, edges: dict[str, set[str]]) -> bool:
    """A test that is given a real service names its type; unit tests are given none."""
    return test.startswith("tests.contract") and any(to.startswith(SERVICES) for to in edges[test])


def _from(start: str, edges: dict[str, set[str]]) -> dict[str, int]:
    distances = {start: 0}
    ring = {start}
    while ring:
        following = {there for here in ring for there in edges[here]} - distances.keys()
        distances |= dict.fromkeys(following, distances[min(ring)] + 1)
        ring = following
    return distances
