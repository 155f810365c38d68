"""The FileSystem port on HDFS, through hdfs-native: no JVM, no `hdfs` command.

hdfs-native is imported at the first use, and each process creates its own client, which does not survive a fork.
No change is sent twice: a lost response raises OutcomeUnknown, and the caller reads back. docs/adr/0002-hdfs-native.md has
the reasons and the measurements.
"""

import io
import math
import os
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from kafka2hive.config.keys import KerberosOptions
from kafka2hive.config.keys.hdfs_client import AUTHENTICATION, NewFiles
from kafka2hive.model.errors import ConfigError
from kafka2hive.storage.concurrency import CallTimeout, Guard, TooManyStuck
from kafka2hive.storage.hdfs_errors import Operation, SourceOrParent, classify, lost_response
from kafka2hive.storage.hdfs_writer import KEEP, Closings, HdfsWriter, disarm
from kafka2hive.storage.port import (
    FileStatus,
    FreeSpace,
    NotFound,
    OutcomeUnknown,
    ParentMissing,
    StorageError,
    Unavailable,
)
from kafka2hive.storage.stored_file import StoredFile

FAILOVER_DEFAULTS = {
    "dfs.client.failover.max.attempts": "8",
    "dfs.client.failover.sleep.base.millis": "100",
    "dfs.client.failover.sleep.max.millis": "1000",
}
"""With these properties, a call to a dead NameNode takes about 6.5 s (measured in the ADR); with hdfs-native's defaults, 180 s.

That is long enough for a graceful failover during the call, and short enough for the caller to retry.
"""
_JOURNALED = (Operation.CREATE, Operation.RENAME, Operation.PROVE)
"""Changes that a NameNode acknowledges only after its journal has them.

The mkdirs of an existing directory and the delete of a missing file may be answered from memory.
"""
RETRY_SECONDS = 5.0
"""How long a program that has lost its patience does not ask again."""
_NO_QUOTA = 1 << 62

Result = TypeVar("Result")


class Doubts:
    """Counts the lost responses of one process over all its connections. Safe for any thread; the count only grows.

    `changes` says whether the process has requested any change. If not, a timeout needs no proof: `verify` must not write.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.count = 0
        self.changes = False

    def add(self) -> None:
        """Count one lost response, at the time when its request is given up."""
        with self._lock:
            self.count += 1


class Patience:
    """What is left of `seconds` after calls without an answer; an answer restores it."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._spent = 0.0
        self._spent_at = -math.inf

    def spend(self, began: float) -> None:
        """Note that a call without an answer, which began at `began` (monotonic seconds), has ended now."""
        self._spent_at = time.monotonic()
        self._spent += self._spent_at - began

    def restore(self) -> None:
        self._spent = 0.0

    def is_lost(self, now: float) -> bool:
        """Return whether none is left, and the last of those calls ended less than RETRY_SECONDS ago."""
        return self._spent >= self.seconds and now - self._spent_at < RETRY_SECONDS


class HdfsSession:
    """One connection. `client` is an hdfs_native.Client. The connection that replaces it keeps `guard`, `doubts`, `closings`.

    An acknowledged journaled change settles the doubts that had been counted when the change was sent. A new connection
    has settled none.
    """

    def __init__(self, client: Any, guard: Guard, doubts: Doubts, closings: Closings) -> None:
        self.client = client
        self.guard = guard
        self.doubts = doubts
        self.closings = closings
        self._lock = threading.Lock()
        self._settled = 0

    @property
    def in_doubt(self) -> bool:
        """Whether a read over this connection needs a proof first."""
        return self._settled < self.doubts.count

    def settle(self, doubts: int) -> None:
        """Settle the `doubts` that had been counted when an acknowledged journaled change was sent."""
        with self._lock:
            self._settled = max(self._settled, doubts)


