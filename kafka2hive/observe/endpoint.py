"""The health of a run for other systems: an HTTP endpoint for Prometheus and probes, and messages to systemd."""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer

from kafka2hive.model.errors import Kafka2HiveError

log = logging.getLogger(__name__)

SILENT_SECONDS = 60.0
"""A run whose main loop makes no progress for this long is not live."""


class Health:
    """The health of a run: the main loop reports it, other threads read it. `now` returns monotonic seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._progress = now()
        self._serves = False
        self._stops = False

    def progress(self) -> None:
        """Report that the main loop has made progress."""
        self._progress = self._now()

    def serves(self) -> None:
        """Report that the tables are taken over and the query runs."""
        self._serves = True
        self.progress()

    def stops(self) -> None:
        """Report that the run is shutting down gracefully: it stays live, but is no longer ready."""
        self._stops = True

    @property
    def is_live(self) -> bool:
        """Whether the main loop makes progress, or the run is ending."""
        return self._stops or self._now() - self._progress <= SILENT_SECONDS

    @property
    def is_ready(self) -> bool:
        """Whether the run is live, serves its tables and is not ending."""
        return self._serves and not self._stops and self.is_live


class _Silent(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Do not log: probes would fill the log."""


Page = Callable[[], bytes]
"""Returns a page of the run. Raises Kafka2HiveError if what it shows cannot be read."""

_HTML, _JSON = "text/html; charset=utf-8", "application/json"
_PAGE_HEADERS = (
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
)
_TEXT_HEADERS = (("Content-Type", "text/plain; charset=utf-8"),)
"""Copied for each answer, because the server adds its own headers to the list that it gets."""


def serve(
    host: str,
    port: int,
    registry: CollectorRegistry,
    health: Health,
    page: Page | None = None,
    status: Page | None = None,
) -> WSGIServer:
    """Start a server that answers in a background thread, and return it; `port` 0 takes any free port.

    `/live`, `/health` (the same) and `/ready` answer 200 or 503, `/` answers with `page` and `/status` with the JSON of
    `status`, if they are given; every other path answers with the metrics. Raises OSError if the port is taken.
    """
    metrics = make_wsgi_app(registry)
    probes = {
        "/live": lambda: health.is_live,
        "/health": lambda: health.is_live,
        "/ready": lambda: health.is_ready,
    }

    def answer(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path in ("", "/") and page is not None:
            return _answer_with(page, _HTML, environ, start)
        if path == "/status" and status is not None:
            return _answer_with(status, _JSON, environ, start)
        probe = probes.get(path)
        if probe is None:
            body: Iterable[bytes] = metrics(environ, start)
            return body
        code, text = ("200 OK", b"yes\n") if probe() else ("503 Service Unavailable", b"no\n")
        start(code, [*_TEXT_HEADERS])
        return [text]

    class Server(ThreadingWSGIServer):
        address_family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]

    server = make_server(host, port, answer, Server, handler_class=_Silent)
    threading.Thread(target=server.serve_forever, name="endpoint", daemon=True).start()
    return server


def _answer_with(
    page: Page, kind: str, environ: Mapping[str, Any], start: Callable[..., Any]
) -> Iterable[bytes]:
    method = environ["REQUEST_METHOD"]
    if _is_address(environ["REMOTE_ADDR"], loopback=True) and not _is_local(environ.get("HTTP_HOST", "")):
        start("403 Forbidden", [*_TEXT_HEADERS])
        return [b"use localhost or an IP address in the URL\n"]
    if method not in ("GET", "HEAD"):
        start("405 Method Not Allowed", [*_TEXT_HEADERS, ("Allow", "GET, HEAD")])
        return [b"only GET and HEAD are answered\n"]
    try:
        document = page()
    except Kafka2HiveError as error:
        start("503 Service Unavailable", [*_TEXT_HEADERS])
        return [f"{error}\n".encode(errors="backslashreplace")]
    headers = [("Content-Type", kind), *_PAGE_HEADERS, ("Content-Length", str(len(document)))]
    start("200 OK", headers)
    return [document] if method == "GET" else []


def _is_local(host: str) -> bool:
    """Return whether a request's Host is `localhost` or an address.

    A website could make its own name resolve to the loopback, so that a browser on this machine reads the page for it. The
    Host of such a request is that name.
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    return name == "localhost" or _is_address(name)


def _is_address(text: str, *, loopback: bool = False) -> bool:
    try:
        return ip_address(text).is_loopback or not loopback
    except ValueError:
        return False


class Notifier:
    """Sends messages to systemd at `NOTIFY_SOCKET`; if that is not set, calls have no effect. A call never fails or waits."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        variables = os.environ if environment is None else environment
        self._address = _address(variables.get("NOTIFY_SOCKET", ""))

    def ready(self, status: str = "") -> None:
        """Say that the service is up: the tables are taken over and the query runs."""
        self._send("READY=1", _status(status))

    def watchdog(self) -> None:
        """Say that the main loop made progress; systemd kills and restarts a service that stops sending this."""
        self._send("WATCHDOG=1")

    def status(self, text: str) -> None:
        """Set the line that `systemctl status` shows."""
        self._send(_status(text))

    def stopping(self) -> None:
        """Say that the service is shutting down gracefully."""
        self._send("STOPPING=1")

    def extend_timeout(self, seconds: float) -> None:
        """Ask systemd to allow `seconds` more for the start or the stop in progress."""
        self._send(f"EXTEND_TIMEOUT_USEC={int(seconds * 1_000_000)}")

    def _send(self, *lines: str) -> None:
        if self._address is None:
            return
        message = "\n".join(line for line in lines if line).encode()
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
                sender.setblocking(False)
                sender.connect(self._address)
                sender.sendall(message)
        except OSError as error:
            log.debug("systemd was not notified of %r: %s", message, error)


def _status(text: str) -> str:
    return f"STATUS={' '.join(text.split())}" if text else ""


def _address(text: str) -> str | None:
    """Return the socket's address for a path or `@name` (an abstract socket of Linux); None for another kind, such as vsock."""
    if text.startswith("@"):
        return "\0" + text[1:]
    return text if text.startswith("/") else None
