"""An HTTP server on the loopback that answers byte for byte what a test says, also what no HTTP server would."""

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came: its path and its headers by their names in small letters."""

    path: str
    headers: dict[str, str]


@dataclass(frozen=True, slots=True)
class Hangs:
    """Sends these bytes and then nothing more until the other side has had enough."""

    first: bytes = b""


Reply = bytes | Hangs


def reply(status: int, content: object, kind: str = "application/json") -> bytes:
    """A whole response; `content` as JSON unless it is bytes."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return (
        f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    )


@dataclass(slots=True)
class OddServer:
    """Where it is, and what came."""

    port: int
    scheme: str = "http"
    requests: list[Request] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    @property
    def paths(self) -> list[str]:
        return [request.path for request in self.requests]


@contextmanager
def odd_server(
    answer: Callable[[Request], Reply], context: ssl.SSLContext | None = None
) -> Iterator[OddServer]:
    """`answer` says what each request gets. With a `context` it speaks TLS."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = OddServer(listener.getsockname()[1], "https" if context else "http")
        thread = threading.Thread(target=_serve, args=(listener, server, answer, context), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def _serve(
    listener: socket.socket,
    server: OddServer,
    answer: Callable[[Request], Reply],
    context: ssl.SSLContext | None,
) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return  # the test is over
        try:
            with _secured(connection, context) if context else connection as talk:
                _talk(talk, server, answer)
        except OSError:
            connection.close()  # the client has had enough, or one does not trust the other


def _secured(connection: socket.socket, context: ssl.SSLContext) -> ssl.SSLSocket:
    """Raises SSLError without trust: once the client has closed, else a reset could overtake the alert that says why."""
    secured = context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
    try:
        secured.do_handshake()
    except ssl.SSLError:
        with secured:
            socket.socket.shutdown(secured, socket.SHUT_WR)
            while socket.socket.recv(secured, 65536):
                pass
        raise
    return secured


def _talk(talk: socket.socket, server: OddServer, answer: Callable[[Request], Reply]) -> None:
    text = b""
    while b"\r\n\r\n" not in text:
        more = talk.recv(65536)
        if not more:
            return
        text += more
        if text.startswith(b"\x16"):  # TLS: a server of plain HTTP answers the first line that it cannot read
            talk.sendall(reply(400, "no HTTP"))
            return
    head, _, body = text.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    while len(body) < int(headers.get("content-length", 0)) and (more := talk.recv(65536)):
        body += more
    request = Request(first.split(" ")[1], headers)
    server.requests.append(request)
    said = answer(request)
    if isinstance(said, Hangs):
        talk.sendall(said.first)
        talk.recv(1)  # until the client closes
    else:
        talk.sendall(said)