def connect(
    root: str, properties: dict[str, str], config_dir: str | None, kerberos: KerberosOptions | None = None
) -> Any:
    """Return an hdfs_native.Client. `properties` win over our defaults, which win over `config_dir`. Raises ConfigError.

    With a keytab, the client logs in before each connection that it opens, so expired tickets do not matter.
    """
    from hdfs_native import Client

    authentication = {AUTHENTICATION: "kerberos"} if kerberos else {}
    login = {
        "kerberos_principal": kerberos.principal if kerberos else None,
        "kerberos_keytab": kerberos.keytab if kerberos else None,
        "kerberos_cache": kerberos.cache if kerberos else None,
    }
    try:
        return Client(root, {**FAILOVER_DEFAULTS, **authentication, **properties}, config_dir, **login)
    except (OSError, RuntimeError) as error:
        raise ConfigError(
            "storage.hdfs",
            f"{root}: {error}",
            "check storage.uri; a nameservice needs its NameNodes in storage.properties or storage.config_dir",
        ) from None


def _fetched(reader: Any, start: int, count: int) -> bytes:
    """Return a range of a file. hdfs-native's `read` and `read_range` hold it twice while they copy it to Python's memory."""
    content = io.BytesIO()
    for part in reader.read_range_stream(start, count):
        content.write(part)
    return content.getvalue()


