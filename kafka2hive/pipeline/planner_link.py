"""The planner in the driver, spoken to from Spark's reader process through a local authenticated socket.

Spark runs a stream reader's `initialOffset`, `latestOffset` and `partitions` in a Python process of its own; planning
stays in the driver, the one place that knows ledgers, set-aside tables and due times. The reader is a thin client.

Trust: the server listens on 127.0.0.1 only; both sides prove that they know a random key (multiprocessing.connection's
HMAC challenge) before a byte of a message is read; messages are JSON, never pickles. Address and key lie in one file
of mode 0600; only its path, which is no secret, travels in the data source's options.
"""

import os
import secrets
import socket
import threading
from collections.abc import Callable
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener, answer_challenge, deliver_challenge
from pathlib import Path
from typing import Protocol

import orjson

from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.pipeline.kept_error import KeptError
from kafka2hive.pipeline.values import TaskPlan

#: A call may wait for watermarks of many topics, a commit that holds the planner's lock, with `--once` for the backoff of
#: a table. A driver that died is noticed at once; this is only for one that hangs and that its watchdog did not end.
CALL_SECONDS = 3600.0
_GREETING_SECONDS = 10.0
_GONE = (EOFError, ConnectionError, OSError)


class PlannerPort(Protocol):
    """What Spark's side asks of the planner. Called from one thread at a time; answers must be repeatable."""

    def position(self) -> int:
        """Number of the newest epoch that was planned; 0 before the first."""

    def plan(self, start: int) -> int:
        """Plan what comes after epoch `start`: `start + 1`, or `start` when nothing is due.

        Asked again with the same `start` while that epoch has not run, it gives the same answer. Blocks the trigger.
        """

    def tasks(self, epoch: int) -> tuple[TaskPlan, ...]:
        """The tasks of the epoch that was planned last."""

    def target(self) -> None:
        """Pin what is in Kafka now as all there is to dump (`--once`); from then on `plan` drains it."""


class PlannerLink:
    """The driver's side: serves a planner until `close`.

    An error the planner raises is kept in `kept`, told to the reader as text, and ends the query there.
    """

    def __init__(self, planner: PlannerPort, directory: Path) -> None:
        """Listen; writes `directory/planner.link` (0600). The directory must exist and belong to this process."""
        self.kept = KeptError()
        self._planner = planner
        self._calls = threading.Lock()
        self._key = secrets.token_bytes(32)
        self._listener = Listener(("127.0.0.1", 0), backlog=8)
        self._open: set[Connection] = set()
        self._closed = False
        self.path = directory / "planner.link"
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(orjson.dumps([*self._address(), self._key.hex()]))
        self._thread = threading.Thread(target=self._accept, name="planner-link", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving; open connections end. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        self.path.unlink(missing_ok=True)
        try:  # accept() does not notice that its socket is closed: wake it
            Client(self._address()).close()
        except _GONE:
            pass  # nobody accepts any more: then it needs no waking
        self._thread.join(_GREETING_SECONDS)
        self._listener.close()
        self.hang_up()

    def hang_up(self) -> None:
        """End all open connections, as a lost network would; whoever asks next opens a new one."""
        for connection in list(self._open):
            _hang_up(connection)

    def _address(self) -> tuple[str, int]:
        host, port = self._listener.address  # a pair, as the listener's is TCP
        return str(host), int(port)

    def _accept(self) -> None:
        while True:
            connection = self._listener.accept()
            if self._closed:
                connection.close()
                return
            threading.Thread(
                target=self._serve, args=(connection,), name="planner-link-connection", daemon=True
            ).start()

    def _serve(self, connection: Connection) -> None:
        """One connection until it ends; whoever does not know the key within some seconds is dropped."""
        self._open.add(connection)
        watch = threading.Timer(_GREETING_SECONDS, _hang_up, (connection,))
        watch.daemon = True
        watch.start()
        try:
            deliver_challenge(connection, self._key)
            answer_challenge(connection, self._key)
            watch.cancel()
            while True:
                method, *arguments = orjson.loads(connection.recv_bytes())
                connection.send_bytes(orjson.dumps(self._answer(str(method), *arguments)))
        except (*_GONE, AuthenticationError):
            pass  # a reader that ended or a stranger: the next one opens a new connection
        finally:
            watch.cancel()
            self._open.discard(connection)
            connection.close()

    def _answer(self, method: str, *arguments: int) -> list[object]:
        """`[True, value]`, or `[False, text]` when the planner raised."""
        calls: dict[str, Callable[..., object]] = {
            "position": self._planner.position,
            "plan": self._plan,
            "target": self._planner.target,
        }
        call = KeptError()
        with self._calls, call:
            return [True, calls[method](*arguments)]
        self.kept.error = self.kept.error or call.error
        return [False, f"{type(call.error).__name__}: {call.error}"]

    def _plan(self, start: int) -> int:
        planned = self._planner.plan(start)
        if planned not in (start, start + 1):
            raise ValueError(f"after epoch {start} comes {start + 1}, the planner said {planned}")
        return planned


def _hang_up(connection: Connection) -> None:
    """End a connection that another thread reads from: closing it would leave that thread waiting on a dead number."""
    try:
        with socket.socket(fileno=os.dup(connection.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it has ended by itself


class PlannerClient:
    """The reader's side; connects at its first call, and anew when the connection was lost.

    Raises ServiceUnavailable when the driver does not answer, PlannerFailed when it raised.
    """

    def __init__(self, path: Path, call_seconds: float = CALL_SECONDS) -> None:
        self._path = path
        self._call_seconds = call_seconds
        self._connection: Connection | None = None

    def position(self) -> int:
        """See PlannerPort."""
        return int(str(self._call("position")))

    def plan(self, start: int) -> int:
        """See PlannerPort."""
        return int(str(self._call("plan", start)))

    def target(self) -> None:
        """See PlannerPort."""
        self._call("target")

    def close(self) -> None:
        """End the connection; the next call opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _call(self, method: str, *arguments: int) -> object:
        """Calls are repeatable, so one lost connection is answered by asking once more on a new one."""
        try:
            return self._ask(method, *arguments)
        except _GONE:
            self.close()
        try:
            return self._ask(method, *arguments)
        except (*_GONE, AuthenticationError) as error:
            self.close()
            raise ServiceUnavailable(
                "planner.gone", f"the driver does not answer {method}{arguments}: {error!r}"
            ) from error

    def _ask(self, method: str, *arguments: int) -> object:
        if self._connection is None:
            host, port, key = orjson.loads(self._path.read_bytes())
            self._connection = Client((host, port), authkey=bytes.fromhex(key))
        self._connection.send_bytes(orjson.dumps([method, *arguments]))
        if not self._connection.poll(self._call_seconds):
            self.close()
            raise ServiceUnavailable(
                "planner.silent", f"the driver did not answer {method}{arguments} for {self._call_seconds} s"
            )
        good, value = orjson.loads(self._connection.recv_bytes())
        if not good:
            raise PlannerFailed(str(value))
        return value


class PlannerFailed(RuntimeError):
    """The planner in the driver raised; the error itself is kept there (`PlannerLink.kept`)."""
