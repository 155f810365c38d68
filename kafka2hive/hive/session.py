"""One HiveServer2 session over PyHive, with the time limit that PyHive lacks, and the meaning of its errors."""

import logging
import re
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

from kafka2hive.config.keys import HiveOptions
from kafka2hive.hive.connection import Connection
from kafka2hive.hive.discovery import servers_of
from kafka2hive.hive.network import network_errors, timed_out, was_closed
from kafka2hive.model.metastore import (
    HiveLoginRefused,
    MetastoreRefused,
    MetastoreUnavailable,
    NoSuchPartition,
    NoSuchTable,
    StatementFailed,
    TooManySessions,
)

log = logging.getLogger(__name__)

Row = tuple[Any, ...]

LOGIN_SECONDS = 8.0
NO_SUCH_TABLE = 10001
NO_SUCH_PARTITION = 10006
NO_SUCH_DATABASE = 10072

OUTAGE = re.compile(
    r"TTransportException|Could not connect to meta ?store|SessionHiveMetaStoreClient|Unable to instantiate"
    r"|Connection (refused|reset)|Broken pipe|SocketTimeout|SocketException|ConnectException|NoRouteToHost"
    r"|UnknownHostException|SafeMode|StandbyException|Invalid SessionHandle|LockException|[Tt]imed out|Timeout"
    r"|OutOfMemory|no available server|SQLTransientConnection|Communications link failure|JDOException|Derby.*shutdown"
)
_LIMIT = re.compile(r"Connection limit per (user|ip ?address|user:ip ?address) reached", re.IGNORECASE)
BLAMES_STATEMENT = re.compile(
    r"NoSuchObject|AlreadyExists|InvalidObject|InvalidOperation|InvalidPartition|AccessControl|Permission denied"
    r"|partition spec is invalid|SemanticException|ParseException|AnalysisException|ValidationFailure"
    r"|HiveAccessControl|HiveAuthz"
)
# SQLSTATE classes that blame the statement (22: data, 28: authorization, 42: syntax or access rule).
_REFUSING_CLASSES = ("22", "28", "42")


class Closable(Protocol):
    """A session: `close` waits until a statement under way has ended; the next statement opens it again."""

    def close(self) -> None: ...


