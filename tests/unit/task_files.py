"""A file system in memory behind the port, with faults as values, and the settings of a small task."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from kafka2hive.storage.port import AlreadyExists, FileStatus, NotFound, ParentMissing, StorageError

Fault = Callable[[str, str], StorageError | None]
"""Asked before every operation with its name and path; an error it gives is raised."""


def no_fault(operation: str, path: str) -> StorageError | None:
    return None


@dataclass
class MemoryFiles:
    """`content` by full path; a file appears with its first byte and stays when it is abandoned."""

    directories: set[str] = field(default_factory=set)
    content: dict[str, bytes] = field(default_factory=dict)
    fault: Fault = no_fault
    log: list[tuple[str, str]] = field(default_factory=list)
    open_now: set[str] = field(default_factory=set)
    most_open: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def _step(self, operation: str, path: str) -> None:
        with self._lock:
            self.log.append((operation, path))
        error = self.fault(operation, path)
        if error is not None:
            raise error

    def create(self, path: str) -> "MemoryWriter":
        self._step("create", path)
        if path.rsplit("/", 1)[0] not in self.directories:
            raise ParentMissing(path)
        if path in self.content:
            raise AlreadyExists(path)
        with self._lock:
            self.content[path] = b""
            self.open_now.add(path)
            self.most_open = max(self.most_open, len(self.open_now))
        return MemoryWriter(self, path)

    def rename(self, source: str, target: str) -> None:
        self._step("rename", source)
        if source not in self.content:
            raise NotFound(source)
        if target in self.content:
            raise AlreadyExists(target)
        self.content[target] = self.content.pop(source)

    def read(self, path: str) -> bytes:
        return self.content[path]

    def stat(self, path: str) -> FileStatus:
        if path not in self.content:
            raise NotFound(path)
        return FileStatus(path, len(self.content[path]), False)

    def list(self, path: str) -> tuple[FileStatus, ...]:
        return tuple(self.stat(p) for p in sorted(self.content) if p.rsplit("/", 1)[0] == path)

    def delete(self, path: str) -> bool:
        return self.content.pop(path, None) is not None

    def mkdirs(self, path: str) -> None:
        self._step("mkdirs", path)
        self.directories.add(path)


@dataclass
class MemoryWriter:
    files: MemoryFiles
    path: str
    parts: list[bytes] = field(default_factory=list)

    def write(self, data: bytes | memoryview) -> None:
        self.files._step("write", self.path)
        self.parts.append(bytes(data))

    def close(self) -> None:
        self.files._step("close", self.path)
        self.files.content[self.path] = b"".join(self.parts)
        self.files.open_now.discard(self.path)

    def abandon(self) -> None:
        self.files.log.append(("abandon", self.path))
        self.files.open_now.discard(self.path)
