"""A NameNode in memory: one tree, in which each operation is atomic and instant. The clients add faults and delays.

A directory is a dict from name to child, a file is a FileNode, so an open file moves with its directory, as on HDFS (checked
with a real one: the old writer's close takes effect in the moved directory). Directories are found by their full paths.
"""

from kafka2hive.storage.port import AlreadyExists, FileStatus, NotFound, ParentMissing, StorageError

ROOT = "sim://namenode"
"""The beginning of every path; below it one slash separates names."""


class FileNode:
    """`content` is what a reader sees now; an open file may show less than was written."""

    __slots__ = ("content", "status")

    def __init__(self) -> None:
        self.content = b""
        self.status: FileStatus | None = None

    def status_at(self, path: str) -> FileStatus:
        """Return the answer of `stat`, which is cached for listings."""
        known = self.status
        if known is None or known.length != len(self.content) or known.path != path:
            known = self.status = FileStatus(path, len(self.content), False)
        return known


Directory = dict[str, "Node"]
Node = FileNode | dict[str, "Node"]


class NameNode:
    """The FileSystem port's effects and errors. `root` is the tree, `directories` its index by path."""

    def __init__(self) -> None:
        self.root: Directory = {}
        self.directories: dict[str, Directory] = {ROOT: self.root}

    def directory(self, path: str) -> Directory | None:
        """Return the children of a directory, None if there is no such directory."""
        return self.directories.get(path)

    def node(self, path: str) -> Node | None:
        """Return the file or directory at a path, None if there is neither."""
        directory, _, name = path.rpartition("/")
        parent = self.directories.get(directory)
        return None if parent is None else parent.get(name)

    def create(self, path: str) -> FileNode:
        directory, _, name = path.rpartition("/")
        parent = self.directories.get(directory)
        if parent is None:
            raise ParentMissing(path)
        if name in parent:
            raise AlreadyExists(path)
        made = FileNode()
        parent[name] = made
        return made

    def rename(self, source: str, target: str) -> Node:
        if not (source.startswith(ROOT) and target.startswith(ROOT)):
            raise StorageError(target, "another file system")
        directory, _, name = source.rpartition("/")
        target_directory, _, target_name = target.rpartition("/")
        parent = self.directories.get(directory)
        if parent is None or name not in parent:
            raise NotFound(source)
        target_parent = self.directories.get(target_directory)
        if target_parent is None:
            raise ParentMissing(target)
        if target_name in target_parent:
            raise AlreadyExists(target)
        if target.startswith(source + "/"):
            raise StorageError(target, "below its own source")
        moved = parent.pop(name)
        target_parent[target_name] = moved
        if type(moved) is dict:
            self._directory_moves(source, target)
        return moved

    def _directory_moves(self, source: str, target: str) -> None:
        index = self.directories
        below = source + "/"
        for path in [path for path in index if path == source or path.startswith(below)]:
            index[target + path[len(source) :]] = index.pop(path)

    def delete(self, path: str) -> bool:
        directory, _, name = path.rpartition("/")
        parent = self.directories.get(directory)
        if parent is None or name not in parent:
            return False
        if type(parent[name]) is dict:
            if parent[name]:
                raise StorageError(path, "directory is not empty")
            del self.directories[path]
        del parent[name]
        return True

    def mkdirs(self, path: str) -> None:
        if path in self.directories:
            return
        directory, _, name = path.rpartition("/")
        if directory not in self.directories:
            self.mkdirs(directory)
        parent = self.directories[directory]
        if name in parent:
            raise AlreadyExists(path, "a file is there")
        self.directories[path] = parent[name] = {}

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
            if path != ROOT:
                raise NotFound(path)
            node = self.root
        return _status(path, node)

    def list(self, path: str) -> tuple[FileStatus, ...]:
        children = self.directories.get(path)
        if children is None:
            raise NotFound(path)
        return tuple([_status(f"{path}/{name}", children[name]) for name in sorted(children)])

    def files_below(self, path: str) -> set[str]:
        """Return the paths of all files below a directory."""
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
    return node.status_at(path) if type(node) is FileNode else FileStatus(path, 0, True)
