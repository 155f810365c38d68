"""A NameNode in memory: one tree, every operation atomic and instant. Faults and delays are the client's business.

A directory is a dict from name to child, a file a FileNode, so a rename of a directory is O(1) and an open file moves
with its directory, as on HDFS (tried on a real one: the old writer's close lands in the moved directory).
"""

from collections.abc import Sequence

from kafka2hive.storage.port import AlreadyExists, FileStatus, NotFound, ParentMissing, StorageError

ROOT = "sim://namenode"
"""Every path begins with it; below it names are separated by one slash."""


class FileNode:
    """`content` is what a reader sees now; an open file may show less than was written."""

    __slots__ = ("content",)

    def __init__(self) -> None:
        self.content = b""


Directory = dict[str, "Node"]
Node = FileNode | dict[str, "Node"]


class NameNode:
    """The effects of the FileSystem port, with the port's errors."""

    def __init__(self) -> None:
        self.root: Directory = {}

    def directory(self, path: str) -> Directory | None:
        """The children of a directory, None when there is no such directory."""
        return self._walk(path.split("/")[3:])

    def _walk(self, names: Sequence[str]) -> Directory | None:
        node: Node | None = self.root
        for name in names:
            node = node.get(name)  # type: ignore[union-attr]
            if type(node) is not dict:
                return None
        return node  # type: ignore[return-value]

    def node(self, path: str) -> Node | None:
        """File or directory under a path, None when there is nothing."""
        names = path.split("/")
        parent = self._walk(names[3:-1])
        return None if parent is None else parent.get(names[-1])

    def create(self, path: str) -> FileNode:
        names = path.split("/")
        parent = self._walk(names[3:-1])
        if parent is None:
            raise ParentMissing(path)
        if names[-1] in parent:
            raise AlreadyExists(path)
        made = FileNode()
        parent[names[-1]] = made
        return made

    def rename(self, source: str, target: str) -> Node:
        if not (source.startswith(ROOT) and target.startswith(ROOT)):
            raise StorageError(target, "another file system")
        names, target_names = source.split("/"), target.split("/")
        parent = self._walk(names[3:-1])
        if parent is None or names[-1] not in parent:
            raise NotFound(source)
        target_parent = self._walk(target_names[3:-1])
        if target_parent is None:
            raise ParentMissing(target)
        if target_names[-1] in target_parent:
            raise AlreadyExists(target)
        if target.startswith(source + "/"):
            raise StorageError(target, "below its own source")
        moved = parent.pop(names[-1])
        target_parent[target_names[-1]] = moved
        return moved

    def delete(self, path: str) -> bool:
        names = path.split("/")
        parent = self._walk(names[3:-1])
        if parent is None or names[-1] not in parent:
            return False
        if parent[names[-1]] and type(parent[names[-1]]) is dict:
            raise StorageError(path, "directory is not empty")
        del parent[names[-1]]
        return True

    def mkdirs(self, path: str) -> None:
        node = self.root
        for name in path.split("/")[3:]:
            child = node.setdefault(name, {})
            if type(child) is not dict:
                raise AlreadyExists(path, "a file is there")
            node = child

    def read(self, path: str) -> bytes:
        node = self.node(path)
        if type(node) is not FileNode:
            raise NotFound(path)
        return node.content

    def stat(self, path: str) -> FileStatus:
        if not path.startswith(ROOT):
            raise StorageError(path, "another file system")
        node = self.node(path)
        if node is None:
            raise NotFound(path)
        return _status(path, node)

    def list(self, path: str) -> tuple[FileStatus, ...]:
        children = self.directory(path)
        if children is None:
            raise NotFound(path)
        return tuple(_status(f"{path}/{name}", children[name]) for name in sorted(children))

    def files_below(self, path: str) -> set[str]:
        """Paths of all files below a directory."""
        found: set[str] = set()
        todo: list[tuple[str, Node]] = [(path, self.directory(path) or {})]
        while todo:
            at, node = todo.pop()
            if isinstance(node, FileNode):
                found.add(at)
            else:
                todo.extend((f"{at}/{name}", child) for name, child in node.items())
        return found


def _status(path: str, node: Node) -> FileStatus:
    if type(node) is FileNode:
        return FileStatus(path, len(node.content), False)
    return FileStatus(path, 0, True)
