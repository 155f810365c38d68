"""A TCP proxy before a NameNode: keeps every change it is asked for, loses answers, cuts requests, sends a change again, late.

What is sent again is byte by byte the same call (the same client id and call number), as a network or a stalled
client delivers it late: the NameNode's retry cache recognises it as long as its entry lives.
"""

import functools
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from types import TracebackType

from tests.harness.namenode_wire import OPENING, answer_in, call_of, frames

CHANGES = frozenset({"create", "rename2", "delete", "mkdirs"})
_PATIENCE = 240.0


@dataclass(frozen=True, slots=True)
class Change:
    """A call that changes the namespace: `opening` and `frame` are what a connection must say to make it again."""

    method: str
    call: int
    opening: bytes
    frame: bytes
    moment: float


class Fate(Enum):
    """What becomes of a call: a lost one was carried out, a cut one never reached the NameNode."""

    ANSWERED = "answered"
    LOST = "lost"
    CUT = "cut"


class NameNodeProxy:
    """Between clients and the NameNode at `port`. `lose` says of each change whether its answer is lost, `fate` (given the
    method) what becomes of each call, questions included.

    A lost answer or a cut request ends the connection, as it does when a network breaks: every other call that waits on
    it is without an answer, too.
    """

    def __init__(self, port: int) -> None:
        self.lose: Callable[[Change], bool] = lambda change: False
        self.fate: Callable[[str], Fate] = lambda method: Fate.ANSWERED
        self.lost = 0
        self._port = port
        self._changes: list[Change] = []
        self._lock = threading.Lock()
        self._server = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()

    @property
    def url(self) -> str:
        """`hdfs://127.0.0.1:port` of the proxy."""
        return f"hdfs://127.0.0.1:{self._server.getsockname()[1]}"

    def changes(self, older_than: float = 0.0) -> list[Change]:
        """All changes asked for so far, at least so many seconds ago, in the order they came."""
        end = time.monotonic() - older_than
        with self._lock:
            return [change for change in self._changes if change.moment <= end]

    def repeat(self, change: Change) -> str:
        """Send the call again over a connection of its own; the Java class of the error, empty when it succeeded."""
        with socket.create_connection(("127.0.0.1", self._port), _PATIENCE) as link:
            link.sendall(change.opening + change.frame)
            buffer = bytearray()
            while data := link.recv(1 << 16):
                buffer += data
                for frame in frames(buffer):
                    call, error = answer_in(frame)
                    if call == change.call:
                        return error
        raise ConnectionError(f"no answer to {change.method} {change.call}")

    def __enter__(self) -> "NameNodeProxy":
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _end(self._server)
        with self._lock:
            links = list(self._open)
        for link in links:
            _end(link)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return  # closed
            try:
                server = socket.create_connection(("127.0.0.1", self._port), _PATIENCE)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            with self._lock:
                self._open |= {client, server}
            link = _Link(self, client, server)
            for pump in (link.requests, link.replies):
                threading.Thread(target=pump, name="proxy-link", daemon=True).start()

    def keep(self, change: Change) -> None:
        """Called by a link for each change."""
        with self._lock:
            self._changes.append(change)

    def closed(self, *links: socket.socket) -> None:
        """Called by a link at its end."""
        with self._lock:
            self._open -= set(links)


class _Link:
    """One client's connection and the one to the NameNode."""

    def __init__(self, proxy: NameNodeProxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._server = server
        self._opening = b""
        self._to_lose: set[int] = set()

    def requests(self) -> None:
        buffer = bytearray()
        try:
            while data := self._client.recv(1 << 16):
                buffer += data
                if not self._opening:
                    if len(buffer) < OPENING:
                        continue
                    self._opening = bytes(buffer[:OPENING])
                    del buffer[:OPENING]
                    self._server.sendall(self._opening)
                for frame in frames(buffer):
                    if self._note(frame) is Fate.CUT:
                        return
                    self._server.sendall(frame)
        except OSError:
            pass  # one side is gone
        finally:
            self._close()

    def replies(self) -> None:
        buffer = bytearray()
        try:
            while data := self._server.recv(1 << 16):
                buffer += data
                for frame in frames(buffer):
                    if answer_in(frame)[0] in self._to_lose:
                        self._proxy.lost += 1
                        return
                    self._client.sendall(frame)
        except OSError:
            pass  # one side is gone
        finally:
            self._close()

    def _note(self, frame: bytes) -> Fate:
        call, _, method = call_of(frame)
        if call < 0:
            self._opening += frame
            return Fate.ANSWERED
        fate = self._proxy.fate(method)
        if method in CHANGES:
            change = Change(method, call, self._opening, frame, time.monotonic())
            self._proxy.keep(change)
            if self._proxy.lose(change):
                fate = Fate.LOST
        if fate is Fate.LOST:
            self._to_lose.add(call)
        return fate

    def _close(self) -> None:
        _end(self._client)
        _end(self._server)
        self._proxy.closed(self._client, self._server)


def _end(link: socket.socket) -> None:
    """Close, and wake whoever waits for it."""
    try:
        link.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # not connected any more
    link.close()


class LoseSome:
    """Loses the answer of one in `least` to `most` changes, counted over all connections: random, and never none."""

    def __init__(self, chance: random.Random, least: int, most: int) -> None:
        self._gap = functools.partial(chance.randint, least, most)
        self._left = self._gap()
        self._lock = threading.Lock()

    def __call__(self, change: Change) -> bool:
        """Whether this one's is lost."""
        with self._lock:
            self._left -= 1
            if self._left > 0:
                return False
            self._left = self._gap()
            return True


class FaultyCalls:
    """Loses the answers of a share of all calls, and cuts the requests of another share; the shares are of 1.

    `calls` counts by method, `faults` by (method, fate).
    """

    def __init__(self, chance: random.Random, lost: float, cut: float) -> None:
        self.calls: Counter[str] = Counter()
        self.faults: Counter[tuple[str, Fate]] = Counter()
        self._chance = chance
        self._lost = lost
        self._cut = cut
        self._lock = threading.Lock()

    def __call__(self, method: str) -> Fate:
        """The fate of this one."""
        with self._lock:
            draw = self._chance.random()
            fate = (
                Fate.LOST
                if draw < self._lost
                else Fate.CUT
                if draw < self._lost + self._cut
                else Fate.ANSWERED
            )
            self.calls[method] += 1
            if fate is not Fate.ANSWERED:
                self.faults[method, fate] += 1
            return fate


class LateCalls:
    """Repeats random changes of the past, each at least `delay` seconds old, while others work, until it is left."""

    def __init__(
        self, proxy: NameNodeProxy, delay: float, chance: random.Random, pause: float = 0.05
    ) -> None:
        self.answers: list[tuple[str, str]] = []
        self._proxy = proxy
        self._delay = delay
        self._chance = chance
        self._pause = pause
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="late-calls", daemon=True)

    def repeat_all(self, changes: list[Change]) -> None:
        """Each of them, in this order."""
        for change in changes:
            self.answers.append((change.method, self._proxy.repeat(change)))

    def __enter__(self) -> "LateCalls":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(self._pause):
            if old := self._proxy.changes(self._delay):
                try:
                    self.repeat_all([self._chance.choice(old)])
                except OSError:
                    continue  # the NameNode is away just now: this one never arrived
