"""The FileSystem port on HDFS, through hdfs-native: no JVM, no `hdfs` command.

hdfs-native is imported at the first use, and the client is made once per process: it does not survive a fork.
Nothing is sent twice: a lost response is OutcomeUnknown, and the caller reads back. Why so, and what was measured:
docs/adr/0002-hdfs-native.md.
"""

import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from kafka2hive.config.keys import KerberosOptions
from kafka2hive.config.rules.kerberos import AUTHENTICATION
from kafka2hive.model.errors import ConfigError
from kafka2hive.storage.guard import CallTimeout, Guard, TooManyStuck
from kafka2hive.storage.hdfs_errors import Operation, SourceOrParent, classify, lost_response
from kafka2hive.storage.hdfs_writer import KEEP, Closings, HdfsWriter, disarmed
from kafka2hive.storage.port import (
    FileStatus,
    NotFound,
    OutcomeUnknown,
    ParentMissing,
    StorageError,
    Unavailable,
)

# hdfs-native's own defaults keep a call to a dead NameNode waiting for three minutes. With these it is about 6.5 s (measured in
# the ADR): long enough for a graceful failover inside the call, short enough for the caller's own retries to count.
FAILOVER_DEFAULTS = {
    "dfs.client.failover.max.attempts": "8",
    "dfs.client.failover.sleep.base.millis": "100",
    "dfs.client.failover.sleep.max.millis": "1000",
}


class Doubts:
    """Lost responses of one process, over all its connections. Any thread may count; none is ever taken back.

    Who never asked for a change (`changes`) needs no proof, and makes none: `verify` changes nothing.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.count = 0
        self.changes = False

    def add(self) -> None:
        """One more; also when what was asked long ago is given up only now."""
        with self._lock:
            self.count += 1


class HdfsSession:
    """`client` is a hdfs_native.Client. `guard`, `doubts` and `closings` are handed on when a connection is given up for a
    new one.

    A connection has settled the doubts that were there before the newest journaled change it brought an acknowledgement of
    was sent; a new one has settled none.
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
        """Whether a question over this connection needs a proof first."""
        return self._settled < self.doubts.count

    def settle(self, doubts: int) -> None:
        """A journaled change was acknowledged; `doubts` had been counted when it was sent."""
        with self._lock:
            self._settled = max(self._settled, doubts)


def connect(
    root: str, properties: dict[str, str], config_dir: str | None, kerberos: KerberosOptions | None = None
) -> Any:
    """A hdfs_native.Client: `properties` win over our defaults, which win over `config_dir`. Raises ConfigError.

    With a keytab it logs in by itself before each connection that it opens, whatever tickets have expired meanwhile.
    """
    from hdfs_native import Client

    own = {AUTHENTICATION: "kerberos"} if kerberos else {}
    login = {
        "kerberos_principal": kerberos.principal if kerberos else None,
        "kerberos_keytab": kerberos.keytab if kerberos else None,
        "kerberos_cache": kerberos.cache if kerberos else None,
    }
    try:
        return Client(root, {**FAILOVER_DEFAULTS, **own, **properties}, config_dir, **login)
    except (OSError, RuntimeError) as error:
        raise ConfigError(
            "storage.hdfs",
            f"{root}: {error}",
            "check storage.uri; a nameservice needs its NameNodes in storage.properties or storage.config_dir",
        ) from None


Result = TypeVar("Result")

# The changes that a NameNode answers only when its journal has them (mkdirs of what is there, and a delete that finds
# nothing, are answered from memory).
_JOURNALED = (Operation.CREATE, Operation.RENAME, Operation.PROVE)


