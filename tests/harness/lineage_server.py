"""An HTTP server on the loopback that takes OpenLineage events, and rejects what OpenLineage's own JSON schemas do not allow."""

import json
import ssl
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource

SPEC = Path(__file__).parents[1] / "contract" / "openlineage"
_PLACES = ("facets", "inputFacets", "outputFacets")


@dataclass(slots=True)
class LineageServer:
    """Where it is, the valid events that came, and what was wrong with others. `headers` are those of the last request."""

    url: str
    events: list[dict[str, Any]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    requests: int = 0
    headers: dict[str, str] = field(default_factory=dict)

    def of(self, job: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["job"]["name"] == job]


@contextmanager
def lineage_server(
    answer: Callable[[int], int] = lambda request: 201, certificate: str | None = None
) -> Iterator[LineageServer]:
    """Serve at `/api/v1/lineage`; `answer` returns the status for a valid event by the number of its request, from 1 on.

    With `certificate` (`<certificate>.pem` and `.key`) it speaks TLS, and nothing else.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            server.requests += 1
            server.headers = {name.lower(): value for name, value in self.headers.items()}
            event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found = faults_of(event) if self.path == "/api/v1/lineage" else [self.path]
            server.faults += found
            status = 422 if found else answer(server.requests)
            if status == 201:
                server.events.append(event)
            self.send_response(status)
            self.end_headers()
            self.wfile.write("; ".join(found).encode())

        def log_message(self, format: str, *arguments: Any) -> None:
            """Nothing: the output is the tests'."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            """Nothing: a client that does not trust the certificate ends the handshake."""
            if not isinstance(sys.exception(), ssl.SSLError):
                super().handle_error(request, client_address)

    with Server(("127.0.0.1", 0), Handler) as http:
        server = LineageServer(f"{'https' if certificate else 'http'}://127.0.0.1:{http.server_address[1]}")
        if certificate:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(f"{certificate}.pem", f"{certificate}.key")
            http.socket = context.wrap_socket(http.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=http.serve_forever, daemon=True)
        thread.start()
        yield server
        http.shutdown()
        thread.join(30)


def faults_of(event: dict[str, Any]) -> list[str]:
    """Return what the schema of a run's event, and those of its facets, do not allow."""
    found = [error.message for error in _validator("OpenLineage", "RunEvent").iter_errors(event)]
    if event.get("schemaURL") != f"{_schema('OpenLineage')['$id']}#/$defs/RunEvent":
        found.append(f"{event.get('schemaURL')} is not the schema that the tests have")
    parts = [event["run"], event["job"], *event["inputs"], *event["outputs"]]
    for facets in (part.get(place, {}) for part in parts for place in _PLACES):
        for name, facet in facets.items():
            schema = facet["_schemaURL"].rpartition("/")[2]
            content = _schema(schema)
            if facet["_schemaURL"] != f"{content['$id']}#/$defs/{schema}":
                found.append(f"{name}: {facet['_schemaURL']} is not {content['$id']}")
            if name not in content["properties"]:
                found.append(f"{name} is no facet of {schema}")
            found += [f"{name}: {error.message}" for error in _validator(schema).iter_errors({name: facet})]
    return found


@cache
def _schema(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((SPEC / f"{name}.json").read_text())
    return schema


@cache
def _validator(name: str, part: str = "") -> Draft202012Validator:
    schemas = [Resource.from_contents(_schema(path.stem)) for path in SPEC.glob("*.json")]
    registry: Registry[Any] = Registry().with_resources((str(s.id()), s) for s in schemas)
    schema = {"$ref": f"{_schema(name)['$id']}#/$defs/{part}"} if part else _schema(name)
    return Draft202012Validator(schema, registry=registry, format_checker=FormatChecker())
