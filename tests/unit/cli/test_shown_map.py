"""A command that is shown names the map of the command that shows it, so that it can be typed as it is."""

import io
import json
import logging
import shlex
from pathlib import Path

import pytest

from kafka2hive.config.command_blanks import CommandBlanks
from kafka2hive.config.load import load_map
from kafka2hive.ledger.inbox import PauseTable
from kafka2hive.observe.log import LogFormat, configure
from kafka2hive.service.orders.delivery import give_order
from tests.harness.cli_ledger import TABLE, Service, invoke, logging_kept, pending_service, write_map

RESUME = f"kafka2hive resume --table {TABLE}"


@pytest.fixture
def paused(tmp_path: Path) -> Service:
    service = pending_service(tmp_path)
    assert invoke("recover", "-c", str(service.map)).exit_code == 0
    give_order(service.wiring, TABLE, PauseTable(), seconds=60, note=print)
    return service


def test_a_shown_command_names_the_map_by_its_path(paused: Service) -> None:
    shown = invoke("status", "-c", str(paused.map)).stdout
    assert f"`{RESUME} -c {paused.map}`" in shown and "-c MAP" not in shown


def test_a_relative_path_of_the_map_is_shown_whole(paused: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(paused.map.parent)
    assert f"`{RESUME} -c {paused.map}`" in invoke("status", "-c", paused.map.name).stdout


def test_a_shown_command_leaves_the_map_out_if_the_shell_names_it(
    paused: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA2HIVE_CONFIG", str(paused.map))
    assert f"`{RESUME}`" in invoke("status").stdout


def test_a_path_with_a_blank_is_quoted(paused: Service) -> None:
    odd = paused.map.rename(paused.map.parent / 'the map "1".yaml')
    shown = invoke("status", "-c", str(odd)).stdout
    (command,) = [part for part in shown.split("`") if part.startswith(RESUME)]
    assert shlex.split(command) == [*RESUME.split(), "-c", str(odd)]


def test_documents_name_the_map_too(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    for file in range(2):
        service.staged(file).unlink()
    odd = service.map.rename(tmp_path / 'the map "1".yaml')
    document = json.loads(invoke("recover", "--plan", "--json", "-c", str(odd)).stdout)
    (table,) = document["tables"]
    assert f"-c {shlex.quote(str(odd))}`" in table["error"]["remedy"]


def test_the_page_of_report_names_the_map(paused: Service, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert invoke("report", "-o", str(page), "-c", str(paused.map)).exit_code == 0
    assert f"<code>{RESUME} -c {paused.map}</code>" in page.read_text()


def test_a_wrong_map_is_named_in_its_error(tmp_path: Path) -> None:
    path = write_map(tmp_path)
    path.write_text(path.read_text().replace("topics:", "topic:"))
    for command in ("validate", "status"):
        assert f"`kafka2hive validate -c {path}`" in invoke(command, "-c", str(path)).stderr


@pytest.mark.parametrize("log_format", [LogFormat.HUMAN, LogFormat.JSON])
def test_a_log_names_map_and_brokers(tmp_path: Path, log_format: LogFormat) -> None:
    """With the map's path even if the service's environment names the map, because another shell's does not."""
    path, out = write_map(tmp_path), io.StringIO()
    blanks = CommandBlanks.of_map(load_map(str(path), {}), {"KAFKA2HIVE_CONFIG": str(path)})
    with logging_kept():
        configure(log_format, stream=out, blanks=blanks)
        logging.getLogger("kafka2hive").warning(
            "type `kafka2hive run -c MAP`, or `x.sh --bootstrap-server SERVERS`"
        )
    text = out.getvalue() if log_format is LogFormat.HUMAN else json.loads(out.getvalue())["message"]
    assert f"type `kafka2hive run -c {path}`, or `x.sh --bootstrap-server 127.0.0.1:9`" in text


def test_a_tool_of_kafka_is_told_to_log_in_if_the_map_does(tmp_path: Path) -> None:
    path = write_map(tmp_path)
    path.write_text(path.read_text().replace("sasl.password", "security.protocol: SASL_SSL, sasl.password"))
    blanks = CommandBlanks.of_map(load_map(str(path), {}), {})
    assert blanks.servers == " --bootstrap-server 127.0.0.1:9 --command-config CLIENT.properties"


def test_a_map_that_cannot_be_named_again_is_not_named(tmp_path: Path) -> None:
    path = write_map(tmp_path)
    assert CommandBlanks.of_path(str(path), {"KAFKA2HIVE_SUBMITTED": "files"}).map == " -c MAP"
    assert CommandBlanks.of_path("/dev/null", {}).map == " -c MAP"
