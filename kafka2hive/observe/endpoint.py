"""The HTTP endpoint of a run: Prometheus' metrics, whether the run makes progress, whether it serves."""

import socket
import threading
import time
from collections.abc import Callable, Iterable
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
