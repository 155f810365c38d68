"""How others see whether a run is well: an HTTP endpoint for Prometheus and probes, and notifications to systemd."""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer

SILENT_SECONDS = 60.0
"""A main loop that shows no progress for so long does not live."""


class Health:
    """What the main loop shows of itself; other threads ask. `now` in monotonic seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._progress = now()
        self._serves = False
        self._stops = False

    def progress(self) -> None:
        self._progress = self._now()

    def serves(self) -> None:
        """Tables are taken over, the query runs."""
        self._serves = True
        self.progress()

    def stops(self) -> None:
        """The run ends in order: it lives, and serves no more."""
        self._stops = True

    @property
    def is_live(self) -> bool:
        return self._stops or self._now() - self._progress <= SILENT_SECONDS

    @property
    def is_ready(self) -> bool:
        return self._serves and not self._stops and self.is_live


class _Silent(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged."""


def serve(host: str, port: int, registry: CollectorRegistry, health: Health) -> WSGIServer:
    """Answer in the background, `port` 0: at any free one. Raises OSError: the port is taken.

    `/live` (and `/health`) and `/ready` answer 200 or 503; every other path has the metrics.
    """
    metrics = make_wsgi_app(registry)
    questions = {
        "/live": lambda: health.is_live,
        "/health": lambda: health.is_live,
        "/ready": lambda: health.is_ready,
    }

    def answer(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        question = questions.get(environ["PATH_INFO"])
        if question is None:
            answered: Iterable[bytes] = metrics(environ, start)
            return answered
        status, text = ("200 OK", b"yes\n") if question() else ("503 Service Unavailable", b"no\n")
        start(status, [("Content-Type", "text/plain; charset=utf-8")])
        return [text]

    class Server(ThreadingWSGIServer):
        address_family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]

    server = make_server(host, port, answer, Server, handler_class=_Silent)
    threading.Thread(target=server.serve_forever, name="endpoint", daemon=True).start()
    return server


log = logging.getLogger(__name__)


class Notifier:
    """Sends to `NOTIFY_SOCKET` of the environment; without one every call does nothing. Never fails, never waits."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        given = os.environ if environment is None else environment
        self._address = _address(given.get("NOTIFY_SOCKET", ""))

    def ready(self, status: str = "") -> None:
        """The service serves: tables taken over, query running."""
        self._send("READY=1", _status(status))

    def watchdog(self) -> None:
        """The main loop made progress. Systemd kills and restarts a service that stops sending this."""
        self._send("WATCHDOG=1")

    def status(self, text: str) -> None:
        """One line for `systemctl status`."""
        self._send(_status(text))

    def stopping(self, status: str = "") -> None:
        self._send("STOPPING=1", _status(status))

    def extend_timeout(self, seconds: float) -> None:
        """Starting or stopping takes up to `seconds` more: systemd must not time out before."""
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
    """A path, or `@name` for Linux's abstract sockets; anything else (vsock) is not supported."""
    if text.startswith("@"):
        return "\0" + text[1:]
    return text if text.startswith("/") else None
