"""`kafka2hive status` while HDFS does not answer: it says what it could not read, in bounded time."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.cli.render.status import render_status
from kafka2hive.cli.render.status_document import status_document
from kafka2hive.cli.terminal.screen import Screen
from kafka2hive.config.load import load_text
from kafka2hive.service.inspect.status import StatusResult, status_or_storage_error
from kafka2hive.service.wiring import wire
from kafka2hive.storage.port import FileSystem, Unavailable
from tests.harness.cli_ledger import invoke, pending_service

MAP = """
service: demo
kafka: {{bootstrap.servers: "127.0.0.1:1"}}
storage:
  uri: "hdfs://127.0.0.1:{port}/b"
  properties: {{dfs.client.failover.max.attempts: "1"}}
tables: [{{table: air.flights, topics: [t], columns: {{id: bigint}}}}]
"""


@pytest.fixture
def port() -> Iterator[int]:
    """A port on which a process takes connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_dead_namenode_is_told_in_text_and_in_json(tmp_path: Path, port: int) -> None:
    config = tmp_path / "map.yaml"
    config.write_text(MAP.format(port=1))
    told = invoke("status", "--json", "-c", str(config))
    document = json.loads(told.stdout)
    assert (told.exit_code, document["exit_code"], document["tables"]) == (69, 69, [])
    assert document["storage_error"]["code"] == "storage.unavailable"
    assert "NameNode is up" in document["storage_error"]["remedy"]
    plain = invoke("status", "-c", str(config))
    assert plain.exit_code == 69 and plain.stdout.startswith(
        "[storage.unavailable] listing hdfs://127.0.0.1:1/"
    )


def test_a_namenode_that_hangs_is_not_waited_for(port: int) -> None:
    wiring = wire(load_text(MAP.format(port=port), "m", {}), patience_seconds=0.5)
    began = time.monotonic()
    result = status_or_storage_error(wiring, None)
    assert time.monotonic() - began < 5
    assert result.exit_code == 69 and "no answer within" in str(result.storage_error)


@dataclass
class DyingFiles:
    """Answers `answers` calls, and then none."""

    files: FileSystem
    answers: float

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        def call(path: str, *arguments: object) -> Any:
            self.answers -= 1
            if self.answers < 0:
                raise Unavailable(path, "no answer")
            return getattr(self.files, operation)(path, *arguments)

        return call


def test_a_namenode_that_dies_at_any_moment_is_told(tmp_path: Path) -> None:
    wiring = pending_service(tmp_path).wiring

    def status_after(answers: float) -> tuple[StatusResult, float]:
        files = DyingFiles(wiring.ports.files, answers)
        ports = replace(wiring.ports, files=files)
        return status_or_storage_error(replace(wiring, ports=ports), None), files.answers

    whole, left = status_after(1_000)
    assert whole.exit_code == 0 and whole.storage_error is None
    for answers in range(int(1_000 - left)):
        result, _ = status_after(answers)
        assert result.exit_code == 69, answers
        assert status_document("demo", result)["exit_code"] == 69
        assert "no answer" in render_status("demo", result, Screen())
