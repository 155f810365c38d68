"""The house keeps its form: one meaning for each class name, no two folders that import each other, nouns for modules."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "kafka2hive"
MOST_POSITIONAL = 4
NO_NAMES = {
    *("common", "shared", "utils", "util", "helpers", "helper", "misc", "manager"),
    *("found", "told", "there", "left", "said", "beside", "refused", "written", "registered", "parsed"),
}


@cache
def modules() -> dict[Path, ast.Module]:
    """Parse the package: at the first use, since every test worker imports this module."""
    return {path: ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}


def test_each_class_name_has_one_meaning() -> None:
    """Private and nested classes count, too: a reader searches for the name."""
    places = defaultdict(list)
    for path, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(ROOT)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_no_two_folders_import_each_other() -> None:
    assert both_ways(folders_imported()) == []


def test_folders_that_import_each_other_are_found() -> None:
    assert both_ways({"a": {"b", "c"}, "b": {"c"}, "c": {"a"}}) == [("a", "c")]


def test_modules_and_folders_have_names_of_their_own_ideas() -> None:
    names = {part for path in modules() for part in path.relative_to(PACKAGE).with_suffix("").parts}
    assert names & NO_NAMES == set()


def test_functions_and_classes_are_no_participles_and_pronouns() -> None:
    """Only words of their own: `_refused` is no name, `refused_topics` says what was refused."""
    words = {
        f"{path.relative_to(ROOT)}: {node.name}"
        for path, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name.strip("_").lower() in NO_NAMES
    }
    assert words == set()


def test_only_the_guard_and_foreign_code_catch_every_exception() -> None:
    """Bugs of one table stop in `containment`; the other places run plug-ins, or Spark's client for compaction."""
    places = {
        str(path.relative_to(PACKAGE))
        for path, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler) and _catches_everything(node)
    }
    assert places == {
        "service/containment.py",
        "model/entry_points.py",
        "formats/plugin.py",
        "spark/jobs.py",
    }


def _catches_everything(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(each, ast.Name) and each.id == "Exception" for each in caught)


def test_calls_with_many_arguments_name_them() -> None:
    """Functions with `*args`, and those of other packages, are free."""
    most = parameters_by_name()
    long = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path, tree in modules().items()
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        for name, positional in [called(call)]
        if MOST_POSITIONAL < positional <= most.get(name, 0)
    ]
    assert long == []


def parameters_by_name() -> dict[str, int]:
    """Return for each name of a function or class of the package the most positional arguments that it takes."""
    most: dict[str, int] = defaultdict(int)
    for tree in modules().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                fields = sum(isinstance(each, ast.AnnAssign) for each in node.body)
                inits = [e for e in node.body if isinstance(e, ast.FunctionDef) and e.name == "__init__"]
                most[node.name] = max(
                    most[node.name], *(len(e.args.args) - 1 for e in inits), 0 if inits else fields
                )
            elif isinstance(node, ast.FunctionDef):
                most[node.name] = max(most[node.name], 0 if node.args.vararg else len(node.args.args))
    return most


def called(call: ast.Call) -> tuple[str, int]:
    """Return the name of what is called, or bound by `partial`, and the number of its positional arguments."""
    function, positional = call.func, [each for each in call.args if not isinstance(each, ast.Starred)]
    if isinstance(function, ast.Name) and function.id == "partial" and positional:
        function, *positional = positional
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name, len(positional)


def folders_imported() -> dict[str, set[str]]:
    """Return for each folder of the package the folders that its modules import, also within functions."""
    imported: dict[str, set[str]] = defaultdict(set)
    for path, tree in modules().items():
        here = dotted(path.parent)
        if path.parent != PACKAGE:  # the package itself holds its version, and `python -m`
            imported[here] |= {folder for folder in _imports(tree) if folder not in (here, "kafka2hive")}
    return imported


def both_ways(imported: Mapping[str, set[str]]) -> list[tuple[str, str]]:
    """Return the pairs of folders that import each other, each pair once."""
    return sorted(
        (a, b) for a, others in imported.items() for b in others if a < b and a in imported.get(b, ())
    )


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).parts)


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kafka2hive"):
            for name in node.names:
                yield _folder_of(f"{node.module}.{name.name}")


def _folder_of(name: str) -> str:
    """Return the folder of what is imported: a folder, a module, or a name within one of both."""
    path = ROOT.joinpath(*name.split("."))
    while not path.is_dir() and not path.with_suffix(".py").is_file():
        path = path.parent
    return dotted(path if path.is_dir() else path.parent)
