"""`validate --online` checks the schema registry, including every way in which a run would not get its schemas."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka2hive.config.keys import RegistryOptions
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.registry.client import RegistryClient
from kafka2hive.service.validate.check import Check, Failed, Passed, exit_code_of
from kafka2hive.service.validate.online import check_registry
from tests.harness.cli_ledger import invoke, write_map
from tests.harness.clock import SkippedTime
from tests.harness.mock_broker import Broker
from tests.harness.odd_http import Request, odd_server, reply

UNKNOWN = reply(404, {"error_code": 40403, "message": "Schema not found"})


def types_and(ids: bytes) -> Callable[[Request], bytes]:
    return lambda request: reply(200, ["AVRO"]) if request.path == "/schemas/types" else ids


def checked(ids: bytes) -> Check:
    with odd_server(types_and(ids)) as server:
        check = check_registry(RegistryClient(RegistryOptions(url=server.url), SkippedTime()), server.url)
    assert (check.system, check.subject) == ("registry", server.url)
    return check


@pytest.mark.parametrize("ids", [UNKNOWN, reply(200, {"schema": "{}"})])
def test_a_registry_that_answers_is_right_whatever_it_holds(ids: bytes) -> None:
    assert checked(ids).result == Passed("has schemas of the types AVRO")


@pytest.mark.parametrize(
    ("ids", "code", "exit_code"),
    [
        (reply(401, {}), "registry.denied", 78),
        (reply(200, b"<html>"), "registry.answer", 78),
        (reply(503, {}), "registry.unavailable", 69),
    ],
)
def test_what_a_run_would_stumble_over_is_told(ids: bytes, code: str, exit_code: int) -> None:
    check = checked(ids)
    assert isinstance(check.result, Failed)
    assert (check.result.error.code, exit_code_of([check])) == (code, exit_code)
    assert check.subject in check.result.error.message
    assert check.result.error.remedy
    assert isinstance(check.result.error, ServiceUnavailable) is (exit_code == 69)


def test_the_command_asks_it_beside_the_others(tmp_path: Path, broker: Broker) -> None:
    path = write_map(tmp_path, bootstrap=broker.address)
    with odd_server(types_and(UNKNOWN)) as server:
        section = f"registry: {{url: '{server.url}'}}\ndefaults: {{format: avro}}\ntables:"
        path.write_text(path.read_text().replace("tables:", section, 1))
        checks = json.loads(invoke("validate", "--online", "--json", "-c", str(path)).stdout)["checks"]
    assert {(c["subject"], c["result"]) for c in checks if c["system"] == "registry"} == {(server.url, "ok")}
