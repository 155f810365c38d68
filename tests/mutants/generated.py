"""Mistakes that nobody wrote: mutmut's operators on the functions of the product, and the ones that a sample holds (ADR 25).

A mutant is known by the name of its function and the shape of the mutated code, without names and texts. So it keeps its key,
and its place in the sample, when modules move, classes are renamed and messages are reworded.
"""

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

from tests.mutants.code_objects import find_code
from tests.mutants.patched_pytest import PRODUCT

ROOT = Path(__file__).resolve().parents[2]
SEED = "1"
LOGGERS = ("log", "_log", "logger")


@dataclass(frozen=True, slots=True)
class Function:
    """A function or method, without its decorators; functions inside it belong to it."""

    module: str
    name: str  # with its class
    node: ast.FunctionDef | ast.AsyncFunctionDef

    @property
    def path(self) -> Path:
        """The file it stands in."""
        path = ROOT / self.module.replace(".", "/")
        return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")

    @property
    def first_line(self) -> int:
        """As its code object counts: that of the first decorator."""
        return min([self.node.lineno, *(d.lineno for d in self.node.decorator_list)])

    def rank(self) -> str:
        """Its place among all functions: a digest, so a change elsewhere does not change it."""
        return _digest(SEED, self.node.name, *_shape(self.node))


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed place: `source` is the whole module's; `old` and `new` are the place."""

    key: str
    function: Function
    source: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.key}: {self.function.module}: {' '.join(self.old.split())} -> {' '.join(self.new.split())}"


@cache
def functions() -> tuple[Function, ...]:
    """Those of every module of the product, by rank."""
    every: list[Function] = []
    for path in sorted((ROOT / PRODUCT).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        every += functions_of(module, path.read_text())
    return tuple(sorted(every, key=lambda function: (function.rank(), function.module, function.name)))


def functions_of(module: str, source: str) -> list[Function]:
    """In the order of the source."""
    return list(_functions(module, "", ast.parse(source).body))


def mutants(function: Function, source: str = "") -> list[Mutant]:
    """All of a function, in an order that its digests give. A change that leaves the compiled code as it was is none.

    `source` is its module's; if none is given, it is read.
    """
    from mutmut.mutation.file_mutation import create_mutations  # half a second: only who generates pays it

    source = source or function.path.read_text()
    lines = source.splitlines(keepends=True)
    first, last = function.node.lineno - 1, function.node.end_lineno
    below = "if _:\n" if function.node.col_offset else ""  # for its indentation
    tree, places, _, _ = create_mutations(function.path.name, below + "".join(lines[first:last]))
    beyond = _beyond_tests(tree)
    original = code_of(function, source)
    every: dict[str, Mutant] = {}
    seen: Counter[str] = Counter()
    for place in places:
        if id(place.original_node) in beyond:
            continue
        text = tree.deep_replace(place.original_node, place.mutated_node).code.removeprefix(below)
        mutated = "".join([*lines[:first], text, *lines[last:]])
        try:
            same = _same(original, code_of(function, mutated))
        except (SyntaxError, LookupError):
            continue
        if same:
            continue
        old, new = (tree.code_for_node(node) for node in (place.original_node, place.mutated_node))
        if old.startswith("zip(") and "strict=" in old and "strict=True" not in new:
            continue
        digest = _key(function, mutated, new)
        seen[digest] += 1
        key = f"{function.node.name} {digest}" + (f"/{seen[digest]}" if seen[digest] > 1 else "")
        every[key] = Mutant(key, function, mutated, old, new)
    return [every[key] for key in sorted(every, key=lambda key: _digest(SEED, key))]


def sample(size: int, judged: set[str]) -> Iterator[Mutant]:
    """One mutant of each of the first `size` functions by rank, of those whose module is `judged` by a fast test."""
    for function in functions():
        if size and function.module in judged and (every := mutants(function)):
            size -= 1
            yield every[0]


def code_of(function: Function, source: str) -> CodeType:
    """The function's code object in a source of its module. Raises LookupError, SyntaxError."""
    return find_code(compile(source, str(function.path), "exec"), function.name, function.first_line)


def _functions(module: str, inside: str, body: Sequence[ast.stmt]) -> Iterator[Function]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield Function(module, inside + node.name, node)
        elif isinstance(node, ast.ClassDef):
            yield from _functions(module, f"{inside}{node.name}.", node.body)


def _beyond_tests(tree: Any) -> set[int]:
    """Places where a change is no mistake: texts (of messages and metrics), log lines, and the guard `strict=True`."""
    beyond: set[int] = set()
    pending = [(tree, False)]
    while pending:
        node, inside = pending.pop()
        kind = type(node).__name__
        inside = inside or kind.endswith("String") or (kind == "Arg" and _name(node.keyword) == "strict")
        inside = inside or (kind == "Call" and _name(getattr(node.func, "value", None)) in LOGGERS)
        if inside:
            beyond.add(id(node))
        pending += [(child, inside) for child in node.children]
    return beyond


def _name(node: Any) -> str:
    return str(getattr(node, "value", ""))


def _key(function: Function, mutated: str, new: str) -> str:
    """A renamed call, as of lower to upper, has the shape it had: then the new text counts."""
    (node,) = (
        other.node
        for other in functions_of(function.module, mutated)
        if (other.name, other.node.lineno) == (function.name, function.node.lineno)
    )
    shape = list(_shape(node))
    return _digest(function.node.name, *shape, *([new] if shape == list(_shape(function.node)) else ()))[:8]


def _shape(node: ast.AST) -> Iterator[str]:
    """Kinds of nodes and numbers, in order; no names, texts, docstrings and annotations."""
    yield type(node).__name__
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params", "type_comment", "kind"):
            continue
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant):
                continue
            if isinstance(item, ast.AST):
                yield from _shape(item)
            elif not isinstance(item, str):
                yield repr(item)
        yield ";"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _same(one: CodeType, other: CodeType) -> bool:
    def parts(code: CodeType) -> tuple[object, ...]:
        constants = tuple(parts(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts)
        return code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants

    return parts(one) == parts(other)