class HdfsFileSystem:
    """One HDFS. `root` is `hdfs://host:port` or `hdfs://nameservice`; every path given must begin with it.

    `properties` are Hadoop client keys and win over those in `config_dir`. `kerberos` logs in, again before each new
    connection; None: with this process's own tickets or delegation tokens, where HDFS wants any.
    A call to the NameNode that has not answered after `call_seconds`, or a transfer of data after `transfer_seconds`,
    raises OutcomeUnknown (Unavailable when it only asked); the next call goes over a new connection. After a lost
    response, questions are asked only of a NameNode that has acknowledged a change since (`_prove`).
    """

    def __init__(
        self,
        root: str,
        properties: tuple[tuple[str, str], ...] = (),
        config_dir: str | None = None,
        kerberos: KerberosOptions | None = None,
        call_seconds: float = 60.0,
        transfer_seconds: float = 300.0,
    ) -> None:
        self.root = root.rstrip("/")
        self._properties = dict(properties)
        self._config_dir = config_dir
        self._kerberos = kerberos
        self._has_login = kerberos is not None or self._properties.get(AUTHENTICATION) == "kerberos"
        self._call_seconds = call_seconds
        self._transfer_seconds = transfer_seconds
        # by pid; a parent's is kept: dropping it after a fork may hang
        self._sessions: dict[int, HdfsSession] = {}

    def create(self, path: str) -> HdfsWriter:
        name = self._name(path)

        def make(client: Any) -> tuple[Any, Callable[[], None]]:
            from hdfs_native import WriteOptions

            return disarmed(client.create(name, WriteOptions(overwrite=False, create_parent=False)))

        raw, close = self._ask(Operation.CREATE, path, make)
        return HdfsWriter(self, path, raw, close)

    def rename(self, source: str, target: str) -> None:
        old, new = self._name(source), self._name(target)
        try:
            self._ask(Operation.RENAME, source, lambda client: client.rename(old, new, overwrite=False))
        except SourceOrParent as unclear:
            self.stat(source)  # raises NotFound when it is the source that is missing
            raise ParentMissing(source, str(unclear)) from None

    def read(self, path: str) -> bytes:
        name = self._name(path)
        return self._ask(
            Operation.READ,
            path,
            lambda client: bytes(client.read(name).read()),
            seconds=self._transfer_seconds,
        )

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
        found = self._ask(Operation.LIST, path, lambda client: list(client.list_status(name)))
        if len(found) == 1 and found[0].path == name:
            raise NotFound(path, "not a directory")  # a NameNode lists a file as itself
        statuses = (self._status(self.root + status.path, status) for status in found)
        return tuple(sorted(statuses, key=lambda status: status.name))

    def delete(self, path: str) -> bool:
        """See FileSystem.delete; a directory that is not empty is refused (StorageError)."""
        name = self._name(path)
        try:
            return bool(
                self._ask(Operation.DELETE, path, lambda client: client.delete(name, recursive=False))
            )
        except NotFound:
            return False

    def mkdirs(self, path: str) -> None:
        name = self._name(path)
        self._ask(Operation.MKDIRS, path, lambda client: client.mkdirs(name, create_parent=True))

    def recover_lease(self, path: str) -> bool:
        """Whether the file is closed; one that is not begins to be (block recovery, a few seconds). For HdfsWriter."""
        name = self._name(path)
        return bool(self._ask(Operation.RECOVER, path, lambda client: client.recover_lease(name)))

    def transfer(self, operation: Operation, path: str, function: Callable[[], Result]) -> Result:
        """Run a step of a writer with the limit for data; for HdfsWriter."""
        return self._ask(operation, path, lambda _: function(), seconds=self._transfer_seconds)

    def close(self, path: str, length: int, close: Callable[[], None]) -> None:
        """Close a writer with hdfs-native's `close`; its `length` bytes are synced. For HdfsWriter."""
        name, session = self._name(path), self._session()

        def sooner(client: Any) -> None:
            session.closings.close(client, name, length, close)

        self._ask_over(
            session=session,
            operation=Operation.CLOSE,
            path=path,
            function=sooner,
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
        session.doubts.changes |= operation.changes
        doubts = session.doubts.count
        try:
            result = session.guard.call(lambda: function(session.client), seconds)
        except CallTimeout as hang:
            if session.doubts.changes:
                session.doubts.add()
            self._replace(session)
            raise lost_response(operation, path, str(hang)) from None
        except TooManyStuck as full:
            raise Unavailable(path, str(full)) from None
        except (OSError, RuntimeError) as error:
            refused = classify(operation, path, error, has_login=self._has_login)
        else:
            if operation in _JOURNALED:
                session.settle(doubts)
            return result
        if isinstance(refused, OutcomeUnknown):
            session.doubts.add()
        raise refused  # outside of the except: the Java stack trace stays out of the chain

    def _prove(self, session: HdfsSession, path: str) -> None:
        """Have a change acknowledged at `path`, or at what is there above it, before a question is believed.

        A NameNode applies a change in memory first, and answers questions from there. One that was suspended while
        another became active wakes up, carries out what waits in its sockets, shows it, and dies when its journal refuses: what
        it showed never happened. One that acknowledges a change has everything in its journal that it did before.
        The question that follows goes over the same connection, and so to the same NameNode unless that one fails in
        between. Raises Unavailable.
        """
        name = self._name(path)

        def touch(client: Any) -> None:
            near = name
            while True:
                try:
                    status = client.get_file_info(near)
                except FileNotFoundError:
                    near = near.rpartition("/")[0] or "/"
                    continue
                client.set_times(near, status.modification_time, KEEP)
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
            raise Unavailable(path, f"whether the NameNode is active is in doubt: {error}") from None

    def _session(self) -> HdfsSession:
        """Return this process's; two threads may create one each, the first one stays."""
        session = self._sessions.get(os.getpid())
        return session or self._sessions.setdefault(os.getpid(), self._new_session())

    def _new_session(self) -> HdfsSession:
        return HdfsSession(self._connect(), Guard(), Doubts(), Closings())

    def _replace(self, hung: HdfsSession) -> None:
        """Connect again: the hung one may never respond. In random order, or the same NameNode hangs again."""
        if self._session() is hung:
            nameservice = self.root.partition("://")[2]
            client = self._connect({f"dfs.client.failover.random.order.{nameservice}": "true"})
            self._sessions[os.getpid()] = HdfsSession(client, hung.guard, hung.doubts, hung.closings)

    def _connect(self, more: dict[str, str] | None = None) -> Any:
        return connect(self.root, {**(more or {}), **self._properties}, self._config_dir, self._kerberos)

    def _name(self, path: str) -> str:
        """The path as the NameNode knows it. Raises StorageError for a path of another file system."""
        if not path.startswith(self.root + "/"):
            raise StorageError(path, f"is not on {self.root}")
        return path[len(self.root) :].rstrip("/") or "/"

    @staticmethod
    def _status(path: str, status: Any) -> FileStatus:
        return FileStatus(path, 0 if status.isdir else status.length, status.isdir)
