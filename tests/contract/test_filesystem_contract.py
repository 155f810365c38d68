"""The FileSystem port's promises, kept by local disk and by a real HDFS alike."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka2hive.storage.hdfs import HdfsFileSystem
from kafka2hive.storage.local import LocalFileSystem
from kafka2hive.storage.port import FileSystem, StorageError, write_file
from tests.harness.filesystem_cases import CASES, Case

if TYPE_CHECKING:
    from tests.services.hdfs import Hdfs


@pytest.fixture(scope="module")
def hdfs_files(hdfs: "Hdfs") -> HdfsFileSystem:
    return HdfsFileSystem(hdfs.namenode_url, tuple(hdfs.client_properties.items()))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_local_disk_keeps_the_contract(case: Case, tmp_path: Path) -> None:
    case(LocalFileSystem(), f"file://{tmp_path}")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_hdfs_keeps_the_contract(case: Case, hdfs_files: HdfsFileSystem, unique: str) -> None:
    base = f"{hdfs_files.root}/{unique}"
    hdfs_files.mkdirs(base)
    case(hdfs_files, base)


@pytest.mark.parametrize("seed", range(4))
def test_any_sequence_of_operations_has_the_same_outcome_on_local_disk_and_on_hdfs(
    seed: int, hdfs_files: HdfsFileSystem, tmp_path: Path, unique: str
) -> None:
    local, local_base = LocalFileSystem(), f"file://{tmp_path}"
    hdfs_base = f"{hdfs_files.root}/{unique}"
    hdfs_files.mkdirs(hdfs_base)
    dice = random.Random(seed)
    history: list[str] = []
    for _ in range(300):
        step = _any_step(dice)
        on_local, on_hdfs = _answer(local, local_base, step), _answer(hdfs_files, hdfs_base, step)
        history.append(f"{step} -> {on_local}")
        assert on_hdfs == on_local, "\n".join([f"seed {seed}", *history, f"but on HDFS {on_hdfs}"])
    assert _tree(hdfs_files, hdfs_base) == _tree(local, local_base)
    answers = {line.rpartition(" -> ")[2] for line in history}
    assert {"NotFound", "ParentMissing", "AlreadyExists", "StorageError"} <= answers, (
        "the sequence was too tame"
    )


Step = tuple[str, str, str]  # operation, path, and second path or content


def _any_step(dice: random.Random) -> Step:
    def path() -> str:
        return "".join(f"/{dice.choice('abc')}" for _ in range(dice.choice((1, 1, 2, 2, 3))))

    operation = dice.choice(
        ("create", "create", "rename", "rename", "rename", "delete", "mkdirs", "read", "stat", "list")
    )
    # closing a file with content costs half a second on HDFS, so most are empty
    second = path() if operation == "rename" else "x" * dice.choice((0,) * 20 + (3,))
    return operation, path(), second


def _answer(files: FileSystem, base: str, step: Step) -> str:
    operation, path, second = step
    full = base + path
    operations: dict[str, Callable[[], object]] = {
        "create": lambda: write_file(files, full, second.encode()),
        "rename": lambda: files.rename(full, base + second),
        "delete": lambda: files.delete(full),
        "mkdirs": lambda: files.mkdirs(full),
        "read": lambda: files.read(full),
        "stat": lambda: (files.stat(full).length, files.stat(full).is_directory),
        "list": lambda: [(status.name, status.length, status.is_directory) for status in files.list(full)],
    }
    try:
        return repr(operations[operation]())
    except StorageError as error:
        return type(error).__name__


def _tree(files: FileSystem, base: str) -> dict[str, bytes | None]:
    """Path below `base` -> content, None for a directory."""
    found: dict[str, bytes | None] = {}
    todo = [base]
    while todo:
        for status in files.list(todo.pop()):
            found[status.path.removeprefix(base)] = None if status.is_directory else files.read(status.path)
            todo += [status.path] if status.is_directory else []
    return found
