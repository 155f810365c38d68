"""Files below a directory, on HDFS or on local disk, by full URI."""

import os
import time
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from hdfs_native import Client

_MORE_READS = 5


class Tree(Protocol):
    """What the oracle asks of a file system; `rename` and `delete` are for tests that do damage."""

    def files(self, directory: str) -> dict[str, int]:
        """Length by full path of every file below; none when the directory is not there."""
        ...

    def directories(self, directory: str) -> list[str]:
        """Names of the directories in it; none when it is not there."""
        ...

    def read(self, path: str) -> bytes: ...

    def rename(self, source: str, target: str) -> None: ...

    def delete(self, path: str) -> None: ...


class HdfsTree:
    """Through hdfs-native itself, not through the product's port."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def files(self, directory: str) -> dict[str, int]:
        path, base = urlsplit(directory).path, directory[: -len(urlsplit(directory).path)]
        try:
            return {
                base + urlsplit(status.path).path: status.length
                for status in self._client.list_status(path, recursive=True)
                if not status.isdir
            }
        except FileNotFoundError:
            return {}

    def directories(self, directory: str) -> list[str]:
        try:
            children = list(self._client.list_status(urlsplit(directory).path))
        except FileNotFoundError:
            return []
        return [status.path.rstrip("/").rpartition("/")[2] for status in children if status.isdir]

    def read(self, path: str) -> bytes:
        """The whole file. There is one DataNode: if it drops a connection, ask again; what stays unreadable is an error."""
        for _ in range(_MORE_READS):
            try:
                return self._read(path)
            except RuntimeError as error:
                if "DataTransferError" not in str(error):
                    raise
                time.sleep(1)
        return self._read(path)

    def _read(self, path: str) -> bytes:
        with self._client.read(urlsplit(path).path) as file:
            return bytes(file.read())

    def rename(self, source: str, target: str) -> None:
        self._client.rename(urlsplit(source).path, urlsplit(target).path)

    def delete(self, path: str) -> None:
        assert self._client.delete(urlsplit(path).path)


class LocalTree:
    """`file:///` paths."""

    def files(self, directory: str) -> dict[str, int]:
        found = {}
        for folder, _, names in os.walk(_local(directory)):  # goes on when a directory vanishes under it
            for path in (Path(folder, name) for name in names):
                try:
                    found[f"file://{path}"] = path.stat().st_size
                except FileNotFoundError:
                    continue  # a run has renamed it since the listing
        return found

    def directories(self, directory: str) -> list[str]:
        try:
            with os.scandir(_local(directory)) as children:
                return [child.name for child in children if child.is_dir()]  # as listed: no look at each
        except FileNotFoundError:
            return []

    def read(self, path: str) -> bytes:
        return _local(path).read_bytes()

    def rename(self, source: str, target: str) -> None:
        os.rename(_local(source), _local(target))  # noqa: PTH104 (as a shell's mv)

    def delete(self, path: str) -> None:
        _local(path).unlink()


def _local(path: str) -> Path:
    return Path(urlsplit(path).path)
