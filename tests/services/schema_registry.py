"""A real schema registry (Apicurio) with Confluent's API, its schemas in memory."""

import json
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import quote

from tests.services.jvm import java_command
from tests.services.service import Service
from tests.services.service_process import ServiceProcess


class SchemaRegistry(Service):
    """`service` is its process. A new start, also of the same one, has no schemas."""

    def __init__(self, folder: Path) -> None:
        self.service = ServiceProcess("registry", [], folder)
        super().__init__(folder, [self.service], ports=1)

    @property
    def url(self) -> str:
        """Where Confluent's API begins."""
        return f"http://127.0.0.1:{self._ports[0]}/apis/ccompat/v7"

    def register(self, subject: str, schema: Any, kind: str = "AVRO", references: Sequence[Any] = ()) -> int:
        """The id of a schema (JSON, or a text that is none) under a subject."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        body = {"schema": text, "schemaType": kind, "references": list(references)}
        request = urllib.request.Request(
            f"{self.url}/subjects/{quote(subject, safe='')}/versions",
            json.dumps(body).encode(),
            {"Content-Type": "application/vnd.schemaregistry.v1+json"},
        )
        with urllib.request.urlopen(request, timeout=120) as response:
            number: int = json.load(response)["id"]
        return number

    def require(self, subject: str, compatibility: str) -> None:
        """Of every further version of this subject: BACKWARD, FORWARD, FULL, each also with _TRANSITIVE."""
        request = urllib.request.Request(
            f"{self.url}/config/{quote(subject, safe='')}",
            json.dumps({"compatibility": compatibility}).encode(),
            {"Content-Type": "application/vnd.schemaregistry.v1+json"},
            method="PUT",
        )
        with urllib.request.urlopen(request, timeout=120) as response:
            assert response.status == 200

    def _configure(self) -> None:
        self.service.command = [
            *java_command(
                "registry",
                384,
                "-Dquarkus.http.host=127.0.0.1",
                f"-Dquarkus.http.port={self._ports[0]}",
                "-Dquarkus.log.level=ERROR",
                "-Dquarkus.http.access-log.enabled=false",
            ),
            "io.quarkus.runner.GeneratedMain",
        ]

    def _launch(self) -> None:
        self.service.start()
        self.service.wait_until(self._serves)

    def _serves(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/schemas/types", timeout=30):
                return True
        except (URLError, OSError):
            return False
