"""`pause` and `resume` without a run: the command takes the table over for one snapshot. Wrong orders change nothing."""

from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.ledger.inbox import Inbox, PauseTable, new_order
from kafka2hive.ledger.look import look
from kafka2hive.model.snapshot import Snapshot
from tests.harness.cli_ledger import TABLE, Service, document, invoke, pending_service, tree, write_map


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return pending_service(tmp_path)


def state(service: Service) -> Snapshot:
    return look(service.wiring.ports.files, service.wiring.paths(TABLE)).state


def test_without_a_run_the_command_itself_pauses_and_resumes_the_table(service: Service) -> None:
    paused = invoke("pause", "--table", TABLE, "-c", str(service.map))
    assert paused.exit_code == 0 and f"{TABLE} has been paused since" in paused.stdout
    assert state(service).paused is not None and state(service).epoch == 3  # epoch 2 was rolled forward
    shown = invoke("status", "--json", "-c", str(service.map))
    order_id = state(service).orders[0].id
    assert shown.exit_code == 69 and f'"order": "{order_id}"' in shown.stdout  # nobody answers for Kafka
    assert "has been paused since" in invoke("status", "-c", str(service.map)).stdout
    resumed = invoke("resume", "--json", "--table", TABLE, "-c", str(service.map))
    assert (resumed.exit_code, document(resumed)["paused"], state(service).paused) == (0, None, None)
    assert [each.kind for each in state(service).orders] == ["pause", "resume"]


def test_in_a_pipe_the_command_logs_its_changes_only_if_asked(service: Service) -> None:
    assert '"debug"' not in invoke("pause", "--table", TABLE, "-c", str(service.map)).stderr
    told = invoke("resume", "--table", TABLE, "--log-level", "debug", "-c", str(service.map))
    assert '"operation": "rename"' in told.stderr


def test_pausing_a_paused_table_keeps_since_when_it_is(service: Service) -> None:
    invoke("pause", "--table", TABLE, "-c", str(service.map))
    first = state(service).paused
    assert invoke("pause", "--table", TABLE, "-c", str(service.map)).exit_code == 0
    assert state(service).paused == first and len(state(service).orders) == 2


def test_a_leftover_order_of_a_killed_command_is_done_with_the_next_one(service: Service) -> None:
    wiring = service.wiring
    inbox = Inbox(wiring.ports, wiring.map.storage.ledger_root, wiring.map.service)
    left = replace(new_order(wiring.ports, "demo", TABLE, "a", PauseTable()), given_at="2013-01-01T00:00:00Z")
    inbox.give(left)
    shown = invoke("status", "-c", str(service.map)).stdout
    assert f"order pause for {TABLE} waits: given by a at 2013-01-01T00:00:00Z" in shown
    assert invoke("resume", "--table", TABLE, "-c", str(service.map)).exit_code == 0
    assert [each.kind for each in state(service).orders] == ["pause", "resume"]
    assert state(service).paused is None and inbox.look() == ([], [], set())


def test_an_unknown_table_is_no_order(service: Service, tmp_path: Path) -> None:
    before = tree(tmp_path)
    result = invoke("pause", "--table", "air.flihgts", "-c", str(service.map))
    assert result.exit_code == 78 and "did you mean air.flights?" in result.stderr
    assert tree(tmp_path) == before


def test_a_table_without_a_ledger_has_nothing_to_pause(tmp_path: Path) -> None:
    path = write_map(tmp_path)
    result = invoke("pause", "--table", TABLE, "-c", str(path))
    assert result.exit_code == 78 and "[order.no_ledger]" in result.stderr


def test_a_table_of_another_service_takes_no_order_of_this_one(service: Service, tmp_path: Path) -> None:
    service.map.write_text(service.map.read_text().replace("service: demo", "service: other"))
    before = tree(tmp_path)
    result = invoke("pause", "--table", TABLE, "-c", str(service.map))
    assert result.exit_code == 78 and "[order.other_service]" in result.stderr
    assert tree(tmp_path) == before


def test_a_wrong_timeout_is_a_wrong_command_line(service: Service) -> None:
    result = invoke("pause", "--table", TABLE, "--timeout", "soon", "-c", str(service.map))
    assert result.exit_code == 2 and "--timeout" in result.stderr
