"""An HTTP server on the loopback that is told news as CloudEvents, and rejects what is no event."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

NEEDED = {"specversion", "id", "source", "type", "time", "datacontenttype", "data"}


@dataclass(slots=True)
class NewsServer:
    """Where it is, the events that it took, in order and with doubles, and the headers of the last request.

    `answers` returns the status for the request of this number, from 1 on; None: the server never answers.
    """

    url: str
    answers: Callable[[int], int | None]
    events: list[dict[str, Any]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    requests: int = 0

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The events of a kind, such as `partition.complete`, each once."""
        once = {event["id"]: event for event in self.events}
        return [event for event in once.values() if event["type"] == f"kafka2hive.{kind}"]


@contextmanager
def news_server(answers: Callable[[int], int | None] = lambda request: 200) -> Iterator[NewsServer]:
    """Serve at `/news`."""
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            server.requests += 1
            server.headers = {name.lower(): value for name, value in self.headers.items()}
            event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status = server.answers(server.requests)
            if missing := NEEDED - event.keys():
                server.faults.append(f"{sorted(missing)} in {event}")
            if self.path != "/news" or event["specversion"] != "1.0":
                server.faults.append(f"{self.path} {event}")
            if status is None:
                over.wait()
                return
            if 200 <= status < 300:
                server.events.append(event)
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *arguments: Any) -> None:
            """Nothing: the output is the tests'."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as http:
        server = NewsServer(f"http://127.0.0.1:{http.server_address[1]}/news", answers)
        thread = threading.Thread(target=http.serve_forever, daemon=True)
        thread.start()
        yield server
        over.set()
        http.shutdown()
        thread.join(30)
