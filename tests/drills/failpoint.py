"""Failpoints: a process that kills or stops itself right before or right after one chosen operation.

They wrap the ports that the production wiring makes; the production code knows nothing of them. What was asked for and
answered can be written to a journal, so that a drill knows what a process did when.
"""

import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from kafka2hive.hive.port import Hive
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import ChangeAnswer
from kafka2hive.storage.port import FileStatus, FileSystem, StorageWriter
from kafka2hive.storage.stored_file import StoredFile
from tests.harness.one_by_one import OneByOne

Result = TypeVar("Result")

ANY = "any"
BEFORE, AFTER = "before", "after"
HOLD = 0
"""In place of a signal: the thread waits for ever, and the process goes on without it, with its heartbeats for two minutes."""


@dataclass(frozen=True, slots=True)
class Failpoint:
    """The `count`-th time that `operation` meets something that matches `pattern`: die, or stop, `moment` it is done.

    `operation` is create, write, close, rename, delete, mkdirs, register and set_location (Hive), or ANY; `pattern` is searched
    in the path, of a rename in `source -> target`. A failpoint hit writes its name into the file `mark`. `signal` may be HOLD.
    """

    name: str
    operation: str
    pattern: str
    moment: str
    mark: str = ""
    count: int = 1
    signal: int = signal.SIGKILL

    def was_hit(self) -> bool:
        """The process came to this point."""
        return Path(self.mark).exists() and Path(self.mark).read_text() == self.name


class Trap:
    """Counts matching operations of this process, over all its threads, and springs once."""

    def __init__(self, failpoint: Failpoint | None, journal: "Journal | None" = None) -> None:
        self._failpoint = failpoint
        self._journal = journal
        self._seen = 0
        self._lock = threading.Lock()

    def around(self, operation: str, what: str, function: Callable[[], Result]) -> Result:
        """Do it, unless this is the moment before it. After it means: after it succeeded."""
        self._pass(BEFORE, operation, what)
        number = self._journal.begin(operation, what) if self._journal else 0
        outcome = "error"
        try:
            result = function()
            outcome = "missing" if result is False else "ok"
        finally:
            if self._journal:
                self._journal.end(number, operation, what, outcome)
        self._pass(AFTER, operation, what)
        return result

    def _pass(self, moment: str, operation: str, what: str) -> None:
        """Spring when this is the moment; other threads that come to the same place wait, and do nothing more."""
        point = self._failpoint
        if point is None or point.moment != moment or point.operation not in (ANY, operation):
            return
        if not re.search(point.pattern, what):
            return
        with self._lock:
            self._seen += 1
            if self._seen == point.count:
                Path(point.mark).write_text(point.name)
                if point.signal == HOLD:
                    threading.Event().wait()
                os.kill(os.getpid(), point.signal)


class Journal:
    """What a process asked for and what it was answered, line by line; times are seconds of the machine's own clock.

    `begin` stands in the file before the operation is asked for, `end` after its answer: what has no end was under way
    when the process died.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        self._count = 0
        self._lock = threading.Lock()

    def begin(self, operation: str, what: str) -> int:
        with self._lock:
            self._count += 1
            number = self._count
        self.note("begin", number=number, operation=operation, what=what)
        return number

    def end(self, number: int, operation: str, what: str, outcome: str) -> None:
        self.note("end", number=number, operation=operation, what=what, outcome=outcome)

    def note(self, event: str, **more: Any) -> None:
        """One line, in one write: lines of several threads do not mix. A kill may tear it: the next one begins anew."""
        line = {"event": event, "pid": os.getpid(), "at": time.monotonic(), **more}
        os.write(self._file, b"\n" + json.dumps(line).encode() + b"\n")


def read_journal(path: Path) -> list[dict[str, Any]]:
    """All lines but those that a kill tore."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]


class TrappedFileSystem:
    """A FileSystem whose changes pass through a trap."""

    def __init__(self, files: FileSystem, trap: Trap) -> None:
        self._files = files
        self._trap = trap

    def create(self, path: str) -> StorageWriter:
        writer = self._trap.around("create", path, lambda: self._files.create(path))
        return _TrappedWriter(writer, path, self._trap)

    def rename(self, source: str, target: str) -> None:
        self._trap.around("rename", f"{source} -> {target}", lambda: self._files.rename(source, target))

    def delete(self, path: str) -> bool:
        return self._trap.around("delete", path, lambda: self._files.delete(path))

    def mkdirs(self, path: str) -> None:
        self._trap.around("mkdirs", path, lambda: self._files.mkdirs(path))

    def read(self, path: str) -> bytes:
        return self._files.read(path)

    def open(self, path: str) -> StoredFile:
        return self._files.open(path)

    def tail(self, path: str, most: int) -> bytes:
        return self._files.tail(path, most)

    def stat(self, path: str) -> FileStatus:
        return self._files.stat(path)

    def list(self, path: str) -> tuple[FileStatus, ...]:
        return self._files.list(path)


class _TrappedWriter:
    def __init__(self, writer: StorageWriter, path: str, trap: Trap) -> None:
        self._writer = writer
        self._path = path
        self._trap = trap

    def write(self, data: bytes | memoryview) -> None:
        self._trap.around("write", self._path, lambda: self._writer.write(data))

    def close(self) -> None:
        self._trap.around("close", self._path, self._writer.close)

    def abandon(self) -> None:
        self._writer.abandon()


class TrappedMetastore(OneByOne):
    """A Hive whose changes of partitions pass through a trap; whatever else is asked goes to the real one."""

    def __init__(self, metastore: Hive, trap: Trap) -> None:
        self._metastore = metastore
        self._trap = trap

    def add_partitions(self, partitions: Sequence[HivePartition]) -> Mapping[HivePartition, str]:
        what = " ".join(f"{p.table}/{p.path}" for p in partitions)
        return self._trap.around("register", what, lambda: self._metastore.add_partitions(partitions))

    def set_location(self, partition: HivePartition) -> None:
        what = f"{partition.table}/{partition.path} {partition.location}"
        self._trap.around("set_location", what, lambda: _do(self._metastore.set_locations([partition])))

    def drop_partition(self, partition: HivePartition) -> None:
        what = f"{partition.table}/{partition.path}"
        self._trap.around("drop_partition", what, lambda: _do(self._metastore.drop_partitions([partition])))

    def location(self, partition: HivePartition) -> str | None:
        return self._metastore.location(partition)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._metastore, name)


def _do(answers: Iterable[ChangeAnswer]) -> None:
    """Carry a request out. Raises its refusal."""
    for _, refusal in answers:
        if refusal is not None:
            raise refusal
