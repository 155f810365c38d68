"""The FileSystem port of one actor: each call hands over first, and may fail."""

from collections.abc import Callable
from typing import Any

from kafka2hive.model.paths.path import base_name
from kafka2hive.storage.port import (
    Denied,
    FileStatus,
    NoRoom,
    NotFound,
    OutcomeUnknown,
    StorageError,
    Unavailable,
)
from kafka2hive.storage.stored_file import StoredFile
from tests.harness.stored import stored
from tests.simulation.namenode import FileNode
from tests.simulation.watch import CERTIFICATE
from tests.simulation.world import Request, World


class SimulatedFileSystem:
    """The port of actor `who`. `hand_over` lets other actors run; `last` is its last mutation, for the coverage counters.

    `faults` counts its faults: an actor that gives up without a fault is a finding.
    """

    def __init__(self, world: World, who: str = "-", hand_over: Callable[[], None] = lambda: None) -> None:
        self.world = world
        self.who = who
        self.hand_over = hand_over
        self.last = Request("nothing", "")
        self.faults = 0
        self._is_unanswered = False

    def failed(self) -> None:
        """Count a fault of this actor."""
        self.faults += 1

    def create(self, path: str) -> "SimulatedWriter":
        node = self._mutate(Request("create", path))
        assert isinstance(node, FileNode)
        return SimulatedWriter(self, path, node)

    def rename(self, source: str, target: str) -> None:
        self._mutate(Request("rename", source, target))

    def delete(self, path: str) -> bool:
        return bool(self._mutate(Request("delete", path)))

    def mkdirs(self, path: str) -> None:
        self._mutate(Request("mkdirs", path))

    def read(self, path: str) -> bytes:
        self._reading("read", path)
        return self.world.namenode.read(path)

    def open(self, path: str) -> StoredFile:
        return stored(self.read(path))

    def tail(self, path: str, most: int) -> bytes:
        data = self.read(path)
        return data[max(0, len(data) - most) :]

    def stat(self, path: str) -> FileStatus:
        self._reading("stat", path)
        return self.world.namenode.stat(path)

    def list(self, path: str) -> tuple[FileStatus, ...]:
        self._reading("list", path)
        return self.world.namenode.list(path)

    def _reading(self, operation: str, path: str) -> None:
        self.hand_over()
        world = self.world
        was_unanswered, self._is_unanswered = self._is_unanswered, False
        is_silent = was_unanswered and world.stays_silent()
        if is_silent or (world.rates.read_fails and world.random() < world.rates.read_fails):
            self.faults += 1
            world.tell(self.who, f"{operation} {path} = Unavailable")
            raise Unavailable(path)
        if world.trace:
            world.tell(self.who, f"{operation} {path}{self._seen(operation, path)}")

    def _seen(self, operation: str, path: str) -> str:
        try:
            if operation == "list":
                return " = " + (" ".join(s.name for s in self.world.namenode.list(path)) or "(empty)")
            return f" = {self.world.namenode.stat(path).length} bytes"
        except NotFound:
            return " = NotFound"

    def _mutate(self, request: Request) -> Any:
        self.hand_over()
        self.last = request
        world = self.world
        if world.trouble is not None and _troubled(world.trouble, request):
            self.faults += 1
            world.tell(self.who, f"{request} = {world.trouble.__name__}")
            raise world.trouble(request.path)
        if world.forbidden and _forbidden(world.forbidden, request):
            self.faults += 1
            world.tell(self.who, f"{request} = Denied (for ever)")
            raise Denied(request.path)
        if world.zones and _leaves(world.zones, request):
            self.faults += 1
            world.tell(self.who, f"{request} = Denied (between two zones)")
            raise Denied(request.path)
        if world.uncertifiable and _certifies(world.uncertifiable, request):
            world.count["certificates refused for ever"] += 1  # not a fault: it must have no other effect
            world.tell(self.who, f"{request} = Denied (for ever)")
            raise Denied(request.path)
        if world.random() < world.mutation_faults:
            return self._faulty(request)
        if world.trace:
            return self._traced(request, "OK")
        return world.execute(request)

    def _traced(self, request: Request, note: str) -> Any:
        try:
            answer = self.world.execute(request)
        except StorageError as refused:
            self.world.tell(self.who, f"{request} = {type(refused).__name__}")
            raise
        self.world.tell(self.who, f"{request} = {note}")
        return answer

    def _faulty(self, request: Request) -> Any:
        world, rates = self.world, self.world.rates
        self.faults += 1
        dice = world.random() * rates.mutation
        if (dice := dice - rates.unavailable) < 0:
            world.tell(self.who, f"{request} = Unavailable")
            raise Unavailable(request.path)
        if (dice := dice - rates.lost_request) < 0:
            world.tell(self.who, f"{request} = OutcomeUnknown (lost)")
            world.namenode.was_unclear(request.operation, request.target, False)
        elif (dice := dice - rates.lost_reply) < 0:
            self._traced(request, "OutcomeUnknown (done)")
            world.namenode.was_unclear(request.operation, request.target, True)
        elif dice - rates.delayed < 0:
            world.tell(self.who, f"{request} = OutcomeUnknown (on its way)")
            world.late.append(request)
        else:
            world.late.append(request)
            return self._traced(request, "OK (and once more later)")
        self._is_unanswered = True
        raise OutcomeUnknown(request.path)