class _OpenFile:
    """A file's reader in hdfs-native, which knows the file's blocks and belongs to one client."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._client: Any = None
        self._reader: Any = None

    def reader(self, client: Any) -> Any:
        if client is not self._client:
            self._reader, self._client = client.read(self._name), client
        return self._reader


class HdfsFileSystem:
    """One HDFS. `root` is `hdfs://host:port` or `hdfs://nameservice`; every path must begin with it.

    `properties` are Hadoop client keys and win over those in `config_dir`. With `kerberos`, the client logs in before each
    new connection; with None, it uses the process's tickets or delegation tokens, if HDFS requires any. `new_files` has the
    modes, replication and block size of what is created, because hdfs-native does not read those properties.
    If a call to the NameNode takes longer than `call_seconds`, or a transfer of data longer than `transfer_seconds`, it
    raises OutcomeUnknown (Unavailable for a read), and the next call uses a new connection. After a lost response, a read
    goes only to a NameNode that has acknowledged a change since (`_prove`).

    With `patience_seconds`, no call takes longer than that, and once calls without an answer have taken as long together, calls
    within RETRY_SECONDS after the last of them raise Unavailable at once.
    """

    def __init__(
        self,
        root: str,
        properties: tuple[tuple[str, str], ...] = (),
        config_dir: str | None = None,
        kerberos: KerberosOptions | None = None,
        new_files: NewFiles = NewFiles(),  # noqa: B008  it is frozen
        call_seconds: float = 60.0,
        transfer_seconds: float = 300.0,
        patience_seconds: float = math.inf,
    ) -> None:
        self.root = root.rstrip("/")
        self._properties = dict(properties)
        self._config_dir = config_dir
        self._kerberos = kerberos
        self._has_login = kerberos is not None or self._properties.get(AUTHENTICATION) == "kerberos"
        self._new_files = new_files
        self._call_seconds = call_seconds
        self._transfer_seconds = transfer_seconds
        self._patience = Patience(patience_seconds)
        # by pid; the parent's is kept, because dropping it after a fork may hang
        self._sessions: dict[int, HdfsSession] = {}

    def create(self, path: str) -> HdfsWriter:
        name, made = self._name(path), self._new_files

        def make(client: Any) -> tuple[Any, Callable[[], None]]:
            from hdfs_native import WriteOptions

            options = WriteOptions(
                block_size=made.block_size,
                replication=made.replication,
                permission=made.file_mode,
                overwrite=False,
                create_parent=False,
            )
            return disarm(client.create(name, options))

        raw, close = self._ask(Operation.CREATE, path, make)
        return HdfsWriter(self, path, raw, close)

    def rename(self, source: str, target: str) -> None:
        old, new = self._name(source), self._name(target)
        try:
            self._ask(Operation.RENAME, source, lambda client: client.rename(old, new, overwrite=False))
        except SourceOrParent as error:
            self.stat(source)  # raises NotFound if the source is missing
            raise ParentMissing(source, str(error)) from None

    def read(self, path: str) -> bytes:
        name = self._name(path)

        def read(client: Any) -> bytes:
            reader = client.read(name)
            return _fetched(reader, 0, len(reader))

        return self._ask(Operation.READ, path, read, seconds=self._transfer_seconds)

    def open(self, path: str) -> StoredFile:
        """See FileSystem.open. A connection asks the NameNode once where the blocks are, not for each part."""
        file = _OpenFile(self._name(path))
        length = self._ask(Operation.READ, path, lambda client: len(file.reader(client)))

        def part(start: int, count: int) -> bytes:
            return self._ask(
                Operation.READ,
                path,
                lambda client: _fetched(file.reader(client), start, count),
                seconds=self._transfer_seconds,
            )

        return StoredFile(length, part)

    def tail(self, path: str, most: int) -> bytes:
        name = self._name(path)

        def read(client: Any) -> bytes:
            reader = client.read(name)
            reader.seek(max(0, len(reader) - most))
            return bytes(reader.read())

        return self._ask(Operation.READ, path, read, seconds=self._transfer_seconds)

    def stat(self, path: str) -> FileStatus:
        name = self._name(path)
        return self._status(path, self._ask(Operation.STAT, path, lambda client: client.get_file_info(name)))

    def list(self, path: str) -> tuple[FileStatus, ...]:
        name = self._name(path)
        entries = self._ask(Operation.LIST, path, lambda client: list(client.list_status(name)))
        if len(entries) == 1 and entries[0].path == name:
            raise NotFound(path, "not a directory")  # a NameNode lists a file as its own only child
        statuses = (self._status(self.root + entry.path, entry) for entry in entries)
        return tuple(sorted(statuses, key=lambda status: status.name))

    def delete(self, path: str) -> bool:
        """See FileSystem.delete. Raises StorageError for a directory that is not empty."""
        name = self._name(path)
        try:
            return bool(
                self._ask(Operation.DELETE, path, lambda client: client.delete(name, recursive=False))
            )
        except NotFound:
            return False

    def mkdirs(self, path: str) -> None:
        name = self._name(path)
        mode = self._new_files.directory_mode
        self._ask(Operation.MKDIRS, path, lambda client: client.mkdirs(name, mode, create_parent=True))

    def free_space(self, path: str) -> FreeSpace:
        name = self._name(path)
        used = self._ask(Operation.STAT, path, lambda client: client.get_content_summary(name))
        return FreeSpace(
            names=_remainder(used.quota, used.file_count + used.directory_count),
            bytes=_remainder(used.space_quota, used.space_consumed),
        )

    def modified_at(self, path: str) -> float:
        name = self._name(path)
        status = self._ask(Operation.STAT, path, lambda client: client.get_file_info(name))
        return float(status.modification_time) / 1000

    def recover_lease(self, path: str) -> bool:
        """Return whether the file is closed. If not, start block recovery, which closes it in a few seconds.

        HdfsWriter calls this.
        """
        name = self._name(path)
        return bool(self._ask(Operation.RECOVER, path, lambda client: client.recover_lease(name)))

    def transfer(self, operation: Operation, path: str, function: Callable[[], Result]) -> Result:
        """Run a step of a writer with the time limit for data. HdfsWriter calls this."""
        return self._ask(operation, path, lambda _: function(), seconds=self._transfer_seconds)

    def close(self, path: str, length: int, close: Callable[[], None]) -> None:
        """Close a file, whose `length` bytes are synced, with hdfs-native's `close`. HdfsWriter calls this."""
        name, session = self._name(path), self._session()

        def close_early(client: Any) -> None:
            session.closings.close(client, name, length, close)

        self._ask_over(
            session=session,
            operation=Operation.CLOSE,
            path=path,
            function=close_early,
            seconds=self._transfer_seconds,
        )

    def _ask(
        self, operation: Operation, path: str, function: Callable[[Any], Result], seconds: float | None = None
    ) -> Result:
        session = self._session()
        if session.in_doubt and not operation.changes:
            self._prove(session, path)
        return self._ask_over(
            session=session,
            operation=operation,
            path=path,
            function=function,
            seconds=seconds or self._call_seconds,
        )

    def _ask_over(
        self,
        session: HdfsSession,
        operation: Operation,
        path: str,
        function: Callable[[Any], Result],
        seconds: float,
    ) -> Result:
        began = time.monotonic()
        if self._patience.is_lost(began):
            raise Unavailable(path, f"not asked, because {self.root} does not answer")
        session.doubts.changes |= operation.changes
        doubts = session.doubts.count
        try:
            result = session.guard.call(
                lambda: function(session.client), min(seconds, self._patience.seconds)
            )
        except CallTimeout as hang:
            self._patience.spend(began)
            if session.doubts.changes:
                session.doubts.add()
            self._replace(session)
            raise lost_response(operation, path, str(hang)) from None
        except TooManyStuck as full:
            raise Unavailable(path, str(full)) from None
        except (OSError, RuntimeError) as error:
            storage_error = classify(operation, path, error, has_login=self._has_login)
        else:
            self._patience.restore()
            if operation in _JOURNALED:
                session.settle(doubts)
            return result
        is_answer = not isinstance(storage_error, OutcomeUnknown | Unavailable)
        self._patience.restore() if is_answer else self._patience.spend(began)
        if isinstance(storage_error, OutcomeUnknown):
            session.doubts.add()
        raise storage_error  # outside of the except, to keep the Java stack trace out of the chain

    def _prove(self, session: HdfsSession, path: str) -> None:
        """Have the NameNode acknowledge a change at `path`, or at its nearest existing parent, before a read is trusted.

        A NameNode applies a change in memory first, and answers reads from memory. A NameNode that was suspended while another
        became active carries out the requests in its sockets when it resumes, and shows their effects to readers, until its
        journal refuses them and it ends. A NameNode that acknowledges a change has every earlier one in its journal. The read
        that follows goes over the same connection, and so to the same NameNode unless that one fails in between. The change
        does not alter the modification time. Raises Unavailable.
        """
        name = self._name(path)

        def touch(client: Any) -> None:
            nearest = name
            while True:
                try:
                    status = client.get_file_info(nearest)
                except FileNotFoundError:
                    nearest = nearest.rpartition("/")[0] or "/"
                    continue
                client.set_times(nearest, status.modification_time, KEEP)
                return

        try:
            self._ask_over(
                session=session,
                operation=Operation.PROVE,
                path=path,
                function=touch,
                seconds=self._call_seconds,
            )
        except StorageError as error:
            raise Unavailable(path, f"it is unknown whether the NameNode is active: {error}") from None

    def _session(self) -> HdfsSession:
        """Return this process's session; if two threads create one each, the first is kept."""
        session = self._sessions.get(os.getpid())
        return session or self._sessions.setdefault(os.getpid(), self._new_session())

    def _new_session(self) -> HdfsSession:
        return HdfsSession(self._connect(), Guard(), Doubts(), Closings())

    def _replace(self, hung: HdfsSession) -> None:
        """Connect again, because the hung connection may never respond.

        NameNodes are tried in random order; otherwise the first one, which hangs, would be tried first again.
        """
        if self._session() is hung:
            nameservice = self.root.partition("://")[2]
            client = self._connect({f"dfs.client.failover.random.order.{nameservice}": "true"})
            self._sessions[os.getpid()] = HdfsSession(client, hung.guard, hung.doubts, hung.closings)

    def _connect(self, more: dict[str, str] | None = None) -> Any:
        return connect(self.root, {**(more or {}), **self._properties}, self._config_dir, self._kerberos)

    def _name(self, path: str) -> str:
        """Return the path as the NameNode knows it. Raises StorageError for a path of another file system."""
        if not path.startswith(self.root + "/"):
            raise StorageError(path, f"is not on {self.root}")
        return path[len(self.root) :].rstrip("/") or "/"

    @staticmethod
    def _status(path: str, status: Any) -> FileStatus:
        return FileStatus(path, 0 if status.isdir else status.length, status.isdir)


def _remainder(quota: int, used: int) -> int | None:
    """Return the unused part of a quota; None if there is no quota, which a NameNode shows as -1 or as the greatest number."""
    return None if quota < 0 or quota >= _NO_QUOTA else max(quota - used, 0)