class SessionTurns:
    """The sessions of this process at one server for one user.

    Once the server refuses another session, they take turns: before one of them runs a statement, all others are closed.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._sessions: weakref.WeakSet[Closable] = weakref.WeakSet()
        self.are_taken = False

    def add(self, session: Closable) -> None:
        with self._lock:
            self._sessions.add(session)

    def begin(self, refusal: TooManySessions) -> None:
        """Let the sessions take turns from now on."""
        if not self.are_taken:
            log.warning("%s; from now on this process uses one session at a time", refusal)
            self.are_taken = True

    @contextmanager
    def of(self, session: Closable) -> Iterator[None]:
        """Close all other sessions, and keep them closed until the block ends."""
        with self._lock:
            for other in list(self._sessions):
                if other is not session:
                    other.close()
            yield


_turns: dict[tuple[str, int, str], SessionTurns] = {}


class HiveSession:
    """A session that opens at the first statement and again after a failure. Threads take turns.

    Every statement must be safe to run twice: if the session died while idle (the server restarted, or an idle timeout),
    the statements are run again in a new session. A connection that the server closed while the session was being opened is
    tried once more, too: a busy server does so. The options' `timeout_seconds` bounds each network read.
    """

    def __init__(self, options: HiveOptions) -> None:
        self._given = options
        self._servers = options.servers
        self._options = self._servers[0]
        self._lock = threading.RLock()
        self._pyhive: Any = None
        self._connection: Connection | None = None
        self._turns = _turns.setdefault((options.host, options.port, options.user), SessionTurns())
        self._turns.add(self)

    @property
    def address(self) -> str:
        """`host:port` of the server in use, for messages."""
        return f"{self._options.host}:{self._options.port}"

    def run(self, *statements: str) -> list[Row]:
        """Run statements one after another in one session. Return the rows of the last one, `[]` if it has none.

        Raises MetastoreUnavailable, MetastoreRefused (NoSuchTable, NoSuchPartition). After MetastoreUnavailable, any of
        the statements may have been carried out. Raises TooManySessions if the server refuses even this process's only session.
        """
        if not self._turns.are_taken:
            try:
                return self._run_now(statements)
            except TooManySessions as refusal:
                self._turns.begin(refusal)
        with self._turns.of(self):
            return self._run_now(statements)

    def _run_now(self, statements: tuple[str, ...]) -> list[Row]:
        with self._lock:
            reused = self._pyhive is not None
            try:
                return self._run(statements)
            except _SessionDied as died:
                if not reused and not died.at_opening:
                    raise MetastoreUnavailable(str(died)) from died
                when = "while idle" if reused else "while it was being opened"
                log.info("the session at %s died %s (%s), opening another", self.address, when, died)
            try:
                return self._run(statements)
            except _SessionDied as died:
                raise MetastoreUnavailable(str(died)) from died

    def close(self) -> None:
        """End the session; the next statement opens a new one. Never raises."""
        with self._lock:
            connection, self._pyhive = self._pyhive, None
            if connection is None:
                return
            from pyhive import exc

            try:
                connection.close()
            except (exc.Error, *network_errors()) as error:  # the server may refuse this as well
                log.debug("closing the session at %s: %s", self.address, error)
                self._close_transport()

    def _run(self, statements: tuple[str, ...]) -> list[Row]:
        from pyhive import exc

        rows: list[Row] = []
        statement = "open a session"
        try:
            connection = self._open()
            for statement in statements:
                rows = _execute(connection, statement)
        except exc.Error as error:
            status = _status(error)
            if status is None:
                self._drop()
                raise MetastoreUnavailable(f"HiveServer2 at {self.address}: {error}") from error
            if "Invalid SessionHandle" in (status.errorMessage or ""):
                self._drop()
                raise _SessionDied(f"HiveServer2 at {self.address}: {status.errorMessage}") from error
            if is_missing_partition(status):
                raise NoSuchPartition(str(from_status(status, statement))) from None
            if is_missing_table(status):
                raise NoSuchTable(str(from_status(status, statement))) from None
            failure = from_status(status, statement)
            if isinstance(failure, MetastoreUnavailable):
                self._drop()
            raise failure from None  # PyHive's error holds the whole Java stack
        except network_errors() as error:
            refusal = self._refusal(error)
            at_opening = self._pyhive is None and was_closed(error)
            self._drop()
            self._prefer_another()
            if refusal is not None:
                raise refusal from None
            if timed_out(error):
                seconds = self._options.timeout_seconds
                raise MetastoreUnavailable(
                    f"HiveServer2 at {self.address} did not answer within {seconds:g} s: {statement[:200]}"
                ) from error
            raise _SessionDied(f"HiveServer2 at {self.address}: {error}", at_opening) from error
        return rows

    def _open(self) -> Any:
        """Return the open connection. `USE default` has run in it, so both server and metastore have answered."""
        if self._pyhive is None:
            from pyhive import hive

            self._servers = servers_of(self._given)
            if len(self._servers) > 1 or self._options not in self._servers:
                self._options = answering(self._servers, self._options)
            self._connection = Connection(self._options)
            self._pyhive = hive.Connection(
                thrift_transport=self._connection.transport, username=self._options.user, database="default"
            )
        return self._pyhive

    def _refusal(self, error: BaseException) -> MetastoreUnavailable | None:
        """Return why the login failed; None if there is a session."""
        return self._connection.refusal(error) if self._connection and self._pyhive is None else None

    def _prefer_another(self) -> None:
        """Let the next session open at the next host, if there is one: this one has not answered."""
        if self._options in self._servers:
            number = self._servers.index(self._options)
            self._options = self._servers[(number + 1) % len(self._servers)]

    def _drop(self) -> None:
        """Drop the connection without a request to the server, which may not answer."""
        self._close_transport()
        self._pyhive = self._connection = None

    def _close_transport(self) -> None:
        if self._connection is not None:
            self._connection.transport.close()


def log_in(options: HiveOptions) -> None:
    """Log in to the first server that answers. Raises MetastoreUnavailable, also as HiveLoginRefused."""
    servers = servers_of(options)
    answering(servers, servers[0])


def answering(servers: Sequence[HiveOptions], first: HiveOptions) -> HiveOptions:
    """Return the first server that takes a login, beginning with `first` if it is among them.

    Raises MetastoreUnavailable with what each of them said, also as HiveLoginRefused if all refuse the login.
    """
    failures: list[MetastoreUnavailable] = []
    number = servers.index(first) if first in servers else 0
    for server in (*servers[number:], *servers[:number]):
        try:
            _log_in(server)
        except MetastoreUnavailable as error:
            failures.append(error)
        else:
            return server
    are_refusals = all(isinstance(failure, HiveLoginRefused) for failure in failures)
    raise (HiveLoginRefused if are_refusals else MetastoreUnavailable)("; ".join(map(str, failures)))


def _log_in(options: HiveOptions) -> None:
    """Connect to one server, log in and close the connection. Without a session, no limit of sessions counts it.

    Raises MetastoreUnavailable, also as HiveLoginRefused; each read waits at most LOGIN_SECONDS.
    """
    quick = replace(options, timeout_seconds=min(options.timeout_seconds, LOGIN_SECONDS))
    for is_last in (False, True):  # a busy server closes connections
        connection = Connection(quick)
        try:
            connection.log_in()
        except network_errors() as error:
            if is_last or not was_closed(error):
                why = MetastoreUnavailable(f"HiveServer2 at {options.host}:{options.port}: {error}")
                raise connection.refusal(error) or why from error
        else:
            return
        finally:
            connection.transport.close()


class _SessionDied(Exception):
    """The session is gone; the statements may be run again in a new one. `at_opening`: the server closed a new connection."""

    def __init__(self, message: str, at_opening: bool = False) -> None:
        super().__init__(message)
        self.at_opening = at_opening


def _execute(connection: Any, statement: str) -> list[Row]:
    cursor = connection.cursor()
    cursor.execute(statement)
    rows = [tuple(row) for row in cursor.fetchall()] if cursor.description else []
    cursor.close()
    return rows


def _status(error: BaseException) -> Any:
    """Return the TStatus in a PyHive error; None if it has none."""
    response = error.args[0] if error.args else None
    return getattr(response, "status", None)


def from_status(status: Any, statement: str) -> MetastoreUnavailable | MetastoreRefused:
    """Return the error for a TStatus that is not a success; its text ends with the beginning of `statement`."""
    text = f"{first_line(status.errorMessage)} [{status.sqlState}/{status.errorCode}] in: {_short(statement)}"
    message = status.errorMessage or ""
    state = status.sqlState or ""
    if _LIMIT.search(message):
        return TooManySessions(text)
    if OUTAGE.search(message):
        return MetastoreUnavailable(text)
    if state.startswith(_REFUSING_CLASSES) or BLAMES_STATEMENT.search(message):
        return MetastoreRefused(text)
    return StatementFailed(text)


def is_missing_table(status: Any) -> bool:
    """Return whether a TStatus says that the table or its database does not exist (Hive's codes, Spark's SQLSTATE)."""
    return status.errorCode in (NO_SUCH_TABLE, NO_SUCH_DATABASE) or status.sqlState in ("42S02", "42P01")


def is_missing_partition(status: Any) -> bool:
    """Return whether a TStatus says that the partition does not exist (Hive's code, Spark's error class)."""
    return status.errorCode == NO_SUCH_PARTITION or "[PARTITIONS_NOT_FOUND]" in (status.errorMessage or "")


def first_line(text: str | None) -> str:
    return (text or "no message").strip().splitlines()[0][:500]


def _short(statement: str) -> str:
    return statement if len(statement) <= 200 else f"{statement[:200]}... ({len(statement)} characters)"