def _forbidden(directory: str, request: Request) -> bool:
    """Return whether the request renames into the directory, except into its staging directory."""
    return request.target.startswith(directory + "/") and "/_tmp/" not in request.target


def _leaves(zones: tuple[str, ...], request: Request) -> bool:
    """Return whether the request renames from one zone into another."""
    between = {_zone(zones, request.path), _zone(zones, request.target)} if request.target else set()
    return len(between) == 2 and "" not in between


def _zone(zones: tuple[str, ...], path: str) -> str:
    """Return the encryption zone or mount of a path. A rename between two of them always fails."""
    return next((zone for zone in zones if path == zone or path.startswith(zone + "/")), "")


def _certifies(directory: str, request: Request) -> bool:
    """Return whether the request would create a certificate of the table at this location."""
    return request.target.startswith(directory + "/") and bool(
        CERTIFICATE.fullmatch(base_name(request.target))
    )


def _troubled(trouble: type[StorageError], request: Request) -> bool:
    """Return whether the trouble affects the request: a full disk or quota refuses creations, a missing permission everything."""
    return trouble is Denied or (trouble is NoRoom and request.operation in ("create", "mkdirs"))


class SimulatedWriter:
    """A file that is being written: until close succeeds, readers see any part of what was written."""

    __slots__ = ("_buffer", "_files", "_node", "_path")

    def __init__(self, files: SimulatedFileSystem, path: str, node: FileNode) -> None:
        self._files = files
        self._path = path
        self._node = node
        self._buffer = b""

    def write(self, data: bytes | memoryview) -> None:
        self._buffer += bytes(data)
        self._node.content = self._buffer[: self._files.world.below(len(self._buffer))]

    def close(self) -> None:
        """Close the file, which is found by its inode, as on HDFS, even if its directory has moved."""
        files = self._files
        files.hand_over()
        world = files.world
        dice = world.random()
        rates = world.rates
        if dice < rates.unavailable:
            files.faults += 1
            world.tell(files.who, f"close {self._path} = Unavailable")
            raise Unavailable(self._path)
        if dice < rates.unavailable + rates.lost_request:
            files.faults += 1
            world.tell(files.who, f"close {self._path} = OutcomeUnknown (lost)")
            raise OutcomeUnknown(self._path)
        self._node.content = self._buffer
        if dice < rates.unavailable + rates.lost_request + rates.lost_reply:
            files.faults += 1
            world.tell(files.who, f"close {self._path} = OutcomeUnknown (done)")
            raise OutcomeUnknown(self._path)
        if world.trace:
            world.tell(files.who, f"close {self._path} = {len(self._buffer)} bytes")

    def abandon(self) -> None:
        if self._files.world.trace:
            self._files.world.tell(self._files.who, f"abandon {self._path}")
